"""The operations of ``netsonde mpi``: what they are, which sizes they take, what they have.

``sonde-mpi`` has the same list (``sonde-mpi --operations``), and a test compares them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from netsonde.errors import UsageError

PATTERNS = ("half", "pairs", "ring", "head-to-head", "all-to-one")
"""Who is whose partner, in operations between two ranks."""
PAIRINGS = ("each", "all", "slowest")
"""Pairs of ranks that are measured one after the other."""
PAIRS_LIMIT = 2048
PAIRS_FILE_LIMIT_BYTES = 64 * 1024
COMMENT = "#"
Form = Literal["blocking", "started", "persistent"]


@dataclass(frozen=True)
class Operation:
    """One operation.

    ``size`` says of what the message size is. Sizes are multiples of ``multiple_bytes``; where
    ``fixed_bytes`` is given, there is only that one. ``partnered`` is ``matching`` where everyone
    must receive from the rank that it sends to. ``divides``: ranks may give parts of other sizes.
    ``reduces``: words of all ranks are joined, in a way that may be chosen. ``windowed``: so many
    messages are under way at once. ``binds``: MPI is given the memory before the first repetition.
    ``begins``: it can be begun and waited for. ``schedules``: the family of those of ours that do
    the same, where there are any. ``head_on`` and ``to_one``: it has the patterns
    head-to-head and all-to-one.
    """

    name: str
    group: str
    size: str
    multiple_bytes: int = 1
    fixed_bytes: int | None = None
    rooted: bool = False
    partnered: Literal["none", "matching", "any"] = "none"
    divides: bool = False
    form: Form = "blocking"
    reduces: bool = False
    windowed: bool = False
    binds: bool = False
    begins: bool = False
    head_on: bool = False
    to_one: bool = False
    schedules: str = ""

    @property
    def is_between_two(self) -> bool:
        return self.partnered != "none"

    @property
    def is_collective_call(self) -> bool:
        """Whether it is a blocking call of all ranks, which there are algorithms for."""
        return self.group == "collective" and self.form == "blocking"

    @property
    def is_per_rank(self) -> bool:
        """Whether all ranks together have as many times the size as there are ranks."""
        return self.group == "collective" and self.size in _PER_RANK


GROUPS = {
    "collective": "Collectives",
    "neighbourhood": "Neighbourhood collectives, on a ring of all ranks",
    "message": "Messages between two ranks",
    "rate": "Message rates",
    "datatype": "Derived datatypes",
    "one_sided": "One-sided operations",
    "communicator": "Making communicators",
}
DEFAULT_SIZES = {
    "collective": "64,64k",
    "neighbourhood": "64,64k",
    "message": "64,64k",
    "rate": "8,16k",
    "datatype": "64,64k",
    "one_sided": "64,64k",
    "communicator": "0",
}
"""Where no sizes are asked for."""
_OTHER_SIZES = {"alltoall": "64,16k", "alltoallv": "64,16k", "alltoallw": "64,16k"}
"""Those whose memory grows with the ranks at both ends."""

_EACH = "part of each rank"
_MEAN = "mean part of a rank"
_EACH_PART = "part for each destination"
_MEAN_PART = "mean part for a destination"
_EACH_RESULT = "result of each rank"
_MEAN_RESULT = "mean result of a rank"
_PER_RANK = (_EACH, _MEAN, _EACH_PART, _MEAN_PART, _EACH_RESULT, _MEAN_RESULT)
_VECTOR = "vector of 8-byte words"
_MESSAGE = "message"
_SCATTERED = "reduce-scatter"
_LAID_OUT = "message, without the gaps"
_REACHED = "memory reached at the partner"
_OF_WINDOW = "each message of the window"

_COLLECTIVES = (
    Operation("barrier", "collective", "none", fixed_bytes=0, schedules="barrier"),
    Operation("bcast", "collective", _MESSAGE, rooted=True, schedules="broadcast"),
    Operation("gather", "collective", _EACH, rooted=True, schedules="gather"),
    Operation("gatherv", "collective", _MEAN, rooted=True, divides=True, schedules="gather"),
    Operation("scatter", "collective", _EACH, rooted=True, schedules="scatter"),
    Operation("scatterv", "collective", _MEAN, rooted=True, divides=True, schedules="scatter"),
    Operation("allgather", "collective", _EACH, schedules="allgather"),
    Operation("allgatherv", "collective", _MEAN, divides=True, schedules="allgather"),
    Operation("alltoall", "collective", _EACH_PART, schedules="alltoall"),
    Operation("alltoallv", "collective", _MEAN_PART, divides=True, schedules="alltoall"),
    Operation("alltoallw", "collective", _MEAN_PART, divides=True, schedules="alltoall"),
    Operation("reduce", "collective", _VECTOR, 8, rooted=True, reduces=True, schedules="reduce"),
    Operation("allreduce", "collective", _VECTOR, 8, reduces=True, schedules="allreduce"),
    Operation(
        "reduce_scatter_block", "collective", _EACH_RESULT, 8, reduces=True, schedules=_SCATTERED
    ),
    Operation(
        "reduce_scatter",
        "collective",
        _MEAN_RESULT,
        8,
        divides=True,
        reduces=True,
        schedules=_SCATTERED,
    ),
    Operation("scan", "collective", _VECTOR, 8, reduces=True),
    Operation("exscan", "collective", _VECTOR, 8, reduces=True),
    Operation("neighbor_allgather", "neighbourhood", _EACH),
    Operation("neighbor_allgatherv", "neighbourhood", _MEAN, divides=True),
    Operation("neighbor_alltoall", "neighbourhood", "part for each neighbour"),
    Operation("neighbor_alltoallv", "neighbourhood", "mean part for a neighbour", divides=True),
)
_ROUND_TRIPS = (
    "send", "ssend", "bsend", "rsend", "isend", "issend", "irecv", "send_init", "ssend_init",
    "bsend_init", "rsend_init", "recv_init", "probe", "mprobe", "any_source",
)  # fmt: skip
_ONE_WAY = ("one_way", "one_way_isend")
_NOT_HEAD_ON = ("recv_init", "probe", "mprobe", "any_source")
_TO_ONE = ("send", "ssend", "bsend", "isend", "issend")
_EXCHANGES = {
    "sendrecv": _MESSAGE,
    "sendrecv_replace": _MESSAGE,
    "isend_irecv": _MESSAGE,
    "waitsome": "each of the 8 messages each way",
}
_RATES: dict[str, Literal["matching", "any"]] = {
    "message_rate": "matching",
    "message_rate_both": "any",
}
_DATATYPES = {"send_vector": 8, "send_indexed": 8, "send_struct": 16, "send_packed": 8}
_ACCESSES: dict[str, tuple[int, int | None]] = {
    "put": (1, None),
    "get": (1, None),
    "accumulate": (8, None),
    "get_accumulate": (8, None),
    "fetch_and_op": (1, 8),
    "compare_and_swap": (1, 8),
}
_WAYS = ("fence", "pscw", "lock", "flush")
_COMMUNICATORS = ("comm_dup", "comm_idup", "comm_split", "comm_create_group")


@cache
def operations() -> dict[str, Operation]:
    """Every operation by its name, group by group."""
    found: list[Operation] = []
    for operation in _COLLECTIVES:
        found += _in_three_forms(operation)
    found += [
        Operation(
            name,
            "message",
            _MESSAGE,
            partnered="matching",
            binds=name.endswith("_init"),
            head_on=name not in _NOT_HEAD_ON,
            to_one=name in _TO_ONE,
        )
        for name in _ROUND_TRIPS
    ]
    found += [Operation(name, "message", _MESSAGE, partnered="matching") for name in _ONE_WAY]
    found += [
        Operation(name, "message", size, partnered="any", begins=name == "isend_irecv")
        for name, size in _EXCHANGES.items()
    ]
    found += [
        Operation(name, "rate", _OF_WINDOW, partnered=partnered, windowed=True)
        for name, partnered in _RATES.items()
    ]
    found += [
        Operation(name, "datatype", _LAID_OUT, multiple, partnered="matching")
        for name, multiple in _DATATYPES.items()
    ]
    found += [
        Operation(
            f"{access}_{way}", "one_sided", _REACHED, multiple, fixed, partnered="any", binds=True
        )
        for access, (multiple, fixed) in _ACCESSES.items()
        for way in _WAYS
    ]
    found += [Operation(name, "communicator", "none", fixed_bytes=0) for name in _COMMUNICATORS]
    return {operation.name: operation for operation in found}


def _in_three_forms(plain: Operation) -> list[Operation]:
    forms: dict[Form, str] = {
        "blocking": plain.name,
        "started": f"i{plain.name}",
        "persistent": f"{plain.name}_init",
    }
    return [
        Operation(
            **{
                **vars(plain),
                "name": name,
                "form": form,
                "binds": form == "persistent",
                "begins": form != "blocking",
                "schedules": plain.schedules if form == "blocking" else "",
            }
        )
        for form, name in forms.items()
    ]


def default_sizes(operation: Operation) -> str:
    """The sizes of an operation where none are asked for."""
    if operation.fixed_bytes is not None:
        return str(operation.fixed_bytes)
    plain = operation.name.removesuffix("_init")
    plain = plain[1:] if operation.form == "started" else plain
    return _OTHER_SIZES.get(plain, DEFAULT_SIZES[operation.group])


def nearest(name: str, known: Sequence[str]) -> str:
    """``; did you mean bcast?``, or nothing where no name is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def parse_root(text: str) -> int | Literal["rotate"]:
    """``3`` or ``rotate``. Raises UsageError."""
    if text == "rotate":
        return "rotate"
    if not text.isdecimal():
        raise UsageError(f"{text!r} is no root; write a rank, such as 0, or rotate")
    return int(text)


def parse_pattern(text: str) -> tuple[str, int]:
    """``half``, ``pairs``, ``ring``, ``ring:3``, ``head-to-head`` or ``all-to-one``: the pattern
    and the distance of partners in it, which is 1 unless given. Raises UsageError."""
    name, colon, distance = text.partition(":")
    if name in PATTERNS and not colon:
        return name, 1
    if name == "ring" and distance.isdecimal() and int(distance) > 0:
        return name, int(distance)
    raise UsageError(
        f"{text!r} is no pattern; the patterns are half, pairs, ring, ring:DISTANCE, head-to-head "
        "and all-to-one"
    )


def parse_pair(text: str) -> tuple[int, int]:
    """``0,3``: two ranks. Raises UsageError."""
    first, _, second = text.partition(",")
    if not (first.isdecimal() and second.isdecimal()) or len(text) > 32:
        raise UsageError(f"{text[:80]!r} is no pair of ranks; write it like 0,3")
    if int(first) == int(second):
        raise UsageError(f"{text!r} names one rank only; a pair has two")
    return int(first), int(second)


def parse_pairing(text: str) -> tuple[int, int] | str:
    """``0,3``, or which of many pairs: ``each``, ``all`` or ``slowest``. Raises UsageError."""
    if text in PAIRINGS:
        return text
    try:
        return parse_pair(text)
    except UsageError as error:
        raise UsageError(f"{error}, or {', '.join(PAIRINGS[:-1])} or {PAIRINGS[-1]}") from error


def parse_pairs(text: str, source: str) -> list[tuple[int, int]]:
    """Pairs of ranks, one on each line as ``0 3`` or ``0,3``; what follows a # is left out.

    Raises UsageError, with the line's number, where a line is something else or names a rank for
    the second time.
    """
    pairs: list[tuple[int, int]] = []
    seen: dict[int, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition(COMMENT)[0].replace(",", " ").split()
        if not words:
            continue
        try:
            pair = parse_pair(",".join(words))
        except UsageError as error:
            raise UsageError(f"{source}, line {number}: {error}") from error
        for rank in pair:
            if rank in seen:
                raise UsageError(
                    f"{source}, line {number}: rank {rank} has a partner already, on line "
                    f"{seen[rank]}; every rank may be in one pair only"
                )
            seen[rank] = number
        pairs.append(pair)
        if len(pairs) > PAIRS_LIMIT:
            raise UsageError(f"{source} has more than {PAIRS_LIMIT} pairs, which is the limit")
    if not pairs:
        raise UsageError(f"{source} has no pairs; write two ranks on a line, such as 0 3")
    return pairs
