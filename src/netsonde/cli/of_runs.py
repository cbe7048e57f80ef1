"""Commands that evaluate run directories, whose files may have been changed by others."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from netsonde.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., None])
OF_DATA = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What values of another kind or size lead to. What can be checked is checked as the files are
read; what a point's checks, facts of hosts and the like hold, only what uses them knows."""


def of_runs(command: Command) -> Command:
    """Ends the command in a sentence that names the runs, where they cannot be evaluated."""

    @functools.wraps(command)
    def careful(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except OF_DATA as error:
            runs = ", ".join(dict.fromkeys(_runs_in([*arguments, *options.values()])))
            what = " ".join(f"{type(error).__name__}: {error}"[:160].split())
            raise UsageError(
                f"{runs or 'this'} cannot be evaluated ({what}): a file of it was changed or is "
                "damaged, else this is an error of netsonde"
            ) from error

    return careful  # type: ignore[return-value]


def _runs_in(values: list[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _runs_in([*value])
        elif isinstance(value, Path) and value.is_dir():
            yield str(value)
