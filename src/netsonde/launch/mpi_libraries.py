"""Where an MPI's own libraries lie."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from netsonde.launch.commands import answer_of
from netsonde.launch.mpi_found import Mpi
from netsonde.limits import limit_s

_NAMES = ("libmpi_abi.so*", "libmpi.so*", "libmpich.so*")


def libraries_of(mpi: Mpi) -> Iterator[Path]:
    """Files that ranks may load as the MPI library, each once: of its folder, and of those that its
    compiler wrapper names. That with the standard ABI, by which ranks run, comes first."""
    folders = [mpi.abi_folder, mpi.mpiexec.resolve().parent.parent / "lib"]
    if mpi.wrapper is not None:
        folders += _of_wrapper(mpi.wrapper)
    seen: set[Path] = set()
    for name in _NAMES:
        for folder in folders:
            for path in sorted(folder.glob(name)) if folder is not None else ():
                real = path.resolve()
                if real.is_file() and real not in seen:
                    seen.add(real)
                    yield real


def _of_wrapper(wrapper: Path) -> list[Path]:
    try:
        shown = answer_of([str(wrapper), "-show"], limit_s("mpi-version")).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [Path(word[2:]) for word in shown.split() if word.startswith("-L")]
