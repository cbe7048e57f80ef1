"""``netsonde model frames`` and ``model buffer``: from sizes to frames and what their loss means,
from rate and round trip to buffers.

Formulas F12, F13, F16 and F17 of B. Huang, Network Performance Studies in High Performance
Computing Environments, 2004; each is in :mod:`netsonde.model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from netsonde.catalogue.named import Carried
from netsonde.errors import UsageError
from netsonde.model.goodput import tcp_segment_bytes
from netsonde.model.limits import (
    bandwidth_delay_bytes,
    recommended_buffer_bytes,
    window_limited_bit_per_s,
)
from netsonde.model.losses import datagrams_lost, fragments_dropped
from netsonde.model.packets import (
    Frame,
    expected_mean_frame_bytes,
    payload_rate_bit_per_s,
    tcp_frame,
    udp_frames,
)
from netsonde.platforms.answers import Answer, in_words
from netsonde.units import format_bytes, format_rate, format_time, parse_size_bytes

MOST_TCP_BYTES = 1 << 30
WINDOW_OF_BUFFER = 0.5
"""Of a receive buffer TCP advertises about half; the rest is the kernel's own (F16)."""


@dataclass(frozen=True)
class Way(Carried):
    """How messages travel: over which protocol, in packets of which size."""

    transport: Literal["udp", "tcp"] = "udp"
    mtu_bytes: int = 1500
    ipv6: bool = False
    vlan: bool = False

    def frames(self, message_bytes: int) -> list[Frame]:
        """Of one message. Raises ``ValueError`` where it cannot travel so."""
        version: Literal[4, 6] = 6 if self.ipv6 else 4
        if self.carrier.counts_datagrams:
            return list(
                udp_frames(
                    message_bytes, mtu_bytes=self.mtu_bytes, ip_version=version, vlan=self.vlan
                )
            )
        if not 1 <= message_bytes <= MOST_TCP_BYTES:
            raise ValueError(f"{message_bytes} bytes over TCP; expected 1..{MOST_TCP_BYTES}")
        most = tcp_segment_bytes(self.mtu_bytes, version, timestamps=True)
        whole = tcp_frame(most, mtu_bytes=self.mtu_bytes, ip_version=version, vlan=self.vlan)
        full, rest = divmod(message_bytes, most)
        last = [tcp_frame(rest, mtu_bytes=self.mtu_bytes, ip_version=version, vlan=self.vlan)]
        return [whole] * full + (last if rest else [])


@dataclass(frozen=True)
class Seen:
    """What was counted: the share of frames that is lost, or frames at the receiver's card, whole
    datagrams at its program, and datagrams sent."""

    frame_loss: float | None = None
    frames: int | None = None
    whole: int | None = None
    sent: int | None = None


def frames_answer(size: str, way: Way, rate_bit_per_s: int | None, seen: Seen) -> Answer:
    """The frames of a message, what a line carries of it, and what lost frames cost."""
    with in_words():
        frames = way.frames(parse_size_bytes(size))
        document = _frames_document(frames, rate_bit_per_s)
        document |= _lost_document(len(frames), way, seen)
    return Answer(_frames_lines(size, way, frames, document), document)


def _frames_document(frames: Sequence[Frame], rate_bit_per_s: int | None) -> dict[str, Any]:
    line_bytes = sum(frame.wire_bytes() for frame in frames)
    payload_bytes = sum(frame.payload_bytes for frame in frames)
    document: dict[str, Any] = {
        "frames_per_message": len(frames),
        "frame_bytes": [frame.bytes for frame in frames],
        "payload_bytes": [frame.payload_bytes for frame in frames],
        "mean_frame_bytes": expected_mean_frame_bytes(frames),
        "line_bytes": line_bytes,
        "payload_ratio": payload_bytes / line_bytes,
    }
    if rate_bit_per_s is not None and payload_bytes:
        document["payload_bit_per_s"] = payload_rate_bit_per_s(rate_bit_per_s, frames)
        document["messages_per_s"] = rate_bit_per_s / 8 / line_bytes
    return document


def _lost_document(frames_per_message: int, way: Way, seen: Seen) -> dict[str, Any]:
    document: dict[str, Any] = {}
    given = (seen.frame_loss, seen.frames, seen.whole, seen.sent)
    if way.carrier.has_connection and any(value is not None for value in given):
        raise UsageError("TCP sends again what is lost; counts of datagrams are for udp")
    if seen.frame_loss is not None:
        if not 0 <= seen.frame_loss <= 1:
            raise UsageError(f"--frame-loss {seen.frame_loss:g} is no share; give 0 to 1, or 0.1%")
        document["lost_ratio"] = 1 - (1 - seen.frame_loss) ** frames_per_message
    if (seen.frames is None) != (seen.whole is None):
        raise UsageError("--frames-received and --whole go together: frames at the card, datagrams")
    if seen.frames is not None and seen.whole is not None:
        document["fragments_dropped"] = fragments_dropped(
            seen.frames, seen.whole, frames_per_message
        )
    if seen.sent is not None:
        if seen.frames is None:
            raise UsageError("--sent goes with --frames-received and --whole")
        missing = seen.sent * frames_per_message - seen.frames
        if missing < 0:
            raise UsageError(
                f"{seen.sent} datagrams are {seen.sent * frames_per_message} frames; "
                f"{seen.frames} were received"
            )
        bounds = datagrams_lost(missing, frames_per_message, seen.sent)
        lost = seen.sent - (seen.whole or 0)
        document |= {
            "frames_missing": missing,
            "datagrams_lost_before_the_card": [bounds.least, min(bounds.most, lost)],
            "datagrams_lost": lost,
        }
    return document


def _frames_lines(
    size: str, way: Way, frames: Sequence[Frame], document: dict[str, Any]
) -> list[str]:
    family = "IPv6" if way.ipv6 else "IPv4"
    lines = [f"{size} over {way.carrier.title} and {family}, MTU {way.mtu_bytes}"]
    for same in (list(group) for _, group in groupby(frames)):
        lines.append(
            f"  {len(same)} x {same[0].bytes} bytes: {same[0].payload_bytes} of payload, "
            f"{same[0].header_bytes} of headers"
        )
    lines += [
        f"  mean frame   {document['mean_frame_bytes']:.1f} bytes, without check sequence",
        f"  on the line  {document['line_bytes']} bytes with check sequences, preambles and gaps",
        f"  payload      {document['payload_ratio']:.2%} of the line",
    ]
    if "payload_bit_per_s" in document:
        lines.append(
            f"  at most      {format_rate(document['payload_bit_per_s'])} of payload, "
            f"{document['messages_per_s']:.4g} messages per second"
        )
    return lines + _lost_lines(document)


def _lost_lines(document: dict[str, Any]) -> list[str]:
    lines = []
    if "lost_ratio" in document:
        lines.append(
            f"  lost         {document['lost_ratio']:.3%} of the datagrams, where frames are lost "
            "one by one"
        )
    if "fragments_dropped" in document:
        lines.append(
            f"  dropped      {document['fragments_dropped']} frames reached the card and no whole "
            "datagram"
        )
    if "frames_missing" in document:
        least, most = document["datagrams_lost_before_the_card"]
        lines += [
            f"  missing      {document['frames_missing']} frames never reached the card: of",
            f"               {least} to {most} of the {document['datagrams_lost']} lost datagrams",
        ]
    return lines


def buffer_answer(rate_bit_per_s: int, round_trip_ns: int, buffer: str | None) -> Answer:
    """What is under way on a full path, the buffer to take, and what a given one allows."""
    with in_words():
        under_way = bandwidth_delay_bytes(rate_bit_per_s, round_trip_ns)
        wanted = recommended_buffer_bytes(rate_bit_per_s, round_trip_ns)
    document: dict[str, Any] = {
        "bandwidth_delay_bytes": under_way,
        "recommended_buffer_bytes": wanted,
    }
    lines = [
        f"{format_rate(rate_bit_per_s)}, round trip {format_time(round_trip_ns)}",
        f"  under way    {format_bytes(under_way)} on a full path: rate times round trip",
        f"  buffer       {format_bytes(wanted)} does not limit TCP: twice that",
    ]
    if buffer is not None:
        window_bytes = WINDOW_OF_BUFFER * parse_size_bytes(buffer)
        with in_words():
            limit = window_limited_bit_per_s(window_bytes, round_trip_ns)
        document |= {"window_bytes": window_bytes, "window_limited_bit_per_s": limit}
        lines.append(
            f"  {buffer:<12} allows {format_rate(limit)}: half of it is window, "
            f"{format_bytes(window_bytes)} a round trip"
        )
    return Answer(lines, document)
