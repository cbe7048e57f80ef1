"""The library that is loaded into an MPI program before MPI's own, and runs its collective
operations by rules: the installed one for programs with the MPI 5 standard ABI, else one that is
built on first use and kept. What it does is in engine/tuned."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path

from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import DIRECTORY_VARIABLE
from netsonde.launch.commands import answer_of
from netsonde.launch.engine_build import Recipe, built
from netsonde.launch.mpi_build import recipe_of
from netsonde.launch.mpi_found import Mpi
from netsonde.limits import limit_s

LIBRARY = "libsonde-tuned.so"
SOURCES = ("tuned/*.cpp", "schedule/*.cpp", "core/request.cpp", "core/json_object.cpp")
"""Below the engine's folder."""
EXPORTS = "tuned/exported.map"
STANDARD_ABI = "libmpi_abi.so"
"""How the name of a library with the MPI 5 standard ABI begins."""
ABI_WRAPPER = "mpicc_abi"
_MPI = "libmpi"
_BUILD_S = 40


def needs_standard_abi(program: Path) -> bool:
    """Whether a program was linked with the MPI 5 standard ABI, by the libraries it is loaded with.

    Raises UsageError for what is no program, or has no MPI that is a shared library.
    """
    if not program.is_file():
        raise UsageError(f"there is no program {program}")
    try:
        answer = answer_of(["ldd", str(program)], limit_s("mpi-compiler"))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"ldd does not say what {program} is loaded with: {error}") from error
    names = [line.split()[0] for line in answer.stdout.splitlines() if line.split()]
    found = [Path(name).name for name in names if Path(name).name.startswith(_MPI)]
    if not found:
        raise UsageError(
            f"{program} is not loaded with an MPI that is a shared library; name an MPI with "
            "--mpi instead, if the program loads one later"
        )
    return any(name.startswith(STANDARD_ABI) for name in found)


def tuned_library_for(mpi: Mpi, standard_abi: bool | None = None) -> Path:
    """The library for programs of an MPI. ``standard_abi``: whether they have the MPI 5 standard
    ABI, where the MPI offers both; None: as the MPI does.

    Raises HostError where it cannot be had.
    """
    wants_abi = mpi.abi_folder is not None if standard_abi is None else standard_abi
    if wants_abi:
        if mpi.abi_folder is None:
            raise HostError(
                f"{mpi.title} ({mpi.mpiexec}) has not the MPI 5 standard ABI that the program was "
                "linked with; name the MPI that starts it with --mpi"
            )
        return _installed() or built(_recipe(mpi, ABI_WRAPPER))
    return built(_recipe(mpi))


def _installed() -> Path | None:
    folders = [Path(sysconfig.get_path("data"), "lib", "netsonde")]
    if chosen := os.environ.get(DIRECTORY_VARIABLE):
        folders = [Path(chosen)]
    found = [folder / LIBRARY for folder in folders if (folder / LIBRARY).is_file()]
    return found[0].absolute() if found else None


def _recipe(mpi: Mpi, wrapper: str | None = None) -> Recipe:
    """By a wrapper beside the MPI's own one: that for its standard ABI has a name of its own."""
    own = mpi.wrapper
    if wrapper is not None and own is not None:
        own = own.with_name(wrapper) if own.with_name(wrapper).is_file() else None
    recipe = recipe_of(replace(mpi, wrapper=own))
    return replace(
        recipe,
        program=LIBRARY,
        name=f"tuned-{recipe.name}",
        sources=SOURCES,
        exports=EXPORTS,
        about_s=_BUILD_S,
    )
