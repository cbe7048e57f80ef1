"""Requirements on figures whose truth is known: met, missed, undecided, without a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from all_pairs_made import made_run
from compare_made import write_run
from hypothesis import given
from hypothesis import strategies as st

from netsonde.figures.compute import figures_of
from netsonde.figures.judgements import counts_in_words, judge
from netsonde.figures.requirements import REQUIREMENTS, Requirement, requirements_of
from netsonde.records.data import Point
from netsonde.records.rundir import open_run

MEDIAN = "round_trip_median_ns"
SLOW = [30e3, 30.5e3, 31e3, 30.2e3, 30.7e3, 30.1e3]
FAST = [20e3, 20.5e3, 21e3, 20.2e3, 20.7e3, 20.1e3]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Round trips of two sizes in six launches."""
    return open_run(write_run(tmp_path_factory.mktemp("runs") / "run", {64: FAST, 4096: SLOW}))


def judged(run, *requirements: Requirement):
    return judge(run, figures_of(run), requirements)


def test_launches_are_judged_together(run):
    slow, fast = judged(run, Requirement(MEDIAN, at_most=25e3))
    assert (slow.verdict, fast.verdict) == ("missed", "met")  # the worst first
    assert (slow.label, fast.label) == ("mpi latency 4k", "mpi latency 64")
    assert slow.launches == len(slow.points) == 6
    assert (fast.low, fast.high) == (20e3, 21e3)  # of six launches, the least and the largest
    assert fast.value == pytest.approx(20.35e3)
    assert fast.reserve_ratio == pytest.approx((25e3 - 20.35e3) / 25e3)


def test_a_limit_within_the_interval_decides_nothing(run):
    (found,) = judged(run, Requirement(MEDIAN, at_most=20.4e3, sizes=(64,)))
    assert found.verdict == "undecided"
    (found,) = judged(run, Requirement(MEDIAN, at_least=19e3, at_most=22e3, sizes=(64,)))
    assert found.verdict == "met"
    (found,) = judged(run, Requirement(MEDIAN, at_least=22e3, at_most=23e3, sizes=(64,)))
    assert found.verdict == "missed"


def test_few_launches_have_to_agree(tmp_path):
    run = open_run(write_run(tmp_path / "run", {64: [20e3, 24e3]}))
    (found,) = judged(run, Requirement(MEDIAN, at_most=22e3))
    assert found.verdict == "undecided"
    assert found.low < 20e3 < 24e3 < found.high  # the intervals of both
    (found,) = judged(run, Requirement(MEDIAN, at_most=30e3))
    assert found.verdict == "met"


def test_a_figure_without_interval_is_judged_by_its_value(run):
    judgements = judged(run, Requirement("round_trip_min_ns", at_least=1.0, sizes=(64,)))
    assert [j.verdict for j in judgements] == ["met"]


def test_too_few_samples_for_an_interval_decide_nothing(run):
    """Of 200 messages, no 99 % quantile has one, and a 99.9 % quantile is no figure."""
    one = replace(run, points=run.points[:1])
    (found,) = judged(one, Requirement("round_trip_p99_ns", at_most=1e9))
    assert (found.verdict, found.low, found.high) == ("undecided", None, None)
    assert found.value_in_words().endswith("µs (no interval: too few samples)")
    # Six launches have one of their own.
    (found, _) = judged(run, Requirement("round_trip_p99_ns", at_most=1e9))
    assert found.verdict == "met"
    (found,) = judged(one, Requirement("round_trip_p999_ns", at_most=1e9))
    assert (found.verdict, found.value) == ("unmeasured", None)


@pytest.mark.parametrize(
    ("choice", "labels"),
    [
        ({"sizes": (64,)}, {"mpi latency 64"}),
        ({"transport": "mpi", "test": "latency"}, {"mpi latency 64", "mpi latency 4k"}),
        ({"transport": "tcp"}, {"no point has this figure"}),
        ({"test": "stream"}, {"no point has this figure"}),
        ({"operation": "bcast"}, {"no point has this figure"}),
        ({"label": "x"}, {"no point has this figure"}),
    ],
)
def test_a_requirement_is_of_the_points_that_it_names(run, choice: dict[str, Any], labels):
    found = judged(run, Requirement(MEDIAN, at_most=1e6, **choice))
    assert {j.label for j in found} == labels
    expected = "unmeasured" if labels == {"no point has this figure"} else "met"
    assert {j.verdict for j in found} == {expected}


@pytest.mark.parametrize(
    ("label", "wanted", "has"),
    [
        ("h1 to h2, 4 streams", "4 streams", True),
        ("h1 to h2, 4 streams", "h1 to h2", True),
        ("h1 to h2, 4 streams", "h1 to h2, 4 streams", True),
        ("h1 to h2, 4 streams", "streams", False),
        (None, "4 streams", False),
    ],
)
def test_a_label_may_be_named_by_one_of_its_parts(label, wanted, has):
    point = Point("p001", "tcp", "stream", {"message_bytes": 64, "label": label})
    requirement = Requirement("throughput_bit_per_s", at_least=1.0, label=wanted)
    assert requirement.concerns(point) is has


def test_a_point_that_was_not_measured_is_not_passed_over(run):
    failed = Point("p099", "mpi", "latency", {"message_bytes": 9, "options": {}}, "failed")
    other = Point("p100", "tcp", "stream", {"message_bytes": 9, "options": {}}, "failed")
    run = replace(run, points=[*run.points, failed, other])
    found = judged(run, Requirement(MEDIAN, at_most=1e6))
    # The stream would have had no round trips.
    assert [(j.verdict, j.label) for j in found if j.verdict != "met"] == [
        ("unmeasured", "mpi latency 9")
    ]
    assert counts_in_words(found) == "1 without result, 2 met"


def test_a_figure_of_a_sweep_is_judged_by_the_name_of_the_sweep(run):
    (figure, *_) = figures_of(run)
    rate = replace(
        figure, point="tcp-latency", transport="tcp", name="asymptotic_bit_per_s",
        value=9e8, low=8.9e8, high=9.1e8,
    )  # fmt: skip
    asked = [
        Requirement("asymptotic_bit_per_s", at_least=8e8, transport=transport, label=label)
        for transport, label in ((None, None), ("tcp", None), (None, "tcp-latency"), ("mpi", None))
    ]
    found = judge(run, [*figures_of(run), rate], asked)
    assert [j.verdict for j in found] == ["met", "met", "met", "unmeasured"]
    assert found[0].label == "tcp-latency"


def test_every_pair_of_all_pairs_is_judged():
    run = made_run(6, slow={3: 0.5})
    found = judged(run, Requirement("throughput_bit_per_s", at_least=6e7))
    missed = [j.label for j in found if j.verdict == "missed"]
    assert len(missed) == 10  # host 3 with five others, both ways
    assert all("h3" in label.split(" to ") for label in missed)
    assert len(found) == 30
    assert judged(run, Requirement("throughput_bit_per_s", at_least=1.0, test="stream"))[
        0
    ].verdict == ("unmeasured")


def test_pairs_of_a_host_that_died_are_not_passed_over():
    run = made_run(6, follow_ups=0)
    for point in run.points:
        for batch in point.batches:
            gone = {rank // 2 for rank, end in batch.ends.items() if end.host == "h3"}
            batch.ends = {rank: end for rank, end in batch.ends.items() if rank // 2 not in gone}
    found = judged(run, Requirement("throughput_bit_per_s", at_least=1.0))
    lost = [j for j in found if j.verdict == "unmeasured"]
    assert {j.label for j in lost} == {
        "h0 and h3",
        "h1 and h3",
        "h2 and h3",
        "h3 and h4",
        "h3 and h5",
    }
    assert all(len(j.points) == 1 for j in lost)
    assert counts_in_words(found) == "5 without result, 20 met"


def test_the_manifest_keeps_them(run):
    asked = [
        Requirement(MEDIAN, at_most=25e3, sizes=(64, 128), transport="mpi"),
        Requirement("lost_ratio", at_most=0.01),
    ]
    for more in ({}, {"of_a_later_version": 3}):
        kept = [{**r.as_json(), **more} for r in asked]
        assert requirements_of(replace(run, manifest={**run.manifest, REQUIREMENTS: kept})) == asked
    assert asked[1].as_json() == {"figure": "lost_ratio", "at_most": 0.01}
    assert asked[0].in_words() == ("round_trip_median_ns of mpi 64, 128 at most 25.00 µs")


@given(st.floats(1, 1e12), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(1, 1e12), st.booleans())
def test_a_verdict_is_that_of_every_value_of_the_interval(value, below, above, limit, least):
    """Met or missed: whatever lies in the interval says the same; undecided: its ends differ."""
    low, high = value * (1 - below), value * (1 + above)
    name = "throughput_bit_per_s"
    found = Requirement(name, at_least=limit) if least else Requirement(name, at_most=limit)
    right = [x >= limit if least else x <= limit for x in (low, value, high)]
    expected = "met" if all(right) else "missed" if not any(right) else "undecided"
    assert found.decide(low, high) == expected


def test_a_limit_that_is_the_truth_is_seldom_decided(run):
    """The median of launches is 1; of 2,000 runs of eight launches each, at most 5 % say that it is
    not at most 1, or not at least 1; twice the half of what the interval leaves."""
    chance = np.random.default_rng(5)
    wrong = 0
    (template,) = judged(run, Requirement(MEDIAN, at_most=1.0, sizes=(64,)))
    points = [p for p in run.points if p.id in template.points]
    run = replace(run, points=points)
    (figure,) = {f.name: f for f in figures_of(run) if f.name == MEDIAN}.values()
    for _ in range(2000):
        values = np.exp(0.02 * chance.standard_normal(len(points)))
        made = [replace(figure, point=p.id, value=v) for p, v in zip(points, values, strict=True)]
        (found,) = judge(run, made, [Requirement(MEDIAN, at_most=1.0)])
        wrong += found.verdict != "undecided"
    assert wrong / 2000 < 0.05
