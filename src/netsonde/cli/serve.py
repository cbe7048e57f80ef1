"""``netsonde serve``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli.output import JsonOption
from netsonde.errors import UsageError
from netsonde.serve.limits import Limits, QueueLimits
from netsonde.serve.server import Announcement, ServeOptions
from netsonde.serve.server import serve as run_server
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes


def serve(
    bind: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Listen on this address only, not on all."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port for pairing.")] = 5959,
    test_port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of the tests, for a firewall; 0: any free one."),
    ] = 0,
    time: Annotated[str, typer.Option(metavar="DURATION", help="End after this time.")] = "1h",
    code_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the pairing code there over restarts, readable for its owner alone; a copy "
            "of the file on other hosts gives them the same code.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Serve the first host that pairs, then end.")
    ] = False,
    sessions: Annotated[
        int, typer.Option(min=1, max=64, help="Sessions at the same time; more disturb each other.")
    ] = 1,
    max_seconds: Annotated[
        float, typer.Option(min=1, max=86400, help="Longest session, in seconds.")
    ] = Limits.session_s,
    max_idle: Annotated[
        float,
        typer.Option(
            min=1,
            max=86400,
            help="End a session whose client says nothing for so many seconds, outside of a run.",
        ),
    ] = Limits.idle_s,
    queue: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="Clients that may wait while others measure; 0: none waits."
        ),
    ] = QueueLimits.queue,
    max_bytes: Annotated[
        str, typer.Option(metavar="SIZE", help="Most bytes that the tests of a session may move.")
    ] = "1T",
    max_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Take only stream and duplex tests paced to this rate."),
    ] = None,
    limits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Classes of clients, what each may use and where it comes from, and pairing codes "
            "by name; read again when it changes, or on SIGHUP.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Be the other end for somebody to whom you give the pairing code.

    Prints the code and the command to type on the other side. What the other side can do here:
    run tests between its address and this host, within the limits, in a process without privileges.

    Examples: `netsonde serve`, `netsonde serve --once --max-seconds 60`,
    `netsonde serve --code-file ~/.netsonde-code --time 8h --sessions 4`,
    `netsonde serve --code-file ~/.netsonde-code --limits limits.toml`
    """
    allowed = Limits(
        session_s=max_seconds,
        idle_s=max_idle,
        total_bytes=parse_size_bytes(max_bytes),
        rate_bit_per_s=None if max_rate is None else parse_rate_bit_per_s(max_rate),
    )
    time_s = parse_duration_ns(time) / 1e9
    if not 1 <= time_s <= 30 * 86400:
        raise UsageError(f"--time {time!r} is not between 1 second and 30 days")
    options = ServeOptions(
        bind=bind,
        port=port,
        time_s=time_s,
        once=once,
        sessions=sessions,
        test_port=test_port,
        limits=allowed,
        queue=QueueLimits(queue=queue),
        code_file=code_file,
        limits_file=limits,
    )
    run_server(options, _announce_json if as_json else _announce)


def _announce(announcement: Announcement) -> None:
    for name, code in (announcement.codes or {"": announcement.code}).items():
        typer.echo(f"pairing code{f' of {name}' if name else ''}  {code}")
    typer.echo("type on the other side:")
    for command in announcement.commands():
        typer.echo(f"  {command}")


def _announce_json(announcement: Announcement) -> None:
    typer.echo(json.dumps({**asdict(announcement), "commands": announcement.commands()}))
