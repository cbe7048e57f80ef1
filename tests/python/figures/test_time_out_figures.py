"""Timeouts of MPI operations: figures and findings from records whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netsonde.explain.data import Seen
from netsonde.explain.mpi_ranks import held_up
from netsonde.explain.timer_rules import waits_for_timers
from netsonde.figures.compute import figures_of
from netsonde.figures.time_outs import (
    ROUND_TRIP,
    SENT_IN_VAIN,
    TAIL_PROBES,
    TIME_OUTS,
    TIMER,
    counted,
    least_time_out_ns,
    stays_without_ns,
    waits_of,
)
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.report.collective_plots import distribution
from netsonde.report.lookup import Study

MS = 1_000_000
REPETITIONS = 120
SETTING = "sysctl.net.ipv4.tcp_rto_min_us"


def made_run(
    waits, counts, *, late_entry=(), ranks=3, facts=None, probes=0, wait_ms=204, in_vain=0
):
    """Three ranks on three hosts; rank 1's timer makes all wait. counts: TCPTimeouts by rank."""
    random = np.random.default_rng(2)
    begin = np.arange(len(waits)) * 1000 * MS
    ends = {}
    for rank in range(ranks):
        stay = random.uniform(2, 3, len(waits)) * MS + np.asarray(waits) * wait_ms * MS
        enter = begin.astype(float)
        for place in late_entry:
            if rank == 1:  # the barrier waited: rank 1 comes late and is done at once
                enter[place] += wait_ms * MS
                stay[place] -= wait_ms * MS
        end = EndData(rank, f"h{rank}")
        end.series["duration_ns"] = stay.astype(np.int64)
        end.series["begin_ns"] = enter.astype(np.int64)
        end.counters |= {"start_ns": 10**9, "end_ns": 10**9 + 10**12, "clock_group": 0}
        before = {TIME_OUTS: 1000, TAIL_PROBES: 50, SENT_IN_VAIN: 7}
        grown = {TIME_OUTS: counts[rank], TAIL_PROBES: probes, SENT_IN_VAIN: in_vain}
        after = {name: value + grown[name] for name, value in before.items()}
        end.before = Snapshot("before", 1, 1, before)
        end.after = Snapshot("after", 2, 1, after)
        ends[rank] = end
    parameters = {"message_bytes": 64, "operation": "allreduce", "interval": 0.01}
    point = Point("p001", "mpi", "collective", parameters, "finished", batches=[Batch(0, ends)])
    hosts = {f"h{rank}": facts or {} for rank in range(ranks)}
    manifest = {"origin": "emulated", "path": {"kind": "lab"}, "hosts": hosts}
    return Run(Path("runs/x"), manifest, [point], finished=True)


def some_waits():
    waits = np.zeros(REPETITIONS, int)
    waits[[3, 50, 70, 90]] = 1
    waits[[20, 100]] = 2
    return waits


def figures_by_name(run):
    return {f.name: f.value for f in figures_of(run)}


def findings(run):
    return waits_for_timers(Seen(run, figures_of(run)))


def test_shares_counts_and_the_mean_without():
    run = made_run(some_waits(), (2, 6, 0))
    values = figures_by_name(run)
    assert values["time_outs"] == 8
    assert values["tail_probes"] == 0
    shares = [values[f"{n}_ratio"] for n in ("no_time_out", "one_time_out", "two_time_outs")]
    assert shares == pytest.approx([114 / 120, 4 / 120, 2 / 120])
    assert values["more_time_outs_ratio"] == 0
    assert 2 * MS < values["without_time_outs_mean_ns"] < 3 * MS < values["completion_mean_ns"]
    (found,) = findings(run)
    assert found.level == "warning"
    assert "5.0% of the repetitions waited for TCP's retransmission timer" in found.claim
    assert "counted 8 timeouts (TCPTimeouts)" in found.evidence
    assert "rank 1 in 6" in found.evidence


def test_a_probe_for_a_single_segment_counts_as_a_timer():
    assert findings(made_run(some_waits(), (0, 0, 0), probes=3))[0].level == "warning"


def test_a_probe_that_was_sent_in_vain_is_no_wait_for_a_timer():
    """A peer without a CPU answers late; what is retransmitted meanwhile it has already."""
    (found,) = findings(made_run(some_waits(), (0, 0, 0), probes=3, in_vain=3))
    assert found.level == "note"
    assert "counted no timeouts to go with them" in found.claim


def test_a_barrier_that_waited_is_told_apart():
    run = made_run(some_waits(), (2, 6, 0), late_entry=(3, 20))
    assert waits_of(run, run.points[0]).begun_late == 2
    assert "In 2 of them a rank entered late" in findings(run)[0].evidence


def test_a_host_that_was_reached_by_another_name_has_its_own_least_time_out():
    run = made_run(some_waits(), (2, 6, 0))
    run.manifest["hosts"] = {"local": {"host.name": "h1", SETTING: 40_000}}
    assert least_time_out_ns(run, run.points[0]) == 40 * MS


def test_without_counts_nothing_is_claimed():
    run = made_run(some_waits(), (0, 0, 0))
    assert "no_time_out_ratio" not in figures_by_name(run)
    (found,) = findings(run)
    assert found.level == "note"
    assert "not decided" in found.claim


def test_a_quiet_network_has_neither_figures_nor_findings():
    run = made_run(np.zeros(REPETITIONS, int), (0, 0, 0))
    assert not any("time_out" in name for name in figures_by_name(run))
    assert findings(run) == []


def test_the_hosts_own_least_time_out_is_taken():
    """At 1 s these are no multiples of it, and too little to be one; yet timers ran out."""
    run = made_run(some_waits(), (2, 6, 0), facts={SETTING: 1_000_000})
    assert waits_of(run, run.points[0]).least_ns == 1000 * MS
    assert waits_of(run, run.points[0]).judgement.verdict == "below"
    quiet = made_run(some_waits(), (0, 0, 0), facts={SETTING: 1_000_000})
    assert waits_of(quiet, quiet.points[0]).judgement.verdict == "none"


LEASTS = (5, 10, 20, 50, 100)


@pytest.mark.parametrize("least_ms", LEASTS)
def test_counted_time_outs_below_the_known_least_are_never_decided_to_be_none(least_ms):
    """What the kernels counted outweighs the 200 ms that nobody has set."""
    run = made_run(some_waits(), (2, 6, 0), wait_ms=least_ms)
    waits = waits_of(run, run.points[0])
    assert waits.judgement.verdict == "below"
    values = figures_by_name(run)
    assert values["time_outs"] == 8
    assert "no_time_out_ratio" not in values
    (found,) = findings(run)
    assert "counted 8 timeouts" in found.claim
    assert "6 of 120 repetitions stand out" in found.evidence


@pytest.mark.parametrize("least_ms", LEASTS)
@pytest.mark.parametrize("said_by", ["route", "connection"])
def test_a_least_time_out_of_a_route_or_a_connection_is_read(least_ms, said_by):
    facts = {"route.rto_min_ms": least_ms} if said_by == "route" else None
    run = made_run(some_waits(), (2, 6, 0), facts=facts, wait_ms=1.02 * least_ms)
    if said_by == "connection":
        for end in run.points[0].batches[0].ends.values():
            end.after.values.update({TIMER: 1000 * least_ms + 70, ROUND_TRIP: 70})
    waits = waits_of(run, run.points[0])
    assert waits.least_ns == least_ms * MS
    if least_ms >= 10:  # below, a timeout is no longer than the usual times differ
        assert waits.judgement.verdict == "found"
        assert figures_by_name(run)["one_time_out_ratio"] == pytest.approx(4 / 120)


def test_a_connection_whose_round_trips_vary_does_not_raise_the_least():
    run = made_run(some_waits(), (2, 6, 0))
    run.points[0].batches[0].ends[0].after.values.update({TIMER: 900_000, ROUND_TRIP: 100})
    assert least_time_out_ns(run, run.points[0]) == 200 * MS


def test_late_ranks_are_not_blamed_for_certain_where_timers_ran_out():
    """With rto_min 50 ms: ranks enter late since the barrier before waited."""
    late = (3, 20, 50, 70, 90, 100)
    for counts, confidence in (((2, 6, 0), "possible"), ((0, 0, 0), "")):
        run = made_run(some_waits(), counts, late_entry=late, wait_ms=50)
        (found,) = held_up(Seen(run, figures_of(run)))
        assert found.confidence == confidence
        assert ("counted 8 timeouts" in found.evidence) == bool(confidence)


def test_ranks_of_one_host_read_the_same_counter():
    run = made_run(some_waits(), (5, 6, 6))
    batch = run.points[0].batches[0]
    for end in batch.ends.values():
        end.host = "h0"
    assert counted(batch, TIME_OUTS) == 6
    batch.ends[2].after = None
    assert counted(batch, TIME_OUTS) is None


def test_many_points_are_two_findings_and_a_note():
    run = made_run(some_waits(), (2, 6, 0))
    run.points[:] = [replace(run.points[0], id=f"p{number}") for number in range(5)]
    found = findings(run)
    assert [f.level for f in found] == ["warning", "warning", "note"]
    assert found[2].evidence.count("5.0%") == 3


def test_ranks_that_a_timer_made_late_are_not_blamed_again():
    late = made_run(some_waits(), (2, 6, 0), late_entry=(3, 20, 50, 70, 90, 100))
    assert held_up(Seen(late, figures_of(late))) == []
    uncounted = made_run(some_waits(), (0, 0, 0), late_entry=(3, 20, 50, 70, 90, 100))
    assert held_up(Seen(uncounted, figures_of(uncounted)))


def test_each_rank_has_its_mean_without_its_own_time_outs():
    """Rank 2 is slower by 1 ms; all waited in six repetitions, rank 0 in two more of its own."""
    run = made_run(some_waits(), (2, 6, 0))
    ends = run.points[0].batches[0].ends
    ends[2].series["duration_ns"] += MS
    ends[0].series["duration_ns"][[10, 11]] += 204 * MS
    ends[0].after.values[TIME_OUTS] += 2
    waits = waits_of(run, run.points[0])
    own = stays_without_ns(waits.stays_ns, waits.least_ns)
    assert {rank: len(times) for rank, times in own.items()} == {0: 112, 1: 114, 2: 114}
    assert [float(times.mean()) / MS for times in own.values()] == pytest.approx(
        [2.5, 2.5, 3.5], abs=0.1
    )
    values = figures_by_name(run)
    pooled = np.sort(np.concatenate(list(own.values())))
    assert values["without_time_outs_rank_mean_ns"] == pytest.approx(pooled.mean())
    assert values["without_time_outs_slowest_tenth_mean_ns"] == pytest.approx(pooled[-34:].mean())
    plot = distribution(Study(run, figures_of(run)))
    names = [column.name for column in plot.table.columns]
    shown = {
        row[names.index("rank")]: row[names.index("without_time_outs_mean_ns")]
        for row in plot.table.rows
    }
    assert shown["2"] == pytest.approx(float(own[2].mean()))
    assert shown["slowest"] == pytest.approx(values["without_time_outs_mean_ns"])


def test_without_time_outs_no_rank_has_a_mean_without_them():
    run = made_run(np.zeros(REPETITIONS, int), (0, 0, 0))
    assert "without_time_outs_rank_mean_ns" not in figures_by_name(run)
