"""The entry point of ``netsonde``: how errors become sentences and exit codes, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from netsonde.errors import InterruptedByUserError, NetsondeError


def main() -> None:
    """Runs a command and ends with the exit code of its outcome."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = _run()
    except NetsondeError as error:
        _say(str(error))
        code = error.exit_code
    except MemoryError:
        _say("this process may use no more memory; raise its limit (ulimit -v) or ask for less")
        code = 3
    except ModuleNotFoundError as error:
        from netsonde.extras import missing_in_words

        words = missing_in_words(error)
        if words is None:
            raise
        _say(words)
        code = 2
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _run() -> int:
    # Imported here, because an interrupt is to be answered while the imports go on too.
    import typer
    from typer.exceptions import TyperException

    from netsonde.cli.commands import app_for

    _obey_named_shell(sys.argv[1:])
    try:
        code = app_for(sys.argv[1:])(standalone_mode=False)
    except typer.Abort:
        return InterruptedByUserError.exit_code
    except TyperException as error:
        from netsonde.cli.reflexes import told

        problem = told(error, sys.argv[1:]) or error.format_message().replace("Value error, ", "")
        if not problem.strip():  # a command of commands without one: its help is printed already
            _say("it needs a command: one of those above")
            return 2
        context = getattr(error, "ctx", None)
        where = f" ({context.command_path} --help shows an example)" if context else ""
        if problem.startswith("Missing argument"):
            problem += f" {getattr(getattr(error, 'param', None), 'help', None) or ''}"
        _say(" ".join(problem.split()) + where)
        return 2
    return code if isinstance(code, int) else 0


def _obey_named_shell(arguments: Sequence[str]) -> None:
    """``--show-completion zsh`` means zsh: without this, Typer takes the shell it was started from
    and no word."""
    if len(arguments) == 2 and arguments[0] in ("--show-completion", "--install-completion"):
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    interrupted = InterruptedByUserError("interrupted; what was measured is kept")
    interrupted.signal = signal.Signals(number).name
    # A second signal must not wait for the cleanup of the first: workers, labs and MPI jobs hang
    # on pipes to this process and end when it ends.
    signal.signal(signal.SIGINT, _leave)
    signal.signal(signal.SIGTERM, _leave)
    raise interrupted


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    os._exit(InterruptedByUserError.exit_code)


def _say(sentence: str) -> None:
    print(f"netsonde: {sentence}", file=sys.stderr)
