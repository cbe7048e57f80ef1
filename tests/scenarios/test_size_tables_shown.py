"""Tables by size of short real runs, as commands print them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mpi_needed import require_mpi
from netsonde.cli.main import app
from netsonde.lab import permission_problem

NUMBER = r"\d[\d.\u202f]*"
ROW = rf"{NUMBER} +({NUMBER} +– +{NUMBER}|–)"


def said(tmp_path: Path, *words: str) -> list[str]:
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return [line.rstrip() for line in result.output.splitlines()]


def rows(lines: list[str], title: str) -> list[str]:
    """Those beneath a title and its two lines of headings."""
    begin = lines.index(title) + 3
    return lines[begin : lines.index("", begin)]


@pytest.mark.worker
def test_a_sweep_of_sizes_on_loopback(tmp_path: Path) -> None:
    words = ("tcp", "local", "latency", "--time", "100ms", "--sizes", "64,1k,32k")
    found = rows(said(tmp_path, *words), "TCP latency")
    assert [row.split()[0] for row in found] == ["64", "1k", "32k"]
    assert all(re.match(rf" *\S+ +{ROW}", row) for row in found)


@pytest.mark.worker
def test_one_size_has_its_figures_one_by_one(tmp_path: Path) -> None:
    lines = said(tmp_path, "udp", "local", "latency", "--time", "50ms", "--sizes", "200")
    assert "UDP latency 200 B" in lines
    assert "UDP latency" not in lines


@pytest.mark.worker
def test_two_options_times_sizes(tmp_path: Path) -> None:
    words = ("tcp", "local", "stream", "--time", "300ms", "--sizes", "4k,64k")
    found = rows(said(tmp_path, *words, "--buffer", "64k,1M"), "TCP stream")
    assert [row.split()[:2] for row in found] == [
        [buffer, size] for buffer in ("64k", "1M") for size in ("4k", "64k")
    ]
    assert all(re.match(rf"\S+ +\S+ +{ROW} +\d+$", row) for row in found)


@pytest.mark.worker
def test_three_operations_of_mpi(tmp_path: Path) -> None:
    require_mpi()
    words = ("mpi", "barrier", "bcast", "allreduce", "-n", "2", "--time", "50ms")
    found = rows(said(tmp_path, *words, "--sizes", "64,4k"), "MPI operations")
    assert [row.split()[:2] for row in found] == [
        ["barrier", "0"],
        *(["bcast", size] for size in ("64", "4k")),
        *(["allreduce", size] for size in ("64", "4k")),
    ]
    assert all(re.search(r" [01]$", row) for row in found)


@pytest.mark.worker
def test_a_point_that_failed_has_its_reason_in_its_row(tmp_path: Path) -> None:
    words = ("tcp", "local", "latency", "--time", "50ms", "--sizes", "64,1k")
    options = ("--congestion", "cubic,nosuch", "--out", str(tmp_path / "runs"))
    result = CliRunner().invoke(app, [*words, *options])
    assert result.exit_code != 0
    found = rows([line.rstrip() for line in result.output.splitlines()], "TCP latency")
    assert re.match(rf"cubic +64 +{ROW}", found[0])
    failed = [row for row in found if "failed" in row]
    assert [row.split()[:2] for row in failed] == [["nosuch", "64"], ["nosuch", "1k"]]
    assert all("failed: local: cannot use congestion control nosuch" in row for row in failed)


@pytest.mark.skipif(permission_problem() is not None, reason="no lab here")
def test_a_lab_whose_rate_is_known(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "sizes"\ncap = "300ms"\n[path]\nkind = "lab"\n[lab]\nhosts = 2\nrate = "20M"\n'
        '[[measure]]\ntransports = ["tcp"]\ntest = "stream"\nsizes = "8k,64k,256k"\n'
        '[[measure]]\ntransports = ["udp"]\ntest = "latency"\nsizes = "100"\n'
    )
    lines = said(tmp_path, "study", "run", str(study))
    found = rows(lines, "TCP stream")
    assert [row.split()[0] for row in found] == ["8k", "64k", "256k"]
    assert lines[lines.index("TCP stream") + 2].split()[:2] == ["B", "Mbit/s"]
    assert all(0 < float(row.split()[1]) < 25 for row in found)
    assert "UDP latency 100 B" in lines
