"""``netsonde history``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from netsonde.cli.of_runs import of_runs
from netsonde.cli.output import JsonOption, QuietOption
from netsonde.units import parse_share

JSON_FORMAT = 1
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The history: one DuckDB file.")]

app = typer.Typer(no_args_is_help=True)


@app.command()
@of_runs
def add(
    file: FileArgument,
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run directories.")],
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add runs to a history, which is made where there is none.

    A run is added once: adding it again changes nothing, unless more of it was measured since.

    Example: `netsonde history add cluster.duckdb runs/TIME-acceptance`
    """
    from netsonde.history.store import add_runs  # late: DuckDB takes a moment to load

    outcome = add_runs(file, directories)
    if as_json:
        found = {str(directory): what for directory, what in outcome.items()}
        typer.echo(json.dumps({"format": JSON_FORMAT, "runs": found}, indent=1))
    elif not quiet:
        for directory, what in outcome.items():
            typer.echo(f"{what:<9} {directory}")


@app.command()
@of_runs
def show(
    file: FileArgument,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Figures whose name or label holds this, as p99 or `tcp latency`; again for more. "
            "Else the main figure of each test.",
        ),
    ] = None,
    margin: Annotated[
        str, typer.Option(metavar="SHARE", help="Changes of less than this are left out.")
    ] = "1%",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with trend plots.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show each figure over all runs, where its level changed, and what else changed there.

    Example: `netsonde history show cluster.duckdb --figure latency`
    """
    from netsonde.history.text import history_lines
    from netsonde.history.trends import read_history

    history = read_history(file, figure or (), least_change=parse_share(margin, "margin"))
    if html is not None:
        from netsonde.report.history_page import write_history_page

        write_history_page(history, html)
    if as_json:
        document = {"format": JSON_FORMAT, **asdict(history)}
        typer.echo(json.dumps(document, indent=1, allow_nan=False))
    else:
        typer.echo("\n".join(history_lines(history)))
