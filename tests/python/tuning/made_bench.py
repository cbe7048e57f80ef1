"""A bench without hosts: figures follow from a setup by a function, with noise of a known size."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from netsonde.errors import HostError
from netsonde.tuning.sockets.bench import GOALS
from netsonde.tuning.sockets.data import Change, Goal, Known, Look, Setup

Truth = Callable[[Setup], tuple[float, float]]
"""Bit/s and nanoseconds of a setup."""

HOSTS = {
    "net.ipv4.tcp_rmem": {"h1": "4096 131072 262144", "h2": "4096 131072 262144"},
    "net.ipv4.tcp_wmem": {"h1": "4096 16384 262144", "h2": "4096 16384 262144"},
    "net.ipv4.tcp_congestion_control": {"h1": "cubic", "h2": "cubic"},
    "net.ipv4.tcp_sack": {"h1": "1", "h2": "1"},
    "mtu": {"h1": "1500", "h2": "1500"},
    "offloads": {"h1": "tso=off gso=off gro=off", "h2": "tso=off gso=off gro=off"},
}


@dataclass
class MadeBench:
    truth: Truth
    findings: Callable[[Setup], Sequence[str]] = lambda _: ()
    noise: float = 0.01
    seed: int = 1
    launches_left: int = 100_000
    at_best: dict[str, str] = field(default_factory=dict)
    refusing: dict[str, str] = field(default_factory=dict)
    untaken: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = tuple(GOALS.values())

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self.launches = 0
        self.seen: list[Setup] = []

    def look(self, setup):
        self._launch(setup)
        known = Known(setup.options, HOSTS, ("reno", "cubic", "bbr"), "cubic", 500_000)
        return Look(self.findings(setup), known, self.at_best)

    def pairs(self, before, after, count):
        found: dict[str, list[tuple[float, float]]] = {"rate": [], "latency": []}
        for _ in range(count):
            one, other = self._launch(before), self._launch(after)
            found["rate"].append((one[0], other[0]))
            found["latency"].append((one[1], other[1]))
        return found

    def refused(self, knob):
        return self.refusing.get(knob.name, "")

    def check(self, change: Change) -> None:
        if change.words in self.untaken:
            raise HostError(f"the path does not take {change.words}")

    def left_s(self):
        return float(self.launches_left - self.launches)

    def launch_s(self):
        return 1.0

    def _launch(self, setup: Setup) -> tuple[float, float]:
        self.launches += 1
        self.seen.append(setup)
        rate, latency = self.truth(setup)
        return (
            rate * self._chance.lognormvariate(0, self.noise),
            latency * self._chance.lognormvariate(0, self.noise),
        )
