"""How the simulator's cost grows with the number of events, on clusters that do not grow and on
ones that do."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.peers import Route
from bench.simulator import PROGRAM, SHORT_SECONDS, one_switch, play
from netsonde.launch.binaries import find_worker

NAME = "simulator-growth"
EVENTS = (10**5, 10**6, 10**7, 10**8)
SHORT_EVENTS = EVENTS[:2]
HOSTS = 256
PACKETS_A_HOST = 24
EVENTS_A_PACKET = 4.0
"""About: what a packet of these jobs causes."""
MOST_HOSTS = 1_048_576


@dataclass(frozen=True)
class Grown:
    """``series``: what grows, packets or hosts. ns: CPU time for each event."""

    series: str
    hosts: int
    events: int
    ns_per_event: float

    @property
    def ns_per_comparison(self) -> float:
        """Over log2 of the events: does not grow where the cost is O(events log events)."""
        return self.ns_per_event / math.log2(self.events)


def simulator_growth(route: Route, seconds: float, draw: random.Random) -> list[Grown]:
    """Uniform traffic through one output-buffered switch, each job once. The route is not used.
    Raises HostError."""
    del route, draw
    program = str(find_worker(PROGRAM))
    found = []
    for events in EVENTS if seconds >= SHORT_SECONDS else SHORT_EVENTS:
        packets = max(1, round(events / EVENTS_A_PACKET / HOSTS))
        found.append(_grown(program, "packets", HOSTS, packets))
    for events in EVENTS if seconds >= SHORT_SECONDS else SHORT_EVENTS:
        hosts = min(MOST_HOSTS, max(2, round(events / EVENTS_A_PACKET / PACKETS_A_HOST)))
        found.append(_grown(program, "hosts", hosts, PACKETS_A_HOST))
    return found


def _grown(program: str, series: str, hosts: int, packets: int) -> Grown:
    job: dict[str, Any] = {"kind": "uniform", "packets": packets}
    values, spent = play(program, one_switch(hosts, {"architecture": "output"}, job))
    events = int(values["events"])
    return Grown(series, hosts, events, 1e9 * spent.cpu_s / events)


def growth(found: Sequence[Grown]) -> float:
    """The exponent e of cost = events^e through the points, by least squares of logarithms."""
    events = np.log([one.events for one in found])
    cost = np.log([one.events * one.ns_per_event for one in found])
    return float(np.polyfit(events, cost, 1)[0])


def lines(found: Sequence[Grown]) -> list[str]:
    """For the terminal: a line for each job, and the exponent of each series."""
    said = [
        f"{'simulated events':<18}{'hosts':>10}{'log2':>8}{'ns an event':>13}{'over log2':>11}",
    ]
    for series in dict.fromkeys(one.series for one in found):
        of_series = [one for one in found if one.series == series]
        for one in of_series:
            said.append(
                f"{one.events:<18,}{one.hosts:>10,}{math.log2(one.events):>8.1f}"
                f"{one.ns_per_event:>13.1f}{one.ns_per_comparison:>11.2f}"
            )
        said.append(f"more {series}: the cost grows as events^{growth(of_series):.2f}")
    return said
