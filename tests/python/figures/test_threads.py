"""Round trips of several threads that were made up: which count, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.threads import threads_together
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.figures.threads import joint_round_trips, thread_medians_ns, thread_period_ns
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.report.lookup import Study, point_label
from netsonde.report.thread_plots import against_threads
from netsonde.study.checks import check_point

US = 1_000


def thread_batch(
    trips_us: Sequence[Sequence[float]],
    begins_us: Sequence[float] | None = None,
    *,
    gap_us: float = 0,
) -> Batch:
    """``trips_us`` by thread; ``gap_us`` after each is spent on looking at what came."""
    begins = np.array(begins_us or [0] * len(trips_us), float) * US
    times = [np.round(np.array(own, float) * US).astype(np.int64) for own in trips_us]
    spans = [int(own.sum() + gap_us * US * len(own)) for own in times]
    end = EndData(0, "h")
    end.series = {
        "round_trip_ns": np.concatenate(times),
        "thread": np.repeat(np.arange(len(times)), [len(own) for own in times]),
        "thread_begin_ns": begins.astype(np.int64),
        "thread_end_ns": (begins + spans).astype(np.int64),
    }
    sent = sum(len(own) for own in times)
    last = int(end.series["thread_end_ns"].max())
    end.counters = {"start_ns": 10**9, "end_ns": 10**9 + last, "messages_sent": sent}
    return Batch(0, {0: end, 1: EndData(1, "h")})


def thread_point(
    number: int, threads: int, batch: Batch, level: str = "multiple", **more: Any
) -> Point:
    given = {"message_bytes": 8, "ranks": 2, "threads": threads, "thread_level": level, **more}
    return Point(f"p{number:03d}", "mpi", "threads", given, "finished", batches=[batch])


def made_run(*points: Point, processors: int = 16) -> Run:
    manifest = {"origin": "real", "path": {"kind": "loopback"},
                "hosts": {"h": {"cpu.count": processors}}}  # fmt: skip
    return Run(Path("runs/x"), manifest, list(points), finished=True)


def by_name(figures: Sequence[Figure], point: str) -> dict[str, Figure]:
    return {f.name: f for f in figures if f.point == point}


def test_only_what_all_threads_were_at_counts() -> None:
    # Thread 1 begins at 20 us and ends at 60, thread 0 goes on from 0 to 100.
    batch = thread_batch([[10] * 10, [8] * 5], [0, 20])
    joint = joint_round_trips(batch)
    assert joint.made == 15
    assert joint.of_thread(0).tolist() == [10 * US] * 4  # those from 20 to 60
    assert joint.of_thread(1).tolist() == [8 * US] * 5
    # In the order in which they ended.
    assert joint.threads.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]


def test_a_round_trip_across_the_edge_does_not() -> None:
    joint = joint_round_trips(thread_batch([[10] * 3, [7, 7, 7, 7]], [0, 5]))
    assert joint.of_thread(0).tolist() == [10 * US] * 2  # the first began before the other thread
    assert joint.of_thread(1).tolist() == [7 * US] * 3  # the last ended after


def test_what_the_check_of_contents_takes_is_spread_over_the_round_trips() -> None:
    joint = joint_round_trips(thread_batch([[10] * 4, [30]], [0, 40], gap_us=10))
    assert joint.of_thread(0).tolist() == [10 * US] * 2  # from 40 to 80, two of four


def test_threads_that_never_met() -> None:
    point = thread_point(1, 2, thread_batch([[10] * 3, [10] * 3], [0, 1000]))
    assert len(joint_round_trips(point.batches[0]).times_ns) == 0
    run = made_run(point)
    figures = figures_of(run)
    assert {f.name for f in figures} == {"joint_ratio"}
    assert figures[0].value == 0
    (finding,) = threads_together(Seen(run, figures))
    assert "fewer than half" in finding.claim
    assert against_threads(Study(run, figures)) is None


def test_each_thread_and_all_together() -> None:
    quick, slow = [10.0] * 40, [20.0] * 20
    point = thread_point(1, 2, thread_batch([quick, slow]), communicators="own")
    found = by_name(figures_of(made_run(point)), "p001")
    assert found["quickest_thread_round_trip_median_ns"].value == 10 * US
    assert found["slowest_thread_round_trip_median_ns"].value == 20 * US
    assert found["round_trip_min_ns"].value == 10 * US
    assert found["joint_ratio"].value == 1
    # 2 messages each 10 us and 2 each 20 us.
    assert found["message_rate_per_s"].value == pytest.approx(300_000)
    assert thread_medians_ns(point) == [10 * US, 20 * US]
    assert thread_period_ns(point.batches[0]) == pytest.approx(400 * US / 30)


def noisy(median_us: float, threads: int, seed: int) -> Batch:
    random = np.random.default_rng(seed)
    trips = [(median_us * random.lognormal(0, 0.02, 400)).tolist() for _ in range(threads)]
    return thread_batch(trips)


def test_the_cost_of_multiple_and_of_contention_are_apart() -> None:
    run = made_run(
        thread_point(1, 1, noisy(10, 1, 1), "funneled"),
        thread_point(2, 1, noisy(12, 1, 2)),
        thread_point(3, 4, noisy(30, 4, 3), communicators="own"),
        thread_point(4, 4, noisy(48, 4, 4), communicators="shared"),
        thread_point(5, 4, noisy(99, 4, 5), communicators="own", launch=2, mpi="mpich"),
    )
    figures = figures_of(run)
    cost = by_name(figures, "p002")["thread_multiple_times"]
    assert cost.value == pytest.approx(1.2, rel=0.02)
    assert cost.low is not None
    assert cost.high is not None
    assert cost.low < 1.2 < cost.high
    for point, times in (("p003", 2.5), ("p004", 4.0)):
        found = by_name(figures, point)["thread_contention_times"]
        assert found.value == pytest.approx(times, rel=0.02)
    assert "thread_multiple_times" not in by_name(figures, "p001")
    assert "thread_contention_times" not in by_name(figures, "p005")  # of another launch
    claims = [finding.claim for finding in threads_together(Seen(run, figures))]
    assert any("MPI_THREAD_MULTIPLE makes one thread's round trip 1.2" in claim for claim in claims)
    contention = next(claim for claim in claims if claim.startswith("4 threads at the same time"))
    assert "2.5 times with a communicator each" in contention
    assert "4 times on one communicator" in contention or "times on one communicator" in contention
    plot = against_threads(Study(run, figures))
    assert plot is not None
    assert len(plot.table.rows) == 5
    labels = {curve.label for curve in plot.panels[0].curves}
    assert {"a communicator each", "one communicator, tags", "one thread, funneled"} <= labels


def test_more_threads_than_processors_are_said() -> None:
    run = made_run(thread_point(1, 4, noisy(30, 4, 3), communicators="own"), processors=4)
    findings = threads_together(Seen(run, figures_of(run)))
    assert any(f.level == "warning" and "With 4 threads" in f.claim for f in findings)
    roomy = made_run(thread_point(1, 4, noisy(30, 4, 3), communicators="own"), processors=8)
    findings = threads_together(Seen(roomy, figures_of(roomy)))
    assert not any(f.level == "warning" for f in findings)


def test_points_have_names_and_checks() -> None:
    batch = noisy(10, 2, 1)
    own = thread_point(1, 2, batch, communicators="own")
    shared = thread_point(2, 2, batch, communicators="shared")
    one = thread_point(3, 1, noisy(10, 1, 1), "funneled")
    assert point_label(own) == "MPI threads 8 B, 2 threads"
    assert point_label(shared) == "MPI threads 8 B, 2 threads, one communicator"
    assert point_label(one) == "MPI threads 8 B, 1 thread, funneled"
    assert check_point(own, {})["samples"] == {"messages": 800, "samples": 800, "equal": True}
