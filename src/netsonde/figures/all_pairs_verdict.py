"""Which hosts, switches, links and pairs of a run of all pairs are slow or lose datagrams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from netsonde.figures.all_pairs import PairValues, host_names_of, pair_values, rounds_in
from netsonde.figures.pair_matrix import CELLS_MOST, Mark, PairMatrix
from netsonde.model.group_testing import LOOKS, SCREEN_DEVIATIONS
from netsonde.model.host_groups import INFERRED_MOST, Groups, groups_of, inferred_groups
from netsonde.model.lossy_links import Counts, lossy
from netsonde.model.node_links import (
    Culprit,
    Kind,
    Observations,
    Sight,
    Strictness,
    Way,
    judge,
)
from netsonde.records.data import ALL_PAIRS, Run

LEVELS = (
    "round_trip_ns",
    "round_trip_min_ns",
    "one_way_ns",
    "one_way_min_ns",
    "throughput_bit_per_s",
)
RATIOS = ("lost_ratio", "retransmitted_ratio")
SYMMETRIC = ("round_trip_ns", "round_trip_min_ns")
WAYS = {name: 1 if name in SYMMETRIC else 2 for name in (*LEVELS, *RATIOS)}
MATRIX_HOSTS_MOST = 2048
"""A matrix of more takes hundreds of megabytes, and nobody can look at it."""
Flags = np.ndarray[Any, np.dtype[np.bool_]]
RETRANSMIT_MARGIN = 0.01
RETRANSMIT_FACTOR = 5.0
"""Senders that fill a queue lose in it by themselves: so many times the usual is no longer that."""
SLOWS_MORE = 2.0
"""A lower rate is what is the matter, and delays come of it, where it is worse than the delays in
this power: a host that is only late carries less by as much as round trips take longer."""
Manner = Literal["loses", "far", "late", "slow"]


@dataclass(frozen=True)
class Symptom:
    """One measure of what was named. ``value`` is what its pairs got, ``usual`` what the others
    did, both medians in the measure's unit (shares over all for ratios). ``deviations``: how far
    out that is, in spreads of sound places."""

    name: str
    way: Way
    value: float
    usual: float
    deviations: float
    observations: int
    again: int

    @property
    def times_worse(self) -> float:
        """How many times the usual it is, of a rate the other way round; at least 1."""
        larger, smaller = max(self.value, self.usual), min(self.value, self.usual)
        return larger / smaller if smaller > 0.0 else float("inf")


@dataclass(frozen=True)
class Named:
    """A host, the link above a switch, a switch, or a pair of hosts that is out of line."""

    kind: Kind
    place: str
    hosts: tuple[str, ...]
    symptoms: tuple[Symptom, ...]

    @property
    def manner(self) -> Manner:
        """``loses`` datagrams; is ``far`` (even its fastest round trip is long); answers ``late``
        (only the others are); or is ``slow`` in what it carries, which delays as well: each frame
        takes longer."""
        names = {symptom.name for symptom in self.symptoms}
        if names & set(RATIOS):
            return "loses"
        delays = [s.times_worse for s in self.symptoms if s.name.endswith("_ns")]
        rates = [s.times_worse for s in self.symptoms if s.name == "throughput_bit_per_s"]
        if rates and (not delays or max(rates) > max(delays) ** SLOWS_MORE):
            return "slow"
        if names & {"round_trip_min_ns", "one_way_min_ns"}:
            return "far"
        return "late"

    @property
    def lead(self) -> Symptom:
        """What says most of the manner."""
        if self.manner == "slow":
            return next(s for s in self.symptoms if s.name == "throughput_bit_per_s")
        return self.symptoms[-1] if self.manner == "loses" else self.symptoms[0]


@dataclass(frozen=True)
class Verdict:
    """What is known of a run of all pairs. ``switches_from`` is a file, ``the lab``, ``the study``,
    ``inferred`` or empty; ``usual`` the median of each measure; ``dropped`` hosts that ended before
    the run did, with the reason; ``failed_pairs`` those that could not be measured, with theirs;
    ``suspected`` what looked slow and was not seen again; ``sights`` how well the hosts' parts of
    each measure are known, with the margin that a fault has to be beyond, both as shares of the
    usual, of rates as natural logarithms."""

    hosts: tuple[str, ...]
    switches: Mapping[str, tuple[str, ...]]
    switches_from: str
    rounds: int
    meetings: int
    usual: Mapping[str, float]
    named: tuple[Named, ...]
    suspected: tuple[Culprit, ...]
    dropped: Mapping[str, str]
    failed_pairs: tuple[tuple[str, str, str], ...]
    sights: Mapping[str, tuple[Sight, float]] = field(default_factory=dict)

    def least_seen(self, name: str) -> float:
        """By what share a host must be worse in a measure to be named nine times of ten."""
        sight, margin = self.sights[name]
        excess = max(margin, sight.seen)
        return float(-np.expm1(-excess)) if name.endswith("_bit_per_s") else excess

    @property
    def suspected_hosts(self) -> list[int]:
        return sorted({c.number for c in self.suspected if c.kind == "host"})

    @property
    def suspected_pairs(self) -> list[Culprit]:
        return [c for c in self.suspected if c.kind == "pair"]


def verdict_of(run: Run) -> Verdict | None:
    """None where the run has no measured round."""
    points = rounds_in(run)
    values = pair_values(run)
    if not points or not values:
        return None
    facts: Mapping[str, Any] = run.manifest[ALL_PAIRS]
    hosts = host_names_of(run)
    switches, source = _switches(run, hosts, values)
    groups = groups_of(hosts, switches)
    usual = {name: float(np.median(found.value)) for name, found in values.items()}
    sights: dict[str, tuple[Sight, float]] = {}
    found = list(_all_culprits(facts, groups, values, len(hosts), sights))
    confirmed = [(name, culprit) for name, culprit in found if culprit.confirmed]
    dropped: dict[str, str] = {}
    failed: dict[tuple[str, str], str] = {}
    for point in run.points:
        checks = point.checks.get("round") or {}
        dropped |= checks.get("dropped") or {}
        failed |= {(a, b): reason for a, b, reason in checks.get("failed_pairs") or ()}
    return Verdict(
        hosts,
        switches,
        source,
        len(points),
        max(len(v.value) // WAYS[name] for name, v in values.items()),
        usual,
        _named(confirmed, values, groups, hosts),
        tuple(culprit for _, culprit in found if not culprit.confirmed),
        dropped,
        tuple((a, b, reason) for (a, b), reason in failed.items()),
        sights,
    )


def matrices_of(run: Run, verdict: Verdict | None = None) -> list[PairMatrix]:
    """The matrix of each measure, with what was named marked in it. Empty without rounds, and for
    more than ``MATRIX_HOSTS_MOST`` hosts."""
    verdict = verdict or verdict_of(run)
    if verdict is None or len(verdict.hosts) > MATRIX_HOSTS_MOST:
        return []
    return [
        PairMatrix(
            name,
            verdict.hosts,
            _table(found, len(verdict.hosts)),
            name != "throughput_bit_per_s",
            verdict.switches,
            _marks(verdict, name),
        )
        for name, found in pair_values(run).items()
    ]


def _table(found: PairValues, hosts: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Means over the times that a pair was measured."""
    total, times = np.zeros((hosts, hosts)), np.zeros((hosts, hosts))
    ways = [(found.origin, found.target)]
    if found.name in SYMMETRIC:
        ways.append((found.target, found.origin))
    for origin, target in ways:
        np.add.at(total, (origin, target), found.value)
        np.add.at(times, (origin, target), 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(times > 0, total / times, np.nan))


def _marks(verdict: Verdict, name: str) -> tuple[Mark, ...]:
    place = {host: number for number, host in enumerate(verdict.hosts)}
    marks = []
    for named in verdict.named:
        ways = [symptom.way for symptom in named.symptoms if symptom.name == name]
        if not ways:
            continue
        members = np.zeros(len(place), dtype=np.bool_)
        members[[place[host] for host in named.hosts]] = True
        touched = _touched(named, members, ways[0], place)
        np.fill_diagonal(touched, False)
        cells = tuple((int(a), int(b)) for a, b in np.argwhere(touched)[:CELLS_MOST])
        marks.append(Mark(named.place, f"{named.place} {named.manner}", cells))
    return tuple(marks)


def _touched(
    named: Named, members: Flags, way: Way, place: Mapping[str, int]
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which (from, to) something named is in the way of, shape (hosts, hosts)."""
    sends, receives = np.broadcast_arrays(members[:, None], members[None, :])
    if named.kind == "pair":
        touched = np.zeros(sends.shape, dtype=np.bool_)
        first, second = (place[host] for host in named.hosts)
        touched[first, second] = way != "receives"
        touched[second, first] = way != "sends"
        return touched
    if named.kind == "uplink":
        sends, receives = sends & ~receives, receives & ~sends
    ways = {"sends": sends, "receives": receives, "both": sends | receives}
    return np.array(ways[way])


def _switches(
    run: Run, hosts: Sequence[str], values: Mapping[str, PairValues]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """The hosts below each switch, and who says so."""
    facts = run.manifest[ALL_PAIRS]
    if facts.get("switches"):
        below = {name: tuple(h) for name, h in facts["switches"].items()}
        return below, str(facts.get("switches_from") or "the study")
    links = ((run.manifest.get("path") or {}).get("topology") or {}).get("links")
    if links:
        return _of_links(links, set(hosts)), "the lab"
    least = values.get("round_trip_min_ns")
    if not facts.get("infer") or least is None or len(hosts) > INFERRED_MOST:
        return {}, ""
    inferred = inferred_groups(_table(least, len(hosts)))
    if not inferred:
        return {}, ""
    return (
        {
            f"group {number}": tuple(hosts[member] for member in members)
            for number, members in enumerate(inferred, 1)
        },
        "inferred",
    )


def _of_links(links: Sequence[Mapping[str, Any]], hosts: set[str]) -> dict[str, tuple[str, ...]]:
    above = {str(link["lower"]): str(link["upper"]) for link in links}
    below: dict[str, list[str]] = {}
    for host in (lower for lower in above if lower in hosts):
        name = host
        for _ in range(len(above)):
            if name not in above:
                break
            name = above[name]
            below.setdefault(name, []).append(host)
    return {name: tuple(members) for name, members in below.items()}


def _all_culprits(
    facts: Mapping[str, Any],
    groups: Groups,
    values: Mapping[str, PairValues],
    hosts: int,
    sights: dict[str, tuple[Sight, float]],
) -> Iterator[tuple[str, Culprit]]:
    """(measure, culprit), confirmed or not. Half of the allowed chance is for pairs. Puts into
    ``sights`` how well hosts are known."""
    sequential = bool(facts.get("sequential"))
    judged = [name for name in (*LEVELS, "lost_ratio") if name in values]
    if "lost_ratio" not in values and "retransmitted_ratio" in values:
        judged.append("retransmitted_ratio")
    tests = sum(WAYS[name] for name in judged) * (hosts + len(groups))
    strictness = Strictness(
        margin=float(facts["margin"]),
        chance=float(facts["false_alarms"]) / 2 / (LOOKS if sequential else 1),
        tests=tests,
        follow_ups=bool(facts["follow_ups"]),
        screen=SCREEN_DEVIATIONS if sequential else None,
    )
    for name in judged:
        found = values[name]
        if name in LEVELS:
            seen, margin = _observations(found, hosts, strictness.margin)
            judged_here, sight = judge(seen, groups, replace(strictness, margin=margin))
            sights[name] = (sight, margin)
            for culprit in judged_here:
                if culprit.excess > margin + _clock_error(found, culprit, groups):
                    yield name, culprit
        else:
            counts = Counts(hosts, found.origin, found.target, found.part, found.whole, found.again)
            margin = float(facts["loss_margin"])
            if name == "retransmitted_ratio":
                usual = float(np.median(found.value))
                margin = max(RETRANSMIT_MARGIN, RETRANSMIT_FACTOR * usual)
            for culprit in lossy(counts, groups, replace(strictness, margin=margin)):
                yield name, culprit


def _observations(found: PairValues, hosts: int, margin: float) -> tuple[Observations, float]:
    """Times as shares of the usual one, which add up; rates as logarithms; larger is worse."""
    middle = max(float(np.median(found.value)), 1e-9)
    if found.name == "throughput_bit_per_s":
        value = -np.log(np.maximum(found.value, 1.0) / middle)
        margin = float(np.log1p(margin))
    else:
        value = found.value / middle
    seen = Observations(
        hosts, found.origin, found.target, value, found.again, found.name in SYMMETRIC
    )
    return seen, margin


def _clock_error(found: PairValues, culprit: Culprit, groups: Groups) -> float:
    """How much of what a culprit adds may be the clocks' fault, in the unit of the observations:
    a clock that is taken to be ahead makes all that its host receives late, so no number of
    measurements makes that smaller."""
    rows = _rows(found, culprit, groups)
    if not rows.any() or not found.uncertainty[rows].any():
        return 0.0
    middle = max(float(np.median(found.value)), 1e-9)
    return float(np.median(found.uncertainty[rows])) / middle


def _named(
    found: Sequence[tuple[str, Culprit]],
    values: Mapping[str, PairValues],
    groups: Groups,
    hosts: Sequence[str],
) -> tuple[Named, ...]:
    """One entry for each place, with all that is out of line there, the worst first."""
    places: dict[tuple[Kind, int, int], list[tuple[str, Culprit]]] = {}
    for name, culprit in found:
        kind: Kind = "uplink" if culprit.kind == "switch" else culprit.kind
        known = _from_lower(culprit) if kind == "pair" else culprit
        places.setdefault((kind, known.number, known.other), []).append((name, known))
    named = []
    for (_, number, _), members in places.items():
        kinds = {culprit.kind for _, culprit in members}
        kind = "switch" if "switch" in kinds else members[0][1].kind
        symptoms = _symptoms(members, values, groups)
        if kind == "host":
            named.append(Named(kind, hosts[number], (hosts[number],), symptoms))
        elif kind == "pair":
            first = members[0][1]
            ends_named = (hosts[first.number], hosts[first.other])
            named.append(Named(kind, " and ".join(ends_named), ends_named, symptoms))
        else:
            below = tuple(h for n, h in enumerate(hosts) if groups.members[number, n])
            named.append(Named(kind, groups.names[number], below, symptoms))
    return tuple(sorted(named, key=lambda n: -max(s.deviations for s in n.symptoms)))


def _from_lower(pair: Culprit) -> Culprit:
    """A pair as its host of the lower number sees it, whichever of them sends."""
    if pair.number < pair.other:
        return pair
    way: Way = "receives" if pair.way == "sends" else pair.way
    return replace(pair, number=pair.other, other=pair.number, way=way)


def _symptoms(
    members: Sequence[tuple[str, Culprit]],
    values: Mapping[str, PairValues],
    groups: Groups,
) -> tuple[Symptom, ...]:
    """One of each measure; of two ways that are both out of line, ``both``."""
    by_name: dict[str, list[Culprit]] = {}
    for name, culprit in members:
        by_name.setdefault(name, []).append(culprit)
    symptoms = []
    for name, of_name in by_name.items():
        ways = {culprit.way for culprit in of_name}
        way: Way = next(iter(ways)) if len(ways) == 1 else "both"
        worst = max(of_name, key=lambda culprit: culprit.deviations)
        mine = _rows(values[name], replace(worst, way=way), groups)
        symptoms.append(
            Symptom(
                name,
                way,
                _middle(values[name], mine),
                _middle(values[name], ~mine),
                worst.deviations,
                int(mine.sum()),
                int((mine & values[name].again).sum()),
            )
        )
    return tuple(sorted(symptoms, key=lambda s: (*LEVELS, *RATIOS).index(s.name)))


def _rows(
    found: PairValues, culprit: Culprit, groups: Groups
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which values are of pairs that the culprit is in the way of."""
    if culprit.kind == "pair":
        there = (found.origin == culprit.number) & (found.target == culprit.other)
        back = (found.origin == culprit.other) & (found.target == culprit.number)
        ways = {"sends": there, "receives": back, "both": there | back}
        return np.asarray(ways[culprit.way])
    if culprit.kind == "host":
        sends, receives = found.origin == culprit.number, found.target == culprit.number
    else:
        members = groups.members[culprit.number]
        sends = members[found.origin] & ~members[found.target]
        receives = members[found.target] & ~members[found.origin]
    ways = {"sends": sends, "receives": receives, "both": sends | receives}
    return np.asarray(ways[culprit.way], dtype=np.bool_)


def _middle(found: PairValues, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """The median of some values; of ratios, the share of all that was sent."""
    if not rows.any():
        return float("nan")
    if found.name in RATIOS:
        return float(found.part[rows].sum() / max(1, found.whole[rows].sum()))
    return float(np.median(found.value[rows]))
