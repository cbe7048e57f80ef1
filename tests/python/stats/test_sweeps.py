"""Curves over sizes whose truth is known: breaks, dips, crossings are where they were put."""

import numpy as np
import pytest

from netsonde.stats.fits import fit_segments, transfer_parameters
from netsonde.stats.sweeps import (
    DECIDED,
    broken_gaps,
    find_crossovers,
    find_dips,
    find_unevenness,
    local_residuals,
    saturation_bytes,
    scatter,
    size_curve,
)

OCTAVES = 2.0 ** np.arange(0, 24)
T0_NS, NS_PER_BYTE = 20_000.0, 1.0


def line(sizes):
    return T0_NS + NS_PER_BYTE * np.asarray(sizes, np.float64)


def noisy(sizes, times, share, seed):
    rng = np.random.default_rng(seed)
    return size_curve(sizes, times * np.exp(share * rng.standard_normal(len(sizes))))


def test_a_straight_line_has_no_residuals():
    residuals, _ = local_residuals(size_curve(OCTAVES, line(OCTAVES)))
    assert np.abs(residuals).max() < 1e-12


def test_the_scatter_is_found_in_spite_of_breaks():
    times = np.where(OCTAVES < 70_000, line(OCTAVES), 2 * line(OCTAVES))
    found = [scatter(noisy(OCTAVES, times, 0.01, seed)) for seed in range(200)]
    assert np.median(found) == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize("depth", [0.2, 0.5, 0.8])
def test_a_dip_is_found_where_it_is_and_as_deep_as_it_is(depth):
    hits = covered = 0
    for seed in range(100):
        times = line(OCTAVES)
        times[16] /= 1 - depth
        dips = find_dips(noisy(OCTAVES, times, 0.01, seed))
        hits += [dip.bottom for dip in dips] == [65536]
        covered += len(dips) == 1 and dips[0].depth_low <= depth <= dips[0].depth_high
    assert hits >= 98
    assert covered >= 88


def test_the_dips_of_an_old_gigabit_card_are_found():
    """A curve with a drop of 80 % from 32 to 64 KiB and one of 25 Mbit/s at 3 KiB."""
    sizes = np.unique(np.r_[2.0 ** np.arange(0, 22), 1.5 * 2.0 ** np.arange(2, 21)])
    times = 137_000 + sizes * 8e9 / 371e6
    rates = 8e9 * sizes / times
    rates[(sizes > 32768) & (sizes < 131072)] *= 0.2
    at = np.flatnonzero(sizes == 3072)[0]
    rates[at] -= 25e6
    dips = find_dips(noisy(sizes, 8e9 * sizes / rates, 0.005, 1))
    assert [(dip.before, dip.first, dip.after) for dip in dips] == [
        (2048, 3072, 4096),
        (32768, 49152, 131072),
    ]
    assert dips[0].depth == pytest.approx(25e6 / (rates[at] + 25e6), abs=0.03)
    assert dips[1].depth == pytest.approx(0.8, abs=0.02)


def test_a_fall_that_does_not_come_back():
    times = np.where(OCTAVES > 1 << 20, line(OCTAVES) * 1.5, line(OCTAVES))
    (fall,) = find_dips(noisy(OCTAVES, times, 0.01, 2))
    assert fall.after is None
    assert (fall.before, fall.first) == (1 << 20, 1 << 21)
    assert fall.depth == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize("count", [6, 11, 21, 40, 60])
@pytest.mark.parametrize("t0_ns", [20.0, 20_000.0])
def test_an_even_curve_has_no_dip_no_break_and_no_crossing(count, t0_ns):
    """The rate of false alarms, over flat and rising curves with 1 % and 5 % of noise."""
    sizes = np.unique(np.round(np.geomspace(1, 1 << 20, count)))
    dips = breaks = crossings = 0
    runs = 150
    for seed in range(runs):
        share = 0.01 if seed % 2 else 0.05
        first = noisy(sizes, t0_ns + sizes, share, seed)
        dips += bool(find_dips(first))
        breaks += bool(broken_gaps(first, DECIDED))
        crossings += bool(find_crossovers(first, noisy(sizes, t0_ns + sizes, share, seed + runs)))
    assert dips <= 0.03 * runs
    assert breaks <= 0.03 * runs
    assert crossings <= 0.01 * runs


@pytest.mark.parametrize("sizes", [5, 2, 1, 0])
def test_few_sizes_say_nothing(sizes):
    times = line(OCTAVES[:sizes])
    times[sizes // 2 :] *= 10
    curve = size_curve(OCTAVES[:sizes], times)
    assert find_dips(curve) == broken_gaps(curve) == []


def test_a_jump_is_one_gap_and_a_kink_is_beside_its_size():
    jump = np.where(OCTAVES < 70_000, line(OCTAVES), line(OCTAVES) + 50_000)
    assert broken_gaps(noisy(OCTAVES, jump, 0.003, 1))[0] == (65536, 131072)
    kink = line(OCTAVES) + np.maximum(OCTAVES - 65536, 0) * 3
    found = broken_gaps(noisy(OCTAVES, kink, 0.003, 1))
    assert (65536, 131072) in found
    assert (32768, 65536) in found


def test_two_cards_cross_where_their_lines_do():
    """45 us and 331 Mbit/s against 137 us and 371 Mbit/s."""
    slow_start = 137_000 + OCTAVES * 8e9 / 371e6
    quick_start = 45_000 + OCTAVES * 8e9 / 331e6
    truth = 92_000 / (8e9 / 331e6 - 8e9 / 371e6)
    for seed in range(20):
        first = noisy(OCTAVES, quick_start, 0.003, seed)
        second = noisy(OCTAVES, slow_start, 0.003, 100 + seed)
        (found,) = find_crossovers(first, second)
        assert found.low < truth < found.high
        assert found.first_leads
        assert found.size == pytest.approx(truth, rel=0.35)
        (turned,) = find_crossovers(second, first)
        assert not turned.first_leads
        assert (turned.low, turned.high) == (found.low, found.high)


def test_the_line_of_a_known_curve_gives_its_parameters():
    rng = np.random.default_rng(4)
    times = line(OCTAVES) * np.exp(0.005 * rng.standard_normal(OCTAVES.size))
    last = fit_segments(OCTAVES, times).segments[-1].line
    found = transfer_parameters(last)
    assert found.bandwidth_bit_per_s == pytest.approx(8e9, rel=0.01)
    assert found.half_performance_bytes == pytest.approx(20_000, rel=0.03)


def test_saturation_is_nine_times_the_half_performance_size():
    sizes = np.geomspace(1, 1 << 24, 400)
    curve = size_curve(sizes, line(sizes))
    assert saturation_bytes(curve, 0.9 * 8e9) == pytest.approx(9 * T0_NS, rel=0.01)
    assert saturation_bytes(curve, 8e9) is None
    assert saturation_bytes(curve, 1.0) == 1.0


def triples(seed, odd=(), step=()):
    """Sizes from 8 on with 3 bytes more and less."""
    rng = np.random.default_rng(seed)
    made = []
    for size in OCTAVES[3:]:
        sizes = np.array([size - 3, size, size + 3])
        times = line(sizes)
        if size in odd:
            times[1] *= 0.8
        if size in step:
            times[2] *= 1.2
        made.append((noisy(sizes, times, 0.005, rng.integers(1 << 30)), NS_PER_BYTE))
    return made


def test_odd_sizes_and_steps_within_a_few_bytes_are_found():
    (found,) = find_unevenness(triples(1, odd=(4096,)))
    assert (found.below, found.size, found.above) == (4093, 4096, 4099)
    assert found.decided_down
    assert found.decided_up
    (found,) = find_unevenness(triples(2, step=(512,)))
    assert found.size == 512
    assert not found.decided_down
    assert found.decided_up
    assert found.step_up == pytest.approx(np.log(1.2), abs=0.03)


def test_even_triples_are_even():
    alarms = sum(bool(find_unevenness(triples(seed))) for seed in range(300))
    assert alarms <= 6


@pytest.mark.parametrize(
    ("sizes", "times", "errors"),
    [
        ([1, 2], [1.0], None),
        ([2, 1], [1.0, 1.0], None),
        ([0, 1], [1.0, 1.0], None),
        ([1, 2], [1.0, 0.0], None),
        ([1, 2], [1.0, 1.0], [0.1, -0.1]),
    ],
)
def test_curves_that_are_none(sizes, times, errors):
    with pytest.raises(ValueError, match=r"given|must"):
        size_curve(sizes, times, errors)
