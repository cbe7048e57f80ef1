"""Options of ``netsonde mpi`` that choose among the ways of its tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from netsonde.catalogue.test import test_row
from netsonde.errors import UsageError
from netsonde.operations import (
    PAIRS_FILE_LIMIT_BYTES,
    PATTERNS,
    operations,
    parse_pairing,
    parse_pairs,
    parse_pattern,
)
from netsonde.study.mpi_keys import is_per_rank

USUAL_THREADS = (2, 4)
PatternOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN|FILE",
        help="Partners in operations between two ranks: half (p and p + n/2), pairs, ring, "
        "ring:DISTANCE, head-to-head (half, both send at once), all-to-one; or a file with two "
        "ranks on each line.",
        show_default="half",
    ),
]
PairOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B|WHICH",
        help="The ranks of latency, stream and others between two. `each`: rank 0 with every other "
        "one, one after the other; `all`: every two; `slowest`: rank 0 with the slowest, which is "
        "sought first.",
        show_default="0,1",
    ),
]
WindowOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Messages of each pair at once, in message rates.",
        show_default="64",
    ),
]
ReductionOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How reduce and others join words: sum, min, max, float-sum; or by an operation of "
        "our own: own-sum, ordered (does not commute), null (does nothing).",
        show_default="sum",
    ),
]
CacheOption = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Data before a repetition: warm, or in memory by `flush` (a walk through a buffer "
        "larger than the last-level cache) or `rotate` (other buffers every time); or `fresh`: "
        "each rank writes what it gives anew.",
    ),
]
CacheBytesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Size of that buffer, or of all buffers together.",
        show_default="twice the last-level cache",
    ),
]
AlignOption = Annotated[
    int | None,
    typer.Option(
        metavar="BYTES",
        help="Buffers begin so many bytes behind a page: 1, 2, 4 to 2048.",
        show_default="at a page",
    ),
]
OverlapOption = Annotated[
    bool,
    typer.Option(
        "--overlap", help="Compute while an operation such as ibcast is under way; its overlap."
    ),
]
PollsOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="With --overlap: calls of MPI_Test while computing."),
]
PpnOption = Annotated[
    str | None,
    typer.Option(
        metavar="N,M",
        help="With --hosts: so many ranks one after the other on each host; several numbers are "
        "measured beside each other.",
        show_default="1",
    ),
]
SwitchesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --hosts: the switches between them, as tables [[switch]] and [[uplink]] of a "
        "TOML file.",
    ),
]
ThreadsOption = Annotated[
    str | None,
    typer.Option(
        metavar="N,M",
        help="Threads of each of the two ranks in the test threads; every number is measured "
        "beside one thread.",
        show_default="2,4",
    ),
]
SizeOfOption = Annotated[
    str,
    typer.Option(metavar="WHAT", help="Sizes are those of each rank's part, or of all in total."),
]


def parse_ppn(text: str | None) -> list[int]:
    """``1,2``: numbers of ranks on a host. Raises UsageError."""
    numbers = text.split(",") if text is not None else []
    if any(not number.isdecimal() or len(number) > 8 for number in numbers):
        raise UsageError(f"{str(text)[:80]!r} are no numbers of ranks on a host; write 1,2")
    return [int(number) for number in numbers]


def threads_of(text: str | None, tests: Sequence[str]) -> list[int]:
    """``2,4``: numbers of threads. Raises UsageError."""
    if text is None:
        return list(USUAL_THREADS)
    if not any(test_row(test).has_threads for test in tests):
        raise UsageError(
            f"--threads goes with the test threads, not with {tests[0]}: netsonde mpi threads "
            f"--threads {text[:40]}"
        )
    numbers = text.split(",")
    if any(not number.isdecimal() or len(number) > 8 for number in numbers):
        raise UsageError(f"{text[:80]!r} are no numbers of threads; write 2,4")
    return [int(number) for number in numbers]


def partners_of(pattern: str | None) -> dict[str, Any]:
    """The keys ``pattern`` or ``partners`` of a block. Raises UsageError."""
    if pattern is None:
        return {}
    if pattern.partition(":")[0] in PATTERNS:
        parse_pattern(pattern)
        return {"pattern": pattern}
    path = Path(pattern)
    if not path.exists() and "/" not in pattern and "." not in pattern:
        parse_pattern(pattern)  # says which there are
    return {"partners": read_pairs(path)}


def read_pairs(path: Path) -> list[tuple[int, int]]:
    """The pairs of ranks in a file. Raises UsageError."""
    try:
        with path.open("rb") as file:
            content = file.read(PAIRS_FILE_LIMIT_BYTES + 1)
        if len(content) > PAIRS_FILE_LIMIT_BYTES:
            raise UsageError(
                f"{path} is larger than {PAIRS_FILE_LIMIT_BYTES} bytes, the limit for pairs of "
                "ranks"
            )
        return parse_pairs(content.decode(), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read the pairs of ranks in {path}: {error.strerror}") from error


def choices_of(
    tests: Sequence[str], between_two: Sequence[str], given: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """For each test, those of the given keys that mean something for it.

    Raises UsageError for a key that means nothing to any of the tests. Keys that are None, False or
    as usual are left out.
    """
    asked = {
        key: value
        for key, value in given.items()
        if value not in (None, False) and value != _USUAL.get(key)
    }
    if "pair" in asked:
        asked["pair"] = parse_pairing(asked["pair"])
    found: dict[str, dict[str, Any]] = {test: {} for test in tests}
    for key, value in asked.items():
        takers = [test for test in tests if _takes(test, key, between_two)]
        if not takers:
            option = _OPTIONS.get(key, f"--{key.replace('_', '-')}")
            raise UsageError(f"{option} goes with {_GOES_WITH[key]}")
        for test in takers:
            found[test][key] = value
    return found


_USUAL = {"cache": "warm", "size_of": "each"}
_OPTIONS = {"both_timers": "--compare-timers", "timer_overhead": "--without-timer-overhead"}
"""Options whose keys have other names."""
_GOES_WITH = {
    "pair": "tests between two ranks, such as latency; operations take --pattern",
    "window": "message_rate and message_rate_both",
    "reduction": "operations that join words, such as allreduce",
    "cache": "operations, such as bcast",
    "cache_bytes": "operations, such as bcast",
    "align": "operations, such as bcast",
    "overlap": "operations that can be begun and waited for, such as ibcast",
    "polls": "operations that can be begun and waited for, such as ibcast",
    "size_of": "operations whose size is that of one rank's part, such as gather",
    "both_timers": "clock and operations, such as bcast",
    "timer_overhead": "operations, latency and pingpong",
}


def _takes(test: str, key: str, between_two: Sequence[str]) -> bool:
    if key == "pair":
        return test in between_two
    if key == "timer_overhead" and test_row(test).is_round_trip:
        return True
    if key == "both_timers" and test_row(test).compares_clocks:
        return True
    operation = operations().get(test)
    if operation is None:
        return False
    match key:
        case "window":
            return operation.windowed
        case "reduction":
            return operation.reduces
        case "overlap" | "polls":
            return operation.begins
        case "size_of":
            return is_per_rank(operation)
        case _:
            return True
