"""Where the workers' executables are on this machine."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

from netsonde.errors import HostError

DIRECTORY_VARIABLE = "NETSONDE_WORKERS"
USUAL_WORKER = "sonde-worker"
"""What tests are made with where the row of a transport names no other program."""


def find_worker(name: str) -> Path:
    """The executable of a worker (``sonde-worker``, ``sonde-mpi``).

    Looked for in the directory that NETSONDE_WORKERS names (and, where it is set, only there),
    then beside the running Python's scripts, then on PATH. Raises HostError where it is missing.
    """
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        path = Path(chosen, name)
        if _executable(path):
            return path.absolute()
        raise HostError(
            f"{DIRECTORY_VARIABLE} is {chosen}, but there is no executable {name} in it; "
            "build the workers there or unset it"
        )
    beside = Path(sysconfig.get_path("scripts"), name)
    if _executable(beside):
        return beside
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path).absolute()
    raise HostError(
        f"the executable {name} is neither in {beside.parent} nor on PATH; make it with "
        f"`make build` in a clone of netsonde, or install a wheel, or set {DIRECTORY_VARIABLE} to "
        "the directory that has it"
    )


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
