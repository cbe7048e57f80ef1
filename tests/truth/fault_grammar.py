"""What random faults are drawn from: measurements, kinds of faults, and runs.

A run is one measurement over one lab with no, one or two faults in it. All is drawn from one seed,
and each run from a seed of its own (``seed.number``), so that a single one can be made again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fault_actions import Action
from statements import Truth

from netsonde.lab import LabSpec
from netsonde.lab.scenario import lab_spec, scenario_of

Better = Literal["more", "less"]
TWO_AT_ONCE = 0.25
NEAR_BIT_PER_S = 100_000_000
# The switch would be late on a machine that others use: it comes first there, and may be later.
PACE = {"calibrate": False, "priority": 10, "late_limit": "5ms"}
TIME = "--time 1s"
PINNED = "--cpus 0,1"


@dataclass(frozen=True)
class Place:
    """A lab: links of 100 Mbit/s over a bridge, or a path with a round trip of 20 ms."""

    name: str
    scenario: Mapping[str, Any] | None = None

    def spec(self, name: str, seed: int) -> LabSpec:
        if self.scenario is None:
            return LabSpec(hosts=3, rate_bit_per_s=NEAR_BIT_PER_S, name=name)
        tables = {"links": "switch", "hosts": 3, "name": name, "seed": seed % 2**31}
        return lab_spec(scenario_of({**tables, "pace": PACE, **self.scenario}))


NEAR = Place("near")
FAR = Place("far", {"link": {"rate": "50M", "delay": "5ms"}})


@dataclass(frozen=True)
class Measure:
    """A command, with HOSTS for two hosts of the lab, and which way its figure is better."""

    name: str
    place: Place
    words: str
    figure: str
    better: Better = "more"

    @property
    def is_stream(self) -> bool:
        return self.better == "more"


RATE, TRIP = "throughput_bit_per_s", "round_trip"
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("tcp-stream", NEAR, f"tcp HOSTS stream --congestion cubic {PINNED} {TIME}", RATE),
        Measure("tcp-latency", NEAR, f"tcp HOSTS latency {PINNED} {TIME}", TRIP, "less"),
        Measure("udp-stream", NEAR, f"udp HOSTS stream --rate 50M {PINNED} {TIME}", RATE),
        Measure("udp-latency", NEAR, f"udp HOSTS latency {PINNED} {TIME}", TRIP, "less"),
        Measure("far-tcp-stream", FAR, f"tcp HOSTS stream --congestion cubic {TIME}", RATE),
        Measure("far-tcp-latency", FAR, f"tcp HOSTS latency {TIME}", TRIP, "less"),
        Measure("far-udp-stream", FAR, f"udp HOSTS stream --rate 10M {TIME}", RATE),
    )
}
STREAMS = ("tcp-stream", "udp-stream")
NEAR_ALL = ("tcp-stream", "tcp-latency", "udp-stream", "udp-latency")
FAR_ALL = ("far-tcp-stream", "far-tcp-latency", "far-udp-stream")


@dataclass(frozen=True)
class FaultKind:
    """``size`` is drawn between ``least`` and ``most`` evenly over its logarithm; ``put`` takes it.
    ``truths`` are what may be said of a run with it; ``options`` is what the command needs for it.
    ``has_effect`` is false where nothing that it does can slow anything: there silence is right.
    """

    name: str
    group: str
    measures: tuple[str, ...]
    least: float
    most: float
    unit: str
    put: Action
    truths: tuple[Truth, ...] = ()
    options: str = ""
    has_effect: bool = True

    def size(self, chance: random.Random) -> float:
        return math.exp(chance.uniform(math.log(self.least), math.log(self.most)))


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    size: float

    def __str__(self) -> str:
        return f"{self.kind.name} of {self.size:.3g} {self.kind.unit}"


@dataclass(frozen=True)
class Drawn:
    """One drawn run: faults go in one after the other, and each is measured."""

    number: int
    seed: int
    measure: Measure
    faults: tuple[Fault, ...]

    @property
    def command(self) -> str:
        return " ".join([self.measure.words, *(f.kind.options for f in self.faults)]).strip()

    def __str__(self) -> str:
        put = " and ".join(str(fault) for fault in self.faults) or "nothing"
        return f"run {self.seed}.{self.number}, {self.measure.name}, {put}"


def draw(seed: int, number: int, kinds: Sequence[FaultKind]) -> Drawn:
    """The run of that number. Each kind is as likely as any other; the second of two fits the
    measurement of the first and is of another group."""
    chance = random.Random(f"{seed}.{number}")
    first = chance.choice(sorted(kinds, key=lambda kind: kind.name))
    measure = MEASURES[chance.choice(first.measures)]
    faults = [Fault(first, first.size(chance))]
    others = [
        kind
        for kind in sorted(kinds, key=lambda kind: kind.name)
        if measure.name in kind.measures and kind.group != first.group
    ]
    if others and chance.random() < TWO_AT_ONCE:
        second = chance.choice(others)
        faults.append(Fault(second, second.size(chance)))
    return Drawn(number, seed, measure, tuple(faults))


@dataclass(frozen=True)
class Clean:
    """A run with nothing in it. ``burners`` is how many processes burn CPUs beside it."""

    number: int
    seed: int
    place: Place
    command: str
    burners: int = 0

    def __str__(self) -> str:
        beside = f" beside {self.burners} busy processes" if self.burners else ""
        return f"clean run {self.seed}.{self.number}, {self.place.name}, {self.command}{beside}"


_TESTS: dict[str, tuple[str, ...]] = {
    "tcp HOSTS stream": (
        "--congestion cubic",
        "--congestion bbr",
        "--streams 2",
        "--sizes 1k,64k",
        "--buffer 256k",
        "--cpus 0,1",
        "--ipv6",
    ),
    "tcp HOSTS latency": ("--sizes 1,1k", "--cpus 0,1", "--ipv6", "--sizes 64..1k", ""),
    "tcp HOSTS duplex": ("--cpus 0,1", ""),
    "tcp HOSTS pingpong": ("--sizes 2k", "--sizes 64k", ""),
    "udp HOSTS stream": ("--rate 5M", "--rate 10M --sizes 8k", "--rate 20M --cpus 0,1"),
    "udp HOSTS latency": ("--sizes 1,1k", "--cpus 0,1", "--sizes 4k"),
    "tcp ALL ring": ("",),
    "tcp ALL incast": ("",),
    "tcp ALL outcast": ("",),
}


def draw_clean(seed: int, number: int, *, busy: bool) -> Clean:
    """A clean run: one of several tests with one of its options, near or far."""
    chance = random.Random(f"clean {seed}.{number}")
    test = chance.choice(sorted(_TESTS))
    option = chance.choice(_TESTS[test])
    place = FAR if chance.random() < 0.25 else NEAR
    burners = chance.choice((1, 2, 3)) if busy else 0
    return Clean(number, seed, place, f"{test} {option} {TIME}".replace("  ", " "), burners)


NONE = 0.05


def harm_of(better: Better, without: Sequence[float], with_it: float | None) -> float:
    """The share of the rate, or of the time of a round trip, that a fault costs: against the worst
    of the runs without it, so that what others take meanwhile is not the fault's. 1 where the run
    with it has no figure. Smaller shares than NONE count as none."""
    if with_it is None:
        return 1.0
    if not without:
        return 0.0
    if better == "more":
        harm = 1 - with_it / min(without) if min(without) > 0 else 0.0
    else:
        harm = 1 - max(without) / with_it if with_it > 0 else 0.0
    return harm if harm >= NONE else 0.0
