"""``netsonde import``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from netsonde.catalogue.transport import names_with
from netsonde.cli.output import RUNS, JsonOption, OutOption, QuietOption
from netsonde.errors import UsageError
from netsonde.units import parse_size_bytes

TRANSPORTS = names_with("framing")


def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What the tool wrote.")],
    tool: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL",
            help="iperf3, netperf, sockperf, netpipe, osu or imb; else found out by the content.",
        ),
    ] = None,
    transport: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="tcp, udp or mpi, where the file does not say it."),
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Message size, where the file lacks it.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The tool's command line, to be kept with the run."),
    ] = None,
    out: OutOption = RUNS,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a run of what another tool measured: iperf3 -J, netperf, sockperf, NetPIPE, OSU, IMB.

    Examples: `netsonde import iperf3.json`, `netsonde import before.json after.json np.out`,
    `netsonde import np.out --transport mpi`
    """
    # Late, so that other commands need not wait for the libraries of statistics and plots.
    from netsonde.cli.show import show_run
    from netsonde.peers.data import Hints
    from netsonde.peers.importing import import_files
    from netsonde.peers.read import READERS

    if tool is not None and tool not in READERS:
        raise UsageError(f"--tool {tool!r} is not known; choose one of {', '.join(READERS)}")
    if transport is not None and transport not in TRANSPORTS:
        raise UsageError(f"--transport {transport!r} is none of {', '.join(TRANSPORTS)}")
    hints = Hints(transport, None if size is None else parse_size_bytes(size))
    directory = import_files(files, out, sys.argv, tool=tool, hints=hints, tool_command=command)
    show_run(directory, as_json, quiet, with_report=False)
