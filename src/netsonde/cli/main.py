"""``netsonde``: the commands, how errors become sentences and exit codes, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer
from typer.exceptions import TyperException

import netsonde
from netsonde.cli import lab, mpi, quickstart, report, serve, sockets, study
from netsonde.errors import InterruptedByUserError, NetsondeError

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
mpi.register(app)
app.add_typer(lab.app, name="lab")
serve.register(app)
app.add_typer(study.app, name="study")
report.register(app)


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


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    # A second signal must not wait for the cleanup of the first: workers, labs and MPI jobs hang
    # on pipes to this process and end when it ends.
    signal.signal(signal.SIGINT, lambda *_: os._exit(InterruptedByUserError.exit_code))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(InterruptedByUserError.exit_code))
    raise InterruptedByUserError("interrupted; what was measured is kept")


def main() -> None:
    """The entry point: runs a command and ends with the exit code of its outcome."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = app(standalone_mode=False)
    except NetsondeError as error:
        _say(str(error))
        code = error.exit_code
    except typer.Abort:
        code = InterruptedByUserError.exit_code
    except TyperException as error:
        context = getattr(error, "ctx", None)
        where = f" ({context.command_path} --help shows an example)" if context else ""
        _say(error.format_message() + where)
        code = 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _say(sentence: str) -> None:
    print(f"netsonde: {sentence}", file=sys.stderr)
