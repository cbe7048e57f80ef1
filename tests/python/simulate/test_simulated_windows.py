"""What is said of windows that were swept in the simulator: where loss begins is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError
from netsonde.explain import Finding
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.launch.binaries import find_worker
from netsonde.records.rundir import open_run


def said_of(directory: Path, *sweeps: str) -> list[Finding]:
    """The findings on windows of the scenario with five senders and packets for few of each."""
    try:
        find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))
    words = ["simulate", "gather-416", "--quiet", "--out", str(directory)]
    for sweep in ("senders=5", "packets=60", *sweeps):
        words += ["--sweep", sweep]
    assert CliRunner().invoke(app, words).exit_code == 0
    (made,) = directory.iterdir()
    run = open_run(made)
    return [f for f in explain(run, figures_of(run)) if f.kind == "windows-that-lose"]


@pytest.mark.parametrize(("buffer", "safe"), [(30, 6), (35, 7)])
def test_the_largest_window_that_loses_nothing_is_named(
    tmp_path: Path, buffer: int, safe: int
) -> None:
    """W P <= B_L at an output (Tam 2001, section 4.3.3)."""
    (found,) = said_of(tmp_path, f"buffer={buffer} packets", "window=5..9")
    assert found.claim.startswith(f"Windows of up to {safe} packets lose nothing; from {safe + 1} ")
    assert f"{buffer} packets, {buffer / 5:.1f} of each of 5 senders" in found.evidence


def test_nothing_is_said_where_no_window_loses_or_all_do(tmp_path: Path) -> None:
    assert said_of(tmp_path / "none", "buffer=50 packets", "window=5..9") == []
    assert said_of(tmp_path / "all", "buffer=20 packets", "window=6..9") == []


def test_each_buffer_has_its_own_window(tmp_path: Path) -> None:
    found = said_of(tmp_path, "buffer=30 packets,35 packets", "window=5..9")
    assert [f.claim.split(" packets")[0] for f in found] == [
        "Windows of up to 6",
        "Windows of up to 7",
    ]
