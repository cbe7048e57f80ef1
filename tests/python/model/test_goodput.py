"""What is left after headers: known figures, and counts that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.goodput import (
    LINE,
    TOKEN_BUCKET,
    IpVersion,
    WireCount,
    expected_wire_tcp,
    expected_wire_udp,
    frames_of_datagram,
    shaped_goodput_bit_per_s,
    tcp_goodput_bit_per_s,
    tcp_segment_bytes,
    udp_goodput_bit_per_s,
)

VERSIONS = st.sampled_from([4, 6])


def test_known_figures_of_tcp() -> None:
    assert tcp_segment_bytes() == 1448
    assert tcp_segment_bytes(timestamps=False) == 1460
    assert tcp_segment_bytes(9000, 6) == 8928
    assert tcp_goodput_bit_per_s(1e9) == pytest.approx(941.5e6, abs=0.05e6)
    assert tcp_goodput_bit_per_s(1e9, timestamps=False) == pytest.approx(949.3e6, abs=0.05e6)
    shaped = tcp_goodput_bit_per_s(1e9, framing=TOKEN_BUCKET)
    assert shaped == pytest.approx(956.4e6, abs=0.05e6)


def test_known_figures_of_udp() -> None:
    assert udp_goodput_bit_per_s(1e9, 1472) == pytest.approx(957.1e6, abs=0.05e6)
    # The smallest frames of a line: 14,880,952 per second at 10 Gbit/s.
    assert udp_goodput_bit_per_s(1e10, 18) / (18 * 8) == pytest.approx(14_880_952, abs=1)
    assert udp_goodput_bit_per_s(1e10, 1) / 8 == pytest.approx(14_880_952, abs=1)
    assert udp_goodput_bit_per_s(1e9, 0) == 0.0


def test_fragments_are_those_of_linux() -> None:
    # Counted on a virtual interface of Linux 6.18.
    assert frames_of_datagram(1472) == (1500,)
    assert frames_of_datagram(1473) == (1500, 21)
    assert frames_of_datagram(8192) == (1500,) * 5 + (820,)
    assert frames_of_datagram(8192, ip_version=6) == (1496,) * 5 + (1008,)
    assert frames_of_datagram(1452, ip_version=6) == (1500,)
    assert frames_of_datagram(1453, ip_version=6) == (1496, 61)
    assert expected_wire_udp(20, 2889, ip_version=6) == WireCount(60, 61_660)
    assert expected_wire_udp(20, 65_000) == WireCount(880, 1_330_080)
    # An MTU whose room is no multiple of 8: IPv4 fills the last fragment, IPv6 does not.
    assert frames_of_datagram(2 * 1376 - 2, mtu_bytes=1402) == (1396, 1402)
    assert len(frames_of_datagram(2 * 1352 - 7, mtu_bytes=1402, ip_version=6)) == 3


@given(st.integers(0, 65_507), st.integers(576, 9000), VERSIONS)
def test_fragments_hold_the_datagram_and_fit(payload: int, mtu: int, ip_version: IpVersion) -> None:
    packets = frames_of_datagram(payload, mtu_bytes=mtu, ip_version=ip_version)
    header = 20 if ip_version == 4 else 40
    each = header + (8 if ip_version == 6 and len(packets) > 1 else 0)
    assert max(packets) <= mtu
    assert sum(packets) - len(packets) * each == payload + 8
    assert all((packet - each) % 8 == 0 for packet in packets[:-1])


@given(st.integers(1, 65_507), st.integers(576, 9000), VERSIONS)
def test_goodput_is_less_than_the_link_and_in_proportion(
    payload: int, mtu: int, ip_version: IpVersion
) -> None:
    line, twice, bucket = (
        udp_goodput_bit_per_s(rate, payload, mtu_bytes=mtu, ip_version=ip_version, framing=framing)
        for rate, framing in [(1e8, LINE), (2e8, LINE), (1e8, TOKEN_BUCKET)]
    )
    assert 0 < line < bucket < 1e8
    assert twice == pytest.approx(2 * line)


def test_a_shaped_link_by_transport_and_family() -> None:
    tcp = tcp_goodput_bit_per_s(1e9, framing=TOKEN_BUCKET)
    assert shaped_goodput_bit_per_s("tcp", 1e9, 64) == tcp
    assert shaped_goodput_bit_per_s("mpi", 1e9, 64) == tcp
    assert shaped_goodput_bit_per_s("tcp", 1e9, 64, "ipv6") < tcp
    assert shaped_goodput_bit_per_s("udp", 1e9, 1472) == pytest.approx(1e9 * 1472 / 1514)


def test_the_wire_counts_of_tcp() -> None:
    assert expected_wire_tcp(10, 14_480) == WireCount(10, 10 * 1514)
    assert expected_wire_tcp(1, 0) == WireCount(1, 66)  # an acknowledgement
    assert expected_wire_tcp(1, 0, ip_version=6, timestamps=False) == WireCount(1, 74)
    assert expected_wire_tcp(2, 0, option_bytes=8).bytes == 140  # with a SYN: 74 + 66


def test_bad_input_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="rate"):
        tcp_goodput_bit_per_s(0)
    with pytest.raises(ValueError, match="MTU"):
        tcp_segment_bytes(40)
    with pytest.raises(ValueError, match="MTU"):
        frames_of_datagram(100, mtu_bytes=24)
    with pytest.raises(ValueError, match="65507"):
        frames_of_datagram(65_508)
    with pytest.raises(ValueError, match="datagrams"):
        expected_wire_udp(-1, 10)
    with pytest.raises(ValueError, match="IP version"):
        tcp_segment_bytes(1500, 5)  # type: ignore[arg-type]
