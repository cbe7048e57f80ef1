"""Finding the figures and points that a table or plot needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from netsonde.catalogue.point import (
    AllPairs,
    Collective,
    OpenLoop,
    Program,
    Simulation,
    Threads,
)
from netsonde.catalogue.test import TESTS, Test
from netsonde.catalogue.transport import in_layers
from netsonde.figures import Figure
from netsonde.figures.headlines import Headline, Headlines
from netsonde.figures.keys import FigureKey, key_of
from netsonde.figures.windows import windows_kept
from netsonde.operations import operations
from netsonde.records.data import Point, Run
from netsonde.reductions import USUAL, USUAL_DATATYPE, reduction_briefly
from netsonde.report.quantity import size_text
from netsonde.report.theme import transport_name
from netsonde.units import format_count

TWO_ENDED = tuple(row for row in TESTS.values() if row.is_between_two)
THROUGHPUT_TESTS = tuple(
    row for row in sorted(TWO_ENDED, key=lambda row: row.is_round_trip) if not row.asks_round_trip
)
"""Rows of the tests between two whose throughput is drawn: streams, then round trips."""


@dataclass(frozen=True)
class Study:
    """A run with its figures, and the questions that are asked of them again and again."""

    run: Run
    figures: Sequence[Figure]

    def figure(self, point: Point, name: str) -> Figure | None:
        """The figure of that name at a point, or None."""
        return next((f for f in self._by_point.get(point.id, ()) if f.name == name), None)

    def value(self, point: Point, name: str) -> float | None:
        """Its value alone."""
        figure = self.figure(point, name)
        return None if figure is None else figure.value

    def of_point(self, point: Point) -> list[Figure]:
        return list(self._by_point.get(point.id, ()))

    @cached_property
    def _by_point(self) -> dict[str, list[Figure]]:
        found: dict[str, list[Figure]] = {}
        for figure in self.figures:
            found.setdefault(figure.point, []).append(figure)
        return found

    @property
    def transports(self) -> list[str]:
        """Those with at least one measured point, the thinnest layer first."""
        return in_layers({p.transport for p in self.run.select() if not p.kind.is_program})

    @property
    def programs(self) -> list[Point]:
        """The points of users' own programs that ran, in the order of the study."""
        return [p for p in self.run.points if p.kind.is_program and p.batches]

    @cached_property
    def headlines(self) -> Headlines:
        """Every figure over its launches."""
        return Headlines(self.run.points, self.figures)

    def smallest_latency_point(self, transport: str) -> Point | None:
        """The latency point of the smallest size that has samples; of several launches the one
        whose median is nearest to theirs."""
        found = [
            h
            for h in self.headlines.all
            if h.key.transport == transport
            and h.key.kind.asks_round_trip
            and h.key.figure == "round_trip_median_ns"
            and not h.is_beside
        ]
        points = [self.point(h.middle) for h in sorted(found, key=lambda h: h.key.message_bytes)]
        return next((p for p in points if p and len(p.series("round_trip_ns"))), None)

    @cached_property
    def conditions(self) -> list[list[Point]]:
        """Measured points, those together that differ in nothing but their launch or pass, by
        message size."""
        groups: dict[FigureKey, list[Point]] = {}
        for point in self.run.select():
            groups.setdefault(key_of(point, ""), []).append(point)
        return list(groups.values())

    def headline_of(self, condition: Sequence[Point], name: str) -> Headline | None:
        """A figure of points that differ in their launch alone, over all launches."""
        found = (self.headlines.of(point.id, name) for point in condition)
        return next((headline for headline in found if headline), None)

    def figure_of(self, condition: Sequence[Point], name: str) -> Figure | None:
        """The same as a figure."""
        headline = self.headline_of(condition, name)
        return None if headline is None else headline.figure

    def plain_headlines(self, transport: str, is_wanted: Callable[[Test], bool]) -> list[Headline]:
        """The figure of tests that is drawn over size, by size, where nothing else differs: not
        those of points with different options, of several MPIs, pairs of ranks or passes, nor of a
        few bytes beside a size."""
        found = [
            headline
            for headline in self.headlines.all
            if headline.key.transport == transport
            and is_wanted(headline.key.kind)
            and headline.key.figure == headline.key.kind.against_size
        ]
        given = [dict(headline.key.parameters) for headline in found]
        apart = [n for n in ("pair", "mpi") if len({g.get(n) for g in given}) > 1]
        chosen = [
            headline
            for headline, own in zip(found, given, strict=True)
            if not any(n in own for n in ("label", "perturbed_bytes", *apart))
            and not any(self._is_of_a_pass[p] for p in headline.points)
        ]
        return sorted(chosen, key=lambda headline: headline.key.message_bytes)

    @cached_property
    def _is_of_a_pass(self) -> dict[str, bool]:
        return {point.id: point.spec.pass_number is not None for point in self.run.points}

    def point(self, id_: str) -> Point | None:
        """The point of that id, or None."""
        return next((p for p in self.run.points if p.id == id_), None)

    def throughput_points(self) -> list[Point]:
        """Measured stream, duplex and ping-pong points, by transport, test and size."""
        return [
            p
            for t in self.transports
            for test in THROUGHPUT_TESTS
            for p in self.run.select(t, test.name)
        ]

    @property
    def rate_bit_per_s(self) -> float | None:
        """What the link allows before headers, where it is known."""
        rate = (self.run.manifest.get("path") or {}).get("rate_bit_per_s")
        return float(rate) if isinstance(rate, int | float) and rate > 0 else None

    @property
    def host_names(self) -> list[str]:
        """The hosts of the manifest; where it names none, those that wrote records."""
        named = list(self.run.manifest.get("hosts") or {})
        seen = {e.host: None for p in self.run.points for b in p.batches for e in b.ends.values()}
        return named or list(seen)


def condition_label(point: Point) -> str:
    """The same for all launches and passes of a point."""
    return point_label(point.but_for("launch", "pass"))


def point_label(point: Point) -> str:
    """``TCP latency 64``, ``MPI bcast 1k``."""
    spec = point.spec
    if isinstance(spec, Program):
        label = f", {point.label}" if point.label else ""
        return f"{spec.in_words}{label}"
    if isinstance(spec, AllPairs):
        return spec.in_words
    what = point.operation or point.test
    has_size = not point.kind.compares_clocks and not _has_one_size(point)
    size = f" {size_text(point.message_bytes)}" if has_size else ""
    at = f" at {spec.load_ratio:.0%}" if isinstance(spec, OpenLoop) else ""
    flows = f" × {point.flows}" if point.flows > 1 else ""
    options = f", {point.label}" if point.label else ""
    shape = f", {words}" if (words := shape_in_words(point)) else ""
    name = transport_name(point.transport)
    return f"{name} {what.replace('_', ' ')}{size}{flows}{at}{shape}{options}"


def beside_size(point: Point) -> list[str]:
    """What tells a point from others of its test and size, launch and pass apart, in words: ``at
    50%``, ``4 flows``, ``root 3``, ``buffer 64k``."""
    spec, all_launches = point.spec, point.but_for("launch", "pass")
    words = [f"at {spec.load_ratio:.0%}"] if isinstance(spec, OpenLoop) else []
    words += [f"{point.flows} flows"] if point.flows > 1 else []
    shape = shape_in_words(all_launches)
    return [*words, *(shape.split(", ") if shape else []), *([point.label] if point.label else [])]


def what_was_measured(point: Point, *, with_size: bool = True) -> str:
    """``bcast 1k``, ``latency 64 B``: what was measured, whichever MPI it was measured with."""
    what = (point.operation or point.test).replace("_", " ")
    size = f" {size_text(point.message_bytes)}" if with_size and not _has_one_size(point) else ""
    return ", ".join(filter(None, (f"{what}{size}", _partners_in_words(point))))


def operation_place(point: Point) -> int:
    """Where the operation stands in the list of all; behind them where it is not known."""
    known = list(operations())
    return known.index(point.operation) if point.operation in known else len(known)


def _has_one_size(point: Point) -> bool:
    known = operations().get(point.operation or "")
    return known is not None and known.fixed_bytes is not None


def shape_in_words(point: Point) -> str:
    """``rotating root``, ``uneven parts``, ``ring 3``: how the ranks of an operation stand to each
    other, where that is not as usual; and which of several MPI jobs or passes it was."""
    spec = point.spec
    launch = f"launch {spec.launch}" if spec.launch is not None else ""
    job = " ".join(filter(None, (spec.mpi, launch)))
    number = spec.pass_number
    again = f"{spec.like or 'netsonde'} pass {number}" if number is not None else ""
    return ", ".join(filter(None, (_partners_in_words(point), job, again)))


def _partners_in_words(point: Point) -> str:
    spec = point.spec
    words = _who_in_words(spec) if isinstance(spec, Collective) else []
    if spec.ranks_vary and spec.ranks:
        words.append(format_count(spec.ranks, "rank"))
    if isinstance(spec, Threads):
        words += _threads_in_words(spec)
    if spec.ppn:
        words.append(f"{format_count(spec.ppn, 'rank')} a host")
    if spec.pair:
        words.append(f"ranks {spec.pair[0]} and {spec.pair[1]}")
    if isinstance(spec, Simulation) and spec.window and "window" not in (spec.swept or ()):
        words.append(f"windows of {spec.window}")  # else the label has it
    return ", ".join([*words, *(_choices_in_words(spec) if isinstance(spec, Collective) else [])])


def _who_in_words(spec: Collective) -> list[str]:
    words = []
    if spec.rotate_root:
        words.append("rotating root")
    elif spec.root:
        words.append(f"root {spec.root}")
    if spec.uneven:
        words.append("uneven parts")
    if spec.pattern == "list":
        words.append(f"{len(spec.partners or ())} pairs")
    elif spec.pattern not in (None, "half"):
        words.append(" ".join(str(w) for w in (spec.pattern, spec.distance) if w))
    return words


def _threads_in_words(spec: Threads) -> list[str]:
    if spec.threads == 1:
        return ["1 thread", *(["funneled"] if spec.thread_level == "funneled" else [])]
    one = ["one communicator"] if spec.communicators == "shared" else []
    return [f"{spec.threads} threads", *one]


def _choices_in_words(spec: Collective) -> list[str]:
    words = []
    if spec.by_algorithm and spec.by_algorithm not in (spec.label or ""):
        words.append(spec.by_algorithm)
    if spec.window:
        words.append(f"windows of {spec.window}")
    if (spec.reduced_by, spec.joined_datatype) != (USUAL, USUAL_DATATYPE):
        words.append(reduction_briefly(spec.reduced_by, spec.joined_datatype))
    if spec.cache not in (None, "warm"):
        words.append("fresh data" if spec.cache == "fresh" else f"cold by {spec.cache}")
    if spec.align_bytes:
        words.append(f"{spec.align_bytes} B behind a page")
    if spec.overlap:
        words.append(f"computing, {spec.polls} polls" if spec.polls else "computing")
    return words


LATE = "†"
"""Beside a figure of few of the repetitions that were made: the others missed their windows."""
FEW_IN_TIME = f"{LATE} of less than half of the repetitions: the others began late"


def mark_of(points: Sequence[Point]) -> str:
    """`` †`` or nothing, for the figures of one condition."""
    kept = windows_kept(*points)
    return f" {LATE}" if kept is not None and kept.is_few else ""


def mark_of_headline(study: Study, headline: Headline) -> str:
    """The same for a figure over its launches."""
    return mark_of([p for name in headline.points if (p := study.point(name)) is not None])


def marks_in_words(points: Sequence[Point]) -> list[str]:
    """What the marks mean, for the figures of one condition."""
    kept = windows_kept(*points)
    if kept is None or not kept.is_few:
        return []
    return [f"{LATE} of {kept.share:.0%} of {kept.repetitions} repetitions: the others began late"]
