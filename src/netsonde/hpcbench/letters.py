"""Letters of Hpcbench's programs: what a program is given is a dataclass whose fields have rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from netsonde.catalogue.option import WRITTEN, Flag, Group, Kind, Option, Switch
from netsonde.catalogue.transport import names_with

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CLIENTS = names_with("has_connection", "counts_datagrams", "has_ranks")
"""Transports that a client of Hpcbench measures."""
Given = TypeVar("Given", bound="DataclassInstance")


def letter(
    flag: str,
    words: str,
    metavar: str | None = None,
    kind: Kind | None = None,
    default: Any = None,
    of: tuple[str, ...] = CLIENTS,
) -> Option:
    """A row: a switch where it has no metavar, else a text, or of another kind.

    of: the programs that have it, clients by their transports.
    """
    kind = kind or (Switch() if metavar is None else WRITTEN)
    default = False if isinstance(kind, Switch) else default
    flags = (Flag(flag, metavar, words, group=Group.PLAIN),)
    return Option("", kind, words, default=default, of=of, flags=flags)


def given_by(*rows: Option) -> Any:
    """A field of what was given: by one letter, which programs may word differently."""
    return field(default=rows[0].default, metadata={"rows": rows})


def rows_of(kind: type[DataclassInstance]) -> tuple[Option, ...]:
    """The letters of all fields, each with the field's name as its key."""
    return tuple(
        replace(row, key=part.name)
        for part in fields(kind)
        for row in part.metadata.get("rows", ())
    )


def letters_in(given: DataclassInstance) -> list[str]:
    """The letters that were given, in the order of the fields."""
    return [
        part.metadata["rows"][0].typed
        for part in fields(given)
        if "rows" in part.metadata and getattr(given, part.name) != part.default
    ]


def without_letters(given: Given, letters: Collection[str]) -> Given:
    """What was given but for some letters."""
    return replace(
        given,
        **{
            part.name: part.default
            for part in fields(given)
            if "rows" in part.metadata and part.metadata["rows"][0].typed in letters
        },
    )
