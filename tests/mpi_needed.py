"""What tests of MPI need, or are skipped for the lack of."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi_found import find_mpi


def require_mpi(name: str = "mpich") -> tuple[Path, Path]:
    """Its mpiexec, and sonde-mpi. Skips the test where either is missing."""
    try:
        return find_mpi(name).mpiexec, find_worker("sonde-mpi")
    except HostError as error:
        pytest.skip(str(error))


def mpi_here(name: str) -> str:
    """The name. Skips the test where there is no such MPI."""
    try:
        find_mpi(name)
    except HostError as error:
        pytest.skip(str(error))
    return name
