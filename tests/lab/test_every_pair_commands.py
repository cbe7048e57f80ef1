"""All pairs by the commands: measured, told, compared, exported; and what is refused."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import NetsondeError

STUDY = """
name = "first"
seed = 1
[path]
kind = "lab"
[lab]
hosts = 3
rate = "100M"
[[measure]]
transports = ["tcp"]
test = "all-pairs"
sizes = "0,2000"
among = [2, 3]
count = 3
"""


def said(*words: str | Path) -> str:
    """What a command prints; it must end well."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None, (found.exception, found.output)
    return found.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str]:
    """A run and a copy of it, and what was said."""
    folder = tmp_path_factory.mktemp("runs")
    file = folder / "study.toml"
    file.write_text(STUDY)
    told = said("study", "run", file, "--out", folder)
    (first,) = folder.glob("*-first")
    return [first, shutil.copytree(first, folder / "second")], told


@pytest.mark.lab
def test_both_companies_and_their_ratio_are_told(runs: tuple[list[Path], str]) -> None:
    _, told = runs
    assert "TCP all pairs of hosts" in told
    for word in ("alone", "together", "ratio"):
        assert word in told
    assert max(map(len, told.splitlines())) <= 80 or "Report:" in told


@pytest.mark.lab
def test_the_page_has_size_hosts_and_maps(runs: tuple[list[Path], str]) -> None:
    (first, _), _ = runs
    said("report", first)
    text = (first / "report.html").read_text()
    for words in ("All pairs of hosts over message size", "All pairs over the number of hosts"):
        assert words in text
    assert "From whom to whom: TCP, 3 hosts, all at once, 2000" in text


@pytest.mark.lab
def test_two_runs_are_compared_from_whom_to_whom(
    runs: tuple[list[Path], str], tmp_path: Path
) -> None:
    (first, second), _ = runs
    told = said("compare", first, second, "--out", tmp_path, "--fail-on", "never")
    assert "All pairs, TCP: after over before" in told
    assert "3 hosts, all at once, 2000 bytes: no change" in told
    assert max(map(len, told.splitlines())) <= 80
    document = json.loads((tmp_path / "comparison.json").read_text())["all_pairs"]
    assert len(document) == 2 * 2 * 2
    assert all(found["ratio"] == 1 for found in document)
    assert {len(found["ratios"]) for found in document} == {2, 3}
    page = (tmp_path / "comparison.html").read_text()
    assert "Both over each other, as bubbles" in page


@pytest.mark.lab
def test_the_pivot_and_the_pairs_are_exported(runs: tuple[list[Path], str], tmp_path: Path) -> None:
    (first, _), _ = runs
    said("export", first, "--format", "pivot", "--out", tmp_path / "p.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert {(row["hosts"], row["company"]) for row in rows} == {
        (hosts, company) for hosts in ("2", "3") for company in ("isolated", "together")
    }
    assert rows[-1]["from"] == "grand total"
    pairs = list(csv.DictReader(io.StringIO(said("export", first, "--format", "pair-rows"))))
    assert len(pairs) == 2 * 2 * (4 + 9)
    assert {row["count"] for row in pairs} == {"3"}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("tcp", "n[1-4]", "all-pairs", "--among", "8"), "all pairs among 8 hosts are asked for"),
        (("tcp", "n1", "all-pairs"), "all pairs are of 2 to 64 hosts, and 1 are given"),
        (
            ("tcp", "n1", "latency", "--together"),
            "--together goes with all-pairs, not with latency",
        ),
        (("udp", "n[1-4]", "all-pairs", "--sizes", "65508"), "which takes 65507 bytes at most"),
        (
            ("tcp", "n[1-4]", "all-pairs", "--together", "--isolated"),
            "--isolated and --together do not go together",
        ),
        (("mpi", "latency", "--among", "2"), "--among 2 goes with all-pairs, not with latency"),
    ],
)
def test_what_cannot_be_had_is_refused(words: tuple[str, ...], why: str) -> None:
    found = CliRunner().invoke(app, list(words))
    assert isinstance(found.exception, NetsondeError), found.output
    assert why in str(found.exception)
