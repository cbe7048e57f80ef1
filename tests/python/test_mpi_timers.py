"""MPI's own timer and what a reading of a timer takes, between real ranks; what may be asked."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from mpi_program import SUPPRESSIONS
from pydantic import ValidationError

from mpi_needed import require_mpi
from netsonde.cli.mpi_choices import choices_of
from netsonde.errors import UsageError
from netsonde.launch.mpi import open_mpi
from netsonde.launch.worker import WorkerError
from netsonde.records.decode import decode_batch
from netsonde.records.timer import READINGS, READINGS_OF_PART
from netsonde.reductions import REDUCTIONS, ReductionName
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec

TIMEOUT = {"timeout_ns": 20_000_000_000, "seed": 1}


@pytest.fixture
def ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={SUPPRESSIONS}:print_suppressions=0")
    require_mpi()


@pytest.mark.worker
@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize("test", ["latency", "pingpong", "stream", "duplex"])
def test_tests_between_two_ranks_by_mpis_timer(test: str) -> None:
    """By both timers a run lies within what the launcher saw of it."""
    fields = {"test": test, "message_bytes": 1024, "count": 200, **TIMEOUT}
    with open_mpi(None, 2) as session:
        assert next(iter(session.facts().values()))["mpi.wtick_ns"] > 0
        for clock in ({"clock": "wtime"}, {}):
            batch = decode_batch(0, session.run({**fields, **clock}, 30.0))
            for end in batch.ends.values():
                lasted_ns = end.counters["end_ns"] - end.counters["start_ns"]
                assert 0 < lasted_ns < 20e9
                assert end.before is not None
                assert end.after is not None
                assert end.before.time_ns <= end.counters["start_ns"]
                assert end.counters["end_ns"] <= end.after.time_ns
            origin = batch.ends[0]
            if "round_trip_ns" in origin.series:
                lasted_ns = origin.counters["end_ns"] - origin.counters["start_ns"]
                assert 0 < origin.series["round_trip_ns"].sum() <= lasted_ns


@pytest.mark.worker
@pytest.mark.usefixtures("ranks")
def test_both_timers_and_the_readings_of_real_ranks() -> None:
    fields = {"test": "collective", "operation": "send", "message_bytes": 128, "count": 300}
    with open_mpi(None, 2) as session:
        batch = decode_batch(
            0, session.run({**fields, "both_timers": True, "timer_cost": True, **TIMEOUT}, 30.0)
        )
        for end in batch.ends.values():
            apart = end.series["wtime_duration_ns"] - end.series["duration_ns"]
            assert len(apart) == 300
            assert np.median(np.abs(apart)) < 2_000
            assert len(end.series[READINGS]) == 25
            assert 0 < np.median(end.series[READINGS]) / READINGS_OF_PART < 10_000
        plain = decode_batch(0, session.run({**fields, **TIMEOUT}, 30.0))
        assert not {"wtime_duration_ns", READINGS} & set(plain.ends[0].series)


@pytest.mark.worker
@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"both_timers": True, "clock": "wtime"}, "do not go together"),
        ({"timer_cost": True, "keep_samples": 0}, "timer_cost needs all its samples"),
    ],
)
def test_what_ranks_refuse_of_timers(wrong: dict[str, Any], words: str) -> None:
    fields = {"test": "collective", "operation": "send", "message_bytes": 128, "count": 300}
    with open_mpi(None, 2) as session, pytest.raises(WorkerError, match=words):
        session.run({**fields, **wrong, **TIMEOUT}, 30.0)


@pytest.mark.worker
@pytest.mark.usefixtures("ranks")
@pytest.mark.parametrize("reduction", ["null", "own-sum"])
def test_data_of_operations_of_our_own_is_right(reduction: str) -> None:
    asked = {"message_bytes": 4096, "count": 20, "check_data": True, "reduction": reduction}
    with open_mpi(None, 2) as session:
        for operation in ("reduce", "allreduce", "reduce_scatter", "scan", "iallreduce"):
            fields = {"test": "collective", "operation": operation, **asked, **TIMEOUT}
            batch = decode_batch(0, session.run(fields, 30.0))
            assert [end.counters["corrupt"] for end in batch.ends.values()] == [0, 0]


def points(measure: dict[str, Any]) -> list[dict[str, Any]]:
    block = {"transports": ["mpi"], "sizes": "64", **measure}
    spec = StudySpec.model_validate({"mpi": {"ranks": 2}, "measure": [block]})
    return [point.parameters for point in plan_points(spec)]


def test_points_carry_what_was_asked_of_timers() -> None:
    bcast = {"test": "collective", "operations": ["bcast"]}
    (given,) = points({**bcast, "both_timers": True, "timer_overhead": "told"})
    assert (given["both_timers"], given["timer_overhead"]) == (True, "told")
    (given,) = points({"test": "latency", "timer_overhead": "off", "clock": "wtime"})
    assert (given["timer_overhead"], given["clock"]) == ("off", "wtime")
    (given,) = points(bcast)
    assert not {"both_timers", "timer_overhead"} & set(given)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ({"test": "stream", "timer_overhead": "off"}, "goes with MPI's operations, latency"),
        ({"test": "latency", "transports": ["tcp"], "timer_overhead": "off"}, "goes with MPI's"),
        ({"test": "latency", "both_timers": True}, "both_timers and test latency"),
        (
            {"test": "latency", "transports": ["tcp"], "clock_method": "wtime"},
            "clock_method = 'wtime' goes",
        ),
        (
            {"test": "latency", "clock_method": "offset"},
            "clock_method = 'offset' goes with tests collective",
        ),
        (
            {
                "test": "collective",
                "operations": ["bcast"],
                "both_timers": True,
                "clock_method": "wtime",
            },
            "MPI_Wtime is read beside the clock",
        ),
        (
            {
                **{"test": "collective", "operations": ["bcast"]},
                **{"both_timers": True, "timer_overhead": "off"},
            },
            "each timer's time holds a reading of either",
        ),
    ],
)
def test_what_does_not_go_together(measure: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        points(measure)


def test_options_of_timers_go_where_they_mean_something() -> None:
    given = {"both_timers": True, "timer_overhead": "off"}
    found = choices_of(["bcast", "latency", "clock"], given)
    assert found == {
        "bcast": given,
        "latency": {"timer_overhead": "off"},
        "clock": {"both_timers": True},
    }
    for key, option in (("both_timers", "--compare-timers"), ("timer_overhead", "--without-timer")):
        with pytest.raises(UsageError, match=option):
            choices_of(["stream"], {key: given[key]})


def test_every_reduction_has_its_words() -> None:
    assert list(REDUCTIONS) == list(get_args(ReductionName))
