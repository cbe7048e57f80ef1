"""What ``netsonde mpibench`` was asked for: defaults filled in, impossible requests refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netsonde.errors import UsageError
from netsonde.operations import Operation, nearest, operations
from netsonde.units import parse_size_bytes

SizeOf = Literal["each", "total"]
USUAL_REPETITIONS = 1000
ALLTOALL_REPETITIONS = 100
"""What the study of 2008 took of alltoall, whose repetitions are long."""
WARM_UP = 10
BINS = 100
PARTS = 10
SMALLEST_BYTES, LARGEST_BYTES, FACTOR = 1, 256 << 10, 4
MOST_SIZES = 4096
MOST_BYTES = 1 << 31
MOST_RANK = 1 << 20

_MESSAGES = {"send": "one_way", "recv": "one_way", "isend": "one_way_isend"}
"""MPIBench times each message by itself, one way; its usual send is MPI_Isend."""
_DIVIDED = ("gather", "scatter", "allgather", "alltoall", "reduce_scatter")
"""Those whose size is that of a part of each process, so that all together have another."""


@dataclass(frozen=True)
class Routine:
    """A routine by MPIBench's name and netsonde's, with its sizes as asked for."""

    name: str
    operation: str
    sizes: tuple[int, ...]
    repetitions: int


def parse_routine(text: str) -> tuple[str, str]:
    """(name, operation) of ``MPI_Bcast``, ``bcast`` or another one of netsonde's. Raises
    UsageError."""
    name = text.removeprefix("MPI_").lower()
    operation = _MESSAGES.get(name, name)
    found = operations().get(operation)
    if found is None or found.group not in ("collective", "message"):
        known = [*_MESSAGES, *(n for n, o in operations().items() if o.group == "collective")]
        raise UsageError(
            f"{text!r} is no routine of mpibench{nearest(name, known)}; it has messages and "
            "collectives, such as isend, sendrecv, bcast, barrier, alltoall"
        )
    return name, operation


def name_of(operation: str) -> str:
    """MPIBench's name of an operation: ``isend`` of ``one_way_isend``."""
    return next((name for name, known in _MESSAGES.items() if known == operation), operation)


def routine_of(
    text: str, sizes: Sequence[int], repetitions: int | None, size_of: SizeOf, processes: int
) -> Routine:
    """Raises UsageError where the sizes cannot be had."""
    name, operation = parse_routine(text)
    known = operations()[operation]
    if known.fixed_bytes is not None:
        sizes = (known.fixed_bytes,)
    if size_of == "total":
        _require_division(name, known, sizes, processes)
    usual = ALLTOALL_REPETITIONS if "alltoall" in operation else USUAL_REPETITIONS
    return Routine(name, operation, tuple(sizes), repetitions or usual)


def _require_division(name: str, known: Operation, sizes: Sequence[int], processes: int) -> None:
    if not is_divided(known.name):
        raise UsageError(
            f"--size-of total and {name} do not go together: its size is not that of a part"
        )
    for size in sizes:
        if size % processes:
            raise UsageError(
                f"size {size} with --size-of total and -n {processes} do not go together: the "
                "processes' parts are not equal"
            )


def size_multiple_bytes(text: str, size_of: SizeOf, processes: int) -> int:
    """Of what a routine's sizes are multiples: of its words, and in total of equal parts of all
    processes. Raises UsageError for no routine."""
    known = operations()[parse_routine(text)[1]]
    total = size_of == "total" and is_divided(known.name)
    return known.multiple_bytes * (processes if total else 1)


def is_divided(operation: str) -> bool:
    plain = operation.removesuffix("_init").removesuffix("_block")
    return any(plain in (each, f"i{each}") for each in _DIVIDED)


def sizes_of(
    smallest: str | None,
    largest: str | None,
    increment: str | None,
    factor: float | None,
    multiple_bytes: int = 1,
) -> tuple[int, ...]:
    """Sizes from the smallest to the largest, by adding or by multiplying, in bytes; a smallest of
    0 is followed by 1 where they are multiplied. All are rounded up to multiples of
    ``multiple_bytes``, but none above a largest that was asked for. Raises UsageError."""
    if increment is not None and factor is not None:
        raise UsageError("--increment and --factor do not go together: the one adds, the other "
                         "multiplies")  # fmt: skip
    low = SMALLEST_BYTES if smallest is None else parse_size_bytes(smallest)
    high = LARGEST_BYTES if largest is None else parse_size_bytes(largest)
    if not low <= high <= MOST_BYTES:
        raise UsageError(
            f"--min {low} and --max {high} do not go together: expected one that is no larger, up "
            f"to {MOST_BYTES} bytes"
        )
    if increment is not None:
        step = parse_size_bytes(increment)
        if step < 1 or (high - low) // step >= MOST_SIZES:
            raise UsageError(
                f"--increment {increment} gives no sizes or more than {MOST_SIZES} from {low} to "
                f"{high}"
            )
        return _multiples(range(low, high + 1, step), multiple_bytes, largest, high)
    by = FACTOR if factor is None else factor
    if not 1.01 <= by <= MOST_BYTES:
        raise UsageError(f"--factor {by:g} does not make sizes larger; expected 1.01 or more")
    found = [0] if low == 0 else []
    size = float(max(low, 1))
    while size <= high * (1 + 1e-9):
        found.append(round(size))
        size *= by
    return _multiples(found, multiple_bytes, largest, high)


def _multiples(
    sizes: Sequence[int], multiple_bytes: int, largest: str | None, high: int
) -> tuple[int, ...]:
    """Rounded up to multiples, each once: sums are of 8-byte integers, parts of all processes are
    equal."""
    rounded = [-(-size // multiple_bytes) * multiple_bytes for size in sizes]
    kept = [size for size in rounded if largest is None or size <= high]
    if not kept:
        raise UsageError(
            f"--max {largest} is too small: here sizes are multiples of {multiple_bytes} bytes"
        )
    return tuple(dict.fromkeys(kept))


def parse_ranks(text: str) -> tuple[int, ...]:
    """``0,3-5``: these processes, in order. Raises UsageError."""
    found = list[int]()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last > MOST_RANK:
            raise UsageError(f"--ranks {text!r} is no list of processes; write it like 0,3-5")
        found += range(first, last + 1)
    return tuple(sorted(set(found)))


def parse_size_of(text: str) -> SizeOf:
    """Raises UsageError."""
    if text not in ("each", "total"):
        raise UsageError(f"--size-of {text!r} is neither each nor total")
    return "total" if text == "total" else "each"


@dataclass(frozen=True)
class Summing:
    """How the samples are summed up. Times in ns.

    ``ranks`` None: all. ``outlier_factor`` None: nothing is left out. ``bin_width_ns`` None: as
    many bins as ``bins`` between the least and the largest. ``parts``: of which means the least is
    taken. ``without_timer``: what a reading of the timer takes is taken off all times. Raises
    UsageError for what does not go together."""

    warm_up: int = WARM_UP
    ranks: tuple[int, ...] | None = None
    outlier_factor: float | None = None
    bins: int = BINS
    bin_width_ns: float | None = None
    log_bins: bool = False
    every: int = 1
    parts: int = PARTS
    size_of: SizeOf = "each"
    without_timer: bool = False

    def __post_init__(self) -> None:
        if self.log_bins and self.bin_width_ns is not None:
            raise UsageError(
                "--bin-width and --log-bins do not go together: those bins have a ratio"
            )
