"""What a command was given, as a dataclass whose fields have the rows of their flags: each is
written once, for the command line and for what reads it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from netsonde.catalogue.option import WRITTEN, Flag, Group, Kind, Option, Switch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Given = TypeVar("Given", bound="DataclassInstance")


def typed(
    flag: str,
    words: str,
    metavar: str | None = None,
    kind: Kind | None = None,
    *,
    of: tuple[str, ...],
    default: Any = None,
    repeated: bool = False,
    usual: str | None = None,
) -> Option:
    """A row of commands alone: a switch where it has no metavar, else a text, or of another kind.

    of: the commands that have it.
    """
    kind = kind or (Switch() if metavar is None else WRITTEN)
    default = False if isinstance(kind, Switch) and "/" not in flag else default
    row_flag = Flag(flag, metavar, words, group=Group.PLAIN, repeated=repeated, usual=usual)
    return Option("", kind, words, default=default, of=of, flags=(row_flag,))


def given_by(*rows: Option) -> Any:
    """A field: by one flag, which commands may word differently."""
    return field(default=rows[0].default, metadata={"rows": rows})


def rows_of(kind: type[DataclassInstance]) -> tuple[Option, ...]:
    """The rows of all fields, each with the field's name as its key."""
    return tuple(
        replace(row, key=part.name)
        for part in fields(kind)
        for row in part.metadata.get("rows", ())
    )


def flags_in(given: DataclassInstance) -> list[str]:
    """The flags that were given, in the order of the fields."""
    return [
        part.metadata["rows"][0].typed
        for part in fields(given)
        if "rows" in part.metadata and getattr(given, part.name) != part.default
    ]


def without_flags(given: Given, flags: Collection[str]) -> Given:
    """What was given but for some flags."""
    return replace(
        given,
        **{
            part.name: part.default
            for part in fields(given)
            if "rows" in part.metadata and part.metadata["rows"][0].typed in flags
        },
    )
