"""What killed launchers left, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from netsonde.launch.mpi_leftovers import remove_in

HOST = os.uname().nodename.partition(".")[0]
GONE = 4_194_304  # no process has the largest number and one


def make(path: Path, age_s: float, *, folder: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if folder:
        path.mkdir()
        (path / "segment").write_text("x")
    else:
        path.write_text("x")
    when = time.time() - age_s
    os.utime(path, (when, when))
    return path


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("hydra_hwloc_xmlfile_a1B2c3", False),
        (f"ompi.{HOST}.0/pid.{GONE}", True),
        (f"prte.{HOST}.{GONE}.0", True),
    ],
)
def test_what_is_old_goes(tmp_path: Path, name: str, folder: bool) -> None:
    old, young = make(tmp_path / name, 120, folder=folder), tmp_path / "young" / name
    make(young, 10, folder=folder)
    remove_in(tmp_path)
    remove_in(tmp_path / "young")
    assert not old.exists()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "young"]
    assert young.exists()


def test_what_is_in_use_or_somebody_elses_stays(tmp_path: Path) -> None:
    kept = [
        make(tmp_path / f"ompi.{HOST}.0/pid.{os.getpid()}", 120, folder=True),
        make(tmp_path / f"prte.{HOST}.{os.getpid()}.0", 120, folder=True),
        make(tmp_path / f"ompi.elsewhere.0/pid.{GONE}", 120, folder=True),
        make(tmp_path / "hydra_notes", 120),
    ]
    target = make(tmp_path / "kept", 120)
    (tmp_path / "hydra_hwloc_xmlfile_link").symlink_to(target)
    remove_in(tmp_path)
    assert all(path.exists() for path in [*kept, target])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    remove_in(tmp_path / "nothing")
