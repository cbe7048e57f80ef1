"""``netsonde hpcbench``: the programs of Hpcbench by their own letters."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from netsonde.catalogue.given import flags_in
from netsonde.cli.output import show, warn
from netsonde.cli.row_options import given_of, with_rows
from netsonde.errors import UsageError
from netsonde.hpcbench.monitor_options import LETTERS as MONITOR_LETTERS
from netsonde.hpcbench.monitor_options import (
    SUMMARY_LETTERS,
    GivenMonitor,
    GivenSummary,
    monitor_settings_of,
    refuse_beside_kill,
)
from netsonde.hpcbench.options import (
    LETTERS,
    PORTS,
    Given,
    Transport,
    has_no_server,
    settings_of,
)
from netsonde.launch.given_code import code_of_environment, given_code

app = typer.Typer(no_args_is_help=True)
_LETTERS = {"help_option_names": ["--help"]}  # -h is the host

HostOption = Annotated[
    str,
    typer.Option(
        "-h",
        metavar="HOST",
        help="The other end: a host with a server (with --code-file), an ssh name, `local`, or "
        "`lab:h1,h2`.",
    ),
]
VerboseOption = Annotated[bool, typer.Option("-v", help="Say more.")]
ServerPortOption = Annotated[
    int,
    typer.Option(
        "-p", metavar="PORT", min=0, max=65535, help="TCP port to listen on; 0: any free one."
    ),
]


@app.command(context_settings=_LETTERS)
@with_rows("tcp", LETTERS)
def tcptest(host: HostOption, **letters: Any) -> None:
    """Hpcbench's test of TCP: throughput of a stream, or round trips.

    Example: `netsonde hpcbench tcptest -h node7 -r 3 -c -o out`
    """
    _measure("tcp", _with_pair(_given("tcp", host, letters)))


@app.command(context_settings=_LETTERS)
@with_rows("udp", LETTERS)
def udptest(host: HostOption, **letters: Any) -> None:
    """Hpcbench's test of UDP: throughput and loss of a stream, round trips, or traffic.

    Example: `netsonde hpcbench udptest -h node7 -l 1460 -b 1m -o out`
    """
    given = _given("udp", host, letters)
    if given.generator:
        given = replace(given, pair=None)
        warn(f"sending to {host} unasked: it and the way there may suffer; Ctrl-C ends it")
    else:
        given = _with_pair(given)
    _measure("udp", given)


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
@with_rows("mpi", LETTERS)
def mpitest(**letters: Any) -> None:
    """Hpcbench's test of MPI: throughput of a stream between two ranks, or round trips.

    Example: `netsonde hpcbench mpitest --hosts node1,node2 -i -n -o out`
    """
    from netsonde.hpcbench.ranks import read_machine_file

    given = _given("mpi", "local", letters)
    if given.hosts is not None and given.machine_file is not None:
        raise UsageError("--hosts and --machinefile do not go together: both name the hosts")
    if given.machine_file is not None:
        given = replace(given, host=read_machine_file(Path(given.machine_file)))
    _measure("mpi", replace(given, host=given.hosts or given.host))


def _server_of(transport: Transport) -> Callable[..., None]:
    def server(port: ServerPortOption = PORTS[transport], verbose: VerboseOption = False) -> None:
        from netsonde.hpcbench.server import serve_tests

        serve_tests(transport, port, verbose, show)

    return server


_SERVERS: tuple[tuple[Transport, Transport, str], ...] = (
    ("tcp", "udp", "tcpserver -p 0"),
    ("udp", "tcp", "udpserver"),
)
for name, other, example in _SERVERS:
    app.command(
        f"{name}server",
        context_settings=_LETTERS,
        help=f"Be the other end of {name}test and {other}test, until Ctrl-C: `netsonde serve` by "
        f"another name.\n\nExample: `netsonde hpcbench {example}`",
    )(_server_of(name))


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
@with_rows("sysmon", (*MONITOR_LETTERS, *SUMMARY_LETTERS))
def sysmon(**letters: Any) -> None:
    """Watch this host: CPUs, memory, interrupts, and the traffic of its interfaces.

    Examples: `netsonde hpcbench sysmon -r 100 -t 1 -i eth0`,
    `netsonde hpcbench sysmon -b -w -t 600 -T 10080`
    """
    from netsonde.hpcbench.summary import parse_day, parse_zone
    from netsonde.hpcbench.sysmon import end_sysmon, run_sysmon, summarise

    given = GivenMonitor(**given_of(MONITOR_LETTERS, "sysmon", letters))
    wanted = GivenSummary(**given_of(SUMMARY_LETTERS, "sysmon", letters))
    if not wanted.summary:
        for option in flags_in(wanted):
            raise UsageError(f"{option} goes with --summary LOG")
    if wanted.summary:
        if given != GivenMonitor():
            raise UsageError(
                "--summary goes with no option but --day, --zone and --plot: it reads logs"
            )
        day = None if wanted.day is None else parse_day(wanted.day)
        zone = parse_zone(wanted.zone or "utc")
        table = summarise(wanted.summary, day, wanted.plot, zone, warn)
        typer.echo(table, nl=False)
    elif given.kill:
        refuse_beside_kill(given)
        end_sysmon(show)
    else:
        run_sysmon(monitor_settings_of(given), show, warn)


def _given(transport: Transport, host: str, letters: Mapping[str, Any]) -> Given:
    return Given(host, **given_of(LETTERS, transport, letters))


def _with_pair(given: Given) -> Given:
    """With the pairing code of the file, or of the environment where none was given and the host
    may have a server."""
    code = given_code(given.pair, given.code_file)
    if code is None and not has_no_server(given.host):
        code = code_of_environment()
    return replace(given, pair=code)


def _measure(transport: Transport, given: Given) -> None:
    # Imported late: the help need not wait for the libraries.
    from netsonde.hpcbench.client import run_client

    settings = settings_of(transport, given)
    run_client(settings, _command(settings.pair), show, warn)


def _command(pair: str | None) -> str:
    """What was typed, without the pairing code, which is a secret."""
    words = ["netsonde", *sys.argv[1:]]
    if pair is not None:
        words = [word.replace(pair, "CODE") for word in words]
    return "".join(c if c.isprintable() else "?" for c in shlex.join(words))
