"""Overlap and message rates from samples whose truth is known."""

import numpy as np
import pytest

from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.message_rates import message_rates_per_s
from netsonde.figures.overlap import overlap_ratios
from netsonde.records.data import Batch, EndData, Point

COUNT = 20
METHODS = {"overlap_ratio": "overlap#ratio", "message_rate_per_s": "message-rates#figures"}


def point_of(operation, ends, **parameters):
    found = Point(
        "p001", "mpi", "collective",
        {"message_bytes": 100, "operation": operation, **parameters},
        status="finished",
    )  # fmt: skip
    found.batches = [Batch(0, {end.rank: end for end in ends})]
    return found


def end_of(rank, counters=(), **series):
    values = {name: np.full(COUNT, value, dtype=np.int64) for name, value in series.items()}
    return EndData(rank, "here", values, dict(counters))


@pytest.mark.parametrize(
    ("together_ns", "ratio"),
    [(1000, 1.0), (2000, 0.0), (1500, 0.5), (2100, -0.1)],
)
def test_the_ratio_of_known_overlap(together_ns, ratio):
    slow = end_of(1, duration_ns=1000, compute_ns=1000, together_ns=together_ns)
    fast = end_of(0, duration_ns=200, compute_ns=900, together_ns=950)
    figures = figures_of_point(point_of("ibcast", [fast, slow], overlap=True))
    found = find(figures, "overlap_ratio", "p001")
    assert found.value == pytest.approx(ratio)
    assert found.method == METHODS["overlap_ratio"]
    assert find(figures, "compute_median_ns", "p001").value == 1000
    assert find(figures, "together_median_ns", "p001").value == together_ns
    assert find(figures, "completion_median_ns", "p001").value == 1000


def test_the_shorter_of_both_can_be_hidden():
    pure, compute = np.array([300.0, 300.0]), np.array([1000.0, 1000.0])
    ratios = overlap_ratios(pure, compute, np.array([1000.0, 1300.0]))

    assert ratios == pytest.approx([1.0, 0.0])


def test_without_a_computation_there_is_no_ratio():
    figures = figures_of_point(point_of("ibcast", [end_of(r, duration_ns=9) for r in (0, 1)]))
    assert find(figures, "overlap_ratio", "p001") is None


def test_message_rates_of_two_pairs():
    ends = [
        end_of(0, {"window_messages": 64}, duration_ns=32_000),
        end_of(1, {"window_messages": 64}, duration_ns=64_000),
        end_of(2, duration_ns=30_000),
        end_of(3, duration_ns=60_000),
    ]
    figures = figures_of_point(point_of("message_rate", ends))
    rate = find(figures, "message_rate_per_s", "p001")
    assert rate.value == pytest.approx(128 / 64e-6)
    assert rate.method == METHODS["message_rate_per_s"]
    assert find(figures, "throughput_bit_per_s", "p001").value == pytest.approx(800 * rate.value)
    assert find(figures, "slowest_sender_message_rate_per_s", "p001").value == pytest.approx(1e6)
    assert find(figures, "fastest_sender_message_rate_per_s", "p001").value == pytest.approx(2e6)


def test_other_operations_have_no_message_rate():
    batch = Batch(0, {0: end_of(0, duration_ns=10)})
    assert message_rates_per_s(batch) is None
