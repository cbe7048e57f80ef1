"""The table ``mpi`` of a study: how MPI programs are started."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.study.mpi_keys import MOST_RANKS
from netsonde.study.values import Listed, Names, expand_ranks
from netsonde.tables import Strict

MOST_LAUNCHES = 1000
LAUNCHES = 6
"""Of each MPI, where there are several: so few have an interval of their median."""
MOST_NUMBERS = 32
"""Of ranks, one after the other."""


def as_hosts(value: Any) -> Any:
    """The single names of one set of hosts, or of a list of them."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return value
    try:
        return [name for text in texts for name in split_hosts(text)]
    except UsageError as error:
        raise ValueError(str(error)) from error


MOST_PINNED = 1024
HostNames = Annotated[list[str], BeforeValidator(as_hosts, json_schema_input_type=str | list[str])]


def _as_names(value: Any) -> Any:
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def as_processors(value: Any) -> Any:
    """The processors of ``0,2-3``; a word such as ``all`` as it is."""
    if not isinstance(value, str) or not value[:1].isdecimal():
        return value
    found: list[int] = []
    for part in value.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last] if dash else [first]
        if any(not end.isdecimal() or len(end) > 4 for end in ends):
            raise ValueError(f"{value[:80]!r} is no list of processors; write 0,1 or 0-3,8")
        found += range(int(first), int(ends[-1]) + 1)
    return found


class MpiTable(Strict):
    """How MPI is started: with which MPIs (:mod:`netsonde.launch.mpi_found`), one after the other,
    with how many ranks (of several numbers each in a launch of its own), and how many times
    each. ``launches`` of None is 1, and 6 where there are several MPIs: the
    fewest of which a median has an interval. ``pin`` binds each rank to a processor, to 0 as well
    or not, or on every host to those that it names, one after the other; ``share`` allows more
    ranks on a host than it has processors. ``ppn``: so many ranks
    one after the other on each host, for every number a point; 1 where none are given."""

    mpi: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        BeforeValidator(_as_names, json_schema_input_type=Names),
    ] = Field(["mpich"], min_length=1, max_length=16)
    ranks: Annotated[
        list[Annotated[int, Field(ge=1, le=MOST_RANKS)]],
        BeforeValidator(expand_ranks, json_schema_input_type=Listed),
    ] = Field([2], min_length=1, max_length=MOST_NUMBERS)
    hosts: HostNames = Field([])
    pin: Annotated[
        Literal["none", "all", "not_zero"] | list[Annotated[int, Field(ge=0, le=1023)]],
        BeforeValidator(as_processors, json_schema_input_type=str | list[int]),
    ] = "none"
    share: bool = False
    ppn: list[Annotated[int, Field(ge=1, le=MOST_RANKS)]] = Field([], max_length=16)
    launches: int | None = Field(None, ge=1, le=MOST_LAUNCHES)

    @property
    def launch_count(self) -> int:
        return self.launches or (1 if len(self.mpi) == 1 else LAUNCHES)

    @model_validator(mode="after")
    def _each_once(self) -> MpiTable:
        twice = [name for name in self.mpi if self.mpi.count(name) > 1]
        if twice:
            raise ValueError(f"mpi names {twice[0]} more than once")
        again = [number for number in self.ranks if self.ranks.count(number) > 1]
        if again:
            raise ValueError(f"ranks has {again[0]} more than once")
        pinned = [] if isinstance(self.pin, str) else self.pin
        if isinstance(self.pin, list) and not 1 <= len(pinned) <= MOST_PINNED:
            raise ValueError(f"pin takes 1 to {MOST_PINNED} processors")
        if len(set(pinned)) < len(pinned):
            raise ValueError(
                "pin names a processor more than once; share lets several ranks have the same one"
            )
        return self
