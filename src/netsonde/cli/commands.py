"""``netsonde``: its commands, and how its command line is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

import netsonde
from netsonde.cli import help_pages

COMMANDS = {
    "quickstart": "quickstart",
    "tcp": "sockets",
    "udp": "sockets",
    "icmp": "icmp",
    "mpi": "mpi",
    "mpibench": "mpibench",
    "lab": "lab",
    "serve": "serve",
    "study": "study",
    "simulate": "simulate",
    "report": "report",
    "compare": "compare",
    "export": "export",
    "history": "history",
    "explain": "explain",
    "import": "imports",
    "hpcbench": "hpcbench",
    "host": "host",
    "model": "model",
    "trace": "trace",
    "schedule": "schedule",
    "man": "manual",
}
"""Each command and the module of netsonde.cli that registers it, in the order of --help."""
OF_ALL = ("man",)
"""Commands that speak of all others."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the one command that is asked for, or with all where none is named:
    importing and describing what the others need takes half a second."""
    named = [name for name in arguments[:1] if name in COMMANDS and name not in OF_ALL]
    return app_with(named or COMMANDS)


def app_with(commands: Iterable[str]) -> typer.Typer:
    """The command line with these commands, and what is registered together with them."""
    app = typer.Typer(
        name="netsonde",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Measures, explains and predicts how a cluster's network performs.",
        epilog="Start with `netsonde quickstart`. Exit codes: 0 done, 1 a verdict failed, 2 bad "
        "usage or input, 3 a host or peer failed, 4 interrupted.",
    )
    app.callback()(_options)
    for module in dict.fromkeys(COMMANDS[name] for name in commands):
        import_module(f"netsonde.cli.{module}").register(app)
    help_pages.use_in(app)
    return app


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"netsonde {netsonde.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Measures, explains and predicts how a cluster's network performs."""
