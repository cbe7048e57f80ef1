"""How --help shows options: in groups where they are many, and no words of a programmer for their
types, which would take the room of the reader's."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

GROUPED = ("tcp", "udp", "mpi")
"""The commands whose options are too many for one list."""
GROUPS = {
    "Hosts and ranks": "-n --hosts --from --pair --cpus --ipv6 --link-rate --mpi --launches --ppn "
    "--switches --pin --share",
    "What is sent": "--sizes --perturb --refine --call --count --load --streams --rate --port "
    "--batch --offload --outstanding --check-data",
    "Sockets": "--buffer --receive-buffer --target-buffer --nodelay --cork --congestion --mss "
    "--notsent-lowat --multipath --sendfile --zerocopy --uring --qos --busy-poll --wait",
    "Operations": "--root --pattern --uneven --size-of --window --threads --reduction "
    "--overlap --polls --cache --cache-bytes --align --start",
    "Conditions": "--mtu --busy --forget",
    "When it ends": "--time --interval --seed",
    "What is required": "--at-least --at-most",
    "As another tool": "--like --omit",
    "What is recorded": "--clock --clocks --compare-timers --without-timer-overhead --keep "
    "--kernel-times --depth --report",
}
"""Their options; those of none stand in the first list."""


def group_of(parameter: Any) -> str | None:
    """The heading below which an option stands."""
    names = {*parameter.opts, *parameter.secondary_opts}
    found = (heading for heading, options in GROUPS.items() if names & set(options.split()))
    return next(found, None)


class _AsShown:
    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        grouped = getattr(self, "name", None) in GROUPED
        for parameter in parameters:
            if parameter.param_type_name == "option":
                parameter.metavar = _metavar(parameter)
                parameter.rich_help_panel = group_of(parameter) if grouped else None
        order = [None, *GROUPS]
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
