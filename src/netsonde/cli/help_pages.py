"""How --help shows options: in groups where they are many, and no words of a programmer for their
types, which would take the room of the reader's."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from netsonde.catalogue import option
from netsonde.errors import UsageError

_OF_NO_ROW = (("--time-out", "--timeout"),)
"""Former names of options that have no row, and those of today."""


class _AsShown:
    in_groups = False

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if parameter.param_type_name == "option":
                parameter.metavar = _metavar(parameter)
                if not self.in_groups:
                    parameter.rich_help_panel = None
        order = [None, *(group.value for group in option.Group)]
        return sorted(parameters, key=lambda p: order.index(getattr(p, "rich_help_panel", None)))


def _metavar(parameter: Any) -> str | None:
    if parameter.metavar is not None:
        return str(parameter.metavar)
    if parameter.is_flag:
        return ""
    return {int: "N", float: "X"}.get(parameter.type_descriptor.annotation)


class Command(_AsShown, TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises UsageError, with today's name, for an option by its former one."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            typed = getattr(error, "option_name", None)
            own = {name for parameter in self.params for name in parameter.opts}
            for today in _names_of_today(typed):
                if today in own:
                    raise UsageError(f"{typed} is called {today} now") from error
            raise


def _names_of_today(former: str | None) -> list[str]:
    """What options are called that had this name, whichever commands have them."""
    # Imported here: who types what is known does not wait for it.
    from netsonde.catalogue.options.commands import COMMAND_ROWS, MPI_ROWS

    flags = [flag for row in (*COMMAND_ROWS, *MPI_ROWS) for flag in row.flags]
    known = [(flag.former, flag.first) for flag in flags if flag.former is not None]
    return [today for name, today in (*known, *_OF_NO_ROW) if name == former]


class CommandInGroups(Command):
    """One whose options are too many for one list: those of rows stand below their headings."""

    in_groups = True


class Group(_AsShown, TyperGroup):
    """A command of commands."""


def examples_first(text: str) -> str:
    """A help text whose paragraph of examples, ``Example: `a`, `b```, stands right behind the first
    one, a line for each: they are what most people look for."""
    first, *rest = re.split(r"\n\s*\n", inspect.cleandoc(text))
    examples = [part for part in rest if re.match(r"Examples?:", part)]
    calls = [f"- `{call}`" for part in examples for call in re.findall(r"`([^`]+)`", part)]
    shown = ["\n".join(calls)] if calls else []
    return "\n\n".join((first, *shown, *(part for part in rest if part not in examples)))


def use_in(app: typer.Typer) -> None:
    """Show every command below so, but for those that have a class of their own."""
    if not isinstance(app.info.cls, type):
        app.info.cls = Group
    for command in app.registered_commands:
        command.help = examples_first(command.help or inspect.getdoc(command.callback) or "")
        if command.cls is None or command.cls is TyperCommand:
            command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_in(group.typer_instance)
