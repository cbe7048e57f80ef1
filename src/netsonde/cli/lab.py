"""``netsonde lab``: emulated clusters on this machine."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Annotated, Any

import typer

from netsonde.errors import HostError, UsageError
from netsonde.lab import LabSpec, find_lab, lab_status, running_labs, start_named
from netsonde.lab.registry import take_down
from netsonde.units import format_rate, format_size, parse_rate_bit_per_s, parse_size_bytes

app = typer.Typer(
    no_args_is_help=True,
    help="Emulated clusters on this machine: hosts h1, h2, ... joined by a switch.",
)

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Which lab; needed where several run."),
]
HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A host of the lab: h1, h2 ...")]


@app.command()
def up(
    hosts: Annotated[int, typer.Option(metavar="N", help="How many hosts, 1 to 64.")] = 2,
    rate: Annotated[
        str,
        typer.Option(
            metavar="RATE", help="Of each link, each way, as 100M or 1G; `none`: not shaped."
        ),
    ] = "1G",
    buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="Output buffer of each port of the switch.")
    ] = "256k",
    burst: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Depth of the token buckets that shape the links; else one that suits the rate.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call the lab.")] = "lab",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the lab's status as JSON.")
    ] = False,
) -> None:
    """Bring a lab up. It runs until `netsonde lab down`.

    Without root it lives in a user namespace. It needs the packages iproute2 and util-linux.

    Example: `netsonde lab up --hosts 4 --rate 1G --buffer 256k`
    """
    spec = LabSpec(
        hosts=hosts,
        rate_bit_per_s=None if rate == "none" else parse_rate_bit_per_s(rate),
        buffer_bytes=parse_size_bytes(buffer),
        burst_bytes=None if burst is None else parse_size_bytes(burst),
        name=name,
    )
    _tidy()
    lab = start_named(spec)
    if as_json:
        typer.echo(json.dumps(lab_status(lab), indent=1))
        return
    named = "" if name == "lab" else f"{name}/"
    typer.echo(
        f"lab {name!r} is up: {', '.join(spec.host_names)}; {_links_in_words(lab.path_facts())}\n"
        f"try: netsonde tcp lab:{named}h1{',h2' if hosts > 1 else ''} latency"
    )


@app.command(
    "exec", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}
)
def run(
    host: HostArgument,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, with its arguments.")
    ],
    name: NameOption = None,
) -> None:
    """Run a command in a host of the lab; its exit code becomes ours.

    Example: `netsonde lab exec h1 -- ip address`
    """
    target = find_lab(name).host(host)
    argv = target.command(command[1:] if command[0] == "--" else command)
    sys.stdout.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would pass that on
    os.execve(argv[0], argv, {**os.environ, **target.environment()})


@app.command()
def status(
    name: NameOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")
    ] = False,
) -> None:
    """Show the labs that run: hosts, addresses, processes, and what the links counted.

    Example: `netsonde lab status`
    """
    _tidy()
    labs = running_labs() if name is None else [find_lab(name)]
    states = [lab_status(lab) for lab in labs]
    if as_json:
        typer.echo(json.dumps({"labs": states}, indent=1))
    elif not states:
        typer.echo("no lab runs; start one with `netsonde lab up`")
    for state in states if not as_json else []:
        typer.echo(_in_words(state))


@app.command()
def link(
    host: HostArgument,
    state: Annotated[str, typer.Argument(metavar="up|down", help="Plug the cable in or pull it.")],
    name: NameOption = None,
) -> None:
    """Pull the cable of a host, or plug it in again.

    Example: `netsonde lab link h1 down`
    """
    if state not in ("up", "down"):
        raise UsageError(f"a link cannot be {state!r}; write up or down")
    find_lab(name).set_link(host, up=state == "up")


@app.command()
def down(
    name: NameOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every lab that runs.")] = False,
) -> None:
    """Take a lab down: its processes end and nothing of it is left.

    Example: `netsonde lab down`
    """
    if everything and name is not None:
        raise UsageError("--all and --name do not go together; give one of them")
    notes = _tidy()
    labs = running_labs() if everything else []
    if not everything:
        # Taking down what has just been found ended is no mistake.
        if notes and not running_labs():
            return
        labs = [find_lab(name)]
    problems = []
    for lab in labs:
        try:
            take_down(lab)
            typer.echo(f"lab {lab.spec.name!r} is down")
        except HostError as error:
            problems.append(str(error))
    if problems:
        raise HostError("; ".join(problems))


def _tidy() -> list[str]:
    """Removes what is noted of labs that have ended, and says so."""
    notes: list[str] = []
    running_labs(notes)
    for note in notes:
        typer.echo(f"netsonde: {note}", err=True)
    return notes


def _in_words(state: dict[str, Any]) -> str:
    path = state["path"]
    rootless = ", without root" if path["rootless"] else ""
    lines = [
        f"lab {state['name']!r} (process {state['keeper_pid']}{rootless}): " + _links_in_words(path)
    ]
    for host in state["hosts"]:
        addresses = " ".join(host["addresses"].values())
        broken = "" if host["link"] == "up" else "  LINK DOWN"
        lines.append(f"  {host['name']:<4} {addresses}{broken}")
        for title, key in (("sent", "from_host"), ("received", "to_host")):
            queue = host[key]
            if queue is not None:
                lines.append(
                    f"       {title:<8} {queue['sent_packets']} packets, "
                    f"{queue['sent_bytes']} bytes, {queue['dropped_packets']} dropped, "
                    f"{queue['waiting_packets']} waiting"
                )
        for process in host["processes"]:
            lines.append(f"       process {process['pid']}: {process['command'][:80]}")
    return "\n".join(lines)


def _links_in_words(path: dict[str, Any]) -> str:
    if path["rate_bit_per_s"] is None:
        return "links not shaped"
    return (
        f"links of {format_rate(path['rate_bit_per_s'])}, "
        f"buffers of {format_size(path['buffer_bytes'])}, "
        f"bursts of {format_size(path['burst_bytes'])}"
    )
