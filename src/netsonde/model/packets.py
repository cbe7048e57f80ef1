"""Frames header by header, what they take of a line, and what counters of frames say about them.

A frame is Ethernet's header, a VLAN tag, IP, UDP or TCP, payload, padding and frame check sequence.
A line carries preamble and gap besides. Sources: IEEE 802.3-2022 clauses 3 and 4.4.2 (frame,
least size, preamble, gap), IEEE 802.1Q-2022 clause 9 (tag), and those of
:mod:`netsonde.model.goodput`, whose cutting into packets is used.

F1-F12 are the formulas of B. Huang, Network Performance Studies in High Performance Computing
Environments, 2004, sections 4.1 and 4.2. Sizes are in bytes, rates in bit/s, decimal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from netsonde.model.goodput import (
    ETHERNET_HEADER_BYTES,
    IP_HEADER_BYTES,
    IPV6_FRAGMENT_HEADER_BYTES,
    LINK_FRAGMENT_BYTES,
    LINK_HEADER_BYTES,
    TCP_HEADER_BYTES,
    TCP_TIMESTAMPS_BYTES,
    UDP_HEADER_BYTES,
    IpVersion,
    check_count,
    check_positive,
    frames_of_datagram,
    frames_of_link_message,
    tcp_segment_bytes,
)

VLAN_TAG_BYTES = 4
LEAST_FRAME_BYTES = 60  # 64 with the check sequence
CHECK_SEQUENCE_BYTES = 4
PREAMBLE_BYTES = 8  # with the start of frame
GAP_BYTES = 12


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as a counter of bytes sees it, part by part; 0 for what it has not or does not count.

    ``transport_bytes`` is UDP's or TCP's header without options; ``fragment_bytes`` IPv6's fragment
    header; ``check_bytes`` the frame check sequence.
    """

    payload_bytes: int
    ip_bytes: int
    transport_bytes: int
    option_bytes: int = 0
    fragment_bytes: int = 0
    vlan_bytes: int = 0
    padding_bytes: int = 0
    check_bytes: int = 0
    ethernet_bytes: int = ETHERNET_HEADER_BYTES

    def __post_init__(self) -> None:
        for part in fields(self):
            check_count(part.name.replace("_", " "), getattr(self, part.name))

    @property
    def packet_bytes(self) -> int:
        """The IP packet: its header and all that it carries."""
        transport = self.transport_bytes + self.option_bytes
        return self.ip_bytes + self.fragment_bytes + transport + self.payload_bytes

    @property
    def bytes(self) -> int:
        """All parts together."""
        link = self.ethernet_bytes + self.vlan_bytes + self.padding_bytes + self.check_bytes
        return link + self.packet_bytes

    @property
    def header_bytes(self) -> int:
        """All parts but the payload."""
        return self.bytes - self.payload_bytes

    def wire_bytes(self, *, gap: bool = True) -> int:
        """What the frame takes of a line, whatever a counter counts of it.

        max(frame without check sequence, 60) + 4 of check sequence + 8 of preamble + 12 of gap. The
        gap is no byte that is sent, but the time of 12 in which nothing else may be.
        """
        frame = self.ethernet_bytes + self.vlan_bytes + self.packet_bytes
        line = max(frame, LEAST_FRAME_BYTES) + CHECK_SEQUENCE_BYTES + PREAMBLE_BYTES
        return line + (GAP_BYTES if gap else 0)


def tcp_frame(
    payload_bytes: int,
    *,
    mtu_bytes: int = 1500,
    ip_version: IpVersion = 4,
    timestamps: bool = True,
    vlan: bool = False,
    check_sequence: bool = False,
    padded: bool = False,
) -> Frame:
    """The frame of a TCP segment; ``payload_bytes`` 0 is a bare acknowledgement (F3: 66 or 70).

    ``check_sequence`` and ``padded`` say whether the counter to compare with counts them. Source:
    the headers, see the module. Raises ``ValueError`` for a payload that no segment of the MTU
    holds.
    """
    check_count("payload bytes", payload_bytes)
    most = tcp_segment_bytes(mtu_bytes, ip_version, timestamps=timestamps)
    if payload_bytes > most:
        raise ValueError(
            f"payload is {payload_bytes} bytes; a segment holds {most}, the rest is another frame"
        )
    frame = Frame(
        payload_bytes,
        IP_HEADER_BYTES[ip_version],
        TCP_HEADER_BYTES,
        option_bytes=TCP_TIMESTAMPS_BYTES if timestamps else 0,
        vlan_bytes=VLAN_TAG_BYTES if vlan else 0,
    )
    return _counted(frame, check_sequence, padded)


def udp_frames(
    payload_bytes: int,
    *,
    mtu_bytes: int = 1500,
    ip_version: IpVersion = 4,
    vlan: bool = False,
    check_sequence: bool = False,
    padded: bool = False,
) -> tuple[Frame, ...]:
    """The frames of a datagram: one (F2: payload + 42), or its IP fragments in order (F12).

    Each fragment has Ethernet's and IP's header, only the first UDP's; all but the last carry a
    multiple of 8 bytes behind IP's. Options as in :func:`tcp_frame`. Source and errors:
    :func:`netsonde.model.goodput.frames_of_datagram`.
    """
    packets = frames_of_datagram(payload_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version)
    ip = IP_HEADER_BYTES[ip_version]
    fragment = IPV6_FRAGMENT_HEADER_BYTES if ip_version == 6 and len(packets) > 1 else 0
    frames = []
    for number, packet in enumerate(packets):
        udp = UDP_HEADER_BYTES if number == 0 else 0
        frame = Frame(
            packet - ip - fragment - udp,
            ip,
            udp,
            fragment_bytes=fragment,
            vlan_bytes=VLAN_TAG_BYTES if vlan else 0,
        )
        frames.append(_counted(frame, check_sequence, padded))
    return tuple(frames)


def link_frames(payload_bytes: int, fragment_bytes: int = LINK_FRAGMENT_BYTES) -> tuple[Frame, ...]:
    """The frames of a message on the link itself, which has no IP: payload + 22 each.

    Source: :func:`netsonde.model.goodput.frames_of_link_message`.
    """
    packets = frames_of_link_message(payload_bytes, fragment_bytes)
    return tuple(Frame(packet - LINK_HEADER_BYTES, 0, LINK_HEADER_BYTES) for packet in packets)


def expected_mean_frame_bytes(frames: Sequence[Frame]) -> float:
    """Mean size of the frames in bytes, for example of a datagram's fragments.

    F12 takes 8 bytes of UDP for each fragment and so finds 5 bytes too many for 4 KiB in three.
    Raises ``ValueError`` for no frames.
    """
    _check_some(frames)
    return sum(frame.bytes for frame in frames) / len(frames)


def wire_rate_bit_per_s(
    payload_bit_per_s: float, frames: Sequence[Frame], *, gap: bool = True
) -> float:
    """The rate at which a line is taken by payload that travels in such ``frames``.

    rate * sum of what the frames take / sum of their payload (F7, which leaves the gap out).
    Raises ``ValueError`` for a rate <= 0 or frames without payload.
    """
    check_positive("payload rate", payload_bit_per_s, "bit/s")
    return payload_bit_per_s / _payload_share(frames, gap)


def payload_rate_bit_per_s(
    wire_bit_per_s: float, frames: Sequence[Frame], *, gap: bool = True
) -> float:
    """The payload that a line taken at such a rate carries: inverse of the wire rate.

    Raises ``ValueError`` as :func:`wire_rate_bit_per_s` does.
    """
    check_positive("wire rate", wire_bit_per_s, "bit/s")
    return wire_bit_per_s * _payload_share(frames, gap)


def packets_per_s(rate_bit_per_s: float, packet_bytes: float) -> float:
    """Packets per second of ``packet_bytes`` at a rate: rate / (8 * size) (F9).

    Rate and size must count the same bytes. Raises ``ValueError`` for a rate or size <= 0.
    """
    return 1e9 / packet_interval_ns(rate_bit_per_s, packet_bytes)


def packet_interval_ns(rate_bit_per_s: float, packet_bytes: float) -> float:
    """Time from packet to packet in ns: 8e9 * size / rate.

    For a receiver it is the time that a packet may cost (F9); for a paced sender, the interval
    between its datagrams (F20). Raises ``ValueError`` for a rate or size <= 0.
    """
    check_positive("rate", rate_bit_per_s, "bit/s")
    check_positive("packet", packet_bytes, "bytes")
    return 8e9 * packet_bytes / rate_bit_per_s


def interrupts_per_s(
    rate_bit_per_s: float, packet_bytes: float, packets_per_interrupt: float = 1.0
) -> float:
    """Interrupts per second of a card that raises one for so many packets (F9, F4).

    Raises ``ValueError`` for a value <= 0.
    """
    check_positive("packets per interrupt", packets_per_interrupt)
    return packets_per_s(rate_bit_per_s, packet_bytes) / packets_per_interrupt


def average_frame_bytes(card_bytes: int, frames: int) -> float:
    """Mean size in bytes of the frames that a card counted: bytes / frames (F1).

    Of the frames with acknowledgements alone it is their size (F3). Raises ``ValueError`` for
    counters <= 0.
    """
    check_positive("number of bytes", card_bytes)
    check_positive("number of frames", frames)
    return card_bytes / frames


def packets_per_interrupt(frames: int, interrupts: int) -> float:
    """Frames that a card handed over with one interrupt, on average (F4).

    Where the interrupts of sending and receiving are counted together, ``frames`` is the sum of
    both. Raises ``ValueError`` for frames < 0 or interrupts <= 0.
    """
    check_count("frames", frames)
    check_positive("number of interrupts", interrupts)
    return frames / interrupts


def data_frames_per_ack(data_frames: int, ack_frames: int) -> float:
    """Data frames that one acknowledgement answers, on average (F5).

    Raises ``ValueError`` for data frames < 0 or acknowledgements <= 0.
    """
    check_count("data frames", data_frames)
    check_positive("number of acknowledgements", ack_frames)
    return data_frames / ack_frames


def tcp_overhead_share(
    data_frames: int, ack_card_bytes: int, payload_bytes: int, *, frame: Frame | None = None
) -> float:
    """Bytes that TCP moves besides each byte of payload, both directions together (F6).

    (data frames * headers + bytes of acknowledgements) / payload. ``frame`` gives the headers of a
    data frame; by default Ethernet, IPv4 and TCP with time stamps, 66 bytes. Raises ``ValueError``
    for counters < 0 or no payload.
    """
    check_count("data frames", data_frames)
    check_count("bytes of acknowledgements", ack_card_bytes)
    check_positive("payload", payload_bytes, "bytes")
    headers = (frame or tcp_frame(0)).header_bytes
    return (data_frames * headers + ack_card_bytes) / payload_bytes


def _counted(frame: Frame, check_sequence: bool, padded: bool) -> Frame:
    """The frame with the padding and the check sequence that a counter counts."""
    padding = max(0, LEAST_FRAME_BYTES - frame.bytes) if padded else 0
    check = CHECK_SEQUENCE_BYTES if check_sequence else 0
    return replace(frame, padding_bytes=padding, check_bytes=check)


def _payload_share(frames: Sequence[Frame], gap: bool) -> float:
    _check_some(frames)
    payload = sum(frame.payload_bytes for frame in frames)
    if payload == 0:
        raise ValueError("frames carry no payload; its share of the line is 0 at any rate")
    return payload / sum(frame.wire_bytes(gap=gap) for frame in frames)


def _check_some(frames: Sequence[Frame]) -> None:
    if not frames:
        raise ValueError("no frames are given; expected one or more")
