"""All pairs of a run, by way, number of hosts, size and company; those of two runs beside each
other; and as a pivot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from netsonde.catalogue.point import EveryPair
from netsonde.figures.every_pair import PairTimes, pair_times
from netsonde.figures.keys import FigureKey, key_of, labels_of
from netsonde.figures.pair_matrix import Values
from netsonde.model.delay_line import DelayLine, delay_line
from netsonde.model.meetings import COMPANIES, Company
from netsonde.records.data import Point, Run

WORDS: Mapping[Company, str] = {"isolated": "alone", "together": "all at once"}
Place = tuple[int, int, Company]
"""Number of hosts, bytes of a message, company."""


@dataclass(frozen=True)
class Way:
    """What carried the messages, whatever their size and the number of hosts: a transport with the
    options that tell it from others of the run. ``sets`` are in the order of their places."""

    key: FigureKey
    name: str
    sets: Mapping[Place, PairTimes]

    @property
    def hosts(self) -> list[int]:
        """The numbers of hosts that it was measured with."""
        return sorted({hosts for hosts, _, _ in self.sets})

    def over_size(self, hosts: int, company: Company) -> dict[int, PairTimes]:
        """By bytes of a message."""
        return {b: t for (n, b, c), t in self.sets.items() if (n, c) == (hosts, company)}

    def over_hosts(self, message_bytes: int, company: Company) -> dict[int, PairTimes]:
        """By number of hosts."""
        return {n: t for (n, b, c), t in self.sets.items() if (b, c) == (message_bytes, company)}

    def line(self, hosts: int, company: Company) -> DelayLine | None:
        """The line through its one-way delays, which are half of the round trips."""
        sizes = self.over_size(hosts, company)
        return delay_line({b: t.reduced.mean / 2.0 for b, t in sizes.items()})


def ways_of(*runs: Run) -> list[Way]:
    """Every way of the all pairs of runs; none of runs without. Launches of one way, and runs, are
    taken together."""
    found: dict[FigureKey, dict[Place, list[PairTimes]]] = {}
    for point in (point for run in runs for point in run.points):
        if not point.kind.is_all_pairs or not point.batches:
            continue
        key = _key_of_way(point)
        for company, times in pair_times(point).items():
            place = (point.spec.of(EveryPair).hosts, point.message_bytes, company)
            found.setdefault(key, {}).setdefault(place, []).append(times)
    names = labels_of(found)
    return [
        Way(key, _name(key, names[key]), {p: _joined(sets[p]) for p in sorted(sets, key=_order)})
        for key, sets in found.items()
    ]


_OF_PLACES = frozenset({"hosts", "ranks", "check_data"})


def _key_of_way(point: Point) -> FigureKey:
    """Without what says the size and how many hosts, also in the label."""
    hosts = point.spec.of(EveryPair).hosts
    words = [word for word in (point.label or "").split(", ") if word != f"{hosts} hosts"]
    label = ", ".join(words)
    plain = replace(point, parameters={**point.parameters, "label": label or None})
    key = replace(key_of(plain, ""), message_bytes=0)
    return replace(key, parameters=tuple(p for p in key.parameters if p[0] not in _OF_PLACES))


def _order(place: Place) -> tuple[int, int, int]:
    hosts, message_bytes, company = place
    return hosts, message_bytes, COMPANIES.index(company)


def _name(key: FigureKey, label: str) -> str:
    """``TCP``, with what tells it from others."""
    return ", ".join(filter(None, (key.carrier.title, label.partition(", ")[2])))


def _joined(launches: Sequence[PairTimes]) -> PairTimes:
    """The round trips of several launches as one."""
    first = launches[0]
    if len(launches) == 1:
        return first
    times = {
        pair: np.concatenate([one.times_ns[pair] for one in launches if pair in one.times_ns])
        for pair in first.times_ns
    }
    lost, sent = (sum(getattr(one, name) for one in launches) for name in ("unanswered", "sent"))
    return replace(first, times_ns=times, unanswered=lost, sent=sent)


@dataclass(frozen=True)
class BesideEachOther:
    """The same pairs before and after, or over two networks."""

    place: Place
    before: PairTimes
    after: PairTimes

    @cached_property
    def ratios(self) -> Values:
        """The average of each pair after over before, from down, to across; NaN where one of them
        is missing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.after.means_ns / self.before.means_ns, np.float64)

    @property
    def ratio(self) -> float:
        """Of both matrices as one number."""
        return self.after.reduced.mean / self.before.reduced.mean


@dataclass(frozen=True)
class TwoWays:
    """A way of one run beside that of another."""

    before: Way
    after: Way
    pairs: tuple[BesideEachOther, ...]

    @property
    def hosts(self) -> list[int]:
        return sorted({pair.place[0] for pair in self.pairs})

    def over_size(self, hosts: int, company: Company) -> dict[int, BesideEachOther]:
        """By bytes of a message."""
        return {
            pair.place[1]: pair
            for pair in self.pairs
            if (pair.place[0], pair.place[2]) == (hosts, company)
        }


def beside_each_other(before: Iterable[Way], after: Iterable[Way]) -> list[TwoWays]:
    """Ways that two runs have in common; where they have none and each has but one, these two:
    then what differs is what is compared. Without those that share no place."""
    olds, news = {way.key: way for way in before}, {way.key: way for way in after}
    matched = [(olds[key], news[key]) for key in olds if key in news]
    if not matched and len(olds) == len(news) == 1:
        matched = [(next(iter(olds.values())), next(iter(news.values())))]
    found = []
    for old, new in matched:
        pairs = tuple(
            BesideEachOther(place, old.sets[place], new.sets[place])
            for place in old.sets
            if place in new.sets
        )
        if pairs:
            found.append(TwoWays(old, new, pairs))
    return found


@dataclass(frozen=True)
class Pivot:
    """Averages from whom, of which length, to whom, with totals, each a plain mean of what it is
    of: the diagonal is among them. ``rows`` are (from, length, values by ``to``), the length in
    ``length_of``; NaN where nothing was measured."""

    to: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[float, ...]], ...]
    length_of: str = "bytes"
    unit: str = "s"

    @property
    def origins(self) -> list[str]:
        """In the order of the rows."""
        return list(dict.fromkeys(origin for origin, _, _ in self.rows))

    def row_total(self, values: Sequence[float]) -> float:
        """Of a row: over all columns."""
        return _mean(values)

    def host_totals(self, origin: str) -> tuple[float, ...]:
        """Of a host: over its lengths, by column, then of the row totals."""
        own = [values for name, _, values in self.rows if name == origin]
        columns = tuple(_mean(column) for column in zip(*own, strict=True))
        return (*columns, _mean([self.row_total(values) for values in own]))

    @property
    def grand_totals(self) -> tuple[float, ...]:
        """Over the hosts, by column, then of all."""
        totals = [self.host_totals(origin) for origin in self.origins]
        return tuple(_mean(column) for column in zip(*totals, strict=True))

    def lines(self) -> list[tuple[str | int | float | None, ...]]:
        """The heading, the rows with their totals behind each host's, and the grand total."""
        found: list[tuple[str | int | float | None, ...]] = []
        for origin in self.origins:
            found += [
                (name, length, *map(_known, values), _known(self.row_total(values)))
                for name, length, values in self.rows
                if name == origin
            ]
            found.append((f"{origin} total", None, *map(_known, self.host_totals(origin))))
        found.append(("grand total", None, *map(_known, self.grand_totals)))
        return found

    @property
    def heading(self) -> tuple[str, ...]:
        return ("from", f"length, {self.length_of}", *self.to, "total")


def pivot_of(way: Way, hosts: int, company: Company) -> Pivot | None:
    """Average round trips, s, of one way and company; None where there is nothing."""
    sizes = way.over_size(hosts, company)
    if not sizes:
        return None
    names = next(iter(sizes.values())).hosts
    return Pivot(
        names,
        tuple(
            (name, size, tuple(float(v) / 1e9 for v in times.means_ns[number]))
            for number, name in enumerate(names)
            for size, times in sizes.items()
        ),
    )


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
