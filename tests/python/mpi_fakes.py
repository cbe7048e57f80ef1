"""Programs that only say that they are an MPI's, for tests of finding and building."""

from __future__ import annotations

from pathlib import Path

SAYINGS = {
    "mpich": "HYDRA build details:\n    Version:           4.2.1\n",
    "openmpi": "mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n",
    "orte": "mpiexec.openmpi (OpenRTE) 4.1.4\n",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260101 (id: x)\n",
}


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def launcher(path: Path, saying: str) -> Path:
    # With the shell's own words only: a test may leave nothing on PATH.
    return program(path, f"echo '{SAYINGS.get(saying, saying)}'")


def wrapper(path: Path, flags: str = "-I/mpi/include -L/mpi/lib -lmpi") -> Path:
    return program(path, f"echo gcc -O1 {flags}")
