"""Guidelines that were broken on purpose are found, with what they cost; kept ones are not."""

from __future__ import annotations

import pytest
from mpi_points import latency_point, made_run, operation_point, operations_run

from netsonde.explain.data import Seen
from netsonde.explain.guidelines import violated_guidelines
from netsonde.figures.compute import figures_of, find
from netsonde.figures.guidelines import (
    GUIDELINES,
    PARTS_BYTES,
    compare_guidelines,
    guideline_sizes,
)

RANKS = 4
PART, WHOLE = 1024, 4096
KEPT = {
    ("allreduce", WHOLE): 19.0,
    ("reduce", WHOLE): 10.0,
    ("bcast", WHOLE): 11.0,
    ("gather", PART): 8.0,
    ("scatter", PART): 7.0,
    ("allgather", PART): 15.0,
    ("alltoall", PART): 18.0,
    ("reduce_scatter_block", PART): 12.0,
    ("allreduce", 8): 5.0,
    ("barrier", 0): 4.0,
}


def compared(times):
    run = operations_run(times)
    return compare_guidelines(run, figures_of(run))


def findings(times):
    run = operations_run(times)
    return list(violated_guidelines(Seen(run, figures_of(run))))


def test_all_that_can_be_judged_are_and_hold():
    found = compared(KEPT)
    regular = [g for g in GUIDELINES if not g.words.endswith("v") and "reduce_scatter" not in
               g.words.removesuffix("_block").split()[-1:]]  # fmt: skip
    judged = {c.words for c in found if c.kind == "composition"}
    assert {"allreduce ≤ reduce + bcast", "barrier ≤ allreduce", "bcast ≤ scatter + allgather"} <= (
        judged
    )
    assert len(judged) == len(regular) == len(GUIDELINES) - 5
    assert not any(c.is_violated for c in found)
    (good,) = findings(KEPT)
    assert good.level == "good"


@pytest.mark.parametrize(
    ("changed", "words", "gain"),
    [
        ({("allreduce", WHOLE): 42.0}, "allreduce ≤ reduce + bcast", 0.5),
        ({("bcast", WHOLE): 44.0}, "bcast ≤ scatter + allgather", 0.5),
        ({("gather", PART): 20.0}, "gather ≤ reduce", 0.5),
        ({("barrier", 0): 10.0}, "barrier ≤ allreduce", 0.5),
    ],
)
def test_a_broken_guideline_is_found_with_its_gain(changed, words, gain):
    violated = {c.words: c for c in compared({**KEPT, **changed}) if c.is_violated}
    assert violated[words].gain == pytest.approx(gain, abs=0.03)
    assert 0 < violated[words].certain_gain < violated[words].gain
    assert any(words.split()[0] in f.claim for f in findings({**KEPT, **changed}))


def test_a_difference_within_the_intervals_or_a_small_one_is_none():
    assert not any(c.is_violated for c in compared({**KEPT, ("gather", PART): 8.6}))
    barely = {**KEPT, ("allreduce", WHOLE): 22.0}  # 5 % above reduce + bcast, and certain
    assert not any(c.is_violated for c in compared(barely))


def test_time_that_falls_with_size_and_parts_that_are_faster():
    times = {("bcast", 1024): 10.0, ("bcast", 2048): 6.0, ("bcast", 4096): 40.0}
    kinds = {(c.kind, c.left.message_bytes) for c in compared(times) if c.is_violated}
    assert kinds == {("monotony", 1024), ("split-robustness", 4096)}
    claims = " ".join(f.claim for f in findings({**KEPT, **times}))
    assert "takes 3.33 times 2 times bcast of 2k" in claims


def test_operations_of_other_shapes_are_not_compared():
    points = [
        operation_point("allreduce", WHOLE, 90.0, number=1),
        operation_point("reduce", WHOLE, 10.0, number=2, root=1),
        operation_point("bcast", WHOLE, 10.0, number=3, ranks=2),
    ]
    run = made_run(*points)
    assert compare_guidelines(run, figures_of(run)) == []


def test_sizes_for_the_guidelines_meet():
    sizes = guideline_sizes(PARTS_BYTES, 3)
    assert sizes["barrier"] == [0]
    assert sizes["gather"] == list(PARTS_BYTES)
    assert sizes["reduce"] == [3 * part for part in PARTS_BYTES]
    assert sizes["allreduce"] == [8, *(3 * part for part in PARTS_BYTES)]
    assert "gatherv" not in sizes


def test_pairs_at_once_against_one_and_both_ways_against_one():
    run = made_run(
        latency_point(64, 10.0, 1),
        operation_point("send", 64, 25.0, number=2),
        operation_point("sendrecv", 64, 15.0, number=3),
        operation_point("sendrecv", 64, 12.5, number=4, pattern="ring"),
    )
    figures = figures_of(run)
    contention = find(figures, "contention_times", "p002")
    assert contention.value == pytest.approx(2.5, rel=0.02)
    assert contention.low < contention.value < contention.high
    assert find(figures, "duplex_times", "p003").value == pytest.approx(1.2, rel=0.02)
    assert find(figures, "duplex_times", "p004") is None  # other partners


def test_one_pair_has_no_contention():
    run = made_run(latency_point(64, 10.0, 1), operation_point("send", 64, 25.0, ranks=2, number=2))
    assert find(figures_of(run), "contention_times", "p002") is None


def test_the_naive_mean_is_below_the_right_one():
    figures = figures_of(made_run(operation_point("bcast", 64, 20.0)))
    naive = find(figures, "naive_mean_ns", "p001").value
    right = find(figures, "completion_mean_ns", "p001").value
    assert naive == pytest.approx(right * (3 * 0.9 + 1) / 4, rel=0.01)
