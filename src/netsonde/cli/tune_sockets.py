"""``netsonde tune sockets``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from netsonde.catalogue.option import by_key
from netsonde.catalogue.options.commands import BLOCK, PATH
from netsonde.catalogue.transport import first_with
from netsonde.cli.common import study_of
from netsonde.cli.help_pages import CommandInGroups
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption, answer, show, warn
from netsonde.cli.row_options import given_of, with_rows
from netsonde.errors import UsageError, VerdictError
from netsonde.tuning.sockets.judged import LEAST_GAIN, PAIRS, SCREENED
from netsonde.tuning.sockets.knobs import PROGRAM_OPTIONS
from netsonde.units import parse_duration_ns, parse_share

if TYPE_CHECKING:
    from netsonde.tuning.sockets.data import Level
    from netsonde.tuning.sockets.run import Outcome, Request

CARRIER = first_with("has_connection").name
"""Whose options a program's are."""
CALL = by_key([BLOCK["call"]])
PLACES = by_key(PATH[key] for key in ("origin", "rate"))
TODAY = (*PROGRAM_OPTIONS.values(), *CALL.values(), *PLACES.values())
PAIRS_LEAST = 7
"""Fewer prove nothing of two goals."""
PAIRS_MOST = 50


@with_rows(CARRIER, TODAY)
def sockets(
    host: Annotated[
        str,
        typer.Argument(metavar="HOST", help="The other end: an ssh name, `local`, or `lab:h1,h2`."),
    ],
    *,
    goals: Annotated[
        Literal["both", "rate", "latency"],
        typer.Option("--for", help="What is to become better: the rate of a stream, round trips."),
    ] = "both",
    budget: Annotated[
        str, typer.Option(metavar="DURATION", help="The search ends within so long.")
    ] = "10min",
    time: Annotated[
        str, typer.Option(metavar="DURATION", help="Of each test of a launch, at most.")
    ] = "1s",
    stream_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Messages of the stream.")
    ] = "128k",
    latency_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Messages of the round trips.")
    ] = "64",
    least_gain: Annotated[
        str, typer.Option(metavar="SHARE", help="A step must gain more than that for certain.")
    ] = f"{100 * LEAST_GAIN:g}%",
    pairs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=PAIRS_LEAST,
            max=PAIRS_MOST,
            help="Pairs of launches that a step, and the proof, are judged by.",
        ),
    ] = PAIRS,
    change: Annotated[
        Literal["both", "socket", "host"],
        typer.Option(help="What may be turned: options of sockets, settings of hosts."),
    ] = "both",
    allow_host_changes: Annotated[
        bool,
        typer.Option(
            "--allow-host-changes",
            help="Try settings of hosts that are no lab's, too; they are put back.",
        ),
    ] = False,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Leave the proven settings of hosts in effect at the end."),
    ] = False,
    prove: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Search nothing: prove what an earlier search found."),
    ] = None,
    undo: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Give both hosts what they had before that search."),
    ] = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **given: Any,
) -> None:
    """Find the settings of sockets and hosts under which TCP to HOST is fastest.

    Buffers, congestion control, MTU, offloads and busy polling are tried in the order of what
    `netsonde explain` names, each judged by launches in pairs, and proven by fresh ones. Options
    below say what the program sets today. Hosts are as before at the end, unless --apply is given.

    Examples: `netsonde tune sockets lab:h1,h2`,
    `netsonde tune sockets node7 --buffer 64k --budget 20min --allow-host-changes`,
    `netsonde tune sockets node7 --prove runs/TIME-tune-sockets`
    """
    # Late: statistics and plots take a second to load.
    from netsonde.tuning.sockets import run
    from netsonde.tuning.sockets.files import read_former

    path = {"kind": "hosts", "target": host, **given_of(PLACES.values(), CARRIER, given)}
    if undo is not None:
        former = read_former(undo)
        changed = run.undo(path, former, undo)
        said = f"put back: {', '.join(changed)}" if changed else "all was as before that search"
        answer({"put_back": changed}, [said], as_json)
        return
    shares = {
        "least_gain": parse_share(least_gain, "least-gain"),
        "pairs": pairs,
        "budget_s": parse_duration_ns(budget) / 1e9,
    }
    sizes = {"rate": stream_size, "latency": latency_size}
    words = {"goals": goals, "change": change, "sizes": sizes, "time": time}
    request = _request(
        path,
        _program(given),
        {**shares, **words, "others": allow_host_changes, "apply": apply, "prove": prove},
        out,
    )
    outcome = run.tune(
        request, lambda text: None if quiet else warn(text), _teller(request, as_json or quiet)
    )
    _show(outcome, request, as_json, quiet)


def _program(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the program today, with its call. Raises UsageError for several values."""
    found = given_of((*PROGRAM_OPTIONS.values(), *CALL.values()), CARRIER, given)
    for key, value in found.items():
        if isinstance(value, str) and "," in value:
            row = PROGRAM_OPTIONS.get(key) or CALL[key]
            raise UsageError(f"{row.typed} {value} is several values; a program has one today")
    return found


def _request(
    path: dict[str, Any], program: dict[str, Any], words: Mapping[str, Any], out: Path
) -> Request:
    from netsonde.tuning.sockets.bench import GOALS, Asked, Bounds
    from netsonde.tuning.sockets.data import Setup
    from netsonde.tuning.sockets.files import read_former
    from netsonde.tuning.sockets.judged import Rules
    from netsonde.tuning.sockets.run import Request, setup_of

    levels: tuple[Level, ...] = (
        ("socket", "host") if words["change"] == "both" else (words["change"],)
    )
    former = read_former(words["prove"]) if words["prove"] else None
    goals = list(GOALS) if words["goals"] == "both" else [words["goals"]]
    cap, sizes, call = words["time"], words["sizes"], program.pop("call", None)
    if former is not None:  # what it measured, and nothing else, is proven again
        goals, cap, sizes, call = list(former.goals), former.cap, former.sizes, former.call
    if unknown := [name for name in goals if name not in GOALS]:
        raise UsageError(f"goal {unknown[0]!r} is none of {', '.join(GOALS)}")
    asked = Asked(path, [GOALS[name] for name in goals], cap, sizes, call, sys.argv)
    return Request(
        asked,
        setup_of(study_of(asked.content("program", Setup(program))), program),
        Rules(words["least_gain"], words["pairs"], SCREENED),
        Bounds(levels, other_hosts=words["others"]),
        words["budget_s"],
        out,
        words["apply"],
        former,
    )


def _teller(request: Request, silent: bool) -> Any:
    from netsonde.tuning.sockets.text import step_line

    def tell(step: Any) -> None:
        if not silent and step.change is not None:
            warn(step_line(step, request.asked.goals))

    return tell


def _show(outcome: Outcome, request: Request, as_json: bool, quiet: bool) -> None:
    from netsonde.tuning.sockets.text import tuning_lines

    if as_json:
        answer({"directory": str(outcome.folder), **outcome.document}, (), as_json)
    elif not quiet:
        show("\n".join(tuning_lines(outcome.tuning, request.asked.goals)))
        show("")
        for path in outcome.files:
            show(f"wrote {path}")
        if outcome.document["applied"]:
            show(f"In effect now. Back: netsonde tune sockets HOST --undo {outcome.folder}")
    if request.former is not None and not outcome.tuning.proven:
        raise VerdictError("the gain of these settings is not proven")


def register(app: typer.Typer) -> None:
    """Adds the command to ``netsonde tune``."""
    app.command("sockets", cls=CommandInGroups)(sockets)
