"""How --help shows options: in groups where they are many, and no words of a programmer for their
types, which would take the room of the reader's."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from netsonde.catalogue import option

GROUPED = ("tcp", "udp", "mpi")
"""The commands whose options are too many for one list."""
GROUPS = {
    option.Group.HOSTS: "-n --hosts --pair --mpi --launches --ppn --switches --pin --share",
    option.Group.SENT: "--outstanding",
    option.Group.OPERATIONS: "--root --pattern --uneven --size-of --window --threads --reduction "
    "--overlap --polls --cache --cache-bytes --align --start",
    option.Group.LIKE: "--like",
    option.Group.RECORDED: "--clock --clocks --compare-timers --without-timer-overhead --keep",
}
"""Options that have no row in the catalogue, by their headings; those of none stand in the first
list."""


def group_of(parameter: Any) -> str | None:
    """The heading below which an option stands."""
    if parameter.rich_help_panel is not None:
        return str(parameter.rich_help_panel)
    names = {*parameter.opts, *parameter.secondary_opts}
    found = (group for group, options in GROUPS.items() if names & set(options.split()))
    return next((group.value for group in found), None)


class _AsShown:
    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        grouped = getattr(self, "name", None) in GROUPED
        for parameter in parameters:
            if parameter.param_type_name == "option":
                parameter.metavar = _metavar(parameter)
                parameter.rich_help_panel = group_of(parameter) if grouped else None
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


class Group(_AsShown, TyperGroup):
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
