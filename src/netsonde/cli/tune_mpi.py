"""``netsonde tune mpi``, ``prove``, ``apply``, ``undo`` and ``algorithms``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.within import MEMORY
from netsonde.cli.help_pages import CommandInGroups
from netsonde.cli.mpi_choices import parse_ppn
from netsonde.cli.mpi_many import numbers_of_ranks, usual_ranks
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption, answer, warn
from netsonde.cli.row_options import given_of, with_rows
from netsonde.errors import UsageError, VerdictError
from netsonde.hosts import split_hosts
from netsonde.operations import nearest, operations
from netsonde.units import format_count, parse_duration_ns, parse_share, parse_size_bytes

if TYPE_CHECKING:
    from netsonde.tuning.mpi.bench import Job
    from netsonde.tuning.mpi.listen import Program

CARRIER = "mpi"
JOB = tuple(MPI[key] for key in ("ranks", "hosts", "ppn", "within", "mpi"))
PLACE = tuple(MPI[key] for key in ("hosts", "within", "mpi"))
USUAL = "alltoall,allreduce,bcast"
USUAL_SIZES = "64..256k"
RulesArgument = Annotated[
    Path, typer.Argument(metavar="RULES", help="A file of rules, as `tune mpi` writes it.")
]


@with_rows(CARRIER, JOB)
def mpi(
    *,
    for_operations: Annotated[
        str | None,
        typer.Option(
            "--operations", metavar="A,B", help="Collectives to be tuned.", show_default=USUAL
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES", help="Sizes, as `netsonde mpi` has them.", show_default=USUAL_SIZES
        ),
    ] = None,
    for_program: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="'PROGRAM ARG...'",
            help="Operations and sizes that this program calls, which is started once.",
        ),
    ] = None,
    for_time: Annotated[
        str, typer.Option("--for-time", metavar="DURATION", help="That program ends by then.")
    ] = "10min",
    budget: Annotated[
        str, typer.Option(metavar="DURATION", help="All is measured within about so long.")
    ] = "10min",
    ways: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME,...",
            help="Ways to be tried, as behind `netsonde mpi --algorithm`.",
        ),
    ] = "all,library:all",
    least_gain: Annotated[
        str, typer.Option(metavar="SHARE", help="A way must seem faster by that to be confirmed.")
    ] = "3%",
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Of the order and of the sample.")
    ] = None,
    html: Annotated[
        bool, typer.Option("--html/--no-html", help="Write a page with who wins where.")
    ] = True,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **given: Any,
) -> None:
    """Find the fastest algorithm of each operation, size and number of ranks, as rules.

    The library's own choice, each algorithm that the library can be told to take, and netsonde's
    schedules are measured in launches within a budget of time. A rule is written only where fresh
    launches prove a gain; everywhere else the library chooses as before.

    Examples: `netsonde tune mpi -n 8 --operations alltoall --sizes 64..64k --budget 5min`,
    `netsonde tune mpi -n 16 --hosts 'node[01-08]' --ppn 2 --mpi openmpi`,
    `netsonde tune mpi -n 16 --hosts 'node[01-08]' --ppn 2 --for './program input.txt'`
    """
    from netsonde.tuning.mpi.page import write_page  # late, with the libraries of statistics
    from netsonde.tuning.mpi.run import Asked, tune
    from netsonde.tuning.mpi.text import tuned_document, tuned_lines

    keys = given_of(JOB, CARRIER, given)
    job = _job(keys)
    each = parse_ppn(keys.get("ppn")) or [1]
    if "ppn" in keys and not job.hosts:
        raise UsageError("--ppn places ranks on hosts: it goes with --hosts only")
    ranks = keys.get("ranks")
    numbers = [usual_ranks(job.hosts, each)] if ranks is None else numbers_of_ranks(ranks)
    asked = Asked(
        job,
        tuple(_operations(for_operations or USUAL)),
        tuple(_sizes(sizes or USUAL_SIZES)),
        tuple(numbers),
        tuple(each),
        parse_duration_ns(budget),
        parse_share(least_gain, "least-gain"),
        ways,
        seed,
        _program(for_program, for_time, has_others=bool(for_operations or sizes)),
    )
    tuned = tune(asked, out, sys.argv, lambda text: None if quiet else warn(text))
    if html:
        write_page(tuned, bool(job.hosts))
    if as_json or not quiet:
        answer(tuned_document(tuned), tuned_lines(tuned, bool(job.hosts)), as_json)


@with_rows(CARRIER, PLACE)
def prove(
    rules: RulesArgument,
    *,
    launches: Annotated[
        int,
        typer.Option(metavar="N", min=8, max=200, help="Of the tuned and the untuned library."),
    ] = 10,
    time: Annotated[
        str, typer.Option(metavar="DURATION", help="Of each size in each launch, at most.")
    ] = "100ms",
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **given: Any,
) -> None:
    """Prove rules in fresh launches, and strike out those that gain nothing.

    The library reads its file of the rules, beside launches in which it does not. By whom it sends
    how much it is seen whether it obeys. What is not proven faster is struck out: the rules that
    are left are written into RULES, and those of before to RULES.before. Exits with 1 where a rule
    was struck out.

    Example: `netsonde tune prove runs/TIME-tune-mpi/rules.json --launches 20`
    """
    from netsonde.tuning.mpi.bench import StudyBench
    from netsonde.tuning.mpi.prove import prove as proven
    from netsonde.tuning.mpi.rules import Rules, read_rules
    from netsonde.tuning.mpi.text import proof_document, proof_lines

    read = read_rules(rules)
    if not read.rules:
        raise UsageError(f"{rules} holds no rule; there is nothing to prove")
    job = _job(_as_made(given_of(PLACE, CARRIER, given), read.made), read.made)
    bench = StudyBench(job, _folder(out), 1, sys.argv, lambda t: None if quiet else warn(t))
    proof = proven(
        read.rules,
        bench,
        launches,
        parse_duration_ns(time),
        lambda text: None if quiet else warn(text),
    )
    if proof.struck or proof.kept != read.rules:
        read.write(rules.with_name(rules.name + ".before"))
        made = {**read.made, "proven": [str(path) for path in bench.runs]}
        Rules(proof.kept, made).write(rules)
    if as_json or not quiet:
        answer(proof_document(proof, read.rules), proof_lines(proof, read.rules), as_json)
    if proof.struck:
        raise VerdictError(
            f"{format_count(len(proof.struck), 'rule')} of {len(read.rules)} struck out of {rules}"
        )


@with_rows(CARRIER, (MPI["mpi"],))
def apply(rules: RulesArgument, as_json: JsonOption = False, **given: Any) -> None:
    """Have your MPI programs obey rules from now on, until `netsonde tune undo`.

    Open MPI reads the lines that are put into ~/.openmpi/mca-params.conf. MPICH reads none of your
    files: load the script that is named into your shell. Rules of netsonde's own schedules need its
    library, which the script names.

    Example: `netsonde tune apply runs/TIME-tune-mpi/rules.json`
    """
    from netsonde.tuning.mpi.apply import apply_rules  # late, with the launchers
    from netsonde.tuning.mpi.rules import read_rules

    read = read_rules(rules)
    name = _as_made(given_of((MPI["mpi"],), CARRIER, given), read.made)["mpi"]
    document, lines = apply_rules(read, rules, str(name))
    answer(document, lines, as_json)


def undo(as_json: JsonOption = False) -> None:
    """Take away what `netsonde tune apply` wrote.

    Example: `netsonde tune undo`
    """
    from netsonde.tuning.mpi.applied import undo as undone

    done = undone()
    if done is None:
        answer({"undone": []}, ["nothing was applied"], as_json)
        return
    paths = [str(path) for path in (*done.files, *done.blocks)]
    answer({"undone": paths}, [f"as before: {path}" for path in paths], as_json)


@with_rows(CARRIER, JOB)
def algorithms(
    of_operations: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPERATION...", help="Collectives.", show_default=USUAL),
    ] = None,
    *,
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="At which the pattern is counted.")
    ] = "32k",
    as_json: JsonOption = False,
    **given: Any,
) -> None:
    """List the algorithms that an MPI can be told to take, and see each of them run.

    What each rank sends to each other is counted by the kernel, over TCP: between hosts, or on
    loopback. Ways with the same pattern send each rank the same, if not in the same order.

    Example: `netsonde tune algorithms alltoall allgather -n 8 --mpi openmpi`
    """
    from netsonde.tuning.mpi.patterns import PatternJob, named_hosts, size_for, survey
    from netsonde.tuning.mpi.text import pattern_lines

    keys = given_of(JOB, CARRIER, given)
    job = _job(keys)
    each = (parse_ppn(keys.get("ppn")) or [1])[0]
    asked = keys.get("ranks")
    ranks = usual_ranks(job.hosts, [each]) if asked is None else numbers_of_ranks(asked)[-1]
    names = _operations(",".join(of_operations or USUAL.split(",")))
    documents: list[dict[str, Any]] = []
    lines: list[str] = []
    with (
        named_hosts(job.hosts) as hosts,
        PatternJob(job.mpi, ranks, hosts, each) as counted,
    ):
        for name in names:
            operation = operations()[name]
            bytes_ = size_for(operation, parse_size_bytes(size))
            seen = survey(counted, operation, bytes_)
            lines += [*([""] if lines else []), *pattern_lines(name, seen, bytes_)]
            documents += [
                {
                    "operation": name,
                    "size_bytes": bytes_,
                    "way": one.way,
                    "sent_sizes": None if one.pattern is None else one.pattern.sent.tolist(),
                    "same_as": list(one.same_as),
                    "why": one.why or None,
                }
                for one in seen
            ]
    answer(documents, lines, as_json)


def _program(text: str | None, time: str, *, has_others: bool) -> Program | None:
    from netsonde.tuning.mpi.listen import Program

    if text is None:
        return None
    if has_others:
        raise UsageError(
            "--for takes operations and sizes from what the program calls: leave out --operations "
            "and --sizes"
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--for: {str(error).lower()} in {text[:60]!r}") from error
    if not words:
        raise UsageError("--for names no program")
    return Program(tuple(words), parse_duration_ns(time))


def _job(keys: Mapping[str, Any], made: Mapping[str, Any] | None = None) -> Job:
    """On the hosts that are named, or those that rules were made on."""
    from netsonde.tuning.mpi.bench import Job

    named = split_hosts(keys["hosts"]) if keys.get("hosts") else []
    if not named and made is not None:
        named = [str(name) for name in made.get("hosts") or ()]
    mpi_name = str(keys["mpi"])
    if "," in mpi_name:
        raise UsageError("--mpi names several MPIs; rules are for one of them")
    return Job(mpi_name, tuple(named), str(keys.get("within") or MEMORY.name))


def _as_made(keys: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """What rules say of how they were made, in the place of what is as usual."""
    usual = {key: MPI[key].flags[0].default for key in ("mpi", "within")}
    told = {key: made[key] for key in usual if isinstance(made.get(key), str)}
    asked = {key: value for key, value in keys.items() if value != usual.get(key)}
    return {**usual, **told, **asked}


def _folder(out: Path) -> Path:
    from netsonde.records.rundir import new_run_directory

    return new_run_directory(out, "tune-prove")


def _operations(text: str) -> Sequence[str]:
    known = [name for name, row in operations().items() if row.is_collective_call]
    for name in (names := list(dict.fromkeys(text.split(",")))):
        if name not in known:
            raise UsageError(
                f"{name[:40]!r} is no blocking collective{nearest(name, known)}; there are "
                f"{', '.join(known)}"
            )
    return names


def _sizes(text: str) -> list[int]:
    from netsonde.study.values import expand_sizes

    try:
        return list(expand_sizes(text))
    except ValueError as error:
        raise UsageError(f"--sizes: {error}") from error


def register(app: typer.Typer) -> None:
    for command in (mpi, prove, algorithms, apply, undo):
        app.command(cls=CommandInGroups)(command)
