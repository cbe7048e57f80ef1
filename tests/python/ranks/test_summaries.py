"""Batches that ranks summarised: the same figures as from all samples, within what is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from netsonde.errors import HostError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of, figures_of_point
from netsonde.peers.mpi_told import mpi_told
from netsonde.ranks.clocks import common_repetitions, last_ranks
from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.ranks.summaries import summary_of
from netsonde.ranks.times import rank_times
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.stats.histogram import LogLinearHistogram
from netsonde.study.checks import check_point

RANKS = 5
SLOWEST = 3


def raw_batch(index, repetitions=600, windows=False, seed=3):
    """Ranks of one clock, each with durations and entries of its own."""
    draw = np.random.default_rng(seed + index)
    ends = {}
    for rank in range(RANKS):
        begin = np.arange(repetitions) * 1_000_000 + draw.integers(0, 5000, repetitions)
        series = {
            "begin_ns": begin,
            "duration_ns": draw.lognormal(9, 0.4, repetitions).astype(np.int64) + 100 * rank,
        }
        if windows:
            series["late_ns"] = draw.integers(0, 1010, repetitions)
        counters = {"clock_group": 7, "clock_name": 7, "start_ns": 10**9, "end_ns": 2 * 10**9}
        ends[rank] = EndData(rank, "h", series, counters)
    return Batch(index, ends)


def summarised(batch):
    """The same, as the ranks would have joined it."""
    found = common_repetitions(batch)
    stay = np.stack([e.series["duration_ns"] for e in batch.ends.values()])
    late = [e.series["late_ns"] for e in batch.ends.values() if "late_ns" in e.series]
    completion = (stay + np.stack(late) if late else stay).max(axis=0)
    counts = LogLinearHistogram.of(stay.ravel()).counts
    slow = np.argsort(-completion, kind="stable")[:SLOWEST]
    orders = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    ordered = np.sort(stay, axis=1)
    series = {
        "completion_ns": completion,
        "start_spread_ns": found.start_spread_ns.round().astype(np.int64),
        "first_in_rank": found.enter_ns.argmin(axis=0),
        "last_in_rank": found.enter_ns.argmax(axis=0),
        "last_out_rank": found.leave_ns.argmax(axis=0),
        "histogram_bucket": np.flatnonzero(counts),
        "histogram_count": counts[counts > 0],
        **{f"rank_{n}_ns": ordered[:, int(np.ceil(q * stay.shape[1])) - 1]
           for n, q in orders.items()},
        "slow_index": slow,
        "slow_begin_ns": found.enter_ns[:, slow].round().astype(np.int64).ravel(),
        "slow_duration_ns": stay[:, slow].ravel(),
        **({"late_max_ns": np.stack(late).max(axis=0)} if late else {}),
    }  # fmt: skip
    counters = {"summarised_ranks": RANKS, "histogram_precision_bits": 7,
                "clock_uncertainty_ns": 0, "start_ns": 10**9, "end_ns": 2 * 10**9}  # fmt: skip
    return Batch(batch.index, {0: EndData(0, "h", series, counters)})


def point(batches):
    return Point("p001", "mpi", "collective", {"message_bytes": 64, "operation": "bcast"},
                 batches=batches)  # fmt: skip


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("kept", [0, 1])
def test_figures_are_those_of_all_samples(windows, kept):
    """Also where the first batch was small enough to be kept."""
    batches = [raw_batch(i, windows=windows) for i in range(3)]
    joined = batches[:kept] + [summarised(batch) for batch in batches[kept:]]
    raw, found = figures_of_point(point(batches)), figures_of_point(point(joined))
    assert [f.name for f in found] == [f.name for f in raw]
    for one, other in zip(raw, found, strict=True):
        if one.name == "rank_duration_median_ns":
            error = LogLinearHistogram.of([1]).largest_relative_error
            assert other.value == pytest.approx(one.value, rel=1.5 * error)
            assert other.low <= one.value <= other.high
            assert other.samples == one.samples
        elif one.name == "slowest_rank_median_ns":  # of medians of batches
            assert other.value == pytest.approx(one.value, rel=0.1)
        else:
            close = {"rel": 1e-4, "abs": 1} if one.name.startswith("start_spread") else {"rel": 0}
            assert other.value == pytest.approx(one.value, **close), one.name
    assert last_ranks(joined) == last_ranks(batches)


def test_a_summary_says_what_it_is_of():
    batch = raw_batch(0, windows=True)
    found = summary_of(summarised(batch))
    assert (found.ranks, len(found.completion_ns), found.durations.total) == (5, 600, 3000)
    assert found.slow_duration_ns.shape == found.slow_begin_ns.shape == (SLOWEST, RANKS)
    for place, repetition in enumerate(found.slow_index):
        own = [e.series["duration_ns"][repetition] for e in batch.ends.values()]
        assert found.slow_duration_ns[place].tolist() == own
    assert summary_of(batch) is None
    assert repetition_times_ns(summarised(batch)).tolist() == repetition_times_ns(batch).tolist()


def test_checks_count_what_was_joined():
    batch = summarised(raw_batch(0))
    batch.ends[0].series["rank_corrupt"] = np.array([0, 2, 0, 0, 1])
    asked = replace(point([batch]), parameters={"message_bytes": 64, "check_data": True})
    checks = check_point(asked, {"kind": "loopback"})
    assert checks["samples"] == {"messages": 3000, "samples": 3000, "equal": True}
    assert checks["data"] == {"intact": False, "corrupt": 3, "ranks": [1, 4]}
    batch.ends[0].series["histogram_count"] = batch.ends[0].series["histogram_count"][:-1]
    assert not check_point(point([batch]), {"kind": "loopback"})["samples"]["equal"]


@pytest.mark.parametrize("damaged", ["slow_begin_ns", "histogram_bucket", "rank_p99_ns"])
def test_a_damaged_summary_is_a_sentence(damaged):
    batch = summarised(raw_batch(0))
    values = batch.ends[0].series[damaged]
    if damaged == "rank_p99_ns":
        del batch.ends[0].series[damaged]
    else:
        batch.ends[0].series[damaged] = values[:-1]
    with pytest.raises(HostError, match="summary of 5 ranks is damaged"):
        summary_of(batch)


@pytest.mark.parametrize("operation", ["bcast", "send", "message_rate"])
def test_whatever_looks_at_ranks_takes_a_summary_as_well(tmp_path, operation):
    """Analyses that need every sample say nothing; none of them breaks."""
    joined = summarised(raw_batch(0))
    if operation == "message_rate":
        joined.ends[0].counters["window_messages"] = 640
    parameters = {"message_bytes": 64, "operation": operation, "ranks": RANKS}
    made = Point("p001", "mpi", "collective", parameters, "finished", batches=[joined])
    run = Run(tmp_path, {"path": {"kind": "loopback"}}, [made], finished=True)
    figures = figures_of(run)
    names = {figure.name for figure in figures}
    assert "completion_median_ns" in names
    assert "naive_mean_ns" not in names
    assert ("message_rate_per_s" in names) == (operation == "message_rate")
    assert explain(run, figures) is not None
    assert common_repetitions(joined) is None
    with pytest.raises(ValueError, match="larger --keep"):
        rank_times(made)
    assert mpi_told(replace(made, parameters={**parameters, "like": "osu"})) == []
