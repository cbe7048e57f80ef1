"""Which swept setting was fastest. The fake takes twice as long with every doubling of the window
beyond 24 and the same below, and as long as there are packets; the real one has a link's rate."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError
from netsonde.explain import Finding
from netsonde.explain.simulated_sweeps import Setting
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.launch.binaries import find_worker
from netsonde.records.data import Point
from netsonde.records.rundir import open_run


def said_of(scenario: str | Path, out: Path, *sweeps: str) -> list[Finding]:
    words = ["simulate", str(scenario), "--quiet", "--out", str(out)]
    for sweep in sweeps:
        words += ["--sweep", sweep]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    (directory,) = out.iterdir()
    run = open_run(directory)
    return [f for f in explain(run, figures_of(run)) if f.kind == "best-of-swept"]


@pytest.mark.usefixtures("fake_sim")
def test_the_fastest_is_named_with_its_lead(small: Path, tmp_path: Path) -> None:
    (found,) = said_of(small, tmp_path / "runs", "window=48,24,96")
    assert found.claim == (
        "Of 3 settings swept, window 24 is fastest: 36.91 ms; window 48 is next and takes "
        "100.0% longer."
    )
    assert "window 96 147.6 ms (+300.0%)" in found.evidence
    assert "one seed" in found.advice


@pytest.mark.usefixtures("fake_sim")
def test_no_winner_is_named_where_there_is_none(small: Path, tmp_path: Path) -> None:
    (found,) = said_of(small, tmp_path / "runs", "window=12,24,48")
    assert "no clear winner: window 12, window 24 are within 0.0% of 36.91 ms" in found.claim
    assert "window 48 73.82 ms (+100.0%)" in found.evidence


@pytest.mark.usefixtures("fake_sim")
def test_each_size_has_its_own_winner(small: Path, tmp_path: Path) -> None:
    (found,) = said_of(small, tmp_path / "runs", "packets=100,200", "window=24,48")
    assert found.claim == "Fastest of what was swept: window 24 at packets 100, packets 200."
    assert "packets 200: window 24 73.82 ms, window 48 147.6 ms (+100.0%)." in found.evidence


@pytest.mark.usefixtures("fake_sim")
@pytest.mark.parametrize("sweep", ["packets=100,200", "rate=10M,100M", "senders=1..3"])
def test_other_work_is_no_other_setting(small: Path, tmp_path: Path, sweep: str) -> None:
    assert said_of(small, tmp_path / "runs", sweep) == []


@pytest.mark.usefixtures("fake_sim")
def test_several_seeds_need_no_advice(small: Path, tmp_path: Path) -> None:
    small.write_text(small.read_text() + "[simulation]\nruns = 3\n")
    (found,) = said_of(small, tmp_path / "runs", "window=24,48")
    assert "window 24 is fastest" in found.claim
    assert not found.advice


@pytest.mark.parametrize(
    ("second", "is_slower"),
    [((120.0, 111.0, 130.0), True), ((120.0, 109.0, 130.0), False), ((100.9, 100.9, 101), False)],
)
def test_slower_is_what_seeds_and_a_percent_leave(
    second: tuple[float, float, float], is_slower: bool
) -> None:
    point = Point("p001", "go-back-n", "simulation", {})
    first = 100.0, 90.0, 110.0 if second[0] > 101 else 100.0
    best, other = Setting(point, "a", *first), Setting(point, "b", *second)
    assert other.is_slower_than(best) == is_slower


def test_the_simulator_itself_has_the_known_winner(tmp_path: Path) -> None:
    """Five windows of 6 fill a buffer of 30 packets without loss; those of 9 wait for timeouts. A
    window of one packet waits for its acknowledgement, and five senders hide a part of that."""
    try:
        find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))
    sweeps = ("senders=5", "packets=60", "buffer=30 packets")
    (found,) = said_of("gather-416", tmp_path / "lossy", *sweeps, "window=9,6")
    assert found.claim.startswith("Of 2 settings swept, window 6 is fastest: ")
    (found,) = said_of("gather-416", tmp_path / "safe", *sweeps, "window=5,6")
    assert "no clear winner" in found.claim
