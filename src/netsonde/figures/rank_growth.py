"""Times and timeouts of MPI operations against the number of ranks.

Points that differ in nothing but the number of ranks, and in the launch. Definitions are in
docs/methods/rank-growth.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from netsonde.catalogue.point import Threads
from netsonde.figures.alike import LAUNCH, RANKS, alike
from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.side_by_side import spread
from netsonde.figures.time_outs import waits_of
from netsonde.model.growth import LEAST_NUMBERS, Growth, growth
from netsonde.records.data import Point, Run
from netsonde.stats.proportions import wilson_interval
from netsonde.stats.quantiles import Interval


@dataclass(frozen=True)
class AtRanks:
    """One number of ranks: ``time_ns`` is the median over launches of their medians. ``low`` and
    ``high`` are over launches, of a single launch those of its median; None where there are fewer
    than 6. ``is_crowded``: more ranks than CPUs on a host."""

    ranks: int
    time_ns: float
    low: float | None
    high: float | None
    launches: int
    is_crowded: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Scaling:
    """One test at one size. ``at`` is by rising number of ranks; ``fitted`` those that a law was
    looked for in, and ``growth`` None where they are too few."""

    name: str
    example: Point
    at: tuple[AtRanks, ...]
    fitted: tuple[AtRanks, ...]
    growth: Growth | None

    @property
    def message_bytes(self) -> int:
        """Of all ranks' parts together, where that was asked for."""
        return self.example.spec.asked_bytes

    @property
    def fits_crowded(self) -> bool:
        return bool(self.fitted) and all(each.is_crowded for each in self.fitted)


@dataclass(frozen=True)
class WaitsAt:
    """Repetitions that waited for TCP's timer with a number of ranks; ``share`` is None where that
    is not decided."""

    ranks: int
    repetitions: int
    slow: int
    share: float | None
    low: float | None
    high: float | None


def is_scaled(run: Run) -> bool:
    """Whether the run has several numbers of ranks."""
    return any(point.spec.ranks_vary for point in run.points)


def scalings(run: Run, figures: Sequence[Figure]) -> list[Scaling]:
    """Every test and size that was measured with two numbers of ranks or more, in the order of the
    study."""
    medians = {f.point: f for f in figures if f.name == f.kind.main}
    found = []
    for points in _groups(run):
        by_ranks: dict[int, list[Point]] = {}
        for point in points:
            if point.id in medians and medians[point.id].value > 0:
                by_ranks.setdefault(point.spec.ranks or 0, []).append(point)
        at = tuple(_at(run, n, by_ranks[n], medians) for n in sorted(by_ranks))
        if len(at) > 1:
            found.append(_scaling(at))
    return found


def _groups(run: Run) -> list[list[Point]]:
    return alike((p for p in run.points if is_of_growth(p) and p.batches), RANKS, LAUNCH)


def is_of_growth(point: Point) -> bool:
    """Whether its time is looked at against the number of ranks."""
    return bool(point.spec.ranks_vary) and point.kind.main_is_time


def _at(run: Run, ranks: int, points: Sequence[Point], medians: Mapping[str, Figure]) -> AtRanks:
    found = [medians[point.id] for point in points]
    crowded = any(is_crowded(run, point) for point in points)
    if len(found) == 1:
        one = found[0]
        return AtRanks(ranks, one.value, one.low, one.high, 1, crowded, tuple(points))
    over = spread([figure.value for figure in found])
    return AtRanks(ranks, over.median, over.low, over.high, over.n, crowded, tuple(points))


def _scaling(at: tuple[AtRanks, ...]) -> Scaling:
    """A law is looked for where there were CPUs for all ranks, or where there never were; one
    rank alone sends nothing."""
    several = [each for each in at if each.ranks > 1]
    free = [each for each in several if not each.is_crowded]
    fitted = tuple(free or several)
    found = None
    if len(fitted) >= LEAST_NUMBERS:
        found = _law_of(
            tuple(each.ranks for each in fitted), tuple(each.time_ns for each in fitted)
        )
    example = at[0].points[0]
    spec = example.spec
    mpi = "" if spec.mpi is None else f"-{spec.mpi}"
    name = f"ranks-{spec.operation or example.test}-{spec.asked_bytes}{mpi}"
    return Scaling(name, example, at, fitted, found)


@lru_cache(maxsize=1024)
def _law_of(ranks: tuple[int, ...], times_ns: tuple[float, ...]) -> Growth:
    """Figures, findings, plots and tables ask for the same."""
    return growth(ranks, times_ns)


def is_crowded(run: Run, point: Point) -> bool:
    """Whether a machine had more ranks than CPUs; False where nobody said how many it has.
    Hosts of a lab are one machine. A test between two ranks keeps two CPUs busy: the others
    sleep."""
    ends = point.batches[0].ends if point.batches else {}
    hosts = Counter(end.host for end in ends.values())
    spec, ranks = point.spec, point.spec.ranks or 2
    if not point.kind.is_operation:
        threads = spec.threads if isinstance(spec, Threads) else 1
        both = Counter(ends[end].host for end in (0, 1) if end in ends)
        hosts = Counter({name: count * threads for name, count in both.items()})
    elif hosts and len(ends) < ranks:  # only the first rank of each host has records
        hosts = Counter(dict.fromkeys(hosts, -(-ranks // len(hosts))))
    if hosts and run.manifest.get("origin") == "emulated":
        hosts = Counter({min(hosts): sum(hosts.values())})
    return any(
        count > available
        for name, count in hosts.items()
        if (available := processors_of(run, name)) is not None
    )


def processors_of(run: Run, name: str) -> int | None:
    """Those that ranks on a host may use. All hosts of a lab are one machine: its facts are what
    several of them say, of which each may be of a process that was bound for another test."""
    if run.manifest.get("origin") != "emulated":
        return processors(run.host_facts(name))
    hosts = run.manifest.get("hosts") or {}
    said = {facts.get("cpu.allowed") for facts in hosts.values()}
    is_bound = len(said) > 1
    known = [
        count
        for facts in hosts.values()
        if (count := facts.get("cpu.count") if is_bound else processors(facts)) is not None
    ]
    return max(known, default=None)


def processors(facts: Mapping[str, Any]) -> int | None:
    """Those that a host's facts allow; None where they do not say. What a rank may use that
    netsonde bound to a CPU says nothing of its host."""
    allowed = facts.get("cpu.allowed")
    if isinstance(allowed, str) and allowed and "mpi.binding" not in facts:
        try:
            bounds = [part.partition("-") for part in allowed.split(",")]
            return sum(int(last or first) - int(first) + 1 for first, _, last in bounds)
        except ValueError:
            pass
    count = facts.get("cpu.count")
    return count if isinstance(count, int) else None


def growth_figures(run: Run, figures: Sequence[Figure]) -> list[Figure]:
    """Of each test whose law is decided, its parameters, and how well it foretells."""
    return [figure for each in scalings(run, figures) for figure in _figures(each)]


def _figures(scaling: Scaling) -> list[Figure]:
    found = scaling.growth
    if found is None or found.verdict not in ("decided", "constant"):
        return []
    best = found.best
    made = [_figure(scaling, "growth_error_ratio", best.error, None)]
    if best.intercept is not None:
        made.append(
            _figure(scaling, "growth_intercept_ns", best.intercept, best.intercept_interval)
        )
    if best.slope is not None:
        made.append(_figure(scaling, "growth_slope_ns", best.slope, best.slope_interval))
    return made


def _figure(scaling: Scaling, name: str, value: float, between: Interval | None) -> Figure:
    low, high = (between.low, between.high) if between is not None else (None, None)
    maker, count = Maker(scaling.example), len(scaling.fitted)
    return replace(maker.figure(name, value, count, low, high), point=scaling.name)


def waits_by_ranks(run: Run, scaling: Scaling) -> list[WaitsAt]:
    """Shares of repetitions with a timeout by number of ranks; nothing where none was found."""
    found = [_waits_at(run, each) for each in scaling.at]
    return found if any(each.slow for each in found) else []


def _waits_at(run: Run, at: AtRanks) -> WaitsAt:
    judged = [waits.judgement for p in at.points if (waits := waits_of(run, p)) is not None]
    whole = sum(len(j.bands.waits) for j in judged)
    slow = sum(int((j.bands.waits != 0).sum()) for j in judged if j.verdict == "found")
    if not whole or not all(j.is_decided for j in judged):
        return WaitsAt(at.ranks, whole, slow, None, None, None)
    return WaitsAt(at.ranks, whole, slow, slow / whole, *wilson_interval(slow, whole))


def first_with_waits(found: Sequence[WaitsAt]) -> WaitsAt | None:
    """The fewest ranks that waited for timers, where every smaller number was without; None where
    that is not known."""
    for each in found:
        if each.share is None:
            return None
        if each.slow:
            return each
    return None


def hosts_at_a_switch(run: Run) -> int | None:
    """The most hosts at one switch of an emulated network; None where that is not known."""
    path: Mapping[str, Any] = run.manifest.get("path") or {}
    topology = path.get("topology")
    if not topology:
        hosts = path.get("hosts")
        return hosts if isinstance(hosts, int) else None
    names = set(topology["hosts"])
    at = Counter(link["upper"] for link in topology["links"] if link["lower"] in names)
    return max(at.values(), default=None)
