"""What a message costs its hosts, from series and gaps whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from netsonde.model.arrivals import accept
from netsonde.model.sends import is_level, read_series
from netsonde.study.costs import lengths

OVERHEAD, GAP, RING = 2_000.0, 12_300.0, 90


def total_ns(count: int, gap: float = GAP) -> float:
    """Until the last of so many sends returned: what finds no room waits."""
    return count * OVERHEAD + max(0, count - RING) * (gap - OVERHEAD)


def test_a_series_tells_both_costs_and_the_ring() -> None:
    counts = lengths()
    found = read_series(counts, [total_ns(n) for n in counts])
    assert found.overhead_ns == pytest.approx(OVERHEAD)
    assert found.gap_ns == pytest.approx(GAP)
    assert found.ring == 64
    # The source's own value still holds those that found room.
    assert found.mean_ns == pytest.approx(GAP - (GAP - OVERHEAD) * RING / counts[-1])


def test_a_gap_no_longer_than_the_overhead_is_refused() -> None:
    counts = lengths()
    found = read_series(counts, [total_ns(n, OVERHEAD) for n in counts])
    assert (found.gap_ns, found.overhead_ns) == (None, pytest.approx(OVERHEAD))
    assert "no more than O_s" in found.why


def test_no_equilibrium_is_no_gap() -> None:
    counts = [8, 16, 24, 32, 64, 128]
    assert not is_level(counts, [total_ns(n) for n in counts])
    found = read_series(counts, [total_ns(n) for n in counts])
    assert found.gap_ns is None
    assert "longer series" in found.why
    with pytest.raises(ValueError, match="expected 4 or more"):
        read_series([8, 16, 24], [1.0, 2.0, 3.0])


def test_of_several_series_of_a_length_the_median_counts() -> None:
    counts = [n for n in lengths() for _ in range(3)]
    totals = [total_ns(n) for n in counts]
    totals[1::3] = [10 * total for total in totals[1::3]]  # one of each is late
    assert read_series(counts, totals).gap_ns == pytest.approx(GAP)


def test_gaps_are_accepted_between_two_segments_and_half_a_round_trip() -> None:
    draw = np.random.default_rng(1)
    real = draw.normal(4_000.0, 50.0, 800)
    gaps = np.concatenate([real, np.full(150, 55.0), np.full(50, 90_000.0)])
    found = accept(gaps, 30.0, 100_000.0)
    assert np.median(found.accepted_ns) == pytest.approx(3_970.0, abs=10.0)
    assert (found.short, found.long) == (150, 50)
    assert found.rejected_ratio == pytest.approx(0.2)
    assert found.is_known


def test_arrivals_that_take_another_cpus_time_say_nothing() -> None:
    found = accept(np.full(1000, 40.0), 30.0, 100_000.0)
    assert not found.is_known
    assert found.rejected_ratio == 1.0


def test_sends_that_return_in_lumps_leave_one_by_one() -> None:
    counts = [*lengths()[:8], 128, 256, 512]
    left = [n * GAP + 5_000.0 for n in counts]
    lumps = [total_ns(n) + (400_000.0 if n in (128, 512) else 0.0) for n in counts]
    assert read_series(counts, lumps).gap_ns is None
    assert read_series(counts, lumps, left).gap_ns == pytest.approx(GAP)
    assert is_level(counts, lumps, left)
