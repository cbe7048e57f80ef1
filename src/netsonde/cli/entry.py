"""The entry point of ``netsonde``: how errors become sentences and exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from netsonde.cli.interruption import answer_interruptions
from netsonde.cli.streams import OutputError, end_of, guard_streams, is_unread
from netsonde.errors import InterruptedByUserError, NetsondeError
from netsonde.memory import MemoryLimitError, is_for_memory, meet_limit, memory_in_words

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Imports make some hundred thousand objects, of which few are garbage: after every 700, as is
usual, a tenth of a command's start is spent on looking for it."""


def main() -> None:
    """Runs a command and ends with the exit code of its outcome."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    answer_interruptions()
    guard_streams()
    meet_limit()
    code, said = end_of(_outcome())
    if said:
        _say(said)
    gc.freeze()  # the end of the process frees all at once: nobody needs to look for garbage
    sys.exit(code)


def _outcome() -> int:
    """The exit code of a command, whose error is said."""
    try:
        return _run()
    except OutputError as error:
        return 0 if is_unread() else error.exit_code  # said with what else is said of the output
    except NetsondeError as error:
        _say(str(error))
        return error.exit_code
    except ModuleNotFoundError as error:
        from netsonde.extras import missing_in_words

        words = missing_in_words(error)
        if words is None:
            raise
        _say(words)
        return 2
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        if not is_for_memory(error):
            raise
        _say(memory_in_words())
        return MemoryLimitError.exit_code
    except SystemExit as end:  # how a shell's completion ends
        return end.code if isinstance(end.code, int) else 0


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


def _say(sentence: str) -> None:
    print(f"netsonde: {sentence}", file=sys.stderr)
