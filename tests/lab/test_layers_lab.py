"""TCP, libfabric and MPI over one link in one report: MPI says by what it goes, and each layer is
beside the one beneath."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fabric_needed import require_fabric
from mpi_needed import require_mpi
from netsonde.cli.main import app
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.lab import permission_problem
from netsonde.records.rundir import open_run
from netsonde.report.latency_plots import layers
from netsonde.report.lookup import Study

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.timeout(120),
]
STUDY = """
[lab]
hosts = 2
[path]
kind = "lab"
[mpi]
ranks = 2
[[measure]]
transports = ["tcp", "fabric", "mpi"]
test = "latency"
sizes = "64,1k"
count = 50
[measure.options]
provider = "tcp"
"""


def test_each_layer_is_beside_the_one_beneath_and_says_by_what_it_goes(tmp_path: Path) -> None:
    require_fabric()
    require_mpi()
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    done = CliRunner().invoke(app, ["study", "run", str(file), "--out", str(tmp_path), "-q"])
    assert done.exception is None, done.output
    [directory] = tmp_path.glob("*/manifest.json")
    run = open_run(directory.parent)
    opened = {point.transport: point.opened[0] for point in run.points}
    assert opened["fabric"]["provider"] == "tcp;ofi_rxm"
    assert (opened["mpi"]["netmod"], opened["mpi"]["provider"]) == ("ofi", "tcp")
    figures = figures_of(run)
    [found] = [f for f in explain(run, figures) if f.claim.startswith("Round trip of")]
    names = ("TCP ", "Fabric (tcp;ofi_rxm) ", "MPI (ofi, tcp) ")
    places = [found.claim.index(name) for name in names]
    assert places == sorted(places)
    assert found.evidence.count(" time, ") == found.evidence.count(" rate)") == 2
    plot = layers(Study(run, figures))
    assert plot is not None
    rows = [
        dict(zip((c.name for c in plot.table.columns), row, strict=True)) for row in plot.table.rows
    ]
    assert [(r["transport"], r["below"], r["message_bytes"]) for r in rows] == [
        (above, below, size)
        for above, below in (("fabric", "tcp"), ("mpi", "fabric"))
        for size in (64, 1024)
    ]
    assert {r["carried"] for r in rows} == {"tcp;ofi_rxm", "ofi, tcp"}
    assert all(" time, " in r["change"] and r["change"].endswith("rate") for r in rows)
