"""sonde-mpi for an MPI: the installed one for those with the MPI 5 standard ABI, else one that is
built on first use and kept. A wheel has none that is installed, so that there all are built.

The build needs the MPI's own wrapper beside what every program of the engine needs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from functools import cache
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.binaries import DIRECTORY_VARIABLE, find_worker
from netsonde.launch.commands import answer_of
from netsonde.launch.engine_build import Build, Recipe, built, plan
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_launchers import environment_of
from netsonde.limits import limit_s

PROGRAM = "sonde-mpi"
MPI_SOURCES = (
    *("collective/*.cpp", "schedule/*.cpp", "protocol/*.cpp", "transport/mpi/*.cpp"),
    "transport/link/[!m]*.cpp",  # all but how two ends meet without MPI
    *("worker/sonde_mpi.cpp", "worker/mpi_*.cpp", "worker/collective_summary.cpp"),
)
# The C++ bindings that old MPIs still bring are not wanted.
MPI_FLAGS = ("-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX")
ASK_TIMEOUT_S = limit_s("mpi-compiler")
_KEPT_FLAGS = ("-D", "-I", "-L", "-l", "-Wl,")


def sonde_mpi_for(mpi: Mpi) -> Path:
    """The sonde-mpi that runs with an MPI, which is built where there is none yet.

    Raises HostError where none can be had.
    """
    # A launcher alone, without a compiler beside it, is taken to start what is installed.
    if mpi.abi_folder is not None or (mpi.wrapper is None and mpi.family != "openmpi"):
        installed = _installed(mpi)
        if installed is not None:
            return installed
    return built(recipe_of(mpi))


@cache
def lacking_operations(mpi: Mpi) -> frozenset[str]:
    """The operations that sonde-mpi knows and the library of this MPI has not. Builds sonde-mpi
    where that is needed. Raises HostError."""
    program = sonde_mpi_for(mpi)
    try:
        env = {**os.environ, **environment_of(mpi)}
        answer = answer_of([str(program), "--operations"], ASK_TIMEOUT_S, env=env)
        told = [json.loads(line) for line in answer.stdout.splitlines()]
        return frozenset(str(entry["name"]) for entry in told if not entry["there"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        raise HostError(f"{program} does not tell its operations: {error}") from error


def is_built_on_first_use(mpi: Mpi) -> bool:
    if mpi.wrapper is None:
        return False
    return mpi.abi_folder is None or _installed(mpi) is None


def plan_build(mpi: Mpi) -> Build:
    """Raises HostError for an MPI without a wrapper, and where there is no compiler."""
    return plan(recipe_of(mpi))


def recipe_of(mpi: Mpi) -> Recipe:
    """Raises HostError for an MPI without a wrapper."""
    if mpi.wrapper is None:
        raise HostError(
            f"{mpi.title} ({mpi.mpiexec}) has neither the MPI 5 standard ABI nor a compiler "
            "wrapper beside its mpiexec, so sonde-mpi cannot be built for it; install its "
            "development package (Debian: libopenmpi-dev, libmpich-dev), or give the path to its "
            "mpicc"
        )
    flags = tuple(_wrapper_flags(mpi.wrapper))
    return Recipe(
        program=PROGRAM,
        title=mpi.title,
        by=str(mpi.wrapper),
        name=f"{mpi.family}-{mpi.version}",
        sources=MPI_SOURCES,
        compile_flags=(*MPI_FLAGS, *flags),
        link_flags=flags,
        key=(str(mpi.wrapper), mpi.title),
    )


def _installed(mpi: Mpi) -> Path | None:
    """The installed sonde-mpi; None where there is none, as behind a wheel, and one can be built.

    Raises HostError where none can, and where NETSONDE_WORKERS names a folder without it.
    """
    try:
        return find_worker(PROGRAM)
    except HostError as error:
        if mpi.wrapper is not None and not os.environ.get(DIRECTORY_VARIABLE):
            return None
        raise HostError(
            f"{error} (sonde-mpi is installed where the Python package mpich was there when "
            f"netsonde was compiled, never from a wheel; beside the mpiexec of {mpi.title} is "
            "no compiler wrapper to build it with)"
            if mpi.wrapper is None
            else str(error)
        ) from error


def _wrapper_flags(wrapper: Path) -> list[str]:
    """What the wrapper would give to the compiler and the linker, with the folders of its libraries
    for the time of running, too."""
    for question in ("-show", "--showme"):  # MPICH and its relatives, Open MPI
        try:
            answer = answer_of([str(wrapper), question], ASK_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HostError(f"the compiler wrapper {wrapper} cannot be asked: {error}") from error
        words = answer.stdout.split("\n", 1)[0]
        if answer.returncode == 0 and words:
            # The compiler itself, and what it was told for C, are ours to choose.
            kept = [w for w in shlex.split(words)[1:] if w.startswith(_KEPT_FLAGS)]
            return kept + [f"-Wl,-rpath,{w[2:]}" for w in kept if w.startswith("-L")]
    raise HostError(f"{wrapper} does not say its flags with -show; it is no MPI compiler wrapper")
