"""What a cluster whose faults are known would measure: latencies, rates and losses of all pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from netsonde.model.host_groups import Groups, groups_of
from netsonde.model.lossy_links import Counts
from netsonde.model.node_links import Observations
from netsonde.model.tournament import Tournament


@dataclass
class Cluster:
    """``hosts`` in leaves of ``leaf`` each below one root. ``slow`` hosts and ``slow_leaves`` add a
    share of the usual to each pair, ``slow_pairs`` to their own; ``noise`` is that of sound ones,
    ``spread`` the deviation between sound hosts, ``hiccups`` the share of single measurements that
    are three times the usual by chance."""

    hosts: int
    leaf: int = 0
    seed: int = 0
    slow: dict[int, float] = field(default_factory=dict)
    slow_leaves: dict[int, float] = field(default_factory=dict)
    slow_pairs: dict[tuple[int, int], float] = field(default_factory=dict)
    noise: float = 0.05
    spread: float = 0.02
    hiccups: float = 0.0
    farther: float = 1.0
    follow_ups: int = 3

    @property
    def groups(self) -> Groups:
        names = [f"h{n}" for n in range(self.hosts)]
        leaves = {
            f"leaf{n}": names[first : first + self.leaf]
            for n, first in enumerate(range(0, self.hosts, self.leaf or self.hosts))
        }
        return groups_of(names, leaves)

    def pairs(self, rounds: int | None):
        """(origin, target, again), both directions of each meeting."""
        found = []
        for number, partners in enumerate(Tournament(self.hosts, self.seed, rounds).rounds()):
            playing = np.flatnonzero(partners >= 0)
            found.append((playing, partners[playing], np.full(len(playing), False)))
            del number
        for number in range(self.follow_ups):
            partners = Tournament(self.hosts, self.seed + 1 + number).partners(0)
            playing = np.flatnonzero(partners >= 0)
            found.append((playing, partners[playing], np.full(len(playing), True)))
            for a, b in self.slow_pairs:
                found.append((np.array([a, b]), np.array([b, a]), np.full(2, True)))
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))

    def observations(self, rounds: int | None = None, symmetric: bool = True) -> Observations:
        origin, target, again = (np.asarray(column) for column in self.pairs(rounds))
        if symmetric:
            once = origin < target
            origin, target, again = origin[once], target[once], again[once]
        chance = np.random.default_rng((self.seed, 7))
        own = chance.normal(0, self.spread, self.hosts)
        value = 1 + own[origin] + own[target] + chance.normal(0, self.noise, len(origin))
        value = value + np.where(chance.random(len(origin)) < self.hiccups, 2.0, 0.0)
        for host, excess in self.slow.items():
            value += excess * ((origin == host) + 0.0)
            value += excess * ((target == host) + 0.0)
        if self.leaf:
            crosses = origin // self.leaf != target // self.leaf
            value = value + np.where(crosses, self.farther, 0.0)
            for leaf, excess in self.slow_leaves.items():
                value += excess * crosses * (origin // self.leaf == leaf)
                value += excess * crosses * (target // self.leaf == leaf)
        for (a, b), excess in self.slow_pairs.items():
            value += excess * ((origin == a) & (target == b))
            value += excess * ((origin == b) & (target == a))
        return Observations(
            self.hosts,
            origin.astype(np.int64),
            target.astype(np.int64),
            value,
            again.astype(bool),
            symmetric,
        )

    def losses(
        self,
        sends: dict[int, float],
        receives: dict[int, float],
        leaves: dict[int, float] | None = None,
        rounds: int | None = None,
        usual: float = 0.0,
        each: int = 250,
    ) -> Counts:
        """Datagrams lost: shares by host that sends or receives, and by leaf upwards."""
        origin, target, again = (np.asarray(column) for column in self.pairs(rounds))
        kept = np.full(len(origin), 1.0 - usual)
        for host, share in sends.items():
            kept *= np.where(origin == host, 1 - share, 1.0)
        for host, share in receives.items():
            kept *= np.where(target == host, 1 - share, 1.0)
        for leaf, share in (leaves or {}).items():
            up = (origin // self.leaf == leaf) & (target // self.leaf != leaf)
            kept *= np.where(up, 1 - share, 1.0)
        chance = np.random.default_rng((self.seed, 8))
        sent = np.full(len(origin), each)
        lost = chance.binomial(sent, 1 - kept)
        return Counts(
            self.hosts, origin.astype(np.int64), target.astype(np.int64), lost, sent, again
        )
