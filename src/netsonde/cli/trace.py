"""``netsonde trace``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from netsonde.cli.help_pages import Group
from netsonde.cli.output import JsonOption, show, warn
from netsonde.errors import UsageError


class TraceGroup(Group):
    """What stands behind ``--`` is a command to trace, whatever its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta["netsonde.command"] = args[place + 1 :]
            if not args[place + 1 :]:
                raise UsageError("there is no command behind --")
            args = args[:place]
        return list(super().parse_args(ctx, args))


DirectoryArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of a trace, or the file made of one.")
]
ListenOption = typer.Option(
    "--listen",
    metavar="[ADDRESS:]PORT",
    help="Give the latest values over HTTP as OpenMetrics; to this host alone without an address.",
)

app = typer.Typer(
    cls=TraceGroup,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="[-- COMMAND...]",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def trace(
    context: typer.Context,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "-i", "--interface", metavar="NAME", help="Of this interface only; repeatable."
        ),
    ] = None,
    every: Annotated[
        str, typer.Option("--every", metavar="DURATION", help="Time between samples: 100ms, 1m.")
    ] = "1s",
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long: 10s, 1h, 1w; else until Ctrl-C."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PATH", help="A folder, or a file in .parquet or .csv."
        ),
    ] = None,
    most: Annotated[
        str,
        typer.Option("--most", metavar="SIZE", help="Most that is kept on disk; the oldest goes."),
    ] = "1G",
    parts: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS", help="Read some parts only: cpu,interfaces,...", show_default="all"
        ),
    ] = None,
    cpu: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=4095, help="Keep the sampler on this CPU."),
    ] = None,
    background: Annotated[
        bool, typer.Option("--background", help="Go on after this command, its terminal and login.")
    ] = False,
    listen: Annotated[str | None, ListenOption] = None,
    root: Annotated[str | None, typer.Option(hidden=True, help="Where /proc and /sys are.")] = None,
) -> None:
    """Record what this host's system does: CPUs, interrupts, interfaces, protocols, memory.

    With a command behind `--`: while it runs, with a table at its end, and its exit code.

    Examples: `netsonde trace -i eth0 --every 1s --for 1w -o net.parquet --background`,
    `netsonde trace -- make -j8`
    """
    if context.invoked_subcommand is not None:
        if context.meta.get("netsonde.command"):
            raise UsageError(f"{context.invoked_subcommand} takes no command behind --")
        return
    from netsonde.trace.request import trace_request

    command = context.meta.get("netsonde.command", [])
    request = trace_request(
        every=every,
        duration=duration,
        interfaces=interface or (),
        parts=parts,
        output=output,
        most=most,
        cpu=cpu,
        command=command,
        background=background,
        listen=listen,
        root=root,
    )
    from netsonde.trace.run import run_in_background, run_trace, trace_command

    if command:  # which has standard output to itself
        raise typer.Exit(trace_command(request, _say, warn))
    if background:
        run_in_background(request, show, warn)
    else:
        run_trace(request, show, warn)


@app.command()
def summary(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|FILE", help="Traces: folders, or Parquet files of them."),
    ],
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "-i", "--interface", metavar="NAME", help="Of this interface only; repeatable."
        ),
    ] = None,
    by: Annotated[
        Literal["day", "hour"] | None, typer.Option(help="A row for each day, or hour of the day.")
    ] = None,
    day: Annotated[
        str | None, typer.Option(metavar="DATE", help="This day only (UTC), as 2026-07-30.")
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Count the time above this rate.",
            show_default="half the link's speed",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: .html, .svg, .png or .pdf.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show traces of many hosts and days as tables: load, rates, packets, losses, what is odd.

    Example: `netsonde trace summary node1.parquet node2.parquet --by day --plot week.html`
    """
    from netsonde.trace.show import SummaryRequest, show_summary
    from netsonde.units import parse_rate_bit_per_s

    request = SummaryRequest(
        tuple(paths),
        tuple(interface or ()),
        by,
        day,
        None if above is None else float(parse_rate_bit_per_s(above)),
        plot,
        as_json,
    )
    show_summary(request, show)


@app.command()
def status(directory: DirectoryArgument, as_json: JsonOption = False) -> None:
    """Say whether a trace is being written, how far it is and what it cost.

    Example: `netsonde trace status net.parquet`
    """
    from netsonde.trace.show import show_status

    show_status(directory, as_json, show)


@app.command()
def stop(directory: DirectoryArgument) -> None:
    """End a trace in the background; what it has is kept, and converted where that was asked for.

    Example: `netsonde trace stop net.parquet`
    """
    from netsonde.trace.place import end_trace, find_trace

    folder = find_trace(directory)
    pid = end_trace(folder)
    show(f"the trace (process {pid}) has ended; it is in {folder}")


@app.command()
def convert(
    directory: DirectoryArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="In .parquet or .csv.")
    ],
) -> None:
    """Make a table of a trace: a row for each sample, a column for each counter.

    Example: `netsonde trace convert trace-node1-20260730-120000 -o node1.parquet`
    """
    from netsonde.trace.place import is_table, journal_of
    from netsonde.trace.run import convert_trace

    convert_trace(journal_of(directory) if is_table(directory) else directory, output, show, warn)


@app.command()
def endpoint(
    directory: DirectoryArgument,
    listen: Annotated[str, ListenOption] = "9100",
) -> None:
    """Give the latest values of a trace over HTTP, as OpenMetrics, as long as it is written.

    Example: `netsonde trace endpoint live.parquet --listen 9100`
    """
    from netsonde.endpoint import parse_listen
    from netsonde.trace.place import find_trace
    from netsonde.trace.run import run_endpoint

    run_endpoint(find_trace(directory), parse_listen(listen), show)


def _say(text: str) -> None:
    typer.echo(text, err=True)
