"""Comparisons of run directories: which figures are held side by side, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from compare_made import read_as, write_run
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.compare.gate import failing, junit_of
from netsonde.compare.text import comparison_lines, plan_lines
from netsonde.compare.verdicts import Question, compare, compare_directories
from netsonde.errors import UsageError, VerdictError

NOISE = [0.004, -0.006, 0.001, 0.009, -0.003, -0.011, 0.006, 0.0]


def launches(median_ns: float, order: int = 0) -> list[float]:
    """Eight launches within a percent or so of a value."""
    return [median_ns * (1.0 + NOISE[(i + order) % 8]) for i in range(8)]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """64 bytes get slower by 8 %, 1 KiB faster by 8 %, 4 KiB stay; 16 KiB are too noisy."""
    folder = tmp_path_factory.mktemp("sides")
    noisy = [50e3, 55e3, 47e3, 52e3, 58e3, 49e3, 53e3, 46e3]
    before = {64: launches(20e3), 1024: launches(30e3), 4096: launches(35e3), 16384: noisy}
    after = {
        64: launches(21.6e3, 3),
        1024: launches(27.6e3, 3),
        4096: launches(35e3, 3),
        16384: noisy[::-1],
    }
    return (
        write_run(folder / "before", before, seed=1),
        write_run(folder / "after", after, seed=2, kernel="6.2.0"),
    )


def test_each_figure_gets_its_verdict(sides: tuple[Path, Path]) -> None:
    comparison = compare_directories([sides[0]], [sides[1]], Question())
    found = {f.key.message_bytes: f for f in comparison.figures}
    verdicts = {size: figure.verdict for size, figure in found.items()}
    assert verdicts == {64: "worse", 1024: "better", 4096: "equal", 16384: "unknown"}
    assert found[64].ratio == pytest.approx(1.08, abs=0.005)
    assert found[64].low is not None
    assert 1.03 < found[64].low < 1.08 < (found[64].high or 0.0)
    assert found[64].beyond_margin
    assert not found[4096].beyond_margin
    assert len(found[64].before.launches) == 8
    assert found[16384].reason.startswith("neither a change nor equality")
    assert comparison.counts == {"worse": 1, "better": 1, "equal": 1, "unknown": 1}


def test_what_else_changed_is_listed(sides: tuple[Path, Path]) -> None:
    (kernel,) = compare_directories([sides[0]], [sides[1]], Question()).circumstances
    assert (kernel.name, kernel.before, kernel.after) == ("os.kernel", "6.1.0", "6.2.0")
    assert kernel.decisive


def test_paths_are_compared_link_by_link(tmp_path: Path) -> None:
    sides = []
    for name, delay_ns in (("a", 1000), ("b", 1030)):
        run = write_run(tmp_path / name, {64: launches(20e3)})
        manifest = json.loads((run / "manifest.json").read_text())
        links = [{"lower": h, "up": {"delay_ns": delay_ns}} for h in ("h1", "h2")]
        manifest["path"] |= {"topology": {"links": links}, "calibration": {"median_ns": delay_ns}}
        (run / "manifest.json").write_text(json.dumps(manifest))
        sides.append(run)
    (found,) = compare_directories(sides[:1], sides[1:], Question()).circumstances
    assert (found.name, found.before, found.after) == ("topology.links.up.delay_ns", "1000", "1030")


def test_more_throughput_is_better() -> None:
    old, new = (
        read_as(name, np.array([launches(value, order)]).T)
        for name, value, order in (("a", 100.0, 0), ("b", 120.0, 3))
    )
    turned = [replace(run, ways=dict.fromkeys(run.ways, "more")) for run in (old, new)]
    assert compare([old], [new]).figures[0].verdict == "worse"
    assert compare(turned[:1], turned[1:]).figures[0].verdict == "better"


def test_a_change_within_the_margin_is_equal_however_certain(sides: tuple[Path, Path]) -> None:
    found = compare_directories([sides[0]], [sides[1]], Question(margin=0.15)).figures
    assert [f.verdict for f in found[:3]] == ["equal"] * 3


def test_one_launch_a_side_decides_nothing(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / n, {64: [v]}) for n, v in (("a", 20e3), ("b", 40e3))]
    comparison = compare_directories(runs[:1], runs[1:], Question())
    (figure,) = comparison.figures
    assert figure.verdict == "unknown"
    assert figure.ratio == pytest.approx(2.0, rel=0.01)
    assert "how far another launch would differ is not known" in figure.reason
    assert "Each side has one launch" in comparison.notes[0]
    assert figure.before.launches[0].low is not None


def test_several_runs_of_one_launch_are_launches(tmp_path: Path) -> None:
    before = [write_run(tmp_path / f"a{i}", {64: [v]}) for i, v in enumerate(launches(20e3))]
    after = [write_run(tmp_path / f"b{i}", {64: [v]}) for i, v in enumerate(launches(22e3, 3))]
    comparison = compare_directories(before, after, Question())
    assert [f.verdict for f in comparison.figures] == ["worse"]
    assert len(comparison.before) == 8


def test_runs_that_differ_more_than_their_launches_are_said_so(tmp_path: Path) -> None:
    levels = (20e3, 24e3, 21e3, 27e3)
    before = [write_run(tmp_path / f"a{i}", {64: launches(v)}) for i, v in enumerate(levels)]
    after = [write_run(tmp_path / f"b{i}", {64: launches(v)}) for i, v in enumerate(levels[::-1])]
    comparison = compare_directories(before, after, Question())
    assert any("--unit run" in note for note in comparison.notes)
    by_run = compare_directories(before, after, Question(unit="run"))
    assert len(by_run.figures[0].before.launches) == 4
    assert not any("--unit run" in note for note in by_run.notes)


def test_launches_that_drift_are_said_so(tmp_path: Path) -> None:
    rising = [20e3 * (1.0 + 0.01 * i) for i in range(14)]
    before = write_run(tmp_path / "a", {64: rising})
    after = write_run(tmp_path / "b", {64: launches(22e3)})
    notes = compare_directories([before], [after], Question()).notes
    assert any("Launches before that follow each other are alike" in note for note in notes)
    assert not any("Launches after" in note for note in notes)


def test_changed_options_are_matched_and_named(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a", {64: launches(20e3)}, options={"no_delay": False})
    after = write_run(tmp_path / "b", {64: launches(20e3, 3)}, options={"no_delay": True})
    (figure,) = compare_directories([before], [after], Question()).figures
    assert figure.changed == ("no_delay: false -> true",)
    assert figure.verdict == "equal"


def test_what_only_one_side_has_is_named(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a", {64: launches(20e3), 128: launches(21e3)})
    after = write_run(tmp_path / "b", {64: launches(20e3), 256: launches(21e3)})
    comparison = compare_directories([before], [after], Question())
    assert len(comparison.figures) == 1
    assert (comparison.only_before, comparison.only_after) == (
        ("mpi latency 128",),
        ("mpi latency 256",),
    )


def test_few_launches_and_many_figures_cannot_prove_a_change(tmp_path: Path) -> None:
    sizes = [2**i for i in range(20)]
    before = write_run(tmp_path / "a", {s: launches(20e3)[:4] for s in sizes})
    after = write_run(tmp_path / "b", {s: launches(30e3)[:4] for s in sizes})
    comparison = compare_directories([before], [after], Question())
    assert {f.verdict for f in comparison.figures} == {"unknown"}
    assert comparison.least_launches == 6
    assert "4 launches a side cannot prove" in comparison.figures[0].reason


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", {64: launches(20e3)})
    other = write_run(tmp_path / "b", {128: launches(20e3)}, transport="tcp")
    with pytest.raises(UsageError, match="is given more than once"):
        compare_directories([run], [run], Question())
    with pytest.raises(UsageError, match="no figure of the same test"):
        compare_directories([run], [other], Question())
    with pytest.raises(UsageError, match="has no figure named nonsense_ns"):
        compare_directories([run], [other], Question(figures=("nonsense_ns",)))
    with pytest.raises(UsageError, match="no manifest"):
        compare_directories([run], [tmp_path], Question())


def test_zeros_are_compared_by_their_ranks() -> None:
    """A loss of nothing at all is equal to itself, and a loss after it is worse."""
    none, some = np.zeros((8, 1)), np.array([[0.1, 0.2, 0.1, 0.3, 0.2, 0.4, 0.1, 0.2]]).T
    assert compare([read_as("a", none)], [read_as("b", none)]).figures[0].verdict == "equal"
    worse = compare([read_as("a", none)], [read_as("b", some)]).figures[0]
    assert (worse.verdict, worse.ratio) == ("worse", None)


def test_the_table_fits_into_80_columns(sides: tuple[Path, Path]) -> None:
    comparison = compare_directories([sides[0]], [sides[1]], Question())
    long = replace(comparison.figures[0], label="x" * 90)
    lines = list(comparison_lines(replace(comparison, figures=(long, *comparison.figures))))
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []
    assert any(line.startswith("worse   mpi latency 64") for line in lines)
    assert "  os.kernel: 6.1.0 -> 6.2.0" in lines


def test_junit_has_a_case_for_each_figure(sides: tuple[Path, Path]) -> None:
    comparison = compare_directories([sides[0]], [sides[1]], Question())
    for fail_on, failures, skipped in (("worse", 1, 1), ("unknown", 2, 0), ("never", 0, 1)):
        suite = ElementTree.fromstring(junit_of(comparison, fail_on))[0]  # type: ignore[arg-type]
        assert suite.get("tests") == "4"
        assert (suite.get("failures"), suite.get("skipped")) == (str(failures), str(skipped))
        assert len(suite.findall("testcase/failure")) == failures
    names = [case.get("name") for case in suite.findall("testcase")]
    assert "mpi latency 64: round_trip_median_ns" in names
    odd = replace(comparison.figures[0], label="bell \a & <tag>")
    text = junit_of(replace(comparison, figures=(odd,)), "worse")
    assert "bell ? & <tag>" in str(ElementTree.fromstring(text)[0].find("testcase").get("name"))


def test_gates(sides: tuple[Path, Path]) -> None:
    comparison = compare_directories([sides[0]], [sides[1]], Question())
    assert len(failing(comparison, "worse")) == len(failing(comparison, "beyond")) == 1
    assert len(failing(comparison, "unknown")) == 2
    wide = compare_directories([sides[0]], [sides[1]], Question(margin=0.075))
    assert len(failing(wide, "worse")) == 1
    assert failing(wide, "beyond") == []


def test_the_command_says_it_all(sides: tuple[Path, Path], tmp_path: Path) -> None:
    runner, both = CliRunner(), [str(side) for side in sides]
    junit = tmp_path / "verdicts.xml"
    found = runner.invoke(
        app, ["compare", *both, "--json", "--junit", str(junit), "--out", str(tmp_path / "o")]
    )
    assert isinstance(found.exception, VerdictError)
    assert "mpi latency 64: round_trip_median_ns is worse (+8.0 %" in str(found.exception)
    assert ": 8.0 % more time, 7.4 % less rate" in str(found.exception)
    document = json.loads(found.stdout)
    assert document["counts"] == {"worse": 1, "better": 1, "equal": 1, "unknown": 1}
    assert json.loads((tmp_path / "o" / "comparison.json").read_text()) == document
    assert ElementTree.parse(junit).getroot().get("failures") == "1"
    assert runner.invoke(app, ["compare", *both, "--fail-on", "never"]).exit_code == 0
    several = ["compare", "--before", both[0], "--after", both[1], "--margin", "15%", "-q"]
    assert (runner.invoke(app, several).exit_code, runner.invoke(app, several).output) == (0, "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{0}"], "1 given as BEFORE and AFTER; expected two directories"),
        (["{0}", "{1}", "--margin", "three"], "margin 'three' is not a share"),
        (["{0}", "{1}", "--margin", "200%"], "margin 2 is no share between 0 and 1"),
        (["{0}", "{1}", "--shift", "3%"], "go with --plan"),
        (["--plan"], "--plan takes run directories"),
        (["{0}", "{1}", "--false-alarms", "0"], "false-alarms more than 0"),
    ],
)
def test_bad_usage(words: list[str], sentence: str, sides: tuple[Path, Path]) -> None:
    given = [word.format(*sides) for word in words]
    found = CliRunner().invoke(app, ["compare", *given])
    assert isinstance(found.exception, UsageError)
    assert sentence in str(found.exception)


def test_a_plan_from_runs(sides: tuple[Path, Path]) -> None:
    words = ["compare", "--plan", str(sides[0]), "--shift"]
    found = CliRunner().invoke(app, [*words, "10%", "--json"])
    assert found.exit_code == 0
    document = json.loads(found.stdout)
    by_label = {figure["label"]: figure for figure in document["figures"]}
    quiet, noisy = by_label["mpi latency 64"], by_label["mpi latency 16k"]
    assert quiet["seen"] == 8
    assert quiet["plan"]["launches"] < 8 < noisy["plan"]["launches"]
    text = CliRunner().invoke(app, [*words, "20%"])
    assert all(len(line) <= 80 for line in text.stdout.splitlines())
    assert "with 90 % power" in text.stdout
    turns = CliRunner().invoke(app, [*words, "20%", "--paired"])
    assert all(len(line) <= 80 for line in turns.stdout.splitlines())
    assert "in turns: before, after" in " ".join(turns.stdout.split())


def test_a_plan_of_one_launch_says_what_it_lacks(tmp_path: Path) -> None:
    from netsonde.compare.plan import plan_comparison

    plan = plan_comparison([write_run(tmp_path / "a", {64: [20e3]})], 0.03)
    assert plan.launches is None
    assert "3 launches tell the noise" in "\n".join(plan_lines(plan))
