"""A path on which every round trip takes what a given curve says."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np
import pytest

from netsonde.records.decode import decode_batch
from netsonde.study import execute, run_point
from netsonde.study.series import Ending
from netsonde.study.spec import StudySpec

SAMPLES = 200
Curve = Callable[[int], float]
"""One-way nanoseconds of a message of so many bytes."""


class Silent:
    """The progress of a study that nobody watches."""

    def start(self, directory, points):
        pass

    def point(self, point):
        pass

    def batch(self, point, records):
        pass

    def done(self, point, error):
        pass

    def notice(self, text):
        pass


class KilledError(BaseException):
    """What ends a run in the middle of a point, as a kill does: nothing is written after it."""


class FakeSession:
    transport = "tcp"
    opened = {0: {"max_segment_bytes": 1448, "interface": "v0"}}  # noqa: RUF012
    hosts = frozenset(("h1",))

    def facts(self):
        return {}


class FakeTestbed:
    """Stands for :class:`netsonde.study.testbed.Testbed`."""

    label = "simulated"
    notice = None

    def __init__(self, _spec, _pair_code=None):
        self.facts = {"kind": "hosts"}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def open(self, _point):
        return FakeSession()

    def begin_point(self):
        pass

    def point_checks(self):
        return {}

    def problem_of(self, _name):
        return None

    def hosts_of(self, point):
        return point.spec.between or ()

    def taken_by(self, _points):
        return []

    def drop(self, session):
        pass


class World:
    """Measures by a curve with noise that depends on the point only; counts, and kills once."""

    def __init__(self, curve: Curve, noise: float = 0.002) -> None:
        self._curve = curve
        self._noise = noise
        self.measured: list[tuple[str, int]] = []
        self.kill_at: int | None = None

    def measure_point(self, _session, point, keep):
        size, refined = point.spec.message_bytes, point.spec.refined or 0
        rng = np.random.default_rng([size, refined])
        level = self._curve(size) * (1 + self._noise * rng.standard_normal())
        trips = (2 * level * (1 + 0.002 * rng.standard_normal(SAMPLES))).astype("<i8")
        records = [
            {
                "record": "series",
                "rank": 0,
                "host": "h1",
                "name": "round_trip_ns",
                "offset": 0,
                "count": SAMPLES,
                "total": SAMPLES,
                "values": base64.b64encode(trips.tobytes()).decode(),
            },
            {
                "record": "counters",
                "rank": 0,
                "host": "h1",
                "values": {"messages_sent": SAMPLES, "bytes_sent": SAMPLES * size},
            },
        ]
        keep(0, records)
        self.measured.append((str(size), refined))
        if self.kill_at is not None and len(self.measured) == self.kill_at:
            raise KilledError
        return Ending("interval", [decode_batch(0, records)])


def live_in(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Studies are measured in that world from here on."""
    monkeypatch.setattr(execute, "Testbed", FakeTestbed)
    monkeypatch.setattr(run_point, "measure_point", world.measure_point)


def sweep_spec(**block: object) -> StudySpec:
    """A study of one block: round trips over TCP from 1 byte to 1 MiB, refined."""
    measure = {"transports": "tcp", "test": "latency", "sizes": "1..1M", "refine": 24, **block}
    return StudySpec.model_validate({"seed": 3, "measure": [measure]})


def jump_at(size_bytes: int, by_ns: float = 40_000.0) -> Curve:
    """20 us and a nanosecond a byte; messages from that size on take longer."""
    return lambda size: 20_000.0 + size + (by_ns if size >= size_bytes else 0.0)
