"""When a point ends: it lasts for many periods of what bears on it, and every quantile that was
asked for is known."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned_points import planned_point

from netsonde.catalogue.point import Options, RoundTrips
from netsonde.cli.sockets import precisions_of
from netsonde.errors import UsageError
from netsonde.stats.quantiles import least_samples, quantile_interval
from netsonde.study.enough import BUSY_PERIOD_NS, PERIODS_LEAST, TICK_NS, least_ns
from netsonde.study.measure import measure_point
from netsonde.study.plan import plan_points
from netsonde.study.spec import TIMED_TESTS, StudySpec, parse_study, to_toml

CAP_NS = 10**10


class PlayedSession:
    """Round trips as a function of how many there were before gives them, in no time."""

    def __init__(self, trips: Callable[[int, int], Any]) -> None:
        self._trips = trips
        self.made: list[np.ndarray[Any, Any]] = []

    def run(self, request: dict[str, Any], timeout_s: float) -> list[dict[str, Any]]:
        del timeout_s
        count = request["count"]
        values = np.asarray(self._trips(sum(map(len, self.made)), count), "<i8")
        self.made.append(values)
        end = {"rank": 0, "host": "h1"}
        series = {"name": "round_trip_ns", "offset": 0, "count": count, "total": count}
        text = base64.b64encode(values.tobytes()).decode()
        return [
            {"record": "series", **end, **series, "values": text},
            {"record": "counters", **end, "values": {"messages_sent": count}},
        ]

    @property
    def samples(self) -> np.ndarray[Any, Any]:
        return np.concatenate(self.made)


def measured(trips: Callable[[int, int], Any], **parameters: Any) -> tuple[str, PlayedSession]:
    session = PlayedSession(trips)
    asked = {"message_bytes": 64, "cap_ns": CAP_NS, "interval": 0.01, **parameters}
    point = planned_point("tcp", "latency", asked)
    ending = measure_point(session, point, lambda *_: None)  # type: ignore[arg-type]
    return ending.ended_by, session


@settings(max_examples=25)
@given(
    trip_ns=st.integers(1_000, 3_000_000),
    busy=st.booleans(),
    poll_us=st.sampled_from([0, 50, 20_000]),
)
def test_a_steady_path_is_measured_for_many_periods(trip_ns: int, busy: bool, poll_us: int) -> None:
    options = {"busy_poll_us": poll_us, **({"busy": "target=50%"} if busy else {})}
    ended_by, session = measured(lambda _, count: np.full(count, trip_ns), options=options)
    assert ended_by == "interval"
    slowest_ns = max(TICK_NS, BUSY_PERIOD_NS if busy else 0, 1000 * poll_us)
    assert session.samples.sum() >= PERIODS_LEAST * slowest_ns
    assert len(session.made) < 40  # not one message at a time


def test_a_load_that_comes_every_ten_milliseconds_is_seen() -> None:
    """For half of each period everything takes ten times as long. The first 16 round trips, 0.3 ms,
    knew nothing of it."""

    def trips(_: int, count: int) -> Any:
        now_ns, found = float(state["now_ns"]), []
        for _i in range(count):
            taken = now_ns % BUSY_PERIOD_NS >= BUSY_PERIOD_NS / 2
            found.append(200_000 if taken else 20_000)
            now_ns += found[-1]
        state["now_ns"] = now_ns
        return found

    state = {"now_ns": 0.0}
    _, session = measured(trips, options={"busy": "both=50%"})
    share = float((session.samples == 200_000).sum() * 200_000 / session.samples.sum())
    assert share == pytest.approx(0.5, abs=0.1)


def test_no_point_is_longer_than_its_cap_for_that() -> None:
    beside = Options(busy="both=50%")
    short = RoundTrips(message_bytes=64, cap_ns=50_000_000, options=beside)
    assert least_ns(short) == 50_000_000
    assert least_ns(RoundTrips(message_bytes=64, cap_ns=CAP_NS)) == PERIODS_LEAST * TICK_NS


@pytest.mark.parametrize(
    ("name", "order", "share"), [("p90", 0.9, 0.008), ("p99", 0.99, 0.015), ("p999", 0.999, 0.03)]
)
def test_a_quantile_that_was_asked_for_is_known(name: str, order: float, share: float) -> None:
    rng = np.random.default_rng(3)

    def trips(_: int, count: int) -> Any:
        return 2_000_000 * np.exp(0.2 * rng.standard_normal(count))

    ended_by, session = measured(trips, intervals={name: share})
    assert ended_by == "interval"
    found = quantile_interval(session.samples, order)
    assert found is not None
    assert found.half_width <= 1.2 * share * found.low  # of the steady part alone: once
    _, median_only = measured(trips)
    assert len(session.samples) > len(median_only.samples)


def test_intervals_are_said_in_the_study_and_at_the_command_line() -> None:
    study = parse_study(
        'relative_precisions = { p99 = 0.05 }\n[[measure]]\ntransports = "tcp"\ntest = "latency"\n'
        'sizes = "64"\n[[measure]]\ntransports = "tcp"\ntest = "stream"\nsizes = "64k"\n',
        "s.toml",
    )
    by_test = {point.test: point.parameters for point in plan_points(study)}
    assert by_test["latency"]["intervals"] == {"p99": 0.05}
    assert "intervals" not in by_test["stream"]
    assert parse_study(to_toml(study), "again") == study
    assert precisions_of("2%") == {"relative_precision": 0.02, "relative_precisions": {}}
    assert precisions_of("p99:5%") == {
        "relative_precision": 0.01,
        "relative_precisions": {"p99": 0.05},
    }
    assert precisions_of("median:2%, p999:0.1") == {
        "relative_precision": 0.02,
        "relative_precisions": {"p999": 0.1},
    }


@pytest.mark.parametrize("text", ["p95:1%", "x", "p99:", "p99:x", ":1%", "1%:p99"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--relative-precision"):
        precisions_of(text)


def test_a_quantile_of_what_has_none_is_refused() -> None:
    for test in ("stream", "duplex"):
        block = {"transports": "tcp", "test": test, "sizes": 64}
        with pytest.raises(ValueError, match="nothing here is measured until its p99 is known"):
            StudySpec.model_validate({"relative_precisions": {"p99": 0.05}, "measure": [block]})
    block = {"transports": "tcp", "test": "latency", "sizes": 64, "count": 100}
    with pytest.raises(ValueError, match="without count"):
        StudySpec.model_validate({"relative_precisions": {"p99": 0.05}, "measure": [block]})
    assert "stream" not in TIMED_TESTS


def test_the_fewest_samples_of_a_quantile() -> None:
    assert [least_samples(q) for q in (0.5, 0.9, 0.99, 0.999)] == [1, 10, 100, 1000]
