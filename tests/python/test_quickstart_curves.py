"""What a quickstart measures beside the usual: transports for which this machine has all."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_fakes import program

from netsonde.catalogue.transport import TRANSPORTS, in_quickstart
from netsonde.cli.quickstart import further_curves
from netsonde.launch import library
from netsonde.launch.library import has_library


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a daemon of PVM and a worker for it, both played."""
    (tmp_path / "lib").mkdir()
    program(tmp_path / "lib" / "pvmd", "exit 0")
    program(tmp_path / "sonde-pvm", "exit 0")
    monkeypatch.setenv("PVM_ROOT", str(tmp_path))
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
    monkeypatch.setattr(library, "TOP", tmp_path / "nothing")
    return tmp_path


def curves() -> set[str]:
    return {block["transports"] for block in further_curves()}


def test_what_is_there_is_measured(installed: Path) -> None:
    assert has_library(TRANSPORTS["pvm"])
    assert "pvm" in curves()
    (block,) = (block for block in further_curves() if block["transports"] == "pvm")
    assert block["sizes"] == next(row for row in in_quickstart() if row.name == "pvm").quick_sizes
    assert installed.exists()


@pytest.mark.parametrize("missing", ["lib/pvmd", "sonde-pvm"])
def test_without_a_part_of_it_nothing_is_built_and_nothing_said(
    installed: Path, missing: str
) -> None:
    (installed / missing).unlink()
    assert "pvm" not in curves()


def test_libfabric_is_measured_where_its_worker_and_a_library_are(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = installed / "libfabric.so"
    library.touch()
    monkeypatch.setenv("NETSONDE_LIBFABRIC", str(library))
    assert "fabric" not in curves()
    program(installed / "sonde-fabric", "exit 0")
    (block,) = (block for block in further_curves() if block["transports"] == "fabric")
    assert block["options"] == {"placement": "apart"}  # as of TCP, beside which it stands
    library.unlink()
    assert "fabric" not in curves()
