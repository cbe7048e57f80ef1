"""Lines and broken lines find the truth they were made from, and their intervals hold it."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from netsonde.stats.fits import Errors, fit_line, fit_segments, transfer_parameters

START_NS, NS_PER_BYTE = 20_000.0, 8.0  # 1 Gbit/s
RUNS = 2000


def sizes(n: int) -> npt.NDArray[np.float64]:
    return np.unique(np.round(np.geomspace(1, 4e6, n)))


def protocol_change(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(x <= 65_536, 20_000.0 + 2.0 * x, 45_000.0 + 0.8 * x)


@pytest.mark.parametrize("errors", ["relative", "absolute"])
def test_intervals_cover_the_truth_as_often_as_promised(errors: Errors) -> None:
    generator = np.random.default_rng(1)
    x = sizes(25)
    truth = START_NS + NS_PER_BYTE * x
    hits = np.zeros(3)
    for _ in range(RUNS):
        noise = generator.normal(0.0, 0.05, x.size)
        y = truth * (1 + noise) if errors == "relative" else truth + 5000.0 * noise
        line = fit_line(x, y, errors=errors)
        half = transfer_parameters(line).half_performance_interval
        assert half is not None
        hits += [
            line.slope_interval.low <= NS_PER_BYTE <= line.slope_interval.high,
            line.intercept_interval.low <= START_NS <= line.intercept_interval.high,
            half.low <= START_NS / NS_PER_BYTE <= half.high,
        ]
    assert (hits / RUNS >= 0.935).all()
    assert (hits / RUNS <= 0.965).all()


def test_the_ordinary_line_is_that_of_scipy() -> None:
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=50), generator.normal(size=50)
    line, known = fit_line(x, y), stats.linregress(x, y)
    assert (line.slope, line.intercept) == pytest.approx((known.slope, known.intercept))
    assert line.covariance[2] == pytest.approx(known.stderr**2)
    assert line.covariance[0] == pytest.approx(known.intercept_stderr**2)
    assert line.at([0.0, 1.0]) == pytest.approx([line.intercept, line.intercept + line.slope])
    assert line.r_squared == pytest.approx(known.rvalue**2)


def test_the_line_that_was_printed_in_2004() -> None:
    """Round trips of UDP between two nodes, us over bytes: 0.0536 x + 54.7 (Huang 2004, 4.5)."""
    x = np.arange(1.0, 1473.0, 64.0)
    noise = np.random.default_rng(4).normal(0.0, 0.005, x.size)
    line = fit_line(x, (0.0536 * x + 54.7) * (1 + noise), errors="relative")
    assert line.intercept_interval.low < 54.7 < line.intercept_interval.high
    assert line.slope_interval.low < 0.0536 < line.slope_interval.high
    assert line.intercept == pytest.approx(54.7, rel=0.01)
    assert line.slope == pytest.approx(0.0536, rel=0.03)
    assert 0.99 < line.r_squared < 1.0


def test_r_squared_is_weighted_as_the_fit_is() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    y = np.array([2.1, 2.9, 5.2, 8.8, 17.4])
    line = fit_line(x, y, errors="relative")
    weights = line.at(x) ** -2.0
    about_line = np.sum(weights * (y - line.at(x)) ** 2)
    about_mean = np.sum(weights * (y - np.average(y, weights=weights)) ** 2)
    assert line.r_squared == pytest.approx(1 - about_line / about_mean, abs=1e-4)
    assert fit_line(x, np.full(5, 3.0)).r_squared == 0.0
    assert fit_line(x, 2 * x + 1).r_squared == pytest.approx(1.0)


def test_parameters_of_a_transfer_without_noise() -> None:
    line = fit_line(sizes(20), START_NS + NS_PER_BYTE * sizes(20), errors="relative")
    found = transfer_parameters(line)
    assert line.intercept == pytest.approx(START_NS)
    assert found.bandwidth_bit_per_s == pytest.approx(1e9)
    assert found.half_performance_bytes == pytest.approx(2500.0)
    assert line.at([2500.0])[0] == pytest.approx(2 * START_NS)  # half of the bandwidth


def test_the_half_performance_interval_is_fiellers() -> None:
    generator = np.random.default_rng(7)
    x = np.linspace(1.0, 100.0, 8)
    line = fit_line(x, 50.0 + x + generator.normal(0.0, 30.0, x.size))
    interval = transfer_parameters(line).half_performance_interval
    assert interval is not None
    reach = stats.t.ppf(0.975, x.size - 2)
    var_a, cov, var_b = line.covariance
    assert reach**2 * var_b / line.slope**2 > 0.1  # far from the limit of exact slopes
    for end in (interval.low, interval.high):  # Fieller's definition: a - end b is just not 0
        spread = np.sqrt(var_a - 2 * end * cov + end**2 * var_b)
        assert abs(line.intercept - end * line.slope) == pytest.approx(reach * spread)


def test_weights_do_not_favour_points_that_lie_low() -> None:
    generator = np.random.default_rng(8)
    x = sizes(25)
    truth = START_NS + NS_PER_BYTE * x
    slopes = [
        fit_line(x, truth * (1 + generator.normal(0.0, 0.15, x.size)), errors="relative").slope
        for _ in range(500)
    ]
    # Weights from the measured y would give 0.96 of it.
    assert np.mean(slopes) == pytest.approx(NS_PER_BYTE, rel=0.015)


def test_relative_errors_keep_the_start_up_time_of_large_sweeps() -> None:
    generator = np.random.default_rng(3)
    x = sizes(30)
    y = (START_NS + NS_PER_BYTE * x) * (1 + generator.normal(0.0, 0.03, x.size))
    assert fit_line(x, y, errors="relative").intercept == pytest.approx(START_NS, rel=0.05)
    assert abs(fit_line(x, y).intercept / START_NS - 1) > 0.05


@pytest.mark.parametrize("n", [20, 60])
def test_a_straight_line_is_rarely_broken(n: int) -> None:
    generator = np.random.default_rng(4)
    x = sizes(n)
    truth = START_NS + NS_PER_BYTE * x
    broken = sum(
        len(fit_segments(x, truth * (1 + generator.normal(0.0, 0.02, x.size))).segments) > 1
        for _ in range(300)
    )
    assert broken <= 9


@pytest.mark.parametrize("n", [20, 60])
def test_a_change_of_protocol_is_found_where_it_is(n: int) -> None:
    generator = np.random.default_rng(5)
    x = sizes(n)
    located, slopes = 0, []
    for _ in range(200):
        fit = fit_segments(x, protocol_change(x) * (1 + generator.normal(0.0, 0.02, x.size)))
        if len(fit.segments) == 2 and fit.breaks[0][0] <= 65_536 <= fit.breaks[0][1]:
            located += 1
            slopes.append([segment.line.slope for segment in fit.segments])
    assert located >= 190
    assert np.median(slopes, axis=0) == pytest.approx([2.0, 0.8], rel=0.03)


def test_two_changes_repeats_and_any_order() -> None:
    generator = np.random.default_rng(6)
    x = np.repeat(sizes(40), 3)
    truth = np.where(x < 1000, 10_000 + 5 * x, protocol_change(x))
    y = truth * (1 + generator.normal(0.0, 0.01, x.size))
    order = generator.permutation(x.size)
    fit = fit_segments(x[order], y[order])
    assert len(fit.segments) == 3
    assert fit.breaks[0][0] < 1000 <= fit.breaks[0][1]
    assert fit.breaks[1][0] <= 65_536 < fit.breaks[1][1]
    assert fit.at(x) == pytest.approx(truth, rel=0.05)
    assert fit == fit_segments(x, y[np.arange(x.size)]) or len(fit_segments(x, y).segments) == 3


def test_data_without_noise_are_broken_only_where_they_break() -> None:
    x = sizes(30)
    assert len(fit_segments(x, START_NS + NS_PER_BYTE * x).segments) == 1
    assert len(fit_segments(x, protocol_change(x)).segments) == 2
    assert len(fit_segments([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).segments) == 1


def test_a_flat_or_unclear_line_has_no_bounded_bandwidth() -> None:
    with pytest.raises(ValueError, match="slope"):
        transfer_parameters(fit_line([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]))
    unclear = transfer_parameters(fit_line([1.0, 2.0, 3.0], [1.0, 9.0, 2.0]))
    assert unclear.bandwidth_interval is None
    assert unclear.half_performance_interval is None


@pytest.mark.parametrize(
    ("x", "y", "word"),
    [
        ([1.0, 2.0], [1.0, 2.0], "at least 3"),
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], "one of each"),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], "all x"),
        ([1.0, 2.0, 3.0], [1.0, 0.0, 3.0], "positive"),
    ],
)
def test_bad_points_are_refused_in_words(x: list[float], y: list[float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        fit_line(x, y, errors="relative")


def test_a_line_through_what_is_none_does_not_hold() -> None:
    """Seven sizes over an emulated link: the large ones at its rate, the small ones above it."""
    x = np.array([64, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576], float)
    y = np.array([49.5, 43.2, 56.7, 136, 757, 4025, 19_385]) * 1e3
    assert not any(segment.holds for segment in fit_segments(x, y).segments if segment.farthest > 1)
    (bent,) = fit_segments(x, y).segments
    assert bent.farthest > 0.5
    assert not bent.holds
    (straight,) = fit_segments(x, 50_000 + 16 * x).segments
    assert straight.holds
    assert straight.farthest < 1e-6
