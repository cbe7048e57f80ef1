"""Keys of a study's block that choose among the ways of MPI tests: who is whose partner, how words
are joined, where data lies, what is computed meanwhile (docs/methods/collectives.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import Field

from netsonde.catalogue.test import names_of, test_row
from netsonde.catalogue.transport import only_ranks
from netsonde.operations import PAIRS_LIMIT, Operation, operations
from netsonde.reductions import ReductionName
from netsonde.study.values import Size
from netsonde.tables import Strict

MOST_RANKS = 4096
WINDOW_LIMIT = 4096
POLLS_LIMIT = 100_000
MOST_THREADS = 128
CACHE_LEAST_BYTES = 4096
CACHE_MOST_BYTES = 16 << 30
WORD_BYTES = 8
PER_RANK = frozenset(
    {
        "part of each rank",
        "mean part of a rank",
        "part for each destination",
        "mean part for a destination",
        "result of each rank",
        "mean result of a rank",
    }
)
"""Sizes of operations that are of one rank's part: all ranks together have as many times that."""
Rank = Annotated[int, Field(ge=0, le=MOST_RANKS - 1)]


class MpiKeys(Strict):
    """The keys; each is None, or as usual, where nothing is chosen.

    ``partners``: pairs of ranks in place of a pattern. ``pair``: the ranks of a test between two;
    ``each`` is rank 0 with every other one, ``all`` every two ranks, one pair after the other, and
    ``slowest`` rank 0 with the one that a short search finds to be slowest. ``window``: messages at
    once. ``cache``: ``flush`` walks through a buffer larger than the last-level cache before every
    repetition, ``rotate`` takes other buffers in every one; ``cache_bytes`` is how large that is;
    with ``fresh`` each rank writes new data. ``align``: buffers begin so many bytes behind a page.
    ``overlap``: computes beside the operation, and calls MPI ``polls`` times meanwhile.
    ``size_of = "total"``: sizes are those of all ranks' parts together. ``threads``: of each of the
    two ranks, each number a measurement of its own beside that of one thread. ``both_timers``:
    MPI_Wtime is read beside the clock. ``timer_overhead``: what a reading of the timer takes is
    measured and told, or also taken off.
    """

    partners: list[tuple[Rank, Rank]] = Field([], max_length=PAIRS_LIMIT)
    pair: tuple[Rank, Rank] | Literal["each", "all", "slowest"] | None = None
    window: int | None = Field(None, ge=1, le=WINDOW_LIMIT)
    reduction: ReductionName | None = None
    cache: Literal["warm", "flush", "rotate", "fresh"] = "warm"
    cache_bytes: Size | None = Field(None, ge=CACHE_LEAST_BYTES, le=CACHE_MOST_BYTES)
    align: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048] | None = None
    overlap: bool = False
    polls: int | None = Field(None, ge=0, le=POLLS_LIMIT)
    size_of: Literal["each", "total"] = "each"
    threads: list[Annotated[int, Field(ge=1, le=MOST_THREADS)]] = Field([], max_length=16)
    both_timers: bool = False
    timer_overhead: Literal["kept", "told", "off"] = "kept"

    def parameters_of(self, operation: Operation | None) -> dict[str, Any]:
        """What a point of that operation (None: of a test between two ranks) carries of the keys;
        names are those of a request."""
        overhead = {} if self.timer_overhead == "kept" else {"timer_overhead": self.timer_overhead}
        if operation is None:
            return overhead | ({"pair": self.pair} if isinstance(self.pair, tuple) else {})
        cold = self.cache != "warm"
        optional = {
            "partners": tuple(self.partners) or None,
            "pattern": "list" if self.partners else None,
            "window": self.window,
            "reduction": self.reduction,
            "cache": self.cache if cold else None,
            "cache_bytes": self.cache_bytes,
            "align_bytes": self.align,
            "overlap": self.overlap or None,
            "polls": self.polls,
            "both_timers": self.both_timers or None,
        }
        return overhead | {name: value for name, value in optional.items() if value is not None}

    def problem_with_keys(
        self,
        test: str,
        transports: Sequence[str],
        names: Sequence[str],
        pattern: str | None,
        start: str,
        check_data: bool,
    ) -> str | None:
        """What does not go together, as a sentence, or None."""
        if test_row(test).has_threads != bool(self.threads):
            return "test threads and threads go together: threads = [2, 4]"
        if test_row(test).has_threads and not only_ranks(transports):
            return "test threads needs transports = ['mpi']"
        if len(set(self.threads)) < len(self.threads):
            return "threads has a number twice"
        if self.pair is not None:
            if not only_ranks(transports) or test_row(test).has_common_clock:
                return "pair goes with MPI's tests between two ranks, such as latency"
            if isinstance(self.pair, tuple) and self.pair[0] == self.pair[1]:
                return f"pair {list(self.pair)} names one rank only"
            if self.pair == "slowest" and not test_row(test).is_round_trip:
                return (
                    "pair = 'slowest' looks at round trips: it goes with "
                    f"{' and '.join(names_of('is_round_trip'))}, not with {test}"
                )
        optional = ("window", "reduction", "cache_bytes", "align", "polls")
        given = [name for name in optional if getattr(self, name) is not None]
        given += ["partners"] if self.partners else []
        given += ["cache"] if self.cache != "warm" else []
        given += ["overlap"] if self.overlap else []
        given += ["size_of"] if self.size_of != "each" else []
        given += ["both_timers"] if self.both_timers else []
        if self.timer_overhead != "kept" and (
            not only_ranks(transports)
            or not (test_row(test).is_operation or test_row(test).is_round_trip)
        ):
            return (
                f"timer_overhead = '{self.timer_overhead}' goes with MPI's operations, "
                f"{' and '.join(names_of('is_round_trip'))}"
            )
        if self.both_timers and self.timer_overhead == "off":
            return (
                "both_timers and timer_overhead = 'off' do not go together: each timer's time "
                "holds a reading of either"
            )
        if given and not test_row(test).is_operation:
            return f"{given[0]} and test {test} do not go together"
        found = self._problem_of_block(pattern, start, check_data)
        for name in names:
            operation = operations().get(name)
            if found is None and operation is not None:
                found = self._problem_of(operation)
        return found

    def _problem_of_block(self, pattern: str | None, start: str, check_data: bool) -> str | None:
        if self.partners and pattern is not None:
            return f"partners and pattern {pattern} do not go together: both say who is whose"
        if self.partners and (problem := problem_of_pairs(self.partners)):
            return problem
        if self.cache_bytes is not None and self.cache in ("warm", "fresh"):
            return f"cache_bytes and cache = '{self.cache}' do not go together"
        if self.cache == "fresh" and check_data:
            return (
                "cache = 'fresh' and check_data do not go together: nobody knows data that is "
                "other in every repetition"
            )
        if self.cache == "fresh" and self.reduction == "float-sum":
            return (
                "cache = 'fresh' and reduction = 'float-sum' do not go together: random bits are "
                "no numbers to add"
            )
        if self.cache == "flush" and start == "window":
            return (
                "cache = 'flush' and start = 'window' do not go together: it takes longer than a "
                "window"
            )
        if self.cache == "rotate" and check_data:
            return (
                "cache = 'rotate' and check_data do not go together: the check touches the memory "
                "that is to be cold; cache = 'flush' comes after the check"
            )
        if self.polls is not None and not self.overlap:
            return "polls go with overlap"
        if self.overlap and start != "barrier":
            return f"overlap and start = '{start}' do not go together: it begins by a barrier"
        return None

    def _problem_of(self, operation: Operation) -> str | None:
        name = operation.name
        refused = (
            ("partners", bool(self.partners) and operation.partnered == "none",
             "it is not between two ranks"),
            ("window", self.window is not None and not operation.windowed,
             "it is no message rate"),
            ("reduction", self.reduction is not None and not operation.reduces,
             "it joins no words"),
            ("cache = 'rotate'", self.cache == "rotate" and operation.binds,
             "MPI is given its memory before the first repetition; cache = 'flush' does not ask "
             "for other memory"),
            ("align", (self.align or WORD_BYTES) < WORD_BYTES
             and WORD_BYTES in (operation.multiple_bytes, operation.fixed_bytes),
             "it has words of 8 bytes, which begin at a multiple of 8"),
            ("overlap", self.overlap and not operation.begins,
             "it cannot be begun and waited for, as ibcast and isend_irecv can"),
            ("size_of = 'total'", self.size_of == "total" and not is_per_rank(operation),
             "its size is not that of one rank's part"),
        )  # fmt: skip
        for key, is_refused, why in refused:
            if is_refused:
                return f"{key} and {name} do not go together: {why}"
        return None


def pairs_of(pair: tuple[int, int] | str | None, ranks: int) -> list[tuple[int, int]]:
    """The pairs of ranks that a key ``pair`` asks for; none where it is left to the worker."""
    if pair is None:
        return []
    if isinstance(pair, tuple):
        return [pair]
    if pair == "all":
        return list(combinations(range(ranks), 2))
    return [(0, rank) for rank in range(1, ranks)]


def thread_ways(threads: Sequence[int], like: str | None) -> list[dict[str, Any]]:
    """The points of one size of test threads: one thread as any program has it, one where threads
    may call MPI at the same time, and so many, with a communicator each and with one of all. A tool
    that is followed has one communicator only."""
    one = [{"threads": 1, "thread_level": level} for level in ("funneled", "multiple")]
    kinds = ("own", "shared") if like is None else ("shared",)
    several = [
        {"threads": number, "thread_level": "multiple", "communicators": kind}
        for number in threads
        if number > 1
        for kind in kinds
    ]
    return [*one, *several]


def is_per_rank(operation: Operation) -> bool:
    """Whether all ranks together have as many times the size as there are ranks."""
    return operation.group == "collective" and operation.size in PER_RANK


def problem_of_pairs(pairs: Sequence[tuple[int, int]]) -> str | None:
    """A rank that is in two pairs, or in one twice, as a sentence."""
    seen: set[int] = set()
    for pair in pairs:
        for rank in pair:
            if rank in seen:
                return f"partners name rank {rank} twice; every rank may be in one pair only"
            seen.add(rank)
    return None


def part_bytes(total_bytes: int, ranks: int, operation: Operation) -> int:
    """What each of the ranks has of a total: whole elements, rounded down.

    Raises ValueError where nothing would be left of something.
    """
    part = total_bytes // ranks // operation.multiple_bytes * operation.multiple_bytes
    if total_bytes and not part:
        least = ranks * operation.multiple_bytes
        raise ValueError(
            f"size {total_bytes} in total leaves nothing for each of {ranks} ranks in "
            f"{operation.name}; the least is {least}"
        )
    return part
