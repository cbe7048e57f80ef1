"""Between the same two ranks all techniques find the same round trip: real ranks, n fixed before.

The figures of tools differ by what they count, and the tail of a machine that others use is in
some of them; so what is held together is netsonde's own figure of the repetitions that each tool's
way made, over that of netsonde's own way. It is in `make soak`: time decides it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mpi_needed import require_mpi
from netsonde.figures.agreement import agreements
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run

TOOLS = ("osu", "imb", "pmb", "mpbench", "mpptest")
"""All start right after each other, as netsonde does; SKaMPI waits for an instant."""
ROUND_TRIPS = 5_000
TOLERANCE = 0.10
"""Of the median over six passes; on a quiet machine they lie within a few percent."""


@pytest.mark.soak
def test_techniques_find_the_same_round_trip_between_two_ranks(tmp_path: Path) -> None:
    require_mpi()
    words = ["mpi", "latency", "-n", "2", "--sizes", "64", "--count", str(ROUND_TRIPS)]
    words += ["--like", ",".join(TOOLS), "--time", "5s", "-q", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "netsonde", *words]
    subprocess.run(command, check=True, timeout=400, cwd=tmp_path)
    [directory] = tmp_path.iterdir()
    run = open_run(directory)
    [compared] = agreements(run, figures_of(run))
    assert {tool.tool for tool in compared.tools} == set(TOOLS)
    assert {tool.ratio.n for tool in compared.tools} == {6}
    ways = {tool.tool: round(tool.way, 3) for tool in compared.tools}
    assert all(abs(way - 1.0) <= TOLERANCE for way in ways.values()), ways
