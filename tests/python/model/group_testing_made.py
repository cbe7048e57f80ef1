"""A made cluster measured by group testing, round by round, as a study does it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netsonde.model.group_testing import (
    LOOKS,
    SCREEN_DEVIATIONS,
    rounds_of_look,
    rounds_to_screen,
)
from netsonde.model.host_groups import no_groups
from netsonde.model.node_links import Culprit, Observations, Sight, Strictness, judge
from netsonde.model.tournament import Tournament, group_rounds, pairs_of
from netsonde.study.all_pairs_run import follow_up_rounds

MARGIN = 0.25
BETWEEN = 0.02
HICCUPS = 0.02
FIRST = 3
MEASURES_AND_WAYS = 10


@dataclass(frozen=True)
class Found:
    """What was named: (kind, host's number), in so many rounds."""

    named: frozenset[tuple[str, int]]
    rounds: int


class _Measured:
    def __init__(self, hosts: int, noise: float, slow: dict[int, float], seed: int) -> None:
        self.hosts = hosts
        self._noise = noise
        self._chance = np.random.default_rng((seed, 9))
        self._own = self._chance.normal(0, BETWEEN, hosts)
        for host, excess in slow.items():
            self._own[host] += excess
        self._rows: list[np.ndarray] = []
        self.rounds = 0

    def measure(self, pairs, again: bool) -> None:
        """Round trips: 1 is usual, and one of fifty is three times as long by chance."""
        ends = np.array(pairs)
        value = 1 + self._own[ends].sum(axis=1) + self._chance.normal(0, self._noise, len(ends))
        value += np.where(self._chance.random(len(ends)) < HICCUPS, 2.0, 0.0)
        self._rows.append(np.column_stack([ends, value, np.full(len(ends), again)]))
        self.rounds += 1

    def judged(self, false_alarms: float) -> tuple[list[Culprit], Sight]:
        origin, target, value, again = np.concatenate(self._rows).T
        seen = Observations(
            self.hosts,
            origin.astype(np.int64),
            target.astype(np.int64),
            value,
            again.astype(bool),
            symmetric=True,
        )
        tests = MEASURES_AND_WAYS * self.hosts
        chance = false_alarms / 2 / LOOKS
        strictness = Strictness(MARGIN, chance, tests, True, SCREEN_DEVIATIONS)
        return judge(seen, no_groups(self.hosts), strictness)


def group_tested(
    hosts: int,
    noise: float,
    slow: dict[int, float],
    seed: int,
    false_alarms: float = 0.05,
) -> Found:
    """``noise``: deviation of single measurements, of the usual; ``slow``: what hosts add to it."""
    measured = _Measured(hosts, noise, slow, seed)
    tournament = Tournament(hosts, seed)
    planned = group_rounds(hosts, FIRST)
    for number in range(planned):
        measured.measure(pairs_of(tournament.partners(number)), again=False)
    culprits, sight = measured.judged(false_alarms)
    for number in range(planned, rounds_to_screen([(sight, MARGIN)], hosts, planned)):
        measured.measure(pairs_of(tournament.partners(number)), again=False)
    culprits, sight = measured.judged(false_alarms)
    for look in range(1, LOOKS):
        suspected = [culprit for culprit in culprits if not culprit.confirmed]
        more = rounds_of_look([(sight, MARGIN)], look, FIRST, measured.rounds, planned)
        if not suspected or not more:
            break
        pairs = [(c.number, c.other) for c in suspected if c.kind == "pair"]
        doubtful = sorted({c.number for c in suspected if c.kind == "host"})
        for matched in follow_up_rounds(range(hosts), pairs, doubtful, more, seed + look - 1):
            measured.measure(matched, again=True)
        culprits, sight = measured.judged(false_alarms)
    named = frozenset((c.kind, c.number) for c in culprits if c.confirmed)
    return Found(named, measured.rounds)
