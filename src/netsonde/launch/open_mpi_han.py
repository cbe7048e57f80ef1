"""Open MPI's component HAN, which on communicators of several hosts stands before the component
``tuned``: whether it does in an Open MPI, and for which operations, as its ompi_info says."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netsonde.launch.commands import answer_of
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_launchers import environment_of
from netsonde.limits import limit_s

_PRIORITY = re.compile(r":coll_(han|tuned)_priority:value:(\d{1,6})$", re.MULTILINE)
_MODULE = re.compile(r":coll_han_(\w{1,40})_dynamic_global_communicator_module:value:")


@dataclass(frozen=True)
class Han:
    """``operations`` are those that it does on a whole communicator."""

    operations: frozenset[str]


def han_before_tuned(mpi: Mpi) -> Han | None:
    """None where it is not there, stands behind ``tuned``, or nobody can say."""
    return _asked(mpi) if mpi.family == "openmpi" else None


@cache
def _asked(mpi: Mpi) -> Han | None:
    asked = _ompi_info(mpi.mpiexec)
    if asked is None:
        return None
    command = [str(asked), "--parsable", "--param", "coll", "all", "--level", "9"]
    try:
        answer = answer_of(
            command, limit_s("mpi-settings"), env={**os.environ, **environment_of(mpi)}
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return read_han(answer.stdout)


def read_han(text: str) -> Han | None:
    """From what ompi_info says of all components for collective operations."""
    priorities = {name: int(value) for name, value in _PRIORITY.findall(text)}
    if priorities.get("han", 0) <= priorities.get("tuned", 0):
        return None
    return Han(frozenset(_MODULE.findall(text)))


def _ompi_info(mpiexec: Path) -> Path | None:
    """Beside the mpiexec, with its ending or without."""
    ending = mpiexec.name.partition(".")[2]
    names = [f"ompi_info.{ending}", "ompi_info"] if ending else ["ompi_info"]
    found = [mpiexec.with_name(name) for name in names]
    return next((path for path in found if os.access(path, os.X_OK)), None)
