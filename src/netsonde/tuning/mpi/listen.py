"""A user's program, started once with netsonde's library, which writes what it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsonde.errors import HostError
from netsonde.launch.mpi_programs import (
    ProgramEnd,
    preload_for,
    program_path,
    run_program,
    why_untold,
)
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.called import VARIABLE, Called, read_called
from netsonde.tuning.mpi.called_plan import Plan
from netsonde.tuning.mpi.patterns import named_hosts
from netsonde.units import format_count, format_duration

FOLDER = "calls"


@dataclass(frozen=True)
class Program:
    """``words`` are the program and its arguments; it is ended after ``time_ns``."""

    words: tuple[str, ...]
    time_ns: int

    @property
    def name(self) -> str:
        return Path(self.words[0]).name


@dataclass(frozen=True)
class Listened:
    """What a program called, the ``plan`` that is made of it, and what is to be known of both."""

    program: Program
    called: Called
    plan: Plan
    notes: tuple[str, ...] = ()

    def as_made(self) -> dict[str, Any]:
        """For rules: for which program they are."""
        return {
            "program": list(self.program.words),
            "ranks": self.called.ranks,
            "share_of_its_collectives": round(self.plan.share(self.plan.costs), 4),
        }


def listen(
    job: Job,
    program: Program,
    ranks: int,
    ppn: int,
    directory: Path,
    say: Callable[[str], None],
) -> tuple[Called, tuple[str, ...]]:
    """Starts the program once; what it calls is written below ``directory``. With notes on what is
    missing. Raises UsageError where there is no such program, HostError where nothing of it was
    heard."""
    path = program_path(program.words[0])
    library = preload_for(job.mpi, path)
    folder = directory.absolute() / FOLDER
    folder.mkdir()
    say(f"what {program.name} calls, on {format_count(ranks, 'rank')}")
    variables = {"LD_PRELOAD": str(library), VARIABLE: str(folder)}
    command = [str(path), *program.words[1:]]
    with named_hosts(job.hosts) as hosts:
        end = run_program(
            job.mpi, hosts, ranks, ppn, job.within, command, variables, program.time_ns / 1e9
        )
    called = read_called(folder)
    if called.told == 0:
        raise HostError(why_untold(job.mpi, path, end))
    if not called.kinds and not called.beyond.calls:
        raise HostError(f"{program.name} calls no collective operation that can be heard")
    return called, tuple(_notes(program, called, ranks, end))


def _notes(program: Program, called: Called, ranks: int, end: ProgramEnd) -> Sequence[str]:
    found = []
    if end.was_ended:
        found.append(f"{program.name} was ended after {format_duration(program.time_ns)}")
    elif end.status:
        found.append(f"{program.name} ended with status {end.status}")
    if called.told < ranks:
        found.append(
            f"{called.told} of {format_count(ranks, 'rank')} wrote what they call; hosts have to "
            "share the folder of runs"
        )
    if called.finished < called.told:
        found.append(
            f"{called.told - called.finished} of {format_count(called.told, 'rank')} did not reach "
            "MPI_Finalize: their last calls may be missing"
        )
    return found
