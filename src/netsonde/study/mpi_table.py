"""The table ``mpi`` of a study: how MPI programs are started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.catalogue.options.mpi import MOST_RANKS, MPI
from netsonde.catalogue.rule import Rule, check
from netsonde.catalogue.within import WITHINS
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.study.values import Listed, Names, as_names, expand_ranks, of
from netsonde.tables import Strict

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
_SPAN = re.compile(r"(\d{1,4})(?:-(\d{1,4})(?::([1-9]\d{0,3}))?)?")
HostNames = Annotated[list[str], BeforeValidator(as_hosts, json_schema_input_type=str | list[str])]


def as_processors(value: Any) -> Any:
    """The CPUs of ``0,2-3`` or ``0-6:2``, as taskset writes them; a word such as ``all`` as it
    is."""
    if not isinstance(value, str) or not value[:1].isdecimal():
        return value
    found: list[int] = []
    for part in value.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise ValueError(f"{value[:80]!r} is no list of CPUs; write 0,1 or 0-3,8 or 0-6:2")
        first, last, step = (int(text) if text else None for text in span.groups())
        assert first is not None
        found += range(first, (first if last is None else last) + 1, step or 1)
    return found


def _repeated(values: str | Sequence[Any]) -> dict[str, Any] | None:
    """The first of some values that is there twice."""
    twice = () if isinstance(values, str) else [one for one in values if values.count(one) > 1]
    return {"twice": twice[0]} if twice else None


RULES = (
    Rule(lambda m: _repeated(m["mpi"]), "{mpi} names {twice:value} more than once"),
    Rule(lambda m: _repeated(m["ranks"]), "{ranks} has {twice:value} more than once"),
    Rule(
        lambda m: isinstance(m["pin"], list) and not 1 <= len(m["pin"]) <= MOST_PINNED,
        f"{{pin}} takes 1 to {MOST_PINNED} CPUs",
    ),
    Rule(
        lambda m: _repeated(m["pin"]),
        "{pin} names a CPU more than once; {oversubscribe} lets several ranks have the same one",
    ),
    Rule(lambda m: _repeated(m["ppn"]), "{ppn} has a number twice"),
    Rule(
        lambda m: m["ppn"] and not m["hosts"],
        "{ppn} places ranks on hosts: it goes with {hosts} only",
    ),
    Rule(
        lambda m: WITHINS[m["within"]].keeps_on and len(m["hosts"]) > 1,
        "{within:=} is of ranks on one node: with several {hosts} leave it out, or name one",
    ),
)


class MpiTable(Strict):
    """How MPI is started: with which MPIs (:mod:`netsonde.launch.mpi_found`), one after the other,
    with how many ranks (of several numbers each in a launch of its own), and how many times
    each. ``launches`` of None is 1, and 6 where there are several MPIs: the
    fewest of which a median has an interval. ``pin`` binds each rank to a CPU, to 0 as well
    or not, or on every host to those that it names, one after the other; ``share`` allows more
    ranks on a host than it has CPUs. ``ppn``: so many ranks
    one after the other on each host, for every number a point; 1 where none are given.
    ``within``: whether the MPI chooses how ranks of one node reach each other."""

    mpi: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        BeforeValidator(as_names, json_schema_input_type=Names),
    ] = of(MPI["mpi"], ["mpich"], min_length=1, max_length=16)
    ranks: Annotated[
        list[Annotated[int, Field(ge=1, le=MOST_RANKS)]],
        BeforeValidator(expand_ranks, json_schema_input_type=Listed),
    ] = of(MPI["ranks"], [2], min_length=1, max_length=MOST_NUMBERS)
    hosts: HostNames = of(MPI["hosts"], [])
    pin: Annotated[
        Literal["none", "all", "not_zero"] | list[Annotated[int, Field(ge=0, le=1023)]],
        BeforeValidator(as_processors, json_schema_input_type=str | list[int]),
    ] = of(MPI["pin"])
    oversubscribe: bool = of(MPI["oversubscribe"])
    ppn: list[Annotated[int, Field(ge=1, le=MOST_RANKS)]] = of(MPI["ppn"], [], max_length=16)
    within: str = of(MPI["within"])
    launches: int | None = of(MPI["launches"])

    @property
    def launch_count(self) -> int:
        return self.launches or (1 if len(self.mpi) == 1 else LAUNCHES)

    @model_validator(mode="after")
    def _each_once(self) -> MpiTable:
        check(RULES, vars(self))
        return self
