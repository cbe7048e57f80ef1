"""What does not go together in a block of MPI: operations, clocks, partners, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from netsonde.catalogue.options.mpi import MPI_BLOCK
from netsonde.catalogue.rule import Facts, Rule, first_given
from netsonde.catalogue.test import names_of
from netsonde.catalogue.transport import only_ranks
from netsonde.errors import UsageError
from netsonde.operations import Operation, nearest, operations, parse_pattern
from netsonde.reductions import FLOATING, REDUCTIONS, USUAL, ReductionName

WORD_BYTES = 8
_NOT_TOGETHER = "do not go together"
_ROWS = {row.key: row for row in MPI_BLOCK}
_OF_OPERATIONS = [
    _ROWS[key]
    for key in (
        *("window", "algorithm", "reduction", "datatype", "cache_bytes", "align", "polls"),
        *("partners", "cache", "overlap", "size_of", "both_timers"),
    )
]
"""Keys that only operations have."""
_LACKED = [
    _ROWS[key] for key in ("partners", "window", "algorithm", "reduction", "datatype", "overlap")
]
"""Those of them that not every operation has."""
_SHAPE = [_ROWS[key] for key in ("root", "pattern", "uneven")]


def _of_each(broken: Callable[[Facts], Any], says: str) -> Rule:
    """A rule that holds for each operation of the block."""
    return Rule(broken, says, "operations")


def _operation(facts: Facts) -> Operation:
    return operations()[facts["operation"]]


def _other_than_ranks(facts: Facts) -> bool:
    return not only_ranks(facts["transports"])


def _unknown(facts: Facts) -> Mapping[str, Any] | None:
    name = facts["operation"]
    if name in operations():
        return None
    return {"named": repr(name), "nearest": nearest(name, list(operations()))}


def _size_between(facts: Facts) -> Mapping[str, Any] | None:
    """A size that is no multiple of what an operation has."""
    operation = _operation(facts)
    wrong = [size for size in facts["sizes"] if size % operation.multiple_bytes]
    if operation.fixed_bytes is not None or not wrong:
        return None
    return {"size": wrong[0], "multiple": operation.multiple_bytes}


def _no_pattern(facts: Facts) -> Mapping[str, Any] | None:
    try:
        parse_pattern(facts["pattern"] or "half")
    except UsageError as error:
        return {"problem": error}
    return None


def _rank_in_two_pairs(facts: Facts) -> Mapping[str, Any] | None:
    """A rank that is in two pairs, or in one twice."""
    seen: set[int] = set()
    for rank in (rank for pair in facts["partners"] for rank in pair):
        if rank in seen:
            return {"rank": rank}
        seen.add(rank)
    return None


def _other_clock(facts: Facts, word: bool) -> bool:
    """Whether clocks are compared by a method in a test that compares none; ``word``: by MPI's own
    timer, which times others as well."""
    kind, clock = facts["kind"], facts["clock_method"]
    between_two = kind.wtime and only_ranks(facts["transports"])
    takes = kind.has_common_clock or (clock == "wtime" and between_two)
    return clock != "tree" and not takes and (clock == "wtime") == word


def _lacked(facts: Facts) -> Mapping[str, Any] | None:
    """What was given that an operation lacks."""
    for row in _LACKED:
        if row.takers and not row.takers.of_operation(_operation(facts)):
            found = first_given(facts, [row])
            if found:
                return {**found, "lacks": row.takers.lacks}
    return None


def _not_joined(facts: Facts) -> Mapping[str, Any] | None:
    """A datatype that a reduction does not join."""
    name = cast("ReductionName", facts["reduction"] or USUAL)
    known = REDUCTIONS[name].datatypes
    if facts["datatype"] is None or facts["datatype"] in known:
        return None
    return {"reduced": name, "datatypes": ", ".join(known) or "what it was made for"}


_NEEDS = (
    Rule(
        lambda b: b["kind"].is_operation and _other_than_ranks(b),
        "{test:=} needs {transports:=mpi}",
    ),
    Rule(
        lambda b: b["kind"].is_operation and not b["operations"],
        "{test:=} needs operations, such as ['bcast']",
    ),
    Rule(
        lambda b: b["operations"] and not b["kind"].is_operation,
        "operations go with test collective, not with {test:value}",
    ),
    Rule(
        lambda b: not b["kind"].is_operation and first_given(b, _SHAPE),
        f"{{given:key}} and {{test:=}} {_NOT_TOGETHER}",
    ),
)
_CLOCKS = (
    Rule(
        lambda b: b["kind"].compares_clocks and (_other_than_ranks(b) or b["sizes"] != [0]),
        "{test:=} needs {transports:=mpi} and sizes = [0]",
    ),
    Rule(
        lambda b: b["kind"].compares_clocks and b["count"] == 1,
        "{test:=} needs a count of 2 or more comparisons",
    ),
    Rule(
        lambda b: b["start"] != "barrier" and not b["kind"].is_operation,
        "{start:=} goes with {test:=collective} only",
    ),
    Rule(
        lambda b: b["windows"] is not None and b["start"] != "window",
        "{windows} go with {start:=window} only",
    ),
    Rule(
        lambda b: b["clock_method"] == "wtime" and b["start"] == "window",
        f"{{clock_method:=}} and {{start:=}} {_NOT_TOGETHER}: windows begin by each rank's own "
        "clock",
    ),
    Rule(
        lambda b: b["keep"] is not None and not b["kind"].is_operation,
        "{keep:=} goes with {test:=collective} only",
    ),
    Rule(
        lambda b: _other_clock(b, word=False),
        "{clock_method:=} goes with tests collective and clock only",
    ),
    Rule(
        lambda b: _other_clock(b, word=True),
        "{clock_method:=} goes with tests collective and clock only, and MPI's "
        f"{', '.join(names_of('wtime'))}",
    ),
    Rule(
        lambda b: b["clock_method"] == "wtime" and b["both_timers"],
        f"{{clock_method:=}} and {{both_timers}} {_NOT_TOGETHER}: MPI_Wtime is read beside the "
        "clock",
    ),
    Rule(
        lambda b: b["compare_clocks"] != "known" and not b["kind"].has_common_clock,
        "{compare_clocks:=} goes with tests collective and clock only",
    ),
)
_OPERATION = (
    _of_each(_unknown, "{named:value} is no operation{nearest:value}"),
    _of_each(
        _size_between,
        "size {size:value} does not go with {operation:value}: its sizes are multiples of "
        "{multiple:value}",
    ),
    _of_each(
        lambda b: (
            b["root"] is not None and not _operation(b).rooted and b["pattern"] != "all-to-one"
        ),
        f"{{root}} and {{operation:value}} {_NOT_TOGETHER}: it has none",
    ),
    _of_each(
        lambda b: b["root"] == "rotate" and _operation(b).form == "persistent",
        f"{{root:=}} and {{operation:value}} {_NOT_TOGETHER}: the root of a persistent operation "
        "is fixed when it is made",
    ),
    _of_each(
        lambda b: b["uneven"] and not _operation(b).divides,
        f"{{uneven}} and {{operation:value}} {_NOT_TOGETHER}: its parts are all of one size",
    ),
    _of_each(
        lambda b: b["pattern"] is not None and not _operation(b).is_between_two,
        f"{{pattern}} and {{operation:value}} {_NOT_TOGETHER}: it is not between two ranks",
    ),
    _of_each(
        lambda b: (
            (b["pattern"] == "head-to-head" and not _operation(b).head_on)
            or (b["pattern"] == "all-to-one" and not _operation(b).to_one)
        ),
        f"{{pattern}} {{pattern:value}} and {{operation:value}} {_NOT_TOGETHER}: it is for "
        "messages that can be sent so, such as send",
    ),
    _of_each(
        lambda b: (b["pattern"] or "").startswith("ring") and _operation(b).partnered == "matching",
        f"{{pattern}} {{pattern:value}} and {{operation:value}} {_NOT_TOGETHER}: it goes to a rank "
        "and back; half and pairs do that",
    ),
    _of_each(_no_pattern, "{problem:value}"),
)
_BETWEEN_TWO = (
    Rule(
        lambda b: b["kind"].has_threads != bool(b["threads"]),
        "{test:=threads} and {threads} go together: threads = [2, 4]",
    ),
    Rule(
        lambda b: b["kind"].has_threads and _other_than_ranks(b),
        "{test:=} needs {transports:=mpi}",
    ),
    Rule(
        lambda b: len(set(b["threads"])) < len(b["threads"]),
        "{threads} has a number twice",
    ),
    Rule(
        lambda b: (
            b["rank_pair"] is not None
            and (_other_than_ranks(b) or b["kind"].has_common_clock or b["kind"].is_all_pairs)
        ),
        "{rank_pair} goes with MPI's tests between two ranks, such as latency",
    ),
    Rule(
        lambda b: (
            isinstance(b["rank_pair"], tuple)
            and len(set(b["rank_pair"])) == 1
            and {"ranks": list(b["rank_pair"])}
        ),
        "{rank_pair} {ranks:value} names one rank only",
    ),
    Rule(
        lambda b: b["rank_pair"] == "slowest" and not b["kind"].is_round_trip,
        "{rank_pair:=} looks at round trips: it goes with "
        f"{' and '.join(names_of('is_round_trip'))}, not with {{test:value}}",
    ),
    Rule(
        lambda b: (
            b["timer_overhead"] != "kept"
            and (_other_than_ranks(b) or not (b["kind"].is_operation or b["kind"].is_round_trip))
        ),
        "{timer_overhead:=} goes with MPI's operations, "
        f"{' and '.join(names_of('is_round_trip'))}",
    ),
    Rule(
        lambda b: b["both_timers"] and b["timer_overhead"] == "off",
        f"{{both_timers}} and {{timer_overhead:=}} {_NOT_TOGETHER}: each timer's time holds a "
        "reading of either",
    ),
)
_CHOICES = (
    Rule(
        lambda b: not b["kind"].is_operation and first_given(b, _OF_OPERATIONS),
        f"{{given:key}} and {{test:=}} {_NOT_TOGETHER}",
    ),
    Rule(
        lambda b: b["partners"] and b["pattern"] is not None,
        f"{{partners}} and {{pattern}} {{pattern:value}} {_NOT_TOGETHER}: both say who is whose",
    ),
    Rule(
        _rank_in_two_pairs,
        "{partners} name rank {rank:value} twice; every rank may be in one pair only",
    ),
    Rule(
        lambda b: b["cache_bytes"] is not None and b["cache"] in ("warm", "fresh"),
        f"{{cache_bytes}} and {{cache:=}} {_NOT_TOGETHER}",
    ),
    Rule(
        lambda b: b["cache"] == "fresh" and b["check_data"],
        f"{{cache:=}} and {{check_data}} {_NOT_TOGETHER}: nobody knows data that is other in every "
        "repetition",
    ),
    Rule(
        lambda b: b["cache"] == "fresh" and b["reduction"] == "float-sum",
        f"{{cache:=}} and {{reduction:=}} {_NOT_TOGETHER}: random bits are no numbers to add",
    ),
    Rule(
        lambda b: b["cache"] == "fresh" and b["datatype"] in FLOATING,
        f"{{cache:=}} and {{datatype:=}} {_NOT_TOGETHER}: random bits are no numbers to add",
    ),
    Rule(
        _not_joined,
        f"{{datatype:=}} and {{reduction}} {{reduced:value}} {_NOT_TOGETHER}; it joins "
        "{datatypes:value}",
    ),
    Rule(
        lambda b: b["cache"] == "flush" and b["start"] == "window",
        f"{{cache:=}} and {{start:=}} {_NOT_TOGETHER}: it takes longer than a window",
    ),
    Rule(
        lambda b: b["cache"] == "rotate" and b["check_data"],
        f"{{cache:=}} and {{check_data}} {_NOT_TOGETHER}: the check touches the memory that is to "
        "be cold; {cache:=flush} comes after the check",
    ),
    Rule(
        lambda b: b["polls"] is not None and not b["overlap"],
        "{polls} goes with {overlap}",
    ),
    Rule(
        lambda b: b["overlap"] and b["start"] != "barrier",
        f"{{overlap}} and {{start:=}} {_NOT_TOGETHER}: it begins by a barrier",
    ),
    _of_each(_lacked, f"{{given:key}} and {{operation:value}} {_NOT_TOGETHER}: {{lacks:value}}"),
    _of_each(
        lambda b: b["cache"] == "rotate" and _operation(b).binds,
        f"{{cache:=}} and {{operation:value}} {_NOT_TOGETHER}: MPI is given its memory before the "
        "first repetition; {cache:=flush} does not ask for other memory",
    ),
    _of_each(
        lambda b: (
            (b["align"] or WORD_BYTES) < WORD_BYTES
            and WORD_BYTES in (_operation(b).multiple_bytes, _operation(b).fixed_bytes)
        ),
        f"{{align}} and {{operation:value}} {_NOT_TOGETHER}: it has words of 8 bytes, which begin "
        "at a multiple of 8",
    ),
    _of_each(
        lambda b: b["size_of"] == "total" and not _operation(b).is_per_rank,
        f"{{size_of:=}} and {{operation:value}} {_NOT_TOGETHER}: its size is not that of one "
        "rank's part",
    ),
)
MPI_RULES = (*_NEEDS, *_CLOCKS, *_OPERATION, *_BETWEEN_TWO, *_CHOICES)
