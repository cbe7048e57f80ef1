"""Complete exchanges: bounds, identities between algorithms, and the printed figures of p = 16."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model import exchanges
from netsonde.model.platform import PacketTimes
from netsonde.platforms.read import preset

US = 1e3
times_made = st.builds(
    PacketTimes,
    st.just(1492),
    st.just(16),
    *(st.floats(0.1, 1e6) for _ in range(6)),
)


@pytest.mark.parametrize(("name", "bubble_us"), [("fe-326", 70.92), ("fe-416", 185.96)])
def test_printed_bubbles(name: str, bubble_us: float) -> None:
    times = preset(name).times(ranks=16)
    assert exchanges.bubble_ns(times) / US == pytest.approx(bubble_us, abs=0.005)


@pytest.mark.parametrize(
    ("name", "optimal", "shift"),
    [
        ("fe-326", [12.01, 12.12, 12.13], [10.60, 12.02, 12.12]),
        ("fe-416", [11.83, 12.11, 12.13], [8.80, 11.85, 12.09]),
    ],
)
def test_printed_bandwidths(name: str, optimal: list[float], shift: list[float]) -> None:
    times = preset(name).times(ranks=16)
    for k, best, worst in zip((4, 64, 512), optimal, shift, strict=True):
        for time, printed in (
            (exchanges.synchronous_ns(times, k, 16), best),
            (exchanges.shift_ns(times, k, 16), worst),
        ):
            rate = k * 1492 * 15 * 1e3 / time
            assert rate == pytest.approx(printed, abs=0.0051)
    assert 1492 / times.gap_ns * 1e3 == pytest.approx(12.13, abs=0.005)  # the asymptote


@given(times_made, st.integers(1, 1000), st.integers(2, 200))
def test_identities(times: PacketTimes, k: int, p: int) -> None:
    least = exchanges.least_exchange_ns(times, k, p)
    # Eq. (5.1) as it is printed first.
    o_s, rest = times.send_overhead_ns, times.latency_ns
    written = o_s + (k * (p - 1) - 1) * times.gap_ns + rest
    written += times.receive_overhead_ns + times.user_overhead_ns
    assert least == pytest.approx(written, rel=1e-9)
    assert exchanges.synchronous_ns(times, k, p) == least
    assert exchanges.group_ns(times, k, p, p - 1) == pytest.approx(least, rel=1e-12)
    shift, pair = exchanges.shift_ns(times, k, p), exchanges.pairwise_ns(times, k, p)
    each = o_s + k * times.gap_ns + rest - times.gap_ns
    each += times.receive_overhead_ns + times.user_overhead_ns
    assert shift == pytest.approx((p - 1) * each, rel=1e-9)  # Eq. (5.2) as printed
    if p % 2 == 0:
        assert pair == pytest.approx(shift, rel=1e-9)
    else:
        assert pair == pytest.approx(p / (p - 1) * shift, rel=1e-9)
    if p > 2:
        assert exchanges.group_ns(times, k, p, 1) == pytest.approx(pair, rel=1e-9)


def test_printed_shapes() -> None:
    """Table 5.1 at p = 16, and the groups of section 5.4.1."""
    shape = exchanges.shape_of_synchronous(16)
    assert (shape.fan_out, shape.rounds, shape.stalls) == (15, 1, 0)
    for found in (exchanges.shape_of_shift(16), exchanges.shape_of_pairwise(16)):
        assert (found.fan_out, found.rounds, found.stalls) == (1, 15, 14)
    group = exchanges.shape_of_group(16, 5)
    assert (group.fan_out, group.rounds, group.stalls) == (5, 3, 2)
    assert exchanges.shape_of_group(8, 4).rounds == 2


def test_rounds_of_other_numbers() -> None:
    assert exchanges.shape_of_pairwise(7).rounds == 7
    assert exchanges.shape_of_pairwise(6, "xor").rounds == 7
    assert exchanges.shape_of_pairwise(8, "xor").rounds == 7
    assert exchanges.shape_of_group(7, 2).rounds == 4
    assert exchanges.shape_of_shift(2).rounds == 1


@given(times_made, st.integers(1, 100), st.integers(2, 40).map(lambda h: 2 * h))
def test_a_larger_group_has_no_more_rounds(times: PacketTimes, k: int, p: int) -> None:
    rounds = [exchanges.shape_of_group(p, omega).rounds for omega in range(1, p)]
    assert rounds == sorted(rounds, reverse=True)
    if exchanges.bubble_ns(times) > 0:
        least = exchanges.least_exchange_ns(times, k, p)
        assert all(exchanges.group_ns(times, k, p, w) >= least * (1 - 1e-12) for w in (1, p // 2))


def test_ranking_of_formulas() -> None:
    """The order that was measured at k = 64, p = 4, 8, 16; pairwise and shift are equal."""
    for p in (4, 8, 16):
        times = preset("fe-326").times(ranks=p)
        best, group = exchanges.synchronous_ns(times, 64, p), exchanges.group_ns(times, 64, p, 3)
        assert best <= group <= exchanges.pairwise_ns(times, 64, p)


@pytest.mark.parametrize("fan_out", [0, -1, 16, 10**9])
def test_fan_outs_that_there_are_not(fan_out: int) -> None:
    with pytest.raises(ValueError, match=r"expected 1\.\.15"):
        exchanges.shape_of_group(16, fan_out)


def test_bad_numbers_are_refused() -> None:
    times = preset("fe-326").times(ranks=16)
    with pytest.raises(ValueError, match="1 processes"):
        exchanges.shift_ns(times, 1, 1)
    with pytest.raises(ValueError, match="0 packets"):
        exchanges.group_ns(times, 0, 16, 4)
    with pytest.raises(ValueError, match="0 packets"):
        exchanges.pairwise_ns(times, 0, 16)
    with pytest.raises(ValueError, match="processes"):
        exchanges.synchronous_ns(times, 1, 10**12)
