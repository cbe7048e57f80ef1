"""Runs that an earlier version measured open, say the same as then, compare and go on.

`stored_runs` holds a run of each family of tests as that version left it: an archive (tar, xz) as
text, with what it said of the run in `expected.json`.
"""

import base64
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from described_run import described
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.records.rundir import finished_points, read_manifest
from netsonde.study.plan import plan_points
from netsonde.study.spec import read_study

STORED = Path(__file__).parent / "stored_runs"
EVERY = sorted(path.name.split(".")[0] for path in STORED.iterdir())
PLANNED = ("all_pairs", "interrupted", "mpi_job", "mpi_ranks", "patterns", "sockets")
"""Those whose points are all known before anything is measured."""
SINCE_THEN = {
    "time-out": "timeout",
    "depth#": "kernel-trace#",
    "processors of": "CPUs of",
    ", processor ": ", CPU ",
    '"processor ': '"CPU ',
}
"""Words of then, and those of today."""

MOVED = {"faster-than-the-link"}
"""Findings that are of another level since then, and so stand at another place."""
ADDED = {"slowest_rank_median_ns"}
"""Figures that no version of then had."""
FOUND_SINCE = {"best-of-swept"}
"""Findings that no version of then had."""


def unpacked(name: str, into: Path) -> Path:
    directory = into / name
    directory.mkdir()
    text = (STORED / f"{name}.tar.xz.b85").read_text()
    content = io.BytesIO(base64.b85decode(text.replace("\n", "")))
    with tarfile.open(fileobj=content, mode="r:xz") as archive:
        archive.extractall(directory, filter="data")
    return directory


def said_before(directory: Path) -> Any:
    """What the earlier version said of a run, in the words of this one."""
    text = (directory / "expected.json").read_text()
    for former, today in SINCE_THEN.items():
        text = text.replace(former, today)
    return json.loads(text)


def assert_alike(found: Any, stored: Any, where: str) -> None:
    """Value by value; numbers of another machine's arithmetic may differ in their last digits."""
    if isinstance(stored, dict) and isinstance(found, dict):
        assert sorted(found) == sorted(stored), where
        for key, value in stored.items():
            assert_alike(found[key], value, f"{where}.{key}")
    elif isinstance(stored, list) and isinstance(found, list):
        assert len(found) == len(stored), where
        for index, (one, other) in enumerate(zip(found, stored, strict=True)):
            assert_alike(one, other, f"{where}[{index}]")
    elif isinstance(stored, float):
        assert found == pytest.approx(stored, rel=1e-9, nan_ok=True), where
    else:
        assert (found, type(found)) == (stored, type(stored)), where


@pytest.mark.parametrize("name", EVERY)
def test_a_stored_run_says_what_it_said(name: str, tmp_path: Path) -> None:
    directory = unpacked(name, tmp_path)
    expected = said_before(directory)
    found = described(directory)
    found["figures"] = [figure for figure in found["figures"] if figure["name"] not in ADDED]
    for said in (found, expected):
        kept = (f for f in said["findings"] if f["kind"] not in MOVED | FOUND_SINCE)
        said["findings"] = list(kept)
    assert_alike(found, expected, name)
    parameters = [point["parameters"] for point in read_manifest(directory)["points"]]
    assert [point[-1] for point in expected["points"]] == parameters


@pytest.mark.parametrize("name", PLANNED)
def test_a_stored_study_is_planned_as_it_was(name: str, tmp_path: Path) -> None:
    directory = unpacked(name, tmp_path)
    planned = [point.as_json() for point in plan_points(read_study(directory / "study.toml"))]
    assert planned == read_manifest(directory)["points"][: len(planned)]


def test_an_interrupted_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    directory = unpacked("interrupted", tmp_path)
    before = finished_points(directory)
    assert len(before) == 4
    found = CliRunner().invoke(app, ["study", "resume", str(directory), "--quiet"])
    assert found.exit_code == 0, found.output
    assert finished_points(directory) == {
        point["id"] for point in read_manifest(directory)["points"]
    }
    again, stored = described(directory), said_before(directory)
    assert [p for p in again["points"] if p[0] in before] == [
        p for p in stored["points"] if p[0] in before
    ]
    figures = [f for f in stored["figures"] if f["point"] in before]
    assert [f for f in again["figures"] if f["point"] in before] == figures
