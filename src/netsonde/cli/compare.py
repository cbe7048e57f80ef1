"""``netsonde compare``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netsonde.cli.of_runs import of_runs
from netsonde.cli.output import JsonOption, QuietOption
from netsonde.errors import UsageError, VerdictError
from netsonde.units import parse_share

if TYPE_CHECKING:
    from netsonde.compare.data import Comparison
    from netsonde.compare.verdicts import Question

JSON_FORMAT = 1
"""Version of the JSON documents; see docs/reference/comparison.md."""
FailOn = Literal["worse", "beyond", "unknown", "never"]


@of_runs
def compare(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="BEFORE AFTER",
            help="A run directory before the change and one after it; with --plan, runs whose "
            "launches show the noise.",
        ),
    ] = None,
    before: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="One of several runs before; give it again for each."),
    ] = None,
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="One of several runs after; give it again for each."),
    ] = None,
    margin: Annotated[
        str, typer.Option(metavar="SHARE", help="So much of a difference counts as equal.")
    ] = "3%",
    fail_on: Annotated[
        FailOn,
        typer.Option(
            help="Exit code 1 where a figure is worse; where it is so by more than the margin for "
            "certain (beyond); also where nothing is known (unknown); never."
        ),
    ] = "worse",
    figures: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="The figures to compare: main (one of each test), all with a better way, or "
            "names, as round_trip_p99_ns. The fewer, the more is found.",
        ),
    ] = "main",
    unit: Annotated[
        Literal["launch", "run"],
        typer.Option(help="What counts as one value: a launch, or a whole run."),
    ] = "launch",
    condition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORDS",
            help="With one DIR: compare two conditions that its study varied, or two of its MPIs; "
            "give it for before and again for after, as the labels of the report have it.",
        ),
    ] = None,
    paired: Annotated[
        bool | None,
        typer.Option(
            "--paired/--unpaired",
            help="Hold each launch beside its neighbour in time, which takes off what drifts; or "
            "all with all. Without either: pairs where the times prove that both took turns.",
            show_default=False,
        ),
    ] = None,
    false_alarms: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="The chance of any better or worse where nothing changed."
        ),
    ] = "5%",
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Say how many launches would find --shift, given the noise in runs; with "
            "--paired, how many in turns.",
        ),
    ] = False,
    shift: Annotated[
        str | None, typer.Option(metavar="SHARE", help="With --plan: the change to be found [3%].")
    ] = None,
    power: Annotated[
        str | None, typer.Option(metavar="SHARE", help="With --plan: how surely [90%].")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the verdicts as JUnit XML.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write comparison.json and .html there.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare runs before and after a change: equal, better, worse or unknown, per figure.

    Launches are compared, not messages: measure several, as with --launches 8, or give several
    runs. The exit code is 1 where something is worse.

    Examples: `netsonde compare runs/TIME-before runs/TIME-after --margin 5%`,
    `netsonde compare --plan runs/TIME-before --shift 3% --power 90%`,
    `netsonde compare --plan runs/TIME-before --paired`,
    `netsonde compare runs/TIME-study --condition cubic --condition bbr`
    """
    # Late: statistics take a second to load.
    from netsonde.compare.conditions import compare_conditions
    from netsonde.compare.verdicts import Question, compare_directories

    names = tuple(name.strip() for name in figures.split(",") if name.strip())
    question = Question(
        parse_share(margin, "margin"),
        parse_share(false_alarms, "false-alarms"),
        unit,
        names,
        paired,
    )
    if not names or not 0 < question.false_alarms < 1:
        raise UsageError("figures need a name, and false-alarms more than 0 and less than 100%")
    if plan:
        if before or after or junit or out or condition or not directories:
            raise UsageError(
                "--plan takes run directories, --shift, --power, --paired and --json only"
            )
        _plan(directories, shift or "3%", power or "90%", question, as_json)
        return
    if shift or power:
        raise UsageError("--shift and --power go with --plan")
    if condition:
        if len(condition) != 2 or len(directories or []) != 1 or before or after:
            raise UsageError(
                "--condition goes with one run directory, and is given twice: for before and after"
            )
        first, second = condition
        comparison = compare_conditions((directories or [])[0], first, second, question)
    else:
        comparison = compare_directories(*_sides(directories, before, after), question)
    _tell(comparison, fail_on, junit, out, as_json, quiet)


def _sides(
    directories: list[Path] | None, before: list[Path] | None, after: list[Path] | None
) -> tuple[list[Path], list[Path]]:
    given = directories or []
    if before and after and not given:
        return before, after
    if len(given) == 2 and not before and not after:
        return given[:1], given[1:]
    raise UsageError(
        f"{len(given)} given as BEFORE and AFTER; expected two directories, or for several a side "
        "--before DIR --before DIR --after DIR --after DIR"
    )


def _tell(
    comparison: Comparison,
    fail_on: FailOn,
    junit: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from netsonde.compare.gate import failing, gate_sentence, junit_of
    from netsonde.compare.text import comparison_lines
    from netsonde.records.rundir import write_atomically
    from netsonde.report.comparison_page import PAGE_NAME, write_comparison_page

    failed = failing(comparison, fail_on)
    document = _document(comparison, fail_on, len(failed))
    if junit is not None:
        write_atomically(junit, junit_of(comparison, fail_on))
    if out is not None:
        _make(out)
        write_atomically(out / "comparison.json", document + "\n")
        write_comparison_page(comparison, out / PAGE_NAME)
    if as_json:
        typer.echo(document)
    elif not quiet:
        typer.echo("\n".join(comparison_lines(comparison)))
    if failed:
        raise VerdictError(gate_sentence(failed))


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make {directory}: {error.strerror}; choose another with --out"
        ) from error


def _document(comparison: Comparison, fail_on: FailOn, failed: int) -> str:
    from netsonde.compare.all_pairs import as_json, compared_pairs

    content = {
        "format": JSON_FORMAT,
        "counts": dict(comparison.counts),
        "fail_on": fail_on,
        "failed": failed,
        **asdict(comparison),
        "all_pairs": as_json(compared_pairs(comparison)),
    }
    return json.dumps(content, indent=1, allow_nan=False)


def _plan(
    directories: list[Path], shift: str, power: str, question: Question, as_json: bool
) -> None:
    from netsonde.compare.plan import plan_comparison
    from netsonde.compare.text import plan_lines

    shares = parse_share(shift, "shift"), parse_share(power, "power")
    found = plan_comparison(directories, *shares, question)
    if as_json:
        content = {"format": JSON_FORMAT, "launches": found.launches, **asdict(found)}
        typer.echo(json.dumps(content, indent=1, allow_nan=False))
    else:
        typer.echo("\n".join(plan_lines(found)))
