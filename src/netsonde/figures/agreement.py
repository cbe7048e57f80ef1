"""How other tools would have measured the same operation, beside how netsonde does.

Each technique is measured several times in one launch, in random order with all others, or once in
each of several launches. Its figure over netsonde's is a ratio, pass by pass; the interval is that
of the passes' median. The ratio is the product of two: what the tool's definition makes of the same
repetitions, and what its way of measuring makes of netsonde's own figure. Both are those of the
median pass, so that their product is the ratio that is shown. A difference has its explanation with
it. Definitions are in docs/methods/agreement.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from netsonde.catalogue.point import Collective
from netsonde.figures.alike import LAUNCH, PASS, TECHNIQUE, alike
from netsonde.figures.data import Figure
from netsonde.figures.side_by_side import Spread, spread
from netsonde.peers.mpi_techniques import MPI_TOOLS, mpi_technique
from netsonde.peers.told import told
from netsonde.records.data import Point, Run

WITHIN = 0.05
"""A few percent: techniques whose ratio lies within this of 1, interval and all, agree."""
PRINCIPAL: Mapping[tuple[str, str], tuple[str, float]] = {
    ("osu", "latency"): ("osu_one_way_mean_ns", 2.0),
    ("imb", "latency"): ("imb_one_way_mean_ns", 2.0),
    ("pmb", "latency"): ("pmb_one_way_mean_ns", 2.0),
    ("mpbench", "latency"): ("mpbench_one_way_mean_ns", 2.0),
    ("mpptest", "latency"): ("mpptest_one_way_best_ns", 2.0),
    ("skampi", "latency"): ("skampi_round_trip_trimmed_mean_ns", 1.0),
    ("osu", "collective"): ("osu_completion_mean_ns", 1.0),
    ("imb", "collective"): ("imb_rank_mean_ns", 1.0),
    ("pmb", "collective"): ("pmb_rank_mean_ns", 1.0),
    ("skampi", "collective"): ("skampi_completion_trimmed_mean_ns", 1.0),
    ("mpptest", "collective"): ("mpptest_completion_best_ns", 1.0),
    ("mpbench", "collective"): ("mpbench_completion_mean_ns", 1.0),
    ("reprompi", "collective"): ("reprompi_median_ns", 1.0),
    ("mpibench", "collective"): ("mpibench_mean_ns", 1.0),
}
"""The figure that each tool is quoted by, and how many times it netsonde's corresponds to: half a
round trip is one way."""
QUOTED = frozenset(test for _, test in PRINCIPAL)

Verdict = Literal["agrees", "differs", "not decided", "no interval"]
Part = Literal["definition", "way", "neither"]


@dataclass(frozen=True)
class Agreement:
    """One tool's technique at one point of the study, against netsonde's.

    ``value_ns`` is the tool's figure as it corresponds to netsonde's (a round trip for two one
    ways), the median over passes. ``ratio`` is it over netsonde's. ``definition`` and ``way`` are
    the parts of which its median is the product, those of the median pass. ``why`` is how the
    tool's definition differs in words, ``does`` how its way does.
    """

    tool: str
    example: Point
    value_ns: float
    ratio: Spread
    definition: float
    way: float
    why: str
    does: str

    @property
    def verdict(self) -> Verdict:
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return "no interval"
        if low >= 1 - WITHIN and high <= 1 + WITHIN:
            return "agrees"
        return "differs" if high < 1 - WITHIN or low > 1 + WITHIN else "not decided"

    @property
    def part(self) -> Part:
        """What makes the most of a difference; neither where both are within a few percent."""
        parts: dict[Part, float] = {"definition": self.definition, "way": self.way}
        largest = max(parts, key=lambda name: abs(math.log(parts[name])))
        return largest if abs(parts[largest] - 1) > WITHIN else "neither"

    @property
    def explanation(self) -> str:
        match self.part:
            case "definition":
                return self.why
            case "way":
                return self.does
            case "neither":
                return "Neither its definition nor its way alone makes more than a few percent."


@dataclass(frozen=True)
class Compared:
    """One test at one size: netsonde's own figure, ns, over passes, and every technique's, by the
    order of the tools."""

    example: Point
    ours: Spread
    tools: tuple[Agreement, ...]


def agreements(run: Run, figures: Sequence[Figure]) -> list[Compared]:
    """Every test and size of a run that was measured by netsonde's own way and as tools do."""
    measured = [p for p in run.points if p.carrier.has_ranks and p.test in QUOTED]
    own = {(f.point, f.name): f.value for f in figures}
    found = []
    for points in alike(measured, TECHNIQUE, LAUNCH, PASS):
        compared = _compared(points, own)
        if compared is not None:
            found.append(compared)
    return found


def _compared(points: Sequence[Point], own: Mapping[tuple[str, str], float]) -> Compared | None:
    name = points[0].kind.main
    ours = {
        _pass(p): own[p.id, name] for p in points if p.spec.like is None and (p.id, name) in own
    }
    if not ours:
        return None
    found = []
    for tool in MPI_TOOLS:
        measured = [p for p in points if p.spec.like == tool and p.batches]
        agreement = _agreement(tool, measured, ours, own)
        found += [] if agreement is None else [agreement]
    if not found:
        return None
    example = next(p for p in points if p.spec.like is None)
    return Compared(example, spread(list(ours.values())), tuple(found))


def _agreement(
    tool: str,
    points: Sequence[Point],
    ours: Mapping[int, float],
    own: Mapping[tuple[str, str], float],
) -> Agreement | None:
    values, ratios, definitions = (list[float]() for _ in range(3))
    why = ""
    for point in points:
        principal, times = PRINCIPAL[tool, point.test]
        said = next((t for t in told(point) if t.name == principal), None)
        beside = own.get((point.id, point.kind.main))
        if said is None or not beside or not said.value or _pass(point) not in ours:
            continue
        value, reference = times * said.value, ours[_pass(point)]
        values.append(value)
        ratios.append(value / reference)
        definitions.append(value / beside)
        why = said.why
    if not values:
        return None
    ratio, definition = spread(ratios), _of_the_median(definitions, ratios)
    return Agreement(
        tool,
        points[0],
        float(np.median(values)),
        ratio,
        definition,
        ratio.median / definition,
        why,
        way_in_words(tool, points[0]),
    )


def _of_the_median(parts: Sequence[float], ratios: Sequence[float]) -> float:
    """The part of the pass whose ratio is the median; of an even number of passes the geometric
    mean of the two in the middle."""
    order = np.argsort(ratios, kind="stable")
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    return float(np.exp(np.mean(np.log(np.asarray(parts)[middle]))))


def way_in_words(tool: str, point: Point) -> str:
    """How the tool's way of measuring differs from a barrier, one root and warm data."""
    known = mpi_technique(tool, point.test)
    spec = point.spec
    words = _together_in_words(spec) if isinstance(spec, Collective) else []
    warm_up = spec.warm_up or 0
    count = warm_up if spec.count is None else spec.count
    words.append(f"{count - warm_up} repetitions after {warm_up} of warm-up, all in one go")
    sentence = "; ".join(words)
    return f"{sentence[0].upper()}{sentence[1:]}." if known is not None else ""


def _together_in_words(spec: Collective) -> list[str]:
    words = []
    if spec.start == "window":
        words.append("ranks begin at an agreed instant in place of a barrier")
    if spec.start == "none":
        words.append("nothing keeps ranks together between repetitions, so these overlap")
    if spec.rotate_root:
        words.append("another rank is the root in every repetition")
    if spec.cache not in (None, "warm"):
        words.append("what ranks give is written anew before every repetition")
    return words


def _pass(point: Point) -> int:
    return point.spec.launch or point.spec.pass_number or 1
