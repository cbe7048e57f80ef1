"""A study's complaints in the words of the command line: options in place of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from netsonde.catalogue.option import Choice, Option
from netsonde.catalogue.options.commands import BLOCK, ORDER, PATH, STOPPING
from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.rule import Facts, RefusalError
from netsonde.catalogue.test import test_row

if TYPE_CHECKING:
    from pydantic import ValidationError

_ROWS: Mapping[str, Option] = {**PATH, **ORDER, **STOPPING, **BLOCK, **SOCKETS, **MPI}
OPTIONS = {
    **{key: row.typed for key, row in _ROWS.items() if row.typed},
    "target": "HOST",
    "partners": "--pattern FILE",
    "relative_precisions": "--relative-precision",
}
"""The option behind each key of a study that a command line can set."""


class _CommandSpeaker:
    """As a command line has it."""

    def name(self, key: str) -> str:
        return OPTIONS.get(key, key)

    def valued(self, key: str, value: Any) -> str:
        if key == "transports":
            return f"netsonde {value}"
        if key == "test":
            return _test(str(value))
        row = _ROWS[key]
        own = next((flag.first for flag in row.flags if flag.value == value), None)
        word = value.replace("_", "-") if isinstance(row.kind, Choice) else value
        return own or f"{self.name(key)} {word}"


def _test(name: str) -> str:
    row = test_row(name)
    if row.is_operation:
        return "operations"
    return BLOCK["loads"].typed if row.is_open_loop else name


def refusal(says: str, facts: Facts) -> str:
    """The sentence of a rule as a command line has it."""
    return RefusalError(says, facts).by(_CommandSpeaker())


def problem_in_options(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence that names the option."""
    from netsonde.tables import in_our_words  # late, as in study_of

    problem = error.errors(include_url=False)[0]
    refused = problem.get("ctx", {}).get("error")
    if isinstance(refused, RefusalError):
        return refused.by(_CommandSpeaker())
    message = in_our_words(problem["msg"])
    keys = [str(part) for part in problem["loc"] if str(part) in OPTIONS]
    if "windows" in problem["loc"]:
        bound = str(problem["loc"][-1]).replace("_", "-")
        return f"--start window{'' if bound == 'windows' else f':{bound}'}: {message}"
    if not keys or message.startswith("-"):  # it names its option itself
        return message
    given = problem.get("input")
    shown = f" {given}" if isinstance(given, str | int) and str(given) not in message else ""
    return f"{OPTIONS[keys[-1]]}{shown}: {message}"
