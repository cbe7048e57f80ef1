"""``netsonde``: its commands, and how its command line is made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated

import typer

import netsonde
from netsonde.catalogue.transport import Ends, commands
from netsonde.cli import help_pages


@dataclass(frozen=True)
class CommandRow:
    """A command, and what --help says of it in short: the first paragraph of its own help, which
    takes an import to read.

    module, function: what has it in netsonde.cli, where they do not have the command's name. A
    module of a command of commands has them in ``app``; one that makes a command of a transport's
    row has ``register``.
    """

    name: str
    summary: str
    module: str | None = None
    function: str | None = None

    def add_to(self, main: typer.Typer) -> None:
        """What is registered together with it, too."""
        module = import_module(f"netsonde.cli.{self.module or self.name}")
        if hasattr(module, "register"):
            module.register(main)
        elif hasattr(module, "app"):
            if module.app.registered_callback is None:  # which has words of its own
                module.app.info.help = self.summary
            main.add_typer(module.app, name=self.name)
        else:
            main.command(self.name)(getattr(module, self.function or self.name))


MEASURED_BY = {
    Ends.PAIR: "sockets",
    Ends.ALONE: "sockets",
    Ends.RANKS: "mpi",
    Ends.TASKS: "sockets",
}
"""The module that has a transport's command, by how its ends find each other."""
COMMANDS = {
    row.name: row
    for row in (
        CommandRow(
            "quickstart",
            "Measure TCP, UDP and MPI on an emulated two-host cluster of this machine.",
        ),
        *(CommandRow(row.name, row.summary, MEASURED_BY[row.ends]) for row in commands()),
        CommandRow(
            "mpibench",
            "MPIBench: the time of every process in every repetition, as tables, histograms and "
            "plots.",
        ),
        CommandRow("serve", "Be the other end for somebody to whom you give the pairing code."),
        CommandRow(
            "watch",
            "Repeat small tests between hosts at intervals, for a history and Prometheus, until "
            "Ctrl-C.",
        ),
        CommandRow("simulate", "Simulate a cluster packet by packet, and write its report."),
        CommandRow("report", "Write the report of a run, or its plots and tables as files."),
        CommandRow(
            "compare",
            "Compare runs before and after a change: equal, better, worse or unknown, per figure.",
        ),
        CommandRow("export", "Write a run in the format of another program."),
        CommandRow(
            "explain",
            "Say why a run's results are what they are: findings, what matters most first.",
        ),
        CommandRow(
            "import",
            "Make a run of what another tool measured: iperf3 -J, netperf, sockperf, NetPIPE, OSU, "
            "IMB.",
            "imports",
            "import_",
        ),
        CommandRow(
            "host",
            "Show what a host can do without a network: its clocks, how late sleeps end, what "
            "disturbs a program, copies of memory, context switches, HINT, what the kernel "
            "offers, and how much netsonde moves within the host.",
        ),
        CommandRow(
            "man", "Write manual pages, a page for each command, from what --help says.", "manual"
        ),
        CommandRow(
            "lab", "Emulated clusters on this machine: hosts h1, h2, ... joined by a switch."
        ),
        CommandRow("study", "Studies from a TOML file: plan, run, resume."),
        CommandRow("history", "Keep many runs in one file, and see where their figures changed."),
        CommandRow("hpcbench", "The programs of Hpcbench, with its letters, files and logs."),
        CommandRow(
            "model",
            "What a platform's parameters imply: times of algorithms, safe windows, what-if.",
        ),
        CommandRow(
            "trace",
            "Record what this host's system does: CPUs, interrupts, interfaces, protocols, memory.",
        ),
        CommandRow("schedule", "Algorithms of collective operations as steps."),
        CommandRow("tune", "Settings that make programs faster: searched, proven, undone."),
    )
}
"""In the order of --help."""
OF_ALL = ("man",)
"""Commands that speak of all others."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the one command that is asked for; where none is named only with what
    --help says of each, since importing and describing them all takes a second."""
    if "_NETSONDE_COMPLETE" in os.environ:
        arguments = _before_the_last(os.environ)
    named = arguments[0] if arguments else ""
    if named in OF_ALL:
        return app_with(COMMANDS)
    return app_with([named]) if named in COMMANDS else _app_of_names()


def _before_the_last(shell: Mapping[str, str]) -> list[str]:
    """The arguments before the one that a shell asks to complete: bash tells the words of the line,
    zsh and fish the line."""
    line = shell.get("COMP_WORDS") or shell.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()[1:]
    return words if line[-1:].isspace() else words[:-1]


def _app_of_names() -> typer.Typer:
    app = _empty()
    for row in COMMANDS.values():
        app.command(row.name, help=row.summary)(_never)
    help_pages.use_in(app)
    return app


def _never() -> None:
    raise AssertionError("a command that is named is imported")


def app_with(commands: Iterable[str]) -> typer.Typer:
    """The command line with these commands, and what is registered together with them."""
    app = _empty()
    rows = [COMMANDS[name] for name in commands]
    for row in {row.module or row.name: row for row in rows}.values():
        row.add_to(app)
    help_pages.use_in(app)
    return app


def _empty() -> typer.Typer:
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
