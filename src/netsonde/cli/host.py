"""``netsonde host``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netsonde.cli.output import JsonOption
from netsonde.errors import UsageError
from netsonde.host_benchmarks.plan import (
    CALL_UNITS_NS,
    COUNT,
    NO_SLEEPS,
    NOISE,
    PARTS,
    READINGS,
    SLEEPS,
    HostPlan,
    WorkPlan,
    make_plan,
    make_work_plan,
    parse_parts,
)
from netsonde.hosts import parse_host
from netsonde.launch.contact import let_go_after
from netsonde.launch.exclusion import Exclusion, own_name
from netsonde.launch.worker import start_worker
from netsonde.limits import limit_s

if TYPE_CHECKING:
    from netsonde.host_benchmarks.parts import Found

WAIT_FOR_OTHERS_S = limit_s("others")


def host(
    name: Annotated[
        str,
        typer.Argument(metavar="HOST", help="`local`, an ssh name, or `lab:h1`."),
    ] = "local",
    readings: Annotated[
        int, typer.Option(metavar="N", help="How often each clock is read.")
    ] = READINGS,
    sleeps: Annotated[
        str | None,
        typer.Option(
            metavar="DURATIONS", help=f"What is asked of each call ({SLEEPS}); `none`: no sleeps."
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", help=f"How often each sleep is slept ({COUNT}).")
    ] = None,
    calls: Annotated[
        str | None,
        typer.Option(metavar="CALLS", help=f"Which calls sleep ({','.join(CALL_UNITS_NS)})."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="PARTS", help=f"Some of {', '.join(PARTS)}.", show_default="all"),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help=f"How long disturbance is watched ({NOISE})."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a page: the tables, and HINT's curves."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a host can do without a network: its clocks, how late sleeps end, what disturbs a
    program, copies of memory, context switches, HINT, what the kernel offers, and how much netsonde
    moves within the host.

    Takes two minutes, most of it the sleeps of 100 ms. Traffic stays within the host.

    Examples: `netsonde host`, `netsonde host --only clocks,noise`,
    `netsonde host --only hint --html host.html`,
    `netsonde host --only sleeps --sleeps 0,50us,10ms --calls nanosleep,select`
    """
    plan, work = _plans(only, readings, sleeps, count, calls, noise)
    hosts = parse_host(name)
    if len(hosts) != 1:
        raise UsageError(f"{name!r} names {len(hosts)} hosts; netsonde host takes one at a time")
    # Late, so that other commands need not wait for the libraries of statistics.
    from netsonde.host_benchmarks.parts import measure_parts

    content: dict[str, Any] = {}
    found: list[Found] = []
    with (
        let_go_after(*hosts),
        start_worker(hosts[0]) as worker,
        Exclusion(own_name("netsonde host"), WAIT_FOR_OTHERS_S, _say) as exclusion,
    ):
        exclusion.begin(hosts)
        for part in measure_parts(hosts[0], worker, parse_parts(only), plan, work):
            if not as_json:
                typer.echo("\n".join(["", *part.lines] if content else part.lines))
            content |= part.document
            found.append(part.found)
        for name, told in exclusion.end().items():
            for other in (told[key] for key in ("beside", "meanwhile") if key in told):
                _say(f"{name}: another measurement had this host at the same time ({other})")
    if html is not None:
        from netsonde.host_benchmarks.page import write_host_page

        write_host_page(found, html)
    if as_json:
        typer.echo(json.dumps(content, indent=1))


def _say(sentence: str) -> None:
    typer.echo(f"netsonde: {sentence}", err=True)


def _plans(
    only: str | None,
    readings: int,
    sleeps: str | None,
    count: int | None,
    calls: str | None,
    noise: str | None,
) -> tuple[HostPlan, WorkPlan]:
    """Both plans. Raises UsageError also for options of a part that --only leaves out."""
    work = make_work_plan(only, noise)
    if "sleeps" not in parse_parts(only):
        for option, value in (("--sleeps", sleeps), ("--count", count), ("--calls", calls)):
            if value is not None:
                raise UsageError(
                    f"{option} {value} is for sleeps, and --only {only} does not name them"
                )
        sleeps = NO_SLEEPS
    return make_plan(readings, sleeps, count, calls), work
