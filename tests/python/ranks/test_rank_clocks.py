"""Ranks of MPI on one clock: spreads, windows, and how well clocks are known."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.figures.clock_quality import clock_quality
from netsonde.figures.compute import figures_of_point, find
from netsonde.ranks.clocks import common_repetitions, last_ranks, rank_leads
from netsonde.ranks.repetitions import repetition_times_ns
from netsonde.records.data import Batch, EndData, Point

S = 1_000_000_000
US = 1_000


def end(rank, lead_ns, *, parent=0, begin=(), duration=(), late=None, compare=True, drift=0.0):
    """A rank whose clock is lead_ns ahead of its parent's, drifting; it started with all others at
    second 10 of rank 0's clock and ended at second 20. The ways of its exchanges took 1 us."""
    shows = lambda true_ns: true_ns + lead_ns + round(drift * true_ns)  # noqa: E731
    series = {
        name: np.array(v, np.int64)
        for name, v in {"begin_ns": begin, "duration_ns": duration}.items()
        if len(v)
    }
    if late is not None:
        series["late_ns"] = np.array(late, np.int64)
    counters = {
        "clock_group": rank if compare else parent,
        "clock_name": rank,
        "start_ns": shows(10 * S),
        "end_ns": shows(20 * S),
    }
    if compare and rank:
        instants = [10 * S, 15 * S, 20 * S]
        leads = [shows(t) - t for t in instants]
        counters["clock_parent"] = parent
        series["clock_at_ns"] = np.array([shows(t) for t in instants])
        series["clock_low_ns"] = np.array([v - US for v in leads])
        series["clock_high_ns"] = np.array([v + US for v in leads])
        series["clock_round_trip_ns"] = np.full(3, 2 * US)
    return EndData(rank, f"h{rank}", series, counters)


def point(test, ends):
    batch = Batch(0, {e.rank: e for e in ends})
    return Point("p001", "mpi", test, {"message_bytes": 64, "operation": "bcast"}, batches=[batch])


def test_entries_and_exits_are_on_the_clock_of_rank_0():
    ends = [
        end(0, 0, begin=[0, 1000 * US], duration=[50 * US, 50 * US]),
        end(1, 3 * S, drift=80e-6, begin=[7 * US, 1000 * US], duration=[10 * US, 60 * US]),
    ]
    found = common_repetitions(Batch(0, {e.rank: e for e in ends}))
    assert found is not None
    assert found.start_spread_ns[0] == pytest.approx(7 * US, abs=20)
    assert found.start_spread_ns[1] == pytest.approx(80, abs=20)  # 80 ppm of a ms
    assert found.leave_ns[1, 0] == pytest.approx(17 * US, abs=20)
    assert found.uncertainty_ns == pytest.approx(2 * US, rel=0.01)


def test_the_last_rank_is_named_by_the_common_clock():
    """By its own clock rank 1, which is 3 s behind, would never be the last."""
    ends = [
        end(0, 0, begin=[0, 100, 200, 300], duration=[9000, 10, 10, 10]),
        end(1, -3 * S, begin=[5000, 5100, 5200, 5300], duration=[10, 10, 10, 10]),
    ]
    batch = Batch(0, {e.rank: e for e in ends})
    assert last_ranks([batch]) == {0: (0.0, 0.25), 1: (1.0, 0.75)}
    ends[0].counters.pop("clock_group")
    assert last_ranks([batch]) == {}


def test_ranks_of_one_clock_need_no_comparison():
    ends = [
        end(0, 0, begin=[0], duration=[50]),
        end(1, 0, begin=[30], duration=[50], compare=False),
    ]
    figures = figures_of_point(point("collective", ends))
    assert find(figures, "start_spread_median_ns", "p001").value == pytest.approx(30)
    assert find(figures, "clock_uncertainty_ns", "p001").value == 0


def test_clocks_that_nobody_compared_give_no_spread():
    ends = [end(0, 0, begin=[0], duration=[50]), end(1, 0, begin=[30], duration=[50])]
    for e in ends:
        e.counters.pop("clock_group")
    figures = figures_of_point(point("collective", ends))
    assert find(figures, "start_spread_median_ns", "p001") is None
    assert rank_leads(Batch(0, {e.rank: e for e in ends})) == {}


def test_windows_begin_the_time_and_late_ranks_end_a_repetition():
    ends = [
        end(0, 0, begin=[0, 100, 200], duration=[50, 50, 50], late=[10, 10, 10]),
        end(1, 0, begin=[0, 100, 200], duration=[40, 80, 40], late=[20, 30, 5000], compare=False),
    ]
    batch = Batch(0, {e.rank: e for e in ends})
    assert repetition_times_ns(batch).tolist() == [60, 110]
    figures = figures_of_point(point("collective", ends))
    assert find(figures, "late_ratio", "p001").value == pytest.approx(1 / 3)
    assert find(figures, "completion_max_ns", "p001").value == 110


def test_windows_that_were_all_missed_leave_only_their_share():
    ends = [end(0, 0, begin=[0], duration=[50], late=[9000])]
    figures = figures_of_point(point("collective", ends))
    assert find(figures, "late_ratio", "p001").value == 1
    assert find(figures, "completion_median_ns", "p001") is None


def test_the_quality_of_clocks_where_the_truth_is_known_and_where_not():
    ends = [end(0, 0), end(1, 40, drift=1e-9), end(2, 60)]
    figures = figures_of_point(point("clock", ends))
    assert find(figures, "clock_uncertainty_ns", "p001").value == pytest.approx(US, rel=0.01)
    assert find(figures, "clock_drift_ppb", "p001").value == pytest.approx(1, abs=0.2)
    assert find(figures, "clock_round_trip_ns", "p001").value == 2 * US
    assert find(figures, "clock_residual_max_ns", "p001").value <= 2
    assert find(figures, "clock_error_max_ns", "p001") is None
    for e in ends:
        e.counters["clock_name"] = 7
    figures = figures_of_point(point("clock", ends))
    assert find(figures, "clock_error_max_ns", "p001").value == pytest.approx(60, abs=1)


def test_a_comparison_that_went_astray_is_a_residual():
    bent = end(1, 0)
    bent.series["clock_low_ns"][1] += 300
    bent.series["clock_high_ns"][1] += 500
    found = clock_quality(Batch(0, {0: end(0, 0), 1: bent}))
    assert found is not None
    assert found.residual_ns.tolist() == [400]
