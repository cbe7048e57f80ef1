"""Which host, or link between switches, makes pairs slow: what they measured, taken apart.

What host i measured towards host j is the usual of pairs as far apart, and what i adds by sending,
j by receiving, and every link between switches on the way in its direction:

    value[i, j] = usual[distance] + sends[i] + receives[j] + links + rest[i, j]

Latencies add up as they are, rates as logarithms. All parts are medians of what the others leave
(median polish: J. W. Tukey, Exploratory Data Analysis, 1977), so that pairs with a slow host do not
make their other host slow. Sound parts are many and faulty ones few, and a fault only ever makes
worse: so the usual is sought below the middle, where faulty pairs do not reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from netsonde.model.host_groups import Groups
from netsonde.stats.tails import chi_square_reach, student_reach

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Way = Literal["sends", "receives", "both"]
Kind = Literal["host", "uplink", "switch", "pair"]

ROUNDS_OF_POLISH = 4
USUAL_QUANTILE = 0.3
GROUP_QUANTILE = 0.4
"""Of what a group's hosts measured: below the middle, since one host of two may be slow."""
MAD_TO_DEVIATION = 1.4826
MEDIAN_COST = float(np.sqrt(np.pi / 2))
"""The deviation of a median beside that of a mean, of normal samples."""
MAD_EFFICIENCY = 0.37
"""A median absolute deviation knows the spread as well as so large a share of the samples does by
their deviation (F. R. Hampel, The influence curve, 1974)."""
POWER_DEVIATIONS = 1.2816
"""What is so many deviations beyond a limit is found nine times of ten."""
SURE = 0.95
"""Hosts differ where their parts scatter by more than measurements do so often."""
FREEDOM_LEAST = 3.0
SCALE_LEAST = 1e-3
"""Of the usual: no measurement of a network is better than that."""
PARTNERS_LEAST = 4
"""Measurements of a host, or all that there can be: of fewer nobody can say whose fault it is."""
SEEN_AGAIN_LEAST = 2
SEEN_AGAIN_DEVIATIONS = 3.0
"""So far out must a pair be each time that it is measured again."""
PAIRS_SHARE_MOST = 0.02
"""Where more of all pairs are out of line, the network is so, and none of them is named."""


@dataclass(frozen=True)
class Observations:
    """One measure of many pairs: ``value[k]`` from host ``origin[k]`` to ``target[k]``, larger is
    worse, as a share of the usual (latency) or a natural logarithm (rates). ``symmetric``: value
    belongs to the pair, whoever measured it. ``again[k]``: measured to follow up a suspicion."""

    hosts: int
    origin: Integers
    target: Integers
    value: Reals
    again: npt.NDArray[np.bool_]
    symmetric: bool


@dataclass(frozen=True)
class Strictness:
    """``margin``: what a part must add at least. ``chance``: that any of ``tests`` parts is named
    where none is at fault. ``follow_ups``: whether what is named must have been seen again.
    ``screen``: so many spreads out of line make a part a suspect already, which is not named; None
    where only what is beyond chance is one."""

    margin: float
    chance: float
    tests: int
    follow_ups: bool
    screen: float | None = None


@dataclass(frozen=True)
class Culprit:
    """What is out of line: a host's number, a group's, or a pair's hosts. ``excess`` is what it
    adds, in the unit of the observations; ``deviations`` how many times the usual spread that is;
    ``observations`` how many it rests on, and ``again`` how many of them followed a suspicion."""

    kind: Kind
    number: int
    other: int
    way: Way
    excess: float
    deviations: float
    observations: int
    again: int
    confirmed: bool


@dataclass(frozen=True)
class Sight:
    """How well hosts' parts are known. ``spread``: deviation of single measurements; ``between``:
    of sound hosts' parts, and ``between_least`` what it is at least, for of few hosts it is hardly
    known; ``limit``: so many deviations are beyond chance; ``meetings``: what the middle one of the
    hosts' parts rests on."""

    spread: float
    between: float
    between_least: float
    limit: float
    meetings: float

    def deviation(self, meetings: float) -> float:
        """Of a sound host's part that rests on so many meetings."""
        return float(np.hypot(self.between, MEDIAN_COST * self.spread / np.sqrt(meetings)))

    @property
    def seen(self) -> float:
        """What a host must add to be beyond chance nine times of ten."""
        return (self.limit + POWER_DEVIATIONS) * self.deviation(self.meetings)

    def meetings_for(self, excess: float, limit: float | None = None) -> float:
        """After so many meetings each, a host that adds ``excess`` is beyond ``limit`` (that of
        chance where it is None) nine times of ten; infinite where sound hosts differ too much."""
        deviation = excess / ((self.limit if limit is None else limit) + POWER_DEVIATIONS)
        if deviation <= self.between_least:
            return float("inf")
        noise = np.sqrt(deviation**2 - self.between_least**2)
        return float((MEDIAN_COST * self.spread / noise) ** 2)


@dataclass(frozen=True)
class Fit:
    """The parts. ``sends`` and ``receives`` have the shape (hosts,), ``leaves`` and ``enters`` the
    shape (groups,), ``rest`` that of the observations. ``spread``: deviation of the rest;
    ``host_spread`` of sound hosts' parts."""

    sends: Reals
    receives: Reals
    leaves: Reals
    enters: Reals
    rest: Reals
    spread: float
    host_spread: float


class _ByHost:
    """Medians over the observations of each host, fast for millions of them."""

    def __init__(self, host: Integers, hosts: int) -> None:
        self._order = np.argsort(host, kind="stable")
        self.counts = np.bincount(host, minlength=hosts)
        ends = np.cumsum(self.counts)
        column = np.arange(len(host)) - np.repeat(ends - self.counts, self.counts)
        self._row = np.repeat(np.arange(hosts), self.counts)
        self._column = column
        self._shape = (hosts, max(1, int(self.counts.max(initial=0))))

    def median(self, values: Reals) -> Reals:
        """0 where a host has none."""
        table = np.full(self._shape, np.inf)
        table[self._row, self._column] = values[self._order]
        table.sort(axis=1)
        rows = np.arange(self._shape[0])
        last = np.maximum(self.counts, 1) - 1
        middle = (table[rows, last // 2] + table[rows, (last + 1) // 2]) / 2
        return np.where(self.counts > 0, middle, 0.0)


class _Crossing:
    """Observations that cross the link above a group one way, with the group's host of each."""

    def __init__(self, places: Integers, inside: Integers) -> None:
        self.places = places
        hosts, self._host = np.unique(inside, return_inverse=True)
        self._by_host = _ByHost(self._host, len(hosts))

    def part(self, rest: Reals) -> float:
        """What all of the group's hosts have in common: a quantile of each one's median, so that
        neither one host nor one measurement of another makes it. No value between two hosts is
        taken, which would have a share of the slower one's."""
        each = self._by_host.median(rest[self.places])
        return float(np.quantile(each, GROUP_QUANTILE, method="lower"))


def _crossings(seen: Observations, groups: Groups) -> list[list[tuple[Way, _Crossing]]]:
    """For each group, those of each way that the observations tell apart and any crosses."""
    found = []
    for members in groups.members:
        of_origin, of_target = members[seen.origin], members[seen.target]
        leaving = np.flatnonzero(of_origin & ~of_target)
        entering = np.flatnonzero(of_target & ~of_origin)
        inside = seen.origin[leaving], seen.target[entering]
        ways: list[tuple[Way, Integers, Integers]] = (
            [("both", np.concatenate([leaving, entering]), np.concatenate(inside))]
            if seen.symmetric
            else [("sends", leaving, inside[0]), ("receives", entering, inside[1])]
        )
        found.append([(way, _Crossing(*crossing)) for way, *crossing in ways if len(crossing[0])])
    return found


def polish(seen: Observations, groups: Groups, margin: float) -> Fit:
    """Takes the observations apart. Raises ValueError where there are none."""
    if not len(seen.value):
        raise ValueError("there are no observations to take apart")
    classes = groups.classes_of(seen.origin, seen.target)
    rest = seen.value.astype(np.float64).copy()
    for crossed in np.unique(classes):
        of_class = classes == crossed
        rest[of_class] -= np.quantile(rest[of_class], USUAL_QUANTILE)
    crossings = _crossings(seen, groups)
    by_sender = _ByHost(seen.origin, seen.hosts)
    by_receiver = _ByHost(seen.target, seen.hosts)
    both = _ByHost(np.concatenate([seen.origin, seen.target]), seen.hosts)
    sends, receives = np.zeros(seen.hosts), np.zeros(seen.hosts)
    leaves, enters = np.zeros(len(groups)), np.zeros(len(groups))
    for _ in range(ROUNDS_OF_POLISH):
        rest = _polish_groups(rest, crossings, leaves, enters, margin)
        if seen.symmetric:
            part = _centred(both.median(np.concatenate([rest, rest])), both.counts)
            sends += part
            receives += part
            rest = rest - part[seen.origin] - part[seen.target]
        else:
            part = _centred(by_sender.median(rest), by_sender.counts)
            sends += part
            rest = rest - part[seen.origin]
            part = _centred(by_receiver.median(rest), by_receiver.counts)
            receives += part
            rest = rest - part[seen.target]
    for crossed in np.unique(classes):
        of_class = classes == crossed
        rest[of_class] -= np.median(rest[of_class])
    spread = max(_deviation(rest), SCALE_LEAST)
    known = both.counts > 0
    parts = [sends[known]] if seen.symmetric else [sends[known], receives[known]]
    host_spread = max(SCALE_LEAST, *(_deviation(part) for part in parts))
    return Fit(sends, receives, leaves, enters, rest, spread, host_spread)


def judge(
    seen: Observations, groups: Groups, strictness: Strictness
) -> tuple[list[Culprit], Sight]:
    """The same, with how well hosts' parts are known."""
    fit = polish(seen, groups, strictness.margin)
    sight = _sight(seen, fit, strictness)
    found = [
        *_groups_out_of_line(seen, groups, fit, sight, strictness),
        *_hosts_out_of_line(seen, fit, sight, strictness),
    ]
    beyond = [culprit for culprit in found if culprit.deviations > sight.limit]
    found += _pairs_out_of_line(seen, groups, fit, strictness, beyond)
    return sorted(found, key=lambda culprit: -culprit.excess), sight


def _sight(seen: Observations, fit: Fit, strictness: Strictness) -> Sight:
    """What hosts differ by is what their parts scatter by beyond what measurements do."""
    counts = np.bincount(seen.origin, minlength=seen.hosts).astype(np.float64)
    received = np.bincount(seen.target, minlength=seen.hosts)
    counts = counts + received if seen.symmetric else np.maximum(counts, received)
    meetings = float(np.median(counts[counts > 0]))
    noise = MEDIAN_COST * fit.spread / np.sqrt(meetings)
    freedom = _freedom(seen.hosts)
    by_chance = chi_square_reach(freedom, 1.0 - SURE) / freedom
    between, least = (
        max(SCALE_LEAST, float(np.sqrt(max(0.0, fit.host_spread**2 - share * noise**2))))
        for share in (1.0, by_chance)
    )
    return Sight(fit.spread, between, least, _limit(seen.hosts, strictness), meetings)


def _polish_groups(
    rest: Reals,
    crossings: list[list[tuple[Way, _Crossing]]],
    leaves: Reals,
    enters: Reals,
    margin: float,
) -> Reals:
    """Takes from the rest what links between switches add, the largest groups first. What is within
    the margin is left to the hosts: it is no fault, and a group of few would take theirs away."""
    parts: Mapping[Way, tuple[Reals, ...]] = {
        "both": (leaves, enters),
        "sends": (leaves,),
        "receives": (enters,),
    }
    rest = rest.copy()
    for number, ways in enumerate(crossings):
        for way, crossing in ways:
            part = crossing.part(rest)
            if abs(part) < margin / 2:
                continue
            rest[crossing.places] -= part
            for values in parts[way]:
                values[number] += part
    return rest


def _centred(parts: Reals, counts: Integers) -> Reals:
    known = counts > 0
    middle = float(np.median(parts[known])) if known.any() else 0.0
    return np.where(known, parts - middle, 0.0)


def _deviation(values: Reals) -> float:
    if not len(values):
        return 0.0
    return MAD_TO_DEVIATION * float(np.median(np.abs(values - np.median(values))))


def _limit(hosts: int, strictness: Strictness) -> float:
    """So many spreads are beyond chance: Bonferroni over all tests, with Student's t since the
    spread itself is known from few hosts."""
    chance = strictness.chance / max(1, strictness.tests)
    return student_reach(_freedom(hosts), chance)


def _freedom(hosts: int) -> float:
    """Degrees of freedom of a spread of hosts' parts."""
    return max(FREEDOM_LEAST, MAD_EFFICIENCY * (hosts - 1))


def _hosts_out_of_line(
    seen: Observations, fit: Fit, sight: Sight, strictness: Strictness
) -> list[Culprit]:
    ways: Mapping[Way, tuple[Reals, list[Integers]]] = (
        {"both": (fit.sends, [seen.origin, seen.target])}
        if seen.symmetric
        else {
            "sends": (fit.sends, [seen.origin]),
            "receives": (fit.receives, [seen.target]),
        }
    )
    found = []
    for way, (parts, places) in ways.items():
        counts = sum(np.bincount(place, minlength=seen.hosts) for place in places)
        enough = counts >= min(PARTNERS_LEAST, seen.hosts - 1)
        noise = MEDIAN_COST * fit.spread / np.sqrt(np.maximum(counts, 1))
        deviations = parts / np.hypot(sight.between, noise)
        out = deviations > _least(sight.limit, strictness)
        for number in np.flatnonzero((parts > strictness.margin) & out & enough).tolist():
            of_host = np.zeros(len(seen.value), dtype=np.bool_)
            for place in places:
                of_host |= place == number
            found.append(
                _culprit(
                    seen,
                    fit,
                    ("host", number, -1, way),
                    float(parts[number]),
                    float(deviations[number]),
                    of_host,
                    strictness,
                    sight.limit,
                )
            )
    return found


def _least(limit: float, strictness: Strictness) -> float:
    """So many deviations make a suspect."""
    return limit if strictness.screen is None else min(limit, strictness.screen)


def _groups_out_of_line(
    seen: Observations, groups: Groups, fit: Fit, sight: Sight, strictness: Strictness
) -> list[Culprit]:
    found = []
    for number, ways in enumerate(_crossings(seen, groups)):
        size = min(int(groups.members[number].sum()), int((~groups.members[number]).sum()))
        for way, crossing in ways:
            part = float((fit.enters if way == "receives" else fit.leaves)[number])
            measured = crossing.places
            noise = max(
                fit.host_spread / np.sqrt(size),
                MEDIAN_COST * fit.spread / np.sqrt(len(measured)),
            )
            if part > strictness.margin and part / noise > _least(sight.limit, strictness):
                kind, touched = _switch_or_link(seen, groups, fit, number, measured, strictness)
                what: tuple[Kind, int, int, Way] = (kind, number, -1, way)
                deviations = float(part / noise)
                found.append(
                    _culprit(seen, fit, what, part, deviations, touched, strictness, sight.limit)
                )
    return found


def _switch_or_link(
    seen: Observations,
    groups: Groups,
    fit: Fit,
    number: int,
    crossing: Integers,
    strictness: Strictness,
) -> tuple[Kind, npt.NDArray[np.bool_]]:
    """The switch itself where pairs below it are slow, too; else the link above it. With what it
    touches of the observations."""
    members = groups.members[number]
    touched = np.zeros(len(seen.value), dtype=np.bool_)
    touched[crossing] = True
    inside = members[seen.origin] & members[seen.target]
    if inside.any() and float(np.median(fit.rest[inside])) > strictness.margin:
        return "switch", touched
    return "uplink", touched


def _culprit(
    seen: Observations,
    fit: Fit,
    what: tuple[Kind, int, int, Way],
    excess: float,
    deviations: float,
    touched: npt.NDArray[np.bool_],
    strictness: Strictness,
    limit: float,
) -> Culprit:
    """Confirmed where it is beyond chance and what was measured again shows at least half of the
    margin, too."""
    again = touched & seen.again
    confirmed = not strictness.follow_ups
    if strictness.follow_ups and again.any():
        confirmed = excess + float(np.median(fit.rest[again])) > strictness.margin / 2
    confirmed = confirmed and deviations > limit
    return Culprit(*what, excess, deviations, int(touched.sum()), int(again.sum()), confirmed)


def _pairs_out_of_line(
    seen: Observations,
    groups: Groups,
    fit: Fit,
    strictness: Strictness,
    named: list[Culprit],
) -> list[Culprit]:
    """Single pairs that neither their hosts nor the links between switches explain.

    A single measurement may be disturbed by chance, and how often is unknown: so a pair is
    confirmed only where it was measured again, several times, and was out of line each time.
    """
    pairs, place = _unordered(seen) if seen.symmetric else _ordered(seen)
    counts = np.bincount(place)
    limit = -NormalDist().inv_cdf(min(0.01, strictness.chance / max(1, len(counts))))
    out = (fit.rest > strictness.margin) & (fit.rest > limit * fit.spread)
    for culprit in named:
        out &= ~_touches(seen, groups, culprit)
    hits = np.unique(place[out])
    if len(hits) > max(2.0, PAIRS_SHARE_MOST * len(counts)):
        return []
    found = []
    for hit in hits.tolist():
        mine = place == hit
        again = mine & seen.again
        judged = again if strictness.follow_ups else mine
        confirmed = int(judged.sum()) >= SEEN_AGAIN_LEAST and float(fit.rest[judged].min()) > max(
            strictness.margin, SEEN_AGAIN_DEVIATIONS * fit.spread
        )
        excess = float(np.median(fit.rest[mine]))
        if excess <= strictness.margin:
            continue
        origin, target = divmod(int(pairs[hit]), seen.hosts)
        found.append(
            Culprit(
                "pair",
                origin,
                target,
                "both" if seen.symmetric else "sends",
                excess,
                excess / fit.spread,
                int(mine.sum()),
                int(again.sum()),
                confirmed,
            )
        )
    return found


def _touches(seen: Observations, groups: Groups, culprit: Culprit) -> npt.NDArray[np.bool_]:
    """Observations that a named host or group takes part in."""
    if culprit.kind == "host":
        return np.asarray((seen.origin == culprit.number) | (seen.target == culprit.number))
    members = groups.members[culprit.number]
    if culprit.kind == "switch":
        return np.asarray(members[seen.origin] | members[seen.target])
    return np.asarray(members[seen.origin] != members[seen.target])


def _unordered(seen: Observations) -> tuple[Integers, Integers]:
    low, high = np.minimum(seen.origin, seen.target), np.maximum(seen.origin, seen.target)
    return np.unique(low * seen.hosts + high, return_inverse=True)


def _ordered(seen: Observations) -> tuple[Integers, Integers]:
    return np.unique(seen.origin * seen.hosts + seen.target, return_inverse=True)
