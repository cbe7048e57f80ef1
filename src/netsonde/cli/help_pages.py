"""How --help shows options: no type for a switch, which would take the room of the words."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class _WithoutTypesOfSwitches:
    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class Command(_WithoutTypesOfSwitches, TyperCommand):
    """A command."""


class Group(_WithoutTypesOfSwitches, TyperGroup):
    """A command of commands."""


def use_in(app: typer.Typer) -> None:
    """Show every command below so, but for those that have a class of their own."""
    if not isinstance(app.info.cls, type):
        app.info.cls = Group
    for command in app.registered_commands:
        if command.cls is None or command.cls is TyperCommand:
            command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_in(group.typer_instance)
