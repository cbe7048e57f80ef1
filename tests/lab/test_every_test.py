"""Every test and transport that the tables have, over an emulated network: each point ends and has
the figure that stands for its test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric_needed import require_fabric
from mpi_needed import require_mpi
from netsonde.catalogue.test import TESTS, measured_tests
from netsonde.catalogue.transport import TRANSPORTS, Transport, measured_transports
from netsonde.figures.compute import figures_of, find
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

HOSTS, FLOWS_BIT_PER_S = 4, 2_000_000
LINK = '[link]\nrate = "50M"\ndelay = "50us"\n'
NEEDED: dict[str, dict[str, Any]] = {
    "collective": {"operations": "allreduce"},
    "open_loop": {"loads": "50%"},
    "clock": {"sizes": 0},
    "threads": {"threads": [2]},
    "generate": {"rate": FLOWS_BIT_PER_S},
    "bounds": {"options": {"operation": "write"}},
    "protection": {"options": {"operation": "write", "trespass": "foreign-read"}},
    "all-pairs": {"count": 5},
    "bisection": {"count": 5},
    "bursts": {"count": 200},
    "send-series": {"count": 40},
    "overheads": {"count": 20},
    **{
        test: {"count": 100}
        for test in ("stream", "duplex", "ring", "pairs", "alltoall", "outcast", "converge")
    },
}
"""What a test cannot do without, or is short by. Streams end by time in tests/truth."""


class Silent:
    def start(self, directory: Path, points: object) -> None: ...
    def point(self, point: object) -> None: ...
    def batch(self, point: object, records: object) -> None: ...
    def done(self, point: object, error: object) -> None: ...
    def notice(self, text: str) -> None: ...


def blocks(transport: Transport) -> list[dict[str, Any]]:
    """Of patterns, which are the same over every transport, only those of datagrams."""
    asked = [
        name
        for name in measured_tests()
        if name in transport.tests and (transport.has_datagrams or not TESTS[name].is_pattern)
    ]
    return [
        {"transports": transport.name, "test": name, "cap": "60ms", "sizes": 1000}
        | NEEDED.get(name, {})
        for name in asked
    ]


@pytest.mark.lab
@pytest.mark.timeout(300)
@pytest.mark.parametrize("transport", measured_transports())
def test_each_ends_and_has_its_figure(tmp_path: Path, transport: str) -> None:
    row = TRANSPORTS[transport]
    if row.has_ranks:
        require_mpi()
    if row.has_endpoints:
        require_fabric()
    file = tmp_path / "net.toml"
    file.write_text(f'hosts = {HOSTS}\nlinks = "switch"\n{LINK}[pace]\ncalibrate = false\n')
    study = StudySpec.model_validate(
        {
            "seed": 1,
            "interval": 1e-6,
            "path": {"kind": "lab"},
            "lab": {"scenario": str(file)},
            "measure": blocks(row),
        }
    )
    outcome = start_study(study, tmp_path, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    assert {point.test for point in run.points} == {block["test"] for block in blocks(row)}
    figures = figures_of(run)
    for point in run.points:
        assert point.status == "finished", point.id
        main = TESTS[point.test].main
        found = find(figures, main, point.id) if main else None
        assert not main or (found is not None and found.value >= 0), (point.test, main)
