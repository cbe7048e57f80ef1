"""Times of MPI operations beside what the cost model gives for them, from one and the same run.

alpha and beta are a line through the run's own messages between two ranks, gamma is what joining a
byte costs in its own reductions; so what is off is the model, not another machine's parameters.
Definitions are in docs/methods/communication-model.md, "Held against a run".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netsonde.figures.alike import aspects
from netsonde.figures.headlines import Headline, Headlines
from netsonde.model.collectives import FORMULAS, PRINTED, Counts, counts_of
from netsonde.model.predict import total_bytes
from netsonde.operations import operations
from netsonde.records.data import Point, Run
from netsonde.stats.fits import LineFit, fit_line
from netsonde.stats.quantiles import Interval

LEAST_SIZES = 3
"""A line with an interval needs as many."""
ROUND_TRIP = "round_trip_median_ns"
TIME = "completion_median_ns"
FAMILIES = {
    name: row.schedules for name, row in operations().items() if row.schedules and not row.divides
}
"""The family of formulas of each operation; their sizes are those of the operation."""
JOINS, CARRIES = "reduce_scatter_block", "sendrecv"
"""Between two ranks both carry one part each way in one step, whatever the algorithm; only the one
joins it as well."""
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "MPIR_CVAR_BCAST_INTRA_ALGORITHM": {
        "binomial": "broadcast/binomial",
        "scatter_recursive_doubling_allgather": "broadcast/scatter-recursive-doubling",
        "scatter_ring_allgather": "broadcast/scatter-ring",
    },
    "MPIR_CVAR_SCATTER_INTRA_ALGORITHM": {"binomial": "scatter/binomial"},
    "MPIR_CVAR_GATHER_INTRA_ALGORITHM": {"binomial": "gather/binomial"},
    "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM": {
        "brucks": "allgather/bruck",
        "recursive_doubling": "allgather/recursive-doubling",
        "ring": "allgather/ring",
    },
    "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": {
        "brucks": "alltoall/bruck",
        "scattered": "alltoall/staggered",
        "pairwise": "alltoall/pairwise-xor",
    },
    "MPIR_CVAR_REDUCE_INTRA_ALGORITHM": {
        "binomial": "reduce/binomial",
        "reduce_scatter_gather": "reduce/rabenseifner",
    },
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": {
        "recursive_doubling": "allreduce/recursive-doubling",
        "reduce_scatter_allgather": "allreduce/rabenseifner",
        "ring": "allreduce/ring",
    },
    "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM": {
        "recursive_halving": "reduce-scatter/recursive-halving",
        "recursive_doubling": "reduce-scatter/recursive-doubling",
        "pairwise": "reduce-scatter/pairwise",
    },
}
"""Variables of MPICH, by the values that force an algorithm."""


@dataclass(frozen=True)
class CostLine:
    """alpha, beta and gamma of a run, ns and ns per byte, with their 95 % intervals; gamma None
    where it was neither measured nor given. ``sizes`` are those of the messages."""

    alpha: float
    beta: float
    alpha_interval: Interval
    beta_interval: Interval
    sizes: tuple[int, ...]
    gamma: float | None = None
    gamma_interval: Interval | None = None

    @property
    def is_resolved(self) -> bool:
        """Whether both parameters are told from 0."""
        return self.alpha_interval.low > 0.0 and self.beta_interval.low > 0.0

    def time_ns(self, counts: Counts) -> tuple[float, float, float]:
        """The time and its ends, where all parameters lie at the same end of their intervals: wider
        than 95 %."""
        gamma = self.gamma or 0.0
        joined = self.gamma_interval or Interval(gamma, gamma, 0.95)
        low, high = (
            counts.time_ns(max(0.0, alpha), max(0.0, beta), max(0.0, each))
            for alpha, beta, each in (
                (self.alpha_interval.low, self.beta_interval.low, joined.low),
                (self.alpha_interval.high, self.beta_interval.high, joined.high),
            )
        )
        return counts.time_ns(self.alpha, self.beta, gamma), low, high


@dataclass(frozen=True)
class Predicted:
    """One algorithm's time, ns, by its formula; ``is_printed`` where that is the form of the
    source which ours corrects."""

    algorithm: str
    formula: str
    is_printed: bool
    time_ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class Ratio:
    """Measured over predicted; above 1 the operation took longer than the model says."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Held:
    """One operation at one size: measured over its launches, and predicted by every algorithm of
    its family. ``forced`` is the algorithm that the library was seen to be set to."""

    example: Point
    measured: Headline
    line: CostLine
    predicted: tuple[Predicted, ...]
    forced: str | None

    @property
    def ppn(self) -> int:
        return self.example.spec.ppn or 1

    def ratio(self, predicted: Predicted) -> Ratio:
        """Its interval is from the outer ends of both."""
        value = self.measured.value / predicted.time_ns
        low, high = self.measured.over.low, self.measured.over.high
        if low is None or high is None or not self.line.is_resolved:
            return Ratio(value, None, None)
        return Ratio(value, low / predicted.high_ns, high / predicted.low_ns)

    @property
    def nearest(self) -> Predicted:
        """The algorithm that was forced, else the one whose time is nearest, in our form."""
        ours = [p for p in self.predicted if not p.is_printed]
        own = [p for p in ours if p.algorithm == self.forced]
        return min(own or ours, key=lambda p: abs(math.log(self.ratio(p).value)))


@dataclass(frozen=True)
class Against:
    """Everything of a run that could be held against the model, and why the rest could not."""

    held: tuple[Held, ...]
    notes: tuple[str, ...]


def against_the_model(run: Run, headlines: Headlines, gamma_ns: float | None = None) -> Against:
    """Every collective operation of a run beside the formulas of its family. ``gamma_ns``: instead
    of the measured one, ns to join a byte."""
    by_id = {point.id: point for point in run.points}
    found = [
        (by_id[headline.points[0]], headline)
        for headline in headlines.all
        if headline.key.carrier.has_ranks and headline.is_of_points and not headline.is_beside
    ]
    held, notes = list[Held](), dict[str, None]()
    lines: dict[str, CostLine | str] = {}
    for point, headline in found:
        if headline.key.figure != TIME or point.operation not in FAMILIES or headline.value <= 0:
            continue
        where = _network_of(point)
        if where not in lines:
            lines[where] = _line([f for f in found if _network_of(f[0]) == where], gamma_ns)
        line = lines[where]
        if isinstance(line, str):
            notes[line] = None
            continue
        predicted = _predicted(point, line)
        if predicted:
            held.append(Held(point, headline, line, predicted, _forced(run, point)))
        elif line.gamma is None:
            notes[_NO_GAMMA] = None
    return Against(tuple(held), tuple(notes))


_NO_LINE = (
    f"alpha and beta are not known: the run has no MPI messages between two ranks (latency, "
    f"pingpong) at {LEAST_SIZES} sizes or more, under the same MPI with one rank on a host"
)
_NO_GROWTH = "alpha and beta are not known: times of messages do not grow along a line from above 0"
_NO_GAMMA = (
    f"reductions are left out: gamma is not known. Measure {JOINS} and {CARRIES} with 2 ranks at "
    f"{LEAST_SIZES} sizes or more, or give it"
)


def _network_of(point: Point) -> str:
    """What messages and operations must have in common: the MPI, and how its network is set."""
    own = {
        name: text
        for name, text in aspects(point).items()
        if name in ("mpi", "label", "between") or name.startswith("options.")
    }
    return str(sorted(own.items()))


def _line(found: Sequence[tuple[Point, Headline]], gamma_ns: float | None) -> CostLine | str:
    """The line of one MPI, or why there is none."""
    times = [
        (point.message_bytes, headline.value / 2.0)
        for point, headline in found
        if _is_message(point, headline) and _is_plain(point)
    ]
    if len({size for size, _ in times}) < LEAST_SIZES:
        return _NO_LINE
    sizes, values = zip(*times, strict=True)
    fit = fit_line(sizes, values, errors="relative")
    if fit.intercept <= 0.0 or fit.slope <= 0.0:
        return _NO_GROWTH
    gamma = _gamma(found) if gamma_ns is None else (gamma_ns, None)
    return CostLine(
        fit.intercept,
        fit.slope,
        fit.intercept_interval,
        fit.slope_interval,
        tuple(sorted(set(sizes))),
        *(gamma or (None, None)),
    )


def _is_message(point: Point, headline: Headline) -> bool:
    return point.kind.is_round_trip and headline.key.figure == ROUND_TRIP


def _is_plain(point: Point) -> bool:
    """Between ranks 0 and 1 on two hosts, by netsonde's own way."""
    own = aspects(point)
    is_own_way = {own.get(name) for name in _OTHER_WAYS} <= {None, "false"}
    between = own.get("pair") in (None, "[0, 1]")
    return is_own_way and between and own.get("ppn") in (None, "1")


_OTHER_WAYS = (
    *("like", "threads", "busy", "window", "schedule", "library_algorithm", "echo", "datatype"),
)


def joining_fit(run: Run, headlines: Headlines) -> LineFit | None:
    """gamma of a run: the line of what joining adds, ns over bytes, where one MPI's network shows
    it; None where none does, or several differ in what was measured."""
    by_id = {point.id: point for point in run.points}
    found: dict[str, list[tuple[Point, Headline]]] = {}
    for headline in headlines.all:
        if headline.key.carrier.has_ranks and headline.is_of_points and not headline.is_beside:
            point = by_id[headline.points[0]]
            found.setdefault(_network_of(point), []).append((point, headline))
    fits = [fit for each in found.values() if (fit := _joining(each)) is not None]
    return fits[0] if len(fits) == 1 else None


def _gamma(found: Sequence[tuple[Point, Headline]]) -> tuple[float, Interval | None] | None:
    fit = _joining(found)
    return None if fit is None else (fit.slope, fit.slope_interval)


def _joining(found: Sequence[tuple[Point, Headline]]) -> LineFit | None:
    """What joining adds, over the size of a part; None where its slope is not told from 0."""
    by_operation: dict[str, dict[int, float]] = {JOINS: {}, CARRIES: {}}
    for point, headline in found:
        if headline.key.figure != TIME or not _is_plain(point):
            continue
        if point.operation in by_operation and point.spec.ranks == 2:
            by_operation[point.operation][point.message_bytes] = headline.value
    sizes = sorted(by_operation[JOINS].keys() & by_operation[CARRIES].keys())
    if len(sizes) < LEAST_SIZES:
        return None
    added = [by_operation[JOINS][size] - by_operation[CARRIES][size] for size in sizes]
    fit = fit_line(sizes, added)
    return fit if fit.slope_interval.low > 0.0 else None


def _predicted(point: Point, line: CostLine) -> tuple[Predicted, ...]:
    """By every formula of the operation's family, the printed forms that differ behind ours."""
    ranks = point.spec.ranks or 0
    if ranks < 2:
        return ()
    family = FAMILIES[str(point.operation)]
    made = []
    for name, row in FORMULAS.items():
        if row.family != family:
            continue
        total = total_bytes(name, ranks, point.message_bytes)
        own = counts_of(name, total, ranks)
        if own.reduced_bytes and line.gamma is None:
            continue
        made.append(Predicted(name, row.formula, False, *line.time_ns(own)))
        if name in PRINTED:
            printed = counts_of(name, total, ranks, printed=True)
            if printed != own:
                form = Predicted(name, PRINTED[name].formula, True, *line.time_ns(printed))
                made.append(form)
    return tuple(made)


def _forced(run: Run, point: Point) -> str | None:
    """The algorithm of a setting in the MPI's name that was seen in effect in the job."""
    mpi = point.spec.mpi or ""
    facts = (run.manifest.get("mpis") or {}).get(mpi) or {}
    for setting in mpi.split("+")[1:]:
        name, _, value = setting.partition("=")
        algorithm = SETTINGS.get(name, {}).get(value)
        family = FAMILIES.get(str(point.operation))
        if algorithm and f"mpi.in_effect.{name}" in facts and algorithm.split("/")[0] == family:
            return algorithm
    return None
