"""Loss predicates and efficiencies under loss: Table 4.1, the special case, and figures computed
from the printed formulas."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netsonde.model import congestion
from netsonde.model.congestion import Chances
from netsonde.platforms.published import tables

EFFICIENCY = tables()["efficiency_output"]


@pytest.mark.parametrize("row", EFFICIENCY.rows, ids=lambda row: "-".join(map(str, row[:3])))
def test_predictions_of_table_4_1(row: tuple[float, ...]) -> None:
    senders, window, time_out, c, severity, f, _, predicted = row
    chances = Chances(c, 1 - severity, f)
    share = congestion.output_efficiency(chances, int(window), int(senders), 95, time_out)
    assert share == pytest.approx(predicted, abs=0.002)


def test_a_row_as_eq_4_9_is_written() -> None:
    c, a, f, w, b, to = 0.0218, 1 - 0.0547, 0.5329, 18, 95, 400
    written = 1 / ((1.5 * c + (1 - c) / w) * b + (1 - a) * c * to / f)
    share = congestion.output_efficiency(Chances(c, a, f), w, 7, b, to)
    assert share == pytest.approx(7 * written, rel=1e-12)


@pytest.mark.parametrize(
    ("senders", "window", "exact", "approximate"),
    [(7, 48, 0.4608, 0.4553), (15, 60, 0.4720, 0.4706), (23, 80, 0.4718, 0.4709)],
)
def test_input_buffered_efficiencies(
    senders: int, window: int, exact: float, approximate: float
) -> None:
    assert congestion.input_efficiency(window, senders, 43) == pytest.approx(exact, abs=5e-5)
    found = congestion.input_efficiency_approximate(window, senders, 43)
    assert found == pytest.approx(approximate, abs=5e-5)


def test_the_approximation_drops_one_term() -> None:
    p, w, b = 7, 48, 43
    useful = b + 1 - w / p
    whole = 2 * b + 2 - (b + 2) / p - (w - 1) / p**2
    assert congestion.input_efficiency(w, p, b) == pytest.approx(useful / whole, rel=1e-12)


@given(st.sampled_from(congestion.ARCHITECTURES), st.integers(1, 500), st.integers(1, 3000))
def test_the_largest_safe_window_is_the_last(architecture, senders: int, buffer: int) -> None:
    safe = congestion.largest_safe_window(architecture, senders, buffer)
    if safe:
        assert not congestion.loses(architecture, safe, senders, buffer)
        most = congestion.most_senders(architecture, safe, buffer)
        assert most is None or most >= senders
    assert congestion.loses(architecture, safe + 1, senders, buffer)


def test_predicates_as_printed() -> None:
    assert not congestion.loses("input", 43, 1000, 43)
    assert congestion.loses("input", 44, 1, 43)
    assert not congestion.loses("output", 19, 5, 95)
    assert congestion.loses("output", 12, 8, 95)
    assert congestion.loses("shared", 12, 8, 95)
    assert congestion.largest_safe_window("output", 15, 95) == 6
    assert congestion.largest_safe_window("output", 100, 95) == 0
    assert congestion.most_senders("output", 12, 95) == 7
    assert congestion.most_senders("input", 43, 43) is None
    assert congestion.most_senders("input", 44, 43) == 0


@pytest.mark.parametrize(
    ("architecture", "senders", "buffer", "low", "high"),
    [
        ("output", 15, 95, 258, 702),
        ("output", 15, 128, 348, 946),
        ("output", 15, 45, 122, 333),
        ("shared", 15, 95, 258, 702),
        ("input", 7, 43, 602, 903),
        ("input", 15, 43, 1290, 1935),
    ],
)
def test_recommended_time_outs(architecture, senders, buffer, low, high) -> None:
    found = congestion.recommended_time_out(architecture, senders, buffer)
    assert (round(found.low_slots), round(found.high_slots)) == (low, high)
    assert found.low_excluded == (architecture != "input")
    assert found.in_ns(123_000)[0] == pytest.approx(found.low_slots * 123_000)
    assert found.low_slots >= congestion.least_time_out_slots(buffer)


def test_sums_of_the_states() -> None:
    chances = Chances(0.05, 0.75, 0.5)
    assert chances.packets_per_loss == 20
    assert chances.time_outs_per_cycle == 2
    # Eq. (4.8): (3/2 + (1-c)/(c W)) B_L, and what it leaves out.
    c, w, b = 0.05, 18, 95
    slots = congestion.output_service(w, b).sequence_slots(c)
    assert slots == pytest.approx((1.5 + (1 - c) / (c * w)) * b)


@given(st.floats(0.01, 0.2), st.floats(0.01, 0.9), st.floats(0.2, 1), st.integers(4, 40))
def test_longer_time_outs_deliver_less_at_given_chances(
    c: float, severity: float, f: float, window: int
) -> None:
    chances = Chances(c, 1 - severity, f)
    found = [congestion.output_efficiency(chances, window, 15, 95, to) for to in (0, 400, 1600)]
    assert found == sorted(found, reverse=True)


@given(st.integers(2, 30), st.integers(2, 500), st.integers(1, 1000))
def test_a_larger_window_delivers_less_on_input(senders: int, buffer: int, more: int) -> None:
    window = buffer + more
    assume(window < senders * (buffer - 1))
    first = congestion.input_efficiency_approximate(window, senders, buffer)
    assert congestion.input_efficiency_approximate(window + 1, senders, buffer) < first


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing is lost"):
        congestion.input_efficiency(43, 7, 43)
    with pytest.raises(ValueError, match="2 senders"):
        congestion.input_efficiency(44, 1, 43)
    with pytest.raises(ValueError, match="no good packet"):
        congestion.input_efficiency(400, 7, 43)
    with pytest.raises(ValueError, match="architecture is 'round'"):
        congestion.loses("round", 1, 1, 1)  # type: ignore[arg-type]
    for senders, buffer, window in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="expected 1 or more"):
            congestion.loses("output", window, senders, buffer)
    for c, a, f in ((0.0, 0.5, 0.5), (0.5, 1.5, 0.5), (0.5, 0.5, 0.0), (math.nan, 0.5, 0.5)):
        with pytest.raises(ValueError, match="expected"):
            Chances(c, a, f)
    with pytest.raises(ValueError, match="timeout"):
        congestion.output_efficiency(Chances(0.5, 0.5, 0.5), 1, 1, 1, math.inf)
