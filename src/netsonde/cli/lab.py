"""``netsonde lab``: emulated clusters on this machine."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from netsonde.cli.output import JsonOption, answer, warn
from netsonde.errors import HostError, UsageError
from netsonde.lab import find_lab, lab_status, running_labs, start_named
from netsonde.lab.capacity import Filled, measure_capacity, note_capacity, require_capacity
from netsonde.lab.observe import capture_to_file, stats_in_words, switch_stats
from netsonde.lab.registry import ssh_folder, take_down
from netsonde.lab.scenario import (
    Scenario,
    lab_spec,
    line_plan,
    parse_scenario,
    read_scenario,
    scenario_of,
    scenario_presets,
)
from netsonde.lab.ssh import start_ssh_servers
from netsonde.lab.tables import switch_presets
from netsonde.units import (
    format_count,
    format_rate,
    format_size,
    format_time,
    parse_duration_ns,
    parse_size_bytes,
)

app = typer.Typer(no_args_is_help=True)
NO_LAB = "no lab runs; start one with `netsonde lab up`"

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Which lab; needed where several run."),
]
HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="A host of the lab: h1, h2 ...")]


@app.command()
def up(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO", help="A scenario file, or a preset (see `netsonde lab presets`)."
        ),
    ] = None,
    hosts: Annotated[int | None, typer.Option(metavar="N", help="How many hosts, 1 to 64.")] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Of each link, each way, as 100M or 1G (the default); `none`: not shaped.",
        ),
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Of each link, one way, as 1ms.")
    ] = None,
    loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Of each link's frames, each way: 0.1%.")
    ] = None,
    switch: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="input, output, shared, or a preset: ibm-8275-326 ..."),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Of the switch: 256k, or in packets: '95 packets'."),
    ] = None,
    burst: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Depth of the token buckets that shape the links; else one that suits the rate.",
        ),
    ] = None,
    links: Annotated[
        str | None,
        typer.Option(metavar="auto|bridge|switch", help="What joins the hosts; auto chooses."),
    ] = None,
    busy: Annotated[bool, typer.Option("--busy", help="Let the switch spin, not sleep.")] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the lab; else `lab`.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the lab's status as JSON.")
    ] = False,
) -> None:
    """Bring a lab up. It runs until `netsonde lab down`.

    Without root it lives in a user namespace. It needs the packages iproute2 and util-linux.

    Examples: `netsonde lab up`, `netsonde lab up --hosts 4 --rate 10G`,
    `netsonde lab up --hosts 4 --rate 100M --delay 1ms --switch ibm-8275-326`
    """
    given = {
        "hosts": hosts,
        "rate": rate,
        "delay": delay,
        "loss": loss,
        "switch": switch,
        "buffer": buffer,
        "links": links,
        "busy": busy or None,
    }
    spec = lab_spec(_scenario(scenario, {k: v for k, v in given.items() if v is not None}, name))
    if burst is not None or rate == "none":
        if spec.fabric is not None:
            raise UsageError("--burst and --rate none go with token buckets; this lab has a switch")
        spec = dataclasses.replace(
            spec,
            rate_bit_per_s=None if rate == "none" else spec.rate_bit_per_s,
            burst_bytes=None if burst is None else parse_size_bytes(burst),
        )
    require_capacity(spec.fabric)
    _tidy()
    lab = start_named(spec)
    if as_json:
        typer.echo(json.dumps(lab_status(lab), indent=1))
        return
    named = "" if spec.name == "lab" else f"{spec.name}/"
    typer.echo(
        f"lab {spec.name!r} is up: {', '.join(spec.host_names)}; "
        f"{_links_in_words(lab.path_facts())}\n"
        f"try: netsonde tcp lab:{named}h1{',h2' if spec.hosts > 1 else ''} latency"
    )


def _scenario(source: str | None, given: dict[str, Any], name: str | None) -> Scenario:
    """The scenario of a file or preset, or the one that the options make."""
    if source is not None:
        if given:
            raise UsageError(
                f"--{next(iter(given))} and a scenario do not go together; write it in the scenario"
            )
        scenario = read_scenario(source)
        return scenario if name is None else scenario.model_copy(update={"name": name})
    kind = given.get("switch")
    table = {
        "name": "s1",
        "architecture": kind if kind in ("input", "output", "shared") else None,
        "preset": kind if kind not in ("input", "output", "shared") else None,
        "buffer": given.get("buffer"),
    }
    link = {key: given[key] for key in ("rate", "delay", "loss") if key in given}
    if link.get("rate") == "none":
        del link["rate"]
    return scenario_of(
        {
            "name": name or "lab",
            "hosts": given.get("hosts", 2),
            "links": given.get("links", "auto"),
            "link": link,
            "switch": [{key: value for key, value in table.items() if value is not None}],
            "pace": {"mode": "busy"} if "busy" in given else {},
        }
    )


@app.command()
def capacity(
    seconds: Annotated[float, typer.Option(min=0.5, max=600, help="Of each cluster.")] = 5.0,
    priority: Annotated[
        int, typer.Option(min=0, max=99, help="Of SCHED_FIFO for the switch; needs root.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure what this machine can emulate. `lab up` then refuses what is beyond it.

    Clusters of growing size are filled: every host sends at 97 % of its line.

    Example: `netsonde lab capacity --seconds 60 --priority 20`
    """
    if not as_json:
        typer.echo("hosts        rate  frames/s    sent    lost  late p99  CPU/frame  kept up")

    def tell(f: Filled) -> None:
        if not as_json:
            typer.echo(
                f"{f.hosts:5} {format_rate(f.rate_bit_per_s):>11} {f.asked_frames_per_s:9.0f} "
                f"{f.sent_frames_per_s / f.asked_frames_per_s:6.1%} {f.lost_frames:7} "
                f"{format_time(f.late_p99_ns):>9} {f.cpu_per_frame_ns:7.0f} ns  "
                f"{'yes' if f.kept_up else 'no'}"
            )

    found = measure_capacity(seconds, priority, tell)
    path = note_capacity(found)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(f) for f in found], indent=1))
    elif path is not None:
        typer.echo(f"noted in {path}")
    else:
        typer.echo("none was kept up with, so nothing is noted; stop what else runs here")


@app.command()
def presets() -> None:
    """List the scenarios and switches that come with netsonde.

    Example: `netsonde lab presets`
    """
    typer.echo("scenarios, for `netsonde lab up NAME`:")
    for name, text in sorted(scenario_presets().items()):
        typer.echo(f"  {name:<16} {parse_scenario(text, name).about}")
    typer.echo("switches, for `preset = ...` in a scenario and for --switch:")
    for name, kind in sorted(switch_presets().items()):
        buffer = kind.buffer.packets if kind.buffer is not None else None
        whole = " in all" if kind.architecture == "shared" else " a port"
        typer.echo(f"  {name:<16} {kind.architecture}-buffered, {buffer} packets{whole}")


@app.command("set")
def change(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="link=NAME KEY=VALUE...",
            help="As in a scenario's [link], burst.enter=1% for a key of a table in it; "
            "way=up or way=down.",
        ),
    ],
    name: NameOption = None,
) -> None:
    """Change a link while the lab runs, both ways or one. The change is recorded with its time.

    Examples: `netsonde lab set link=h1 loss=0.1% delay=5ms`,
    `netsonde lab set link=h1 way=down burst.enter=0.5% burst.leave=25%`
    """
    fields = _settings(settings)
    link = fields.pop("link", None)
    way = fields.pop("way", "both")
    if link is None or not fields:
        raise UsageError("say which link and what, as link=h1 loss=0.1% delay=5ms")
    if way not in ("up", "down", "both"):
        raise UsageError(f"way={way} is not up, down or both")
    changed = find_lab(name).set_line(link, way, line_plan(fields))
    typer.echo(json.dumps(changed))


@app.command()
def gate(
    state: Annotated[str, typer.Argument(metavar="open|close")],
    name: NameOption = None,
) -> None:
    """Hold what the hosts send, or let it all go at the same instant.

    Example: `netsonde lab gate close`
    """
    if state not in ("open", "close"):
        raise UsageError(f"a gate cannot be {state!r}; write open or close")
    typer.echo(json.dumps(find_lab(name).ask_switch("gate", {"open": state == "open"})))


@app.command()
def stats(
    name: NameOption = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Begin a new count of lateness afterwards.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what the switch did to every frame, and how late it was.

    Example: `netsonde lab stats --json`
    """
    lab = find_lab(name)
    found = switch_stats(lab, forget=forget)
    answer(found, [stats_in_words(found)], as_json)


@app.command()
def capture(
    host: HostArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to, as out.pcapng.")],
    time: Annotated[
        str | None, typer.Option("--time", metavar="DURATION", help="How long; else until Ctrl-C.")
    ] = None,
    limit: Annotated[str, typer.Option(metavar="SIZE", help="Of the file.")] = "1G",
    name: NameOption = None,
) -> None:
    """Write what passes a host's link to a pcapng file, with the switch's times.

    Example: `netsonde lab capture h1 out.pcapng --time 10s`
    """
    lab = find_lab(name)
    seconds = None if time is None else parse_duration_ns(time) / 1e9
    capture_to_file(lab, lab.host(host).name, file, seconds, parse_size_bytes(limit))


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
    as_json: JsonOption = False,
) -> None:
    """Show the labs that run: hosts, addresses, processes, and what the links counted.

    Example: `netsonde lab status`
    """
    _tidy()
    labs = running_labs() if name is None else [find_lab(name)]
    states = [lab_status(lab) for lab in labs]
    lines = list(map(_in_words, states)) or [NO_LAB]
    answer({"labs": states}, lines, as_json)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the labs that run, a line each; `status` tells more of them.

    Example: `netsonde lab list`
    """
    _tidy()
    states = [lab_status(lab) for lab in running_labs()]
    lines = [f"{_head(state)}, {format_count(len(state['hosts']), 'host')}" for state in states]
    labs = [
        {"name": state["name"], "hosts": [host["name"] for host in state["hosts"]]}
        for state in states
    ]
    answer({"labs": labs}, lines or [NO_LAB], as_json)


@app.command("ssh-config")
def ssh_config(name: NameOption = None) -> None:
    """Start an ssh server in every host; print the configuration file for `ssh -F FILE h1`.

    The file serves inside the hosts as well. Servers and keys go with the lab. Needs root.

    Example: `ssh -F $(netsonde lab ssh-config) h1 hostname`
    """
    lab = find_lab(name)
    typer.echo(start_ssh_servers(lab, ssh_folder(lab)))


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
        warn(note)
    return notes


def _head(state: dict[str, Any]) -> str:
    path = state["path"]
    rootless = ", without root" if path["rootless"] else ""
    links = _links_in_words(path)
    return f"lab {state['name']!r} (process {state['keeper_pid']}{rootless}): {links}"


def _in_words(state: dict[str, Any]) -> str:
    lines = [_head(state)]
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


def _settings(texts: list[str]) -> dict[str, Any]:
    """KEY=VALUE as a table; TABLE.KEY=VALUE as a table in it, as in TOML."""
    found: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        *tables, last = key.split(".")
        into = found
        for table in tables:
            into = into.setdefault(table, {})
            if not isinstance(into, dict):
                raise UsageError(f"{table}: given both as a value and as a table")
        if not sign or "" in (*tables, last):
            raise UsageError(f"{key!r} is no setting; write KEY=VALUE, as delay=5ms")
        if last in into:
            raise UsageError(f"{key}: given twice")
        into[last] = value
    return found


def _links_in_words(path: dict[str, Any]) -> str:
    if "topology" in path:
        switches = path["topology"]["switches"]
        kinds = ", ".join(f"{plan['name']} ({plan['architecture']}-buffered)" for plan in switches)
        rate = path["rate_bit_per_s"]
        rates = "links of several rates" if rate is None else f"links of {format_rate(rate)}"
        return f"{rates}; user-space switch {kinds}"
    if path["rate_bit_per_s"] is None:
        return "links not shaped"
    return (
        f"links of {format_rate(path['rate_bit_per_s'])}, "
        f"buffers of {format_size(path['buffer_bytes'])}, "
        f"bursts of {format_size(path['burst_bytes'])}"
    )
