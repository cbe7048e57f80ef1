"""Messages and broadcasts packet by packet: the source's worked cases and their consequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.platform import Cost, PacketTimes, Platform
from netsonde.model.transfers import (
    interferes,
    message_ns,
    one_way_ns,
    receive_bound_ns,
    single_packet_ns,
    stages,
    tree_broadcast,
    tree_levels,
)

costs = st.floats(0.01, 1e6)


def times(gap: float, host: float = 1.0) -> PacketTimes:
    """Section 2.2.4's: p = 16, L = 4, O_s = 1, O_r = 1.5, U_r = 0.5."""
    return PacketTimes(1000, 16, host, gap, 4.0, gap, 1.5, 0.5)


@pytest.mark.parametrize(
    ("gap", "equation", "expected"),
    [(2.0, "2.8", [28, 36, 44, 84]), (1.0, "2.9", [28, 33, 38, 63])],
)
def test_golden_broadcasts(gap: float, equation: str, expected: list[int]) -> None:
    found = [tree_broadcast(times(gap), k, 16) for k in (1, 2, 3, 8)]
    assert [f.time_ns for f in found] == expected
    assert {f.equation for f in found} == {equation}
    assert interferes(times(gap)) == (equation == "2.9")


@given(st.integers(1, 100), st.integers(2, 20), costs, costs, costs, costs, costs)
def test_both_forms_of_2_9_are_equal(
    k: int, levels: int, o_s: float, g: float, latency: float, o_r: float, u_r: float
) -> None:
    packet = PacketTimes(1, 2, o_s, g, latency, g, o_r, u_r)
    found = tree_broadcast(packet, k, 2**levels, copy_ns=7.0)
    if found.equation == "2.9":
        t_0 = packet.host_ns
        other = 7.0 + (k - 1) * (t_0 + (levels - 2) * o_s) + levels * (latency + t_0)
        assert found.time_ns == pytest.approx(other, rel=1e-9)
    else:
        assert packet.host_ns < 2 * max(g, o_s)


def test_levels_of_a_tree() -> None:
    assert [tree_levels(p) for p in (1, 2, 3, 4, 5, 16, 17)] == [0, 1, 2, 2, 3, 4, 5]
    assert tree_broadcast(times(2.0), 5, 1, copy_ns=3.0).time_ns == 3.0


@given(st.integers(1, 1000), costs, costs, costs, costs, costs)
def test_more_packets_take_a_gap_each(
    k: int, o_s: float, g: float, latency: float, o_r: float, u_r: float
) -> None:
    packet = PacketTimes(1, 2, o_s, g / 2, latency, g, o_r, u_r)
    assert one_way_ns(packet, 1) == pytest.approx(single_packet_ns(packet))
    assert one_way_ns(packet, k + 1) - one_way_ns(packet, k) == pytest.approx(g, rel=1e-3)
    assert receive_bound_ns(packet, k) == pytest.approx(o_s + latency + k * (o_r + u_r))


def platform(receives_beside: bool = False, **changed: float) -> Platform:
    values = {"send_overhead": 1e3, "send_gap": 2e3, "latency": 9e3, "receive_gap": 2e3}
    values |= {"receive_overhead": 1.5e3, "user_overhead": 0.1e3, **changed}
    law = {name: Cost(value) for name, value in values.items()}
    return Platform("made", "", 1000, 1e10, law, receives_beside=receives_beside)


def test_the_receiving_host_as_bottleneck_is_found() -> None:
    assert message_ns(platform(), 3000) == (15.6e3, "2.6")
    slow = platform(receive_overhead=3e3)
    assert message_ns(slow, 3000) == (1e3 + 9e3 + 3 * 3.1e3, "3.1")
    # Another CPU receives, several packets at a time: Eq. (2.6) again.
    beside = platform(receives_beside=True, receive_overhead=3e3)
    assert message_ns(beside, 3000)[1] == "2.6"


def test_the_slowest_stage_is_named() -> None:
    first = stages(platform())[0]
    assert (first.time_ns, first.byte_per_s) == (2e3, 5e8)
    slow = stages(platform(receive_overhead=3e3))
    assert slow[0].stage == "receiving host"
    assert slow[0].byte_per_s == pytest.approx(1000 / 3e-6)
    assert [s.time_ns for s in slow] == sorted((s.time_ns for s in slow), reverse=True)
    beside = stages(platform(receives_beside=True, receive_overhead=3e3))
    assert "receiving host" not in {s.stage for s in beside}
    assert (
        stages(platform(send_gap=1.0, receive_gap=1.0, send_overhead=1.0, receive_overhead=1.0))[
            0
        ].stage
        == "wire"
    )


def test_no_packets_are_refused() -> None:
    for call in (one_way_ns, receive_bound_ns):
        with pytest.raises(ValueError, match="expected 1 or more"):
            call(times(1.0), 0)
    with pytest.raises(ValueError, match="processes"):
        tree_broadcast(times(1.0), 1, 0)
