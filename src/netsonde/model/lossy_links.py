"""Which host, or link between switches, loses datagrams: counts of many pairs, taken apart.

Losses are counts, and most pairs have none, so medians say nothing. The place is named that makes
the counts most likely: by how much the likelihood grows where its pairs have a rate of losses of
their own, beside everything else (scan statistic: M. Kulldorff, A spatial scan statistic, 1997).
Its pairs are then explained, and the next place is sought in the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.model.host_groups import Groups
from netsonde.model.node_links import Culprit, Integers, Kind, Reals, Strictness, Way
from netsonde.stats.tails import chi_square_reach

PARTNERS_LEAST = 3
"""So many of a host's pairs must have lost something: losses of one pair are that pair's."""
PARTNERS_SHARE = 0.3
"""And so large a share of the pairs that would have to, by its rate, with a good chance."""
EXPECTED_LEAST = 3.0
"""Losses that a pair of a host must expect, so that having none speaks against the host."""
CULPRITS_MOST = 64
CLUSTERED = 3.0
"""Losses come in bursts: counts vary by so much more than independent ones would."""


@dataclass(frozen=True)
class Counts:
    """``lost[k]`` of ``sent[k]`` datagrams from host ``origin[k]`` to ``target[k]``; ``again[k]``:
    measured to follow up a suspicion."""

    hosts: int
    origin: Integers
    target: Integers
    lost: Integers
    sent: Integers
    again: npt.NDArray[np.bool_]


def lossy(seen: Counts, groups: Groups, strictness: Strictness) -> list[Culprit]:
    """What loses beyond chance and margin (a share of what was sent), the most certain first.

    ``excess`` is the share lost beyond the others', ``deviations`` the root of the likelihood ratio
    that speaks for it, which is counted in spreads of a normal distribution.
    """
    found: list[Culprit] = []
    left = np.ones(len(seen.lost), dtype=np.bool_)
    chance = min(1.0, strictness.chance / max(1, strictness.tests))
    limit = CLUSTERED * chi_square_reach(1, chance)
    while len(found) < CULPRITS_MOST:
        usual = _usual(seen, left)
        best = max(
            _candidates(seen, groups, left, usual, strictness.margin),
            key=lambda candidate: candidate[0],
            default=None,
        )
        if best is None or best[0] < limit:
            break
        gain, what, mine = best
        found.append(_culprit(seen, what, gain, mine & left, usual, strictness))
        left &= ~mine
    return _joined(found)


def _usual(seen: Counts, left: npt.NDArray[np.bool_]) -> float:
    """The share that pairs lose that nothing is the matter with: of the better half of hosts, by
    what they sent and received, so that what is sought does not hide itself."""
    lost, sent = np.where(left, seen.lost, 0), np.where(left, seen.sent, 0)
    of_host = np.zeros((2, seen.hosts))
    for place in (seen.origin, seen.target):
        of_host[0] += np.bincount(place, weights=lost, minlength=seen.hosts)
        of_host[1] += np.bincount(place, weights=sent, minlength=seen.hosts)
    known = of_host[1] > 0
    if not known.any():
        return 0.0
    shares = np.sort(of_host[0][known] / of_host[1][known])
    least = 1.0 / max(1.0, float(sent.sum()))
    return max(float(np.mean(shares[: max(1, (len(shares) + 1) // 2)])), least)


Candidate = tuple[float, tuple[Kind, int, int, Way], npt.NDArray[np.bool_]]


def _candidates(
    seen: Counts,
    groups: Groups,
    left: npt.NDArray[np.bool_],
    usual: float,
    margin: float,
) -> Iterator[Candidate]:
    """Places that lose more than the margin beyond the usual, and how much that explains."""
    lost, sent = np.where(left, seen.lost, 0), np.where(left, seen.sent, 0)
    hosts: tuple[tuple[Way, Integers], ...] = (
        ("sends", seen.origin),
        ("receives", seen.target),
    )
    for way, place in hosts:
        of_host = np.bincount(place, weights=lost, minlength=seen.hosts)
        sent_of = np.bincount(place, weights=sent, minlength=seen.hosts)
        gains = _gains(of_host, sent_of, usual, margin)
        for number in np.argsort(-gains)[:PARTNERS_LEAST].tolist():
            mine = place == number
            if gains[number] > 0 and _is_spread(lost[mine & left], sent[mine & left]):
                yield float(gains[number]), ("host", number, -1, way), mine
    for number, members in enumerate(groups.members):
        of_origin, of_target = members[seen.origin], members[seen.target]
        ways: tuple[tuple[Way, npt.NDArray[np.bool_]], ...] = (
            ("sends", of_origin & ~of_target),
            ("receives", of_target & ~of_origin),
        )
        for way, mine in ways:
            gain = _gains(
                np.array([lost[mine].sum()]), np.array([sent[mine].sum()]), usual, margin
            )[0]
            if gain > 0 and _of_several_hosts(seen, lost, mine, members):
                yield float(gain), ("uplink", number, -1, way), mine
    yield from _worst_pair(seen, lost, sent, usual, margin)


def _worst_pair(
    seen: Counts, lost: Integers, sent: Integers, usual: float, margin: float
) -> Iterator[Candidate]:
    keys, place = np.unique(seen.origin * seen.hosts + seen.target, return_inverse=True)
    of_pair = np.bincount(place, weights=lost)
    gains = _gains(of_pair, np.bincount(place, weights=sent), usual, margin)
    if len(gains):
        worst = int(np.argmax(gains))
        if gains[worst] > 0:
            origin, target = divmod(int(keys[worst]), seen.hosts)
            yield float(gains[worst]), ("pair", origin, target, "sends"), place == worst


def _gains(
    lost_of: npt.NDArray[np.generic], sent_of: npt.NDArray[np.generic], usual: float, margin: float
) -> Reals:
    """Twice the logarithm of the likelihood ratio of an own share of losses against the usual one;
    0 where the own one is not larger by the margin. Shape (n,)."""
    lost, sent = lost_of.astype(np.float64), sent_of.astype(np.float64)
    known = sent > 0
    share = np.where(known, lost / np.maximum(sent, 1), 0.0)
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    arrived = sent - lost
    gain = 2 * (lost * np.log(inside / usual) + arrived * np.log((1 - inside) / (1 - usual)))
    return np.where(known & (share > usual + margin), gain, 0.0)


def _is_spread(lost: Integers, sent: Integers) -> bool:
    """Whether a host's losses are of many of its pairs, as a lossy link's are."""
    partners = int((lost > 0).sum())
    share = lost.sum() / max(1, sent.sum())
    due = int((sent * share > EXPECTED_LEAST).sum())
    return partners >= min(PARTNERS_LEAST, len(lost)) and partners >= PARTNERS_SHARE * due


def _of_several_hosts(
    seen: Counts, lost: Integers, mine: npt.NDArray[np.bool_], members: npt.NDArray[np.bool_]
) -> bool:
    """Whether half of a group's hosts lose across its link: one lossy host is no lossy link."""
    losing = mine & (lost > 0)
    inside = set(seen.origin[losing].tolist()) | set(seen.target[losing].tolist())
    return sum(bool(members[host]) for host in inside) * 2 > int(members.sum())


def _culprit(
    seen: Counts,
    what: tuple[Kind, int, int, Way],
    gain: float,
    mine: npt.NDArray[np.bool_],
    usual: float,
    strictness: Strictness,
) -> Culprit:
    """Confirmed where what was measured again loses at least half of the margin, too."""
    again = mine & seen.again
    confirmed = not strictness.follow_ups
    if strictness.follow_ups and seen.sent[again].sum():
        confirmed = seen.lost[again].sum() / seen.sent[again].sum() > strictness.margin / 2
    share = float(seen.lost[mine].sum() / max(1, seen.sent[mine].sum()))
    return Culprit(
        *what,
        share - usual,
        float(np.sqrt(gain)),
        int(mine.sum()),
        int(again.sum()),
        bool(confirmed),
    )


def _joined(found: list[Culprit]) -> list[Culprit]:
    """A place that loses both ways is named once, with the larger share."""
    joined: dict[tuple[Kind, int, int], Culprit] = {}
    for culprit in found:
        key = (culprit.kind, culprit.number, culprit.other)
        known = joined.get(key)
        if known is None:
            joined[key] = culprit
        elif known.way != culprit.way:
            joined[key] = Culprit(
                *key,
                "both",
                max(known.excess, culprit.excess),
                max(known.deviations, culprit.deviations),
                known.observations + culprit.observations,
                known.again + culprit.again,
                known.confirmed or culprit.confirmed,
            )
    return list(joined.values())
