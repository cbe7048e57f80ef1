"""Performance guidelines of MPI: what an operation must not take longer than, by its own meaning.

Whoever has ``reduce`` and ``bcast`` has an ``allreduce`` that takes no longer than both; one that
does is badly chosen by the library, whatever the network. So these need no measurement to compare
with but their own.

Sources: J. L. Traeff, W. D. Gropp and R. Thakur, Self-Consistent MPI Performance Guidelines, IEEE
TPDS 21 (2010): monotony, split-robustness, specialisation and composition; S. Hunold, A.
Carpen-Amarie, F. D. Luebbe and J. L. Traeff, Automatic Verification of Self-Consistent MPI
Performance Guidelines, Euro-Par 2016: the guidelines and that violations are decided by tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netsonde.catalogue.point import Collective
from netsonde.figures.alike import LAUNCH, OPERATION, PASS, SIZE, alike
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run

LEAST_GAIN = 0.1
"""A violation saves at least this share: points are measured one after the other, and what changes
in between is in no interval."""
SMALLEST_VECTOR_BYTES = 8
MEDIAN = "completion_median_ns"

Of = Literal["part", "whole", "none"]
Kind = Literal["composition", "monotony", "split-robustness"]


@dataclass(frozen=True)
class Term:
    """An operation at a size: the ``part`` of each rank, the ``whole`` of all parts, or ``none``
    (a barrier; of an operation that must have a size, the smallest vector)."""

    operation: str
    of: Of

    def size(self, part_bytes: int, ranks: int) -> int:
        if self.of == "none":
            return 0 if self.operation == "barrier" else SMALLEST_VECTOR_BYTES
        return part_bytes * ranks if self.of == "whole" else part_bytes


@dataclass(frozen=True)
class Guideline:
    """``left`` takes no longer than all of ``right`` one after the other."""

    left: Term
    right: tuple[Term, ...]

    @property
    def words(self) -> str:
        return f"{self.left.operation} ≤ {' + '.join(term.operation for term in self.right)}"


@dataclass(frozen=True)
class Compared:
    """A guideline with what was measured: medians and the ends of their 95 % intervals, ns.

    ``gain``: the share of the left side's time that the right side would save; its certain part is
    ``certain_gain``, of the nearest ends of the intervals. Where it was measured several times (in
    launches, or again because it seemed to be violated) ``left`` and ``right`` are of the middle
    one by gain, and ``others`` are the rest.
    """

    kind: Kind
    words: str
    left: Figure
    right: tuple[Figure, ...]
    times: int = 1
    """How often the right side is done."""
    part_bytes: int = 0
    """Of a composition: the part of a rank that the sizes of all sides follow from."""
    others: tuple[Compared, ...] = ()

    @property
    def rounds(self) -> int:
        """How often it was measured."""
        return 1 + len(self.others)

    @property
    def right_ns(self) -> float:
        return self.times * sum(figure.value for figure in self.right)

    @property
    def gain(self) -> float:
        return 1 - self.right_ns / self.left.value

    @property
    def certain_gain(self) -> float:
        highest = self.times * sum(_high(figure) for figure in self.right)
        return 1 - highest / _low(self.left)

    @property
    def is_violated(self) -> bool:
        """Every time that it was measured: once may have been a disturbance."""
        return self._seems_violated and all(other.is_violated for other in self.others)

    @property
    def was_violated(self) -> bool:
        """Some time, and not every time that it was measured."""
        return not self.is_violated and any(c._seems_violated for c in (self, *self.others))

    @property
    def _seems_violated(self) -> bool:
        return self.certain_gain > 0 and self.gain >= LEAST_GAIN


def _terms(text: str) -> tuple[Term, ...]:
    """``reduce whole + scatter part``."""
    pairs = (part.split() for part in text.split(" + "))
    return tuple(Term(operation, of) for operation, of in pairs)  # type: ignore[arg-type]


GUIDELINES = tuple(
    Guideline(_terms(left)[0], _terms(right))
    for left, right in (
        ("allreduce whole", "reduce whole + bcast whole"),
        ("allreduce whole", "reduce_scatter_block part + allgather part"),
        ("reduce whole", "allreduce whole"),
        ("reduce whole", "reduce_scatter_block part + gather part"),
        ("reduce_scatter_block part", "reduce whole + scatter part"),
        ("reduce_scatter_block part", "allreduce whole"),
        ("bcast whole", "scatter part + allgather part"),
        ("gather part", "allgather part"),
        ("gather part", "reduce whole"),
        ("scatter part", "bcast whole"),
        ("allgather part", "gather part + bcast whole"),
        ("allgather part", "alltoall part"),
        ("allgather part", "allreduce whole"),
        ("gather part", "gatherv part"),
        ("scatter part", "scatterv part"),
        ("allgather part", "allgatherv part"),
        ("alltoall part", "alltoallv part"),
        ("reduce_scatter_block part", "reduce_scatter part"),
        ("barrier none", "allreduce none"),
    )
)
"""Not among them: scan against exscan and a local reduction, which is not measured here."""

PARTS_BYTES = (8, 512, 8192, 65536)
"""Parts that ``netsonde mpi guidelines`` measures, where nobody asks for others."""


def guideline_sizes(parts_bytes: Sequence[int], ranks: int) -> dict[str, list[int]]:
    """By operation, the sizes that its guidelines need for parts of these sizes, the variants with
    uneven parts left out."""
    sizes: dict[str, set[int]] = {}
    for guideline in GUIDELINES:
        terms = (guideline.left, *guideline.right)
        if any(
            term.operation.endswith("v") or term.operation == "reduce_scatter" for term in terms
        ):
            continue
        for term in terms:
            found = {term.size(part, ranks) for part in parts_bytes}
            sizes.setdefault(term.operation, set()).update(found)
    return {operation: sorted(found) for operation, found in sizes.items()}


def compare_guidelines(run: Run, figures: Sequence[Figure]) -> list[Compared]:
    """Every guideline at every size that was measured, with points that differ in nothing but the
    operation and its size; all launches and repetitions of it together."""
    medians = {f.point: f for f in figures if f.name == MEDIAN and None not in (f.low, f.high)}
    points = [
        p
        for p in run.select()
        # What an MPI was told to do is no choice of its own.
        if p.kind.is_operation
        and p.id in medians
        and p.operation
        and not p.spec.of(Collective).by_algorithm
    ]
    found = []
    for same in alike(points, OPERATION, SIZE, LAUNCH, PASS):
        several: dict[tuple[object, ...], list[Compared]] = {}
        ranks = same[0].spec.ranks or 0
        for measured, is_again in _rounds(same, medians):
            for one in (*_compositions(measured, ranks), *_by_size(measured)):
                sizes = (one.left.message_bytes, *(f.message_bytes for f in one.right))
                key = (one.kind, one.words, sizes, one.left.operation)
                if key in several or not is_again:
                    several.setdefault(key, []).append(one)
        found += [_middle(own) for own in several.values()]
    return found


def _rounds(
    same: Sequence[Point], medians: Mapping[str, Figure]
) -> Iterator[tuple[dict[tuple[str, int], Figure], bool]]:
    """What was measured together: the points of one launch or pass; where some were measured again,
    these once more for themselves, and True."""
    for together in alike(same, OPERATION, SIZE):
        several: dict[tuple[str, int], list[Figure]] = {}
        for point in sorted(together, key=lambda p: p.spec.refined or 0):
            key = (str(point.operation), point.message_bytes)
            several.setdefault(key, []).append(medians[point.id])
        for number in range(max(len(own) for own in several.values())):
            yield {k: own[number] for k, own in several.items() if len(own) > number}, number > 0


def _middle(several: Sequence[Compared]) -> Compared:
    ordered = sorted(several, key=lambda one: one.gain)
    middle = ordered.pop(len(ordered) // 2)
    return replace(middle, others=tuple(ordered))


def _compositions(found: Mapping[tuple[str, int], Figure], ranks: int) -> Iterator[Compared]:
    if ranks < 2:
        return
    for guideline in GUIDELINES:
        for part in _parts(found, guideline.left, ranks):
            terms = (guideline.left, *guideline.right)
            sides = [found.get((term.operation, term.size(part, ranks))) for term in terms]
            known = [side for side in sides if side is not None]
            if len(known) == len(sides):
                yield Compared(
                    "composition", guideline.words, known[0], tuple(known[1:]), part_bytes=part
                )


def _parts(found: Mapping[tuple[str, int], Figure], left: Term, ranks: int) -> list[int]:
    """Parts for which the left side was measured."""
    sizes = sorted(size for operation, size in found if operation == left.operation)
    if left.of == "none":
        return [0]
    if left.of == "part":
        return sizes
    return [size // ranks for size in sizes if size % ranks == 0]


def _by_size(found: Mapping[tuple[str, int], Figure]) -> Iterator[Compared]:
    """A smaller message against the next larger one, and a larger one against as many smaller."""
    by_operation: dict[str, list[Figure]] = {}
    for (operation, _), figure in sorted(found.items()):
        by_operation.setdefault(operation, []).append(figure)
    for operation, rising in by_operation.items():
        for small, large in itertools.pairwise(rising):
            yield Compared(
                "monotony", f"{operation} of less ≤ {operation} of more", small, (large,)
            )
            if small.message_bytes:
                times = -(-large.message_bytes // small.message_bytes)
                words = f"{operation} ≤ {times} times {operation} of a part"
                yield Compared("split-robustness", words, large, (small,), times)


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    return figure.value if figure.high is None else figure.high


def points_of(run: Run, compared: Compared) -> list[Point]:
    """The points on both sides, the left one first."""
    wanted = [figure.point for side in sides_of(compared) for figure in side]
    return [next(p for p in run.points if p.id == name) for name in dict.fromkeys(wanted)]


def sides_of(compared: Compared) -> list[list[Figure]]:
    """The left side and each part of the right one, each with all its measurements."""
    every = (compared, *compared.others)
    right = zip(*(one.right for one in every), strict=True)
    return [[one.left for one in every], *(list(part) for part in right)]
