"""A rank that came late on purpose is found, in exactly that repetition, and in the maximum."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.errors import HostError
from netsonde.explain.data import Seen
from netsonde.explain.mpi_ranks import held_up, injected_delays
from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.stragglers import lateness_of, stragglers
from netsonde.launch.mpi import open_mpi
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.records.decode import decode_batch

US = 1_000
ATTEMPTS = 3
REPETITIONS = 400
DELAYED = 251


def made_batch(delays=(), ranks=3, count=REPETITIONS, index=0):
    """Ranks of one clock that leave together 20 us after the last one came; each has its own usual
    lateness and some noise. delays: (rank, repetition, ns)."""
    random = np.random.default_rng(9)
    enter = np.arange(count) * 1000.0 * US + np.arange(ranks)[:, None] * 2 * US
    enter += random.gamma(2.0, 300.0, (ranks, count))
    for rank, repetition, delay in delays:
        enter[rank, repetition] += delay
    leave = enter.max(axis=0) + 20 * US + random.gamma(2.0, 200.0, (ranks, count))
    ends = {}
    for rank in range(ranks):
        end = EndData(rank, "h0", counters={"start_ns": 10**9, "end_ns": 10**10, "clock_group": 0})
        end.series["begin_ns"] = enter[rank].astype(np.int64)
        end.series["duration_ns"] = (leave[rank] - enter[rank]).astype(np.int64)
        ends[rank] = end
    return Batch(index, ends)


def made_point(*batches):
    parameters = {"message_bytes": 8, "operation": "allreduce", "interval": 0.01}
    return Point("p001", "mpi", "collective", parameters, "finished", batches=list(batches))


def found_in(*batches):
    late = lateness_of(batches)
    assert late is not None
    return stragglers(late)


def seen_of(point):
    run = Run.__new__(Run)
    run.__dict__.update(points=[point], manifest={"path": {}})
    return Seen(run, figures_of_point(point))


def test_a_delay_of_50_us_is_found_where_it_was_put_in():
    point = made_point(made_batch(), made_batch([(1, 123, 50 * US)], index=1))
    (found,) = found_in(*point.batches)
    assert (found.batch, found.repetition, found.rank) == (1, 123, 1)
    assert found.late_ns == pytest.approx(50 * US, abs=3 * US)
    assert found.excess_ns == pytest.approx(50 * US, abs=6 * US)
    assert found.held_up == (0, 2)
    assert found.is_slowest
    longest = find(figures_of_point(point), "completion_max_ns", "p001").value
    assert longest == pytest.approx(74 * US, abs=5 * US)
    without = find(figures_of_point(made_point(made_batch())), "completion_max_ns", "p001").value
    assert longest - without > 35 * US


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_nobody_is_blamed_for_being_as_late_as_always(ranks):
    assert found_in(made_batch(ranks=ranks)) == []
    (found,) = found_in(made_batch([(0, 5, 80 * US)], ranks=ranks))
    assert (found.rank, found.repetition) == (0, 5)


def test_two_of_four_that_are_late_are_both_found():
    found = found_in(made_batch([(1, 5, 80 * US), (3, 5, 90 * US)], ranks=4))
    assert [(s.rank, s.repetition) for s in found] == [(3, 5), (1, 5)]
    assert [s.late_ns for s in found] == pytest.approx([90 * US, 80 * US], abs=5 * US)


def test_late_ranks_are_a_finding_only_where_they_cost():
    few = made_point(made_batch([(2, 7, 50 * US)]))
    assert held_up(seen_of(few)) == []
    many = made_point(made_batch([(2, place, 300 * US) for place in range(0, REPETITIONS, 20)]))
    (found,) = held_up(seen_of(many))
    assert "in 20 of 400 repetitions" in found.claim
    assert "rank 2 20 times" in found.evidence
    assert "held up ranks 0, 1" in found.evidence


def test_clocks_that_nobody_compared_blame_nobody():
    batch = made_batch([(1, 5, 80 * US)])
    batch.ends[1].counters.pop("clock_group")
    assert lateness_of([batch]) is None
    assert held_up(seen_of(made_point(batch))) == []


def test_a_delay_on_purpose_is_said():
    batch = made_batch([(1, 5, 80 * US)])
    assert list(injected_delays(seen_of(made_point(batch)))) == []
    batch.ends[1].counters |= {"delayed_ns": 80 * US, "delayed_repetition": 5}
    (found,) = injected_delays(seen_of(made_point(batch)))
    assert (found.level, "on purpose" in found.claim) == ("warning", True)
    assert "80.00 µs in repetition 5" in found.evidence


def delayed_run(session, delay_ns):
    """A batch of three ranks over loopback, the second one delayed in a repetition."""
    fields = {
        "test": "collective",
        "operation": "allreduce",
        "message_bytes": 8,
        "count": REPETITIONS,
        "delay": {"rank": 1, "repetition": DELAYED, "time_ns": delay_ns},
    }
    return decode_batch(0, session.run(fields, 60))


def shows(straggler, delay_ns):
    """Not just any lateness: about as much as was put in, and the others waited for it."""
    late = 0.7 * delay_ns <= straggler.late_ns <= 3 * delay_ns
    return late and straggler.excess_ns >= 0.5 * delay_ns


@pytest.mark.timeout(120)
def test_real_ranks_one_of_them_delayed():
    """More ranks than CPUs make lateness of their own, by whole time slices. So 50 us are
    looked for a few times, and then as much as stands out of that."""
    problems = []
    try:
        session = open_mpi(None, 3)
    except HostError as error:
        pytest.skip(str(error))
    with session:
        for delay_ns in (*[50 * US] * ATTEMPTS, 2_000 * US, *[30_000 * US] * ATTEMPTS):
            batch = delayed_run(session, delay_ns)
            counters = batch.ends[1].counters
            assert counters["delayed_repetition"] == DELAYED
            assert counters["delayed_ns"] >= delay_ns
            assert all("delayed_ns" not in batch.ends[rank].counters for rank in (0, 2))
            found = [s for s in found_in(batch) if (s.rank, s.repetition) == (1, DELAYED)]
            longest = find(figures_of_point(made_point(batch)), "completion_max_ns", "p001").value
            if found and shows(found[0], delay_ns) and longest >= found[0].excess_ns:
                return
            problems.append((delay_ns, found, longest))
    pytest.fail(f"(delay, found, longest): {problems}")
