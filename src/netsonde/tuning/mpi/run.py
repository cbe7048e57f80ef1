"""A tuning from beginning to end: asks the library, measures within a budget, writes rules, a
page and the library's own file into one directory."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_ways import library_ways
from netsonde.operations import operations
from netsonde.records.rundir import new_run_directory
from netsonde.schedules.algorithms import ALL, LIBRARY, LIBRARY_ALL, NATIVE, frames_of, named_ways
from netsonde.tuning.mpi.bench import Job, StudyBench
from netsonde.tuning.mpi.called_plan import Places, plan_of, widened
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.choose import rules_of
from netsonde.tuning.mpi.library_files import Written, write_for
from netsonde.tuning.mpi.listen import Listened, Program, listen
from netsonde.tuning.mpi.patterns import PatternJob, Seen, named_hosts, size_for, survey
from netsonde.tuning.mpi.rules import Rules
from netsonde.tuning.mpi.search import Found, Wanted, search
from netsonde.units import format_count

USUAL_OPERATIONS = ("alltoall", "allreduce", "bcast")
USUAL_SIZES = "64..256k"
USUAL_WAYS = f"{ALL},{LIBRARY_ALL}"
RULES_NAME = "rules.json"


@dataclass(frozen=True)
class Asked:
    """``sizes`` are bytes as ``netsonde mpi`` has them; ``ways`` as behind ``--algorithm``. Of a
    ``program`` operations and sizes are those that it calls."""

    job: Job
    operations: tuple[str, ...]
    sizes: tuple[int, ...]
    ranks: tuple[int, ...]
    ppn: tuple[int, ...]
    budget_ns: int
    least_gain: float
    ways: str = USUAL_WAYS
    seed: int | None = None
    program: Program | None = None


@dataclass(frozen=True)
class Tuned:
    """What was found, and where it was written. ``library_file`` is None where the library has none
    or no rule is for it; ``unsaid`` says why, in a sentence. ``seen`` has of an operation and a way
    of the library's what was seen of it before the search."""

    directory: Path
    title: str
    found: Found
    rules: Rules
    library_file: Path | None
    library_settings: tuple[tuple[str, str], ...]
    unsaid: str
    seen: Mapping[tuple[str, str], Seen]
    listened: Listened | None = None


def tune(asked: Asked, out: Path, command: Sequence[str], say: Callable[[str], None]) -> Tuned:
    """Raises UsageError for what cannot be asked for, HostError where nothing could be measured."""
    mpi = find_mpi(asked.job.mpi)
    directory, listened = None, None
    if asked.program is not None:
        directory, listened = heard(asked, asked.program, out, say)
        asked = replace(asked, operations=listened.plan.operations)
    ways = ways_of(asked)
    cells = cells_of(asked) if listened is None else tuple(listened.plan.costs)
    say("whether the library does by each of its ways what it is told")
    seen = seen_ways(asked, ways)
    refused = {at: s.why for at, s in seen.items() if s.why}
    ways = {o: [way for way in of_it if (o, way) not in refused] for o, of_it in ways.items()}
    seed = random.SystemRandom().randrange(2**40) if asked.seed is None else asked.seed
    directory = directory or new_run_directory(out, "tune-mpi")
    bench = StudyBench(asked.job, directory, seed, command, say)
    ranks = max(asked.ranks)
    link = bench.link(ranks, max(asked.ppn))
    costs = None if listened is None else listened.plan.costs
    wanted = Wanted(cells, ways, asked.budget_ns, asked.least_gain, seed, link, costs)
    found = search(bench, wanted, say)
    found.failures |= {
        (Cell(operation, ranks, max(asked.ppn), 0), way): why
        for (operation, way), why in refused.items()
    }
    if not found.times:
        raise HostError(next(iter(found.failures.values()), "nothing was measured"))
    winners = found.winners
    measured = list(found.leaders)
    won = rules_of(winners, measured, bool(asked.job.hosts))
    made = _made(asked, mpi.title, bench)
    if listened is not None:
        won = widened(won, measured, listened.plan.spans)
        made["for"] = listened.as_made()
        found.notes[:0] = listened.notes
    rules = Rules(won, made)
    rules.write(directory / RULES_NAME)
    written, path, unsaid = _library_file(asked, rules, directory)
    settings = written.settings_for(path) if written is not None and path is not None else ()
    return Tuned(
        directory, mpi.title, found, rules, path, settings, unsaid, seen, listened
    )  # fmt: skip


def heard(
    asked: Asked, program: Program, out: Path, say: Callable[[str], None]
) -> tuple[Path, Listened]:
    """What a program calls, in a new run directory, and what of it can be measured. Raises
    UsageError and HostError; then there is no directory."""
    directory = new_run_directory(out, "tune-mpi")
    try:
        return directory, _heard(asked, program, directory, say)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _heard(asked: Asked, program: Program, directory: Path, say: Callable[[str], None]) -> Listened:
    ranks, ppn = max(asked.ranks), max(asked.ppn)
    called, notes = listen(asked.job, program, ranks, ppn, directory, say)
    plan = plan_of(called, Places(asked.ranks, asked.ppn, bool(asked.job.hosts)))
    if not plan.costs:
        reasons = "; ".join(f"calls {reason}" for reason in plan.uncovered)
        raise HostError(f"{program.name} calls nothing that a rule could be made for: {reasons}")
    say(
        f"{program.name}: {format_count(len(plan.costs), 'cell')}, "
        f"{100 * plan.share(plan.costs):.0f} % of its time in collectives"
    )
    return Listened(program, called, plan, notes)


def ways_of(asked: Asked) -> dict[str, list[str]]:
    """Of each operation, native first. Raises UsageError and HostError."""
    listed = library_ways(asked.job.mpi)
    found = {}
    for name in asked.operations:
        operation = operations().get(name)
        if operation is None or not operation.is_collective_call:
            raise UsageError(f"{name[:40]!r} is no blocking collective, such as alltoall")
        text = asked.ways
        if not listed.get(name):  # then only ours and the library's choice
            text = ",".join(part for part in text.split(",") if not part.startswith(LIBRARY)) or ALL
        ways = named_ways(text, operation, listing=lambda o: listed.get(o.name, []))
        over_frames = [way for way in ways if frames_of(way, operation)]
        if over_frames:
            raise UsageError(
                f"{over_frames[0][:80]} goes over frames, and rules are for programs, whose "
                "messages are MPI's; `netsonde mpi --algorithm` measures it"
            )
        found[name] = list(dict.fromkeys(["native", *ways]))
    return found


def seen_ways(asked: Asked, ways: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], Seen]:
    """Of the library's ways, each done once with the most ranks. Raises UsageError, HostError."""
    found: dict[tuple[str, str], Seen] = {}
    named = {o: [w for w in of_it if w.startswith(LIBRARY)] for o, of_it in ways.items()}
    if not any(named.values()):
        return found
    with (
        named_hosts(asked.job.hosts) as hosts,
        PatternJob(asked.job.mpi, max(asked.ranks), hosts, max(asked.ppn)) as job,
    ):
        for name, of_library in named.items():
            operation = operations()[name]
            if operation.fixed_bytes is None and of_library:
                seen = survey(job, operation, size_for(operation), [NATIVE, *of_library])
                found |= {(name, one.way): one for one in seen if one.way != NATIVE}
    return found


def cells_of(asked: Asked) -> tuple[Cell, ...]:
    """Each operation at each size that it takes, ranks and ranks on a host."""
    found = set()
    for name in asked.operations:
        operation = operations()[name]
        sizes = asked.sizes if operation.fixed_bytes is None else (operation.fixed_bytes,)
        for size in sizes:
            whole = max(size // operation.multiple_bytes, 1) * operation.multiple_bytes
            size = whole if operation.fixed_bytes is None else size
            found |= {Cell(name, ranks, ppn, size) for ranks in asked.ranks for ppn in asked.ppn}
    return tuple(sorted(found))


def _made(asked: Asked, title: str, bench: StudyBench) -> dict[str, Any]:
    return {
        "by": "netsonde tune mpi",
        "at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "mpi": asked.job.mpi,
        "library": title,
        "hosts": list(asked.job.hosts),
        "within": asked.job.within,
        "runs": [str(path) for path in bench.runs],
    }


def _library_file(
    asked: Asked, rules: Rules, directory: Path
) -> tuple[Written | None, Path | None, str]:
    of_library = [rule for rule in rules.rules if rule.library_algorithm is not None]
    if not of_library:
        return None, None, ""
    mpi = find_mpi(asked.job.mpi)
    try:
        written = write_for(mpi, of_library, library_ways(asked.job.mpi))
    except (HostError, UsageError) as error:
        return None, None, str(error)
    path = directory.absolute() / f"{mpi.family}-rules{written.suffix}"
    written.write(path)
    return (
        written,
        path,
        "; ".join(dict.fromkeys((*written.unsaid.values(), *filter(None, [written.unproven])))),
    )
