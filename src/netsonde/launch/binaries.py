"""Where the workers' executables are on this machine."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.engine_build import built
from netsonde.launch.library import recipe_for

DIRECTORY_VARIABLE = "NETSONDE_WORKERS"
USUAL_WORKER = "sonde-worker"
"""What tests are made with where the row of a transport names no other program."""


def is_installed(name: str) -> bool:
    """Whether a worker is there without being built."""
    return _installed(name) is not None


def find_worker(name: str) -> Path:
    """The executable of a worker (``sonde-worker``, ``sonde-mpi``).

    Looked for in the directory that NETSONDE_WORKERS names (and, where it is set, only there),
    then beside the running Python's scripts, then on PATH; then it is built, where that can be
    done on the spot. Raises HostError where it cannot be had.
    """
    found = _installed(name)
    if found is not None:
        return found
    if chosen := os.environ.get(DIRECTORY_VARIABLE):
        raise HostError(
            f"{DIRECTORY_VARIABLE} is {chosen}, but there is no executable {name} in it; "
            "build the workers there or unset it"
        )
    if (recipe := recipe_for(name)) is not None:
        return built(recipe)
    raise HostError(
        f"the executable {name} is neither in {_beside(name).parent} nor on PATH; make it with "
        f"`make build` in a clone of netsonde, or install a wheel, or set {DIRECTORY_VARIABLE} to "
        "the directory that has it"
    )


def _beside(name: str) -> Path:
    return Path(sysconfig.get_path("scripts"), name)


def _installed(name: str) -> Path | None:
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        path = Path(chosen, name)
        return path.absolute() if _executable(path) else None
    beside = _beside(name)
    if _executable(beside):
        return beside
    on_path = shutil.which(name)
    return Path(on_path).absolute() if on_path else None


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
