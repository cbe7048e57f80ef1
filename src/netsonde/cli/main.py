"""``netsonde``: its commands."""

from __future__ import annotations

from typing import Annotated

import typer

import netsonde
from netsonde.cli import (
    compare,
    explain,
    export,
    history,
    host,
    hpcbench,
    icmp,
    imports,
    lab,
    manual,
    model,
    mpi,
    mpibench,
    quickstart,
    report,
    schedule,
    serve,
    simulate,
    sockets,
    study,
    trace,
)

app = typer.Typer(
    name="netsonde",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measures, explains and predicts how a cluster's network performs.",
    epilog="Start with `netsonde quickstart`. Exit codes: 0 done, 1 a verdict failed, 2 bad usage "
    "or input, 3 a host or peer failed, 4 interrupted.",
)
quickstart.register(app)
sockets.register(app)
icmp.register(app)
mpi.register(app)
mpibench.register(app)
app.add_typer(lab.app, name="lab")
serve.register(app)
app.add_typer(study.app, name="study")
simulate.register(app)
report.register(app)
compare.register(app)
export.register(app)
app.add_typer(history.app, name="history")
explain.register(app)
imports.register(app)
hpcbench.register(app)
host.register(app)
app.add_typer(model.app, name="model")
trace.register(app)
schedule.register(app)
manual.register(app)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"netsonde {netsonde.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Measures, explains and predicts how a cluster's network performs."""
