"""Parameters as functions of size and processes: known coefficients are found, printed wire times
hold, and sizes that no packet has are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.platform import (
    SYMBOLS,
    TRANSFER,
    Cost,
    Origin,
    Platform,
    fit_cost,
    wire_time_ns,
)

MADE = Origin("assumed", "made up")


def made(**costs_ns: float) -> Platform:
    """A platform of 1000-byte packets whose parameters do not vary."""
    values = {"send_overhead": 1.0, "send_gap": 2.0, "latency": 4.0, "receive_gap": 2.0}
    values |= {"receive_overhead": 1.5, "user_overhead": 0.5, **costs_ns}
    costs = {name: Cost(value, origin=MADE) for name, value in values.items()}
    return Platform("made", "", 1000, 1e9, costs)


@pytest.mark.parametrize(
    ("payload", "rate", "us"),
    [(1500, 1e8, 123.04), (1500, 1e9, 12.3), (1024, 1e9, 8.5), (1, 1e8, 6.7), (1, 1e9, 0.67)],
)
def test_printed_wire_times(payload: int, rate: float, us: float) -> None:
    assert wire_time_ns(payload, rate) / 1e3 == pytest.approx(us, abs=0.006 if us < 1 else 0.05)


def test_exact_wire_time() -> None:
    assert wire_time_ns(1500, 1e8) == pytest.approx(123_040, rel=1e-12)
    assert wire_time_ns(0, 1e8) == wire_time_ns(46, 1e8) < wire_time_ns(47, 1e8)


def test_a_line_is_found_with_its_interval() -> None:
    sizes = np.array([1, 200, 400, 800, 1200, 1492])
    noise = np.array([3.0, -2.0, 1.0, -4.0, 3.0, -1.0])
    cost = fit_cost(sizes, 5000 + 8.0 * sizes + noise, Origin("measured", "os_gs", "runs/1"))
    assert cost.start_ns == pytest.approx(5000, abs=8)
    assert cost.per_byte_ns == pytest.approx(8, abs=0.01)
    assert cost.sizes == (1, 1492)
    assert cost.origin.run == "runs/1"
    fit = cost.fit
    assert fit is not None
    assert fit.n == 6
    assert 2 < fit.residual_ns < 5
    assert fit.r_squared > 0.999
    start = fit.intervals["start_ns"]
    assert start.low < 5000 < start.high
    assert cost.at(1000) == pytest.approx(13_000, abs=10)


def test_a_law_term_by_term() -> None:
    cost = Cost(100.0, 2.0, 30.0, 0.5)
    assert cost.at(0, 0) == 100.0
    assert cost.at(10, 0) == 120.0
    assert cost.at(10, 4) == 100.0 + 20.0 + 120.0 + 20.0


@given(st.integers(-(10**6), 10**6))
def test_only_packets_have_a_cost(size: int) -> None:
    platform = made()
    if 1 <= size <= 1000:
        assert platform.at("send_gap", size) == 2.0
    else:
        with pytest.raises(ValueError, match=r"expected 1\.\.1000"):
            platform.at("send_gap", size)


def test_a_missing_parameter_is_named() -> None:
    platform = Platform("bare", "", 1000, 1e9, {"send_gap": Cost(1.0)})
    with pytest.raises(ValueError, match=r"send overhead \(O_s\)"):
        platform.times()
    with pytest.raises(ValueError, match="no parameter is called 'speed'"):
        platform.cost("speed")
    assert set(TRANSFER) <= set(SYMBOLS)


def test_a_law_below_zero_is_refused() -> None:
    platform = Platform("odd", "", 1000, 1e9, {"latency": Cost(-10.0, 1.0)})
    assert platform.at("latency", 1000) == 990.0
    with pytest.raises(ValueError, match="its fit does not reach so far"):
        platform.at("latency", 5)


def test_gap_slack_and_full_duplex() -> None:
    # O_s + O_r + U_r < g < L: 3 < 3.5 < 4.
    times = made(send_gap=3.5).times()
    assert times.gap_ns == 3.5
    assert times.slack_ns == 2.5
    assert times.host_ns == 3.0
    assert times.is_full_duplex
    assert not made(send_gap=3.0, receive_gap=3.0).times().is_full_duplex  # host as long as g
    assert not made(send_gap=4.0).times().is_full_duplex  # g as long as L


def test_extrapolation_is_told() -> None:
    cost = Cost(100.0, per_rank_ns=1.0, sizes=(100, 1000), ranks=(2, 16))
    assert cost.covers(100, 16)
    assert not cost.covers(99, 16)
    assert not cost.covers(100, 17)
    assert Cost(100.0, sizes=(100, 1000), ranks=(2, 16)).covers(100, 17)  # p has no part in it
    platform = Platform("one", "", 1000, 1e9, {"latency": cost})
    assert platform.beyond(50, 4) == ["L"]
    assert platform.beyond(500, 4) == []


def test_packets_of_a_message() -> None:
    platform = made()
    assert [platform.packets(n) for n in (0, 1, 1000, 1001, 2000)] == [1, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="expected 0 or more"):
        platform.packets(-1)
