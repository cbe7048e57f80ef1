"""A user's own MPI program, started once by an MPI's mpiexec, on hosts or on this machine."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from netsonde.catalogue.within import WITHINS
from netsonde.errors import UsageError
from netsonde.launch.host import ChildProcess, Host
from netsonde.launch.mpi import hosts_of_ranks, start_ranks
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_launchers import default_environment, environment_of
from netsonde.launch.tuned_library import needs_standard_abi, tuned_library_for
from netsonde.limits import limit_s

SAID_BYTES = 2048
GRACE_S = limit_s("called-end")


@dataclass(frozen=True)
class ProgramEnd:
    """``status`` of mpiexec; minus a signal's number where one ended it. ``said``: the last words
    to its standard error. ``was_ended``: it took longer than it may."""

    status: int
    said: str
    was_ended: bool


def program_path(word: str) -> Path:
    """Of a program by its path, or by a name on PATH. Raises UsageError."""
    found = shutil.which(word)
    if found is None:
        raise UsageError(f"there is no program {word[:100]!r}, or it may not be executed")
    return Path(found).absolute()


def preload_for(mpi_name: str, program: Path) -> Path:
    """The library to be loaded into a program before the MPI of that name. Raises HostError."""
    mpi = find_mpi(mpi_name)
    standard_abi = None  # where the program loads its MPI later, as an interpreter does
    with contextlib.suppress(UsageError):
        standard_abi = needs_standard_abi(program)
    return tuned_library_for(mpi, standard_abi)


def run_program(
    mpi_name: str,
    hosts: Sequence[Host] | None,
    ranks: int,
    ppn: int,
    within: str,
    command: Sequence[str],
    variables: Mapping[str, str],
    timeout_s: float,
) -> ProgramEnd:
    """Starts ``command`` with ``ranks`` ranks, which get ``variables``, and waits for its end;
    after ``timeout_s`` it is ended. What it prints is not shown. Raises UsageError, HostError."""
    mpi = find_mpi(mpi_name)
    chosen = hosts_of_ranks(hosts, ranks, ppn)
    env = {**default_environment(mpi, chosen, ranks, WITHINS[within]), **environment_of(mpi)}
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
    process = start_ranks(chosen, ranks, ppn, mpi, words, env)
    reader = Thread(target=_drain, args=(process,), daemon=True)
    try:
        process.finish()
        reader.start()
        status = process.wait(timeout_s)
        if was_ended := status is None:
            process.terminate()
    finally:
        process.stop(GRACE_S)
        if reader.ident is not None:
            reader.join()
        said = process.stderr_text()[-SAID_BYTES:]
        process.release()
    return ProgramEnd(-1 if status is None else status, said, was_ended)


def _drain(process: ChildProcess) -> None:
    while process.read():
        pass


def why_untold(mpi_name: str, program: Path, end: ProgramEnd) -> str:
    """A sentence for a program of which nothing was heard, with the cause as far as it is known."""
    words = " ".join(end.said.split())[-400:]
    how = "was ended after its time" if end.was_ended else f"ended with status {end.status}"
    return (
        f"{program.name} told nothing of what it calls: started by {find_mpi(mpi_name).mpiexec} it "
        f"{how}; " + (f"it said: {words}" if words else "is it a program of that MPI?")
    )
