"""``netsonde study judge``, and the exit code of a study with requirements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compare_made import write_run
from typer.testing import CliRunner, Result

import netsonde
from netsonde.cli.main import app
from netsonde.cli.show import require_what_was_required
from netsonde.errors import UsageError, VerdictError
from netsonde.explain.table import explain
from netsonde.export import export_run
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run, read_manifest, write_manifest
from netsonde.report.page import page

LIMITS = """
[[require]]
figure = "round_trip_median_ns"
at_most = "25us"
"""
REQUIRED = {"figure": "round_trip_median_ns", "at_most": 25e3}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """64 bytes at 20 us, 4 KiB at 30 us; nothing is required of them."""
    made: Path = write_run(tmp_path / "run", {64: [20e3, 21e3], 4096: [30e3, 31e3]})
    return made


def require(directory: Path, *requirements: dict[str, object]) -> None:
    manifest = read_manifest(directory)
    write_manifest(directory, {**manifest, "requirements": list(requirements)})


def invoke(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["study", "judge", *map(str, words)])


def test_what_is_missed_ends_with_1(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(LIMITS)
    done = invoke(directory, tmp_path / "limits.toml")
    assert done.exit_code == 1, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "round_trip_median_ns at most 25.00 µs"
    assert lines[1].split()[:4] == ["missed", "mpi", "latency", "4k,"]
    assert lines[-1] == "1 missed, 1 met"
    assert all(len(line) <= 80 for line in lines)
    assert isinstance(done.exception, VerdictError)


def test_fail_on(directory: Path, tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS.replace("25us", "20500ns") + "sizes = 64\n")
    assert invoke(directory, limits).exit_code == 0  # 20 and 21 us: undecided
    assert invoke(directory, limits, "--fail-on", "undecided").exit_code == 1
    limits.write_text(LIMITS)
    assert invoke(directory, limits, "--fail-on", "never").exit_code == 0


def test_json(directory: Path) -> None:
    require(directory, REQUIRED)
    done = invoke(directory, "--json")
    document = json.loads(done.stdout)
    assert document["counts"] == {"missed": 1, "unmeasured": 0, "undecided": 0, "met": 1}
    first = document["judgements"][0]
    assert first["requirement"] == REQUIRED
    assert (first["verdict"], first["launches"]) == ("missed", 2)


def test_a_run_without_requirements_needs_a_file(directory: Path) -> None:
    done = invoke(directory)
    assert isinstance(done.exception, UsageError)
    assert "required nothing; give a file" in str(done.exception)


def test_findings_say_it_and_a_study_ends_with_it(directory: Path) -> None:
    require(directory, REQUIRED, {"figure": "round_trip_p98_ns", "at_most": 1.0})
    run = open_run(directory)
    findings = explain(run, figures_of(run))
    by_kind = {f.kind: f for f in findings if f.kind.startswith("requirement-")}
    assert list(by_kind) == [
        "requirement-missed",
        "requirement-unmeasured",
        "requirement-met",
    ]
    missed, unmeasured, met = by_kind.values()
    assert missed.claim == "Requirement missed: round_trip_median_ns at most 25.00 µs."
    assert missed.evidence.startswith("1 of 2: mpi latency 4k: 30.50 µs (")
    assert "round_trip_p99_ns" in unmeasured.evidence
    assert "limits.toml" not in unmeasured.advice
    assert (missed.level, unmeasured.level, met.level) == ("bad", "bad", "good")
    with pytest.raises(VerdictError, match="Requirement missed: "):
        require_what_was_required(findings)


def test_nothing_is_said_where_nothing_was_required(directory: Path) -> None:
    run = open_run(directory)
    findings = explain(run, figures_of(run))
    assert not any(f.kind.startswith("requirement-") for f in findings)
    require_what_was_required(findings)
    assert 'id="required"' not in page(run, figures_of(run), findings)
    assert netsonde.open(directory).requirements().is_empty()


def test_the_report_and_the_exports_have_them(directory: Path, tmp_path: Path) -> None:
    require(directory, REQUIRED)
    run = open_run(directory)
    figures = figures_of(run)
    text = page(run, figures, explain(run, figures))
    assert "1 missed, 1 met." in text
    assert text.index('id="verdicts"') < text.index('id="required"') < text.index('id="points"')
    table = netsonde.open(directory).requirements()
    assert table["verdict"].to_list() == ["missed", "met"]
    assert table["points"].to_list()[0] == ["p003", "p004"]
    (path,) = export_run(directory, "junit", tmp_path / "x.xml", False)
    xml = path.read_text()
    assert xml.count('classname="requirements"') == 2
    assert "requirement-missed" not in xml  # once is enough
    document = json.loads(export_run(directory, "json", tmp_path / "x.json", False)[0].read_text())
    assert [row[-1] for row in document["tables"]["requirements"]["rows"]] == ["missed", "met"]
