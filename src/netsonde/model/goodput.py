"""What a link leaves for the payload after headers, and what a measurement must put on the wire.

The rate of a link counts different bytes on different links (:data:`LINE`, :data:`TOKEN_BUCKET`).
Everything else follows from the headers: Ethernet (IEEE 802.3-2022, clause 3), IPv4 (RFC 791),
IPv6 (RFC 8200), UDP (RFC 768), TCP (RFC 9293) and its timestamps option (RFC 7323).

Rates are in bit/s, decimal; sizes in bytes.
"""

import math
from dataclasses import dataclass
from typing import Literal

IpVersion = Literal[4, 6]

ETHERNET_HEADER_BYTES = 14
UDP_HEADER_BYTES = 8
LINK_HEADER_BYTES = 8  # netsonde's own, behind Ethernet's: docs/methods/link.md
LINK_FRAGMENT_BYTES = 1492
TCP_HEADER_BYTES = 20
TCP_TIMESTAMPS_BYTES = 12  # 10 bytes and 2 of padding: RFC 7323, appendix A
IPV6_FRAGMENT_HEADER_BYTES = 8
FRAGMENT_UNIT_BYTES = 8  # offsets of fragments count these: RFC 791, RFC 8200 section 4.5
LARGEST_IP_PAYLOAD_BYTES = 65535
IP_HEADER_BYTES = {4: 20, 6: 40}


@dataclass(frozen=True, slots=True)
class Framing:
    """What a link's rate counts for a frame beyond its IP packet.

    ``overhead_bytes`` per frame; ``least_packet_bytes`` to which a shorter packet is padded.
    """

    overhead_bytes: int
    least_packet_bytes: int = 0

    def frame_bytes(self, packet_bytes: int) -> int:
        """What the rate counts for an IP packet of ``packet_bytes``."""
        return max(packet_bytes, self.least_packet_bytes) + self.overhead_bytes


# Preamble and start of frame 8, header 14, frame check sequence 4, gap 12; least payload 46.
LINE = Framing(overhead_bytes=38, least_packet_bytes=46)
# Linux tbf and htb count the socket buffer's length: the frame with its header and nothing else.
TOKEN_BUCKET = Framing(overhead_bytes=ETHERNET_HEADER_BYTES)


def framing_that_counts(overhead_bytes: int | None) -> Framing:
    """The framing by what its rate counts beyond the IP packet, as a run's path says; the bucket's
    where it says nothing."""
    return LINE if overhead_bytes == LINE.overhead_bytes else TOKEN_BUCKET


@dataclass(frozen=True, slots=True)
class WireCount:
    """What an interface's counters rise by: ``packets`` and ``bytes`` with Ethernet headers."""

    packets: int
    bytes: int


def tcp_segment_bytes(
    mtu_bytes: int = 1500, ip_version: IpVersion = 4, *, timestamps: bool = True
) -> int:
    """The payload of a full TCP segment: MTU less IP and TCP headers, and 12 for timestamps.

    1448 for 1500, IPv4 and timestamps, which Linux uses unless net.ipv4.tcp_timestamps is 0.
    Source: RFC 9293 section 3.7.1, RFC 6691 section 2. Raises ``ValueError`` for an MTU
    without room.
    """
    headers = _ip_header_bytes(ip_version) + _tcp_header_bytes(timestamps)
    if mtu_bytes <= headers:
        raise ValueError(f"MTU is {mtu_bytes} bytes; TCP needs more than its {headers} of headers")
    return mtu_bytes - headers


def tcp_goodput_bit_per_s(
    link_bit_per_s: float,
    *,
    mtu_bytes: int = 1500,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    framing: Framing = LINE,
) -> float:
    """Payload rate of one direction of TCP in full segments, with nothing lost.

    goodput = rate * MSS / (MTU + overhead): 1448 / 1538 = 94.15 % of a line, 1448 / 1514 = 95.64 %
    of a token bucket. Acknowledgements of the other direction cost nothing on a full-duplex link.
    Source: the headers, see the module. Raises ``ValueError`` for a rate <= 0 or an MTU without
    room.
    """
    segment = tcp_segment_bytes(mtu_bytes, ip_version, timestamps=timestamps)
    return _checked_rate(link_bit_per_s) * segment / framing.frame_bytes(mtu_bytes)


def frames_of_datagram(
    payload_bytes: int, *, mtu_bytes: int = 1500, ip_version: IpVersion = 4
) -> tuple[int, ...]:
    """IP packet sizes, headers included, in which a UDP datagram leaves; one if it fits the MTU.

    IP carries the UDP header and the payload, T = payload + 8. If T fits into MTU - IP header, it
    is one packet. Otherwise all fragments but the last carry the largest multiple of 8 that fits,
    and the last the rest; IPv6 adds a fragment header of 8 bytes to each. Only the first fragment
    holds the UDP header, and one lost fragment loses the datagram.

    The last fragment may be up to 7 bytes longer than a multiple of 8. Linux uses that for IPv4 and
    not for IPv6 (net/ipv4/ip_output.c, net/ipv6/ip6_output.c), and so does this function. Source:
    RFC 791 section 3.2, RFC 8200 section 4.5. Raises ``ValueError`` for a payload that no datagram
    can hold or an MTU without room.
    """
    header = _ip_header_bytes(ip_version)
    left = payload_bytes + UDP_HEADER_BYTES
    # IPv4's total length counts its own header, IPv6's payload length does not.
    most = LARGEST_IP_PAYLOAD_BYTES - (header if ip_version == 4 else 0)
    if not UDP_HEADER_BYTES <= left <= most:
        raise ValueError(
            f"payload is {payload_bytes} bytes; a datagram of IPv{ip_version} holds"
            f" 0..{most - UDP_HEADER_BYTES}"
        )
    if left <= mtu_bytes - header:
        return (header + left,)
    header += IPV6_FRAGMENT_HEADER_BYTES if ip_version == 6 else 0
    room = mtu_bytes - header
    full = room - room % FRAGMENT_UNIT_BYTES
    if full <= 0:
        raise ValueError(f"MTU is {mtu_bytes} bytes; a fragment needs {header + 8} or more")
    longest_last = room if ip_version == 4 else full
    sizes = []
    while left > longest_last:
        sizes.append(header + full)
        left -= full
    return (*sizes, header + left)


def udp_goodput_bit_per_s(
    link_bit_per_s: float,
    payload_bytes: int,
    *,
    mtu_bytes: int = 1500,
    ip_version: IpVersion = 4,
    framing: Framing = LINE,
) -> float:
    """Payload rate of back-to-back UDP datagrams of one size, with nothing lost.

    goodput = rate * payload / sum of what the rate counts for the datagram's frames: 1472 / 1538 =
    95.71 % of a line for the largest datagram that is not fragmented. Source: the headers, see the
    module. Raises ``ValueError`` as :func:`frames_of_datagram` does, and for a rate <= 0.
    """
    packets = frames_of_datagram(payload_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version)
    counted = sum(framing.frame_bytes(packet) for packet in packets)
    return _checked_rate(link_bit_per_s) * payload_bytes / counted


def expected_wire_udp(
    datagrams: int, payload_bytes: int, *, mtu_bytes: int = 1500, ip_version: IpVersion = 4
) -> WireCount:
    """What ``datagrams`` of one size add to the counters of the interface they leave by.

    Bytes hold the Ethernet header of each frame, but neither padding nor check sequence, as Linux
    counts them on virtual interfaces; many network cards count the check sequence and padding too.
    Source: the headers, see the module; Linux Documentation/networking/statistics.rst. Raises
    ``ValueError`` for a negative number and as :func:`frames_of_datagram` does.
    """
    check_count("datagrams", datagrams)
    packets = frames_of_datagram(payload_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version)
    frame = sum(packets) + len(packets) * ETHERNET_HEADER_BYTES
    return WireCount(datagrams * len(packets), datagrams * frame)


def frames_of_link_message(
    payload_bytes: int, fragment_bytes: int = LINK_FRAGMENT_BYTES
) -> tuple[int, ...]:
    """What stands behind Ethernet's header in each frame of a message on the link: 8 bytes and a
    fragment; of an empty message the 8 bytes. Raises ``ValueError`` for a negative size."""
    check_count("payload bytes", payload_bytes)
    full, rest = divmod(payload_bytes, fragment_bytes)
    last = [rest] if rest or not full else []
    return tuple(LINK_HEADER_BYTES + piece for piece in [fragment_bytes] * full + last)


def expected_wire_link(
    messages: int, payload_bytes: int, fragment_bytes: int = LINK_FRAGMENT_BYTES
) -> WireCount:
    """What ``messages`` of one size on the link itself add to the counters of the interface, as
    :func:`expected_wire_udp`: each frame has Ethernet's header and no other protocol's."""
    check_count("messages", messages)
    packets = frames_of_link_message(payload_bytes, fragment_bytes)
    frame = sum(packets) + len(packets) * ETHERNET_HEADER_BYTES
    return WireCount(messages * len(packets), messages * frame)


def link_goodput_bit_per_s(
    link_bit_per_s: float,
    payload_bytes: int,
    *,
    fragment_bytes: int = LINK_FRAGMENT_BYTES,
    framing: Framing = LINE,
) -> float:
    """Payload rate of back-to-back messages on the link itself, with nothing lost: 1492 / 1538 =
    97.01 % of a line. Raises ``ValueError`` for a rate <= 0."""
    packets = frames_of_link_message(payload_bytes, fragment_bytes)
    counted = sum(framing.frame_bytes(packet) for packet in packets)
    return _checked_rate(link_bit_per_s) * payload_bytes / counted


def expected_wire_tcp(
    segments_out: int,
    bytes_sent: int,
    *,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    option_bytes: int = 0,
) -> WireCount:
    """What a connection adds to the counters of the interface it leaves by.

    ``segments_out`` and ``bytes_sent`` are differences of the connection's TCP_INFO segs_out and
    bytes_sent: both count acknowledgements and retransmissions as well. ``option_bytes`` is the sum
    of the options besides timestamps: SACK blocks (12 or 20 or 28 in a segment that reports loss),
    and 20 - 12 = 8 more in a SYN of Linux; 0 between two snapshots of an open connection without
    loss. The counts hold where frames are cut before they are counted (segmentation offload off):
    with it on, a virtual interface counts a large frame once, and its headers once. Source: RFC
    9293 section 3.1, RFC 7323 section 3, RFC 2018 section 3. Raises ``ValueError`` for negative
    numbers.
    """
    check_count("segments", segments_out)
    check_count("bytes", bytes_sent)
    check_count("option bytes", option_bytes)
    headers = ETHERNET_HEADER_BYTES + _ip_header_bytes(ip_version) + _tcp_header_bytes(timestamps)
    return WireCount(segments_out, segments_out * headers + bytes_sent + option_bytes)


def _ip_header_bytes(ip_version: int) -> int:
    if ip_version not in IP_HEADER_BYTES:
        raise ValueError(f"IP version is {ip_version}; expected 4 or 6")
    return IP_HEADER_BYTES[ip_version]


def _tcp_header_bytes(timestamps: bool) -> int:
    return TCP_HEADER_BYTES + (TCP_TIMESTAMPS_BYTES if timestamps else 0)


def _checked_rate(link_bit_per_s: float) -> float:
    check_positive("rate of the link", link_bit_per_s, "bit/s")
    return link_bit_per_s


def check_count(name: str, value: int) -> None:
    """Raises ``ValueError`` that names it for a number below 0."""
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"number of {name} is {value}; expected 0 or more")


def check_positive(name: str, value: float, unit: str = "") -> None:
    """Raises ``ValueError`` that names it for a value that is not above 0 and finite."""
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} is {value}{unit and ' '}{unit}; expected more than 0")


def shaped_goodput_bit_per_s(
    transport: str,
    link_bit_per_s: float,
    message_bytes: int,
    family: str = "ipv4",
    framing: Framing = TOKEN_BUCKET,
    mtu_bytes: int = 1500,
    timestamps: bool = True,
) -> float:
    """The payload rate that a shaped link leaves to ``link``, ``udp``, ``tcp`` or ``mpi`` (over
    TCP).

    The link's own is that of messages of ``message_bytes`` without IP, UDP's that of datagrams of
    that size; TCP's is that of full segments, whatever the messages are, and an upper bound for
    MPI, whose own headers are not known. Raises ``ValueError`` as the functions above do.
    """
    version: IpVersion = 6 if family == "ipv6" else 4
    if transport == "link":
        return link_goodput_bit_per_s(link_bit_per_s, message_bytes, framing=framing)
    if transport == "udp":
        return udp_goodput_bit_per_s(
            link_bit_per_s, message_bytes, mtu_bytes=mtu_bytes, ip_version=version, framing=framing
        )
    return tcp_goodput_bit_per_s(
        link_bit_per_s,
        mtu_bytes=mtu_bytes,
        ip_version=version,
        timestamps=timestamps,
        framing=framing,
    )
