"""iperf3's JSON (``-J``), of versions 3.1 on: TCP and UDP, ``-R``, ``--bidir``, ``-P``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from netsonde.peers.data import FileRead, Hints, PointRead
from netsonde.peers.output import (
    INTERVALS_LIMIT,
    UnreadableOutputError,
    count,
    excerpt,
    number,
    rate,
    size_bytes,
    time_ns,
)
from netsonde.records.data import ImportedFigure
from netsonde.stats.fairness import jain_fairness

TOOL = "iperf3"
STREAMS_LIMIT = 1024
BACK = "_bidir_reverse"
"""What the names of the other direction's sums end in, with --bidir."""
_CPU = ("host_total", "remote_total")


@dataclass(frozen=True)
class Iperf3Stream:
    """One direction of an iperf3 run, all its streams together.

    received_bit_per_s is payload over the receiver's own time. lost_ratio is one minus bytes
    received over bytes sent, None for TCP; iperf3's lost_percent leaves out what was lost at the
    very end. cpu_client_ratio and cpu_server_ratio are shares of one CPU.
    """

    received_bit_per_s: float
    sent_bit_per_s: float
    sent_bytes: int
    received_bytes: int
    lost_ratio: float | None
    retransmits: int | None
    congestion_control: str | None
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    cpu_client_ratio: float
    cpu_server_ratio: float


def looks_like_iperf3(text: str) -> bool:
    """JSON with iperf3's three parts; or one that broke off."""
    head = text[:4096].lstrip()
    return head.startswith("{") and re.match(r'\{\s*"(start|event)"', head) is not None


def parse_iperf3(text: str) -> Iperf3Stream:
    """The totals of ``iperf3 -c ... -J``, client to server (with -R: server to client)."""
    return _direction(_load(text), "")


def read_iperf3(text: str, hints: Hints) -> FileRead:  # noqa: ARG001
    """Everything that a file of ``iperf3 -J`` says."""
    document = _load(text)
    there = _direction(document, "")
    both = f"sum_received{BACK}" in document["end"]
    back = _direction(document, BACK) if both else None
    protocol, settings = _protocol(document), document["start"]["test_start"]
    with _Complete():
        figures = _figures(document, there, back)
        point = PointRead(
            protocol,
            "duplex" if both else "stream",
            size_bytes(settings.get("blksize", 0), "start.test_start.blksize"),
            tuple(figures),
            parameters=_parameters(settings, there),
            series=_intervals(document),
            reverse=bool(settings.get("reverse")),
        )
    return FileRead(TOOL, [point], _version(document), None, _started(document))


def _load(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise UnreadableOutputError("iperf3 wrote no JSON: it is nested too deeply") from error
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) and text.strip() else 0
        place = f" from line {line} on" if line else ""
        raise UnreadableOutputError(f"iperf3 wrote no JSON{place}: {excerpt(text)}") from error
    if not isinstance(document, dict):
        raise UnreadableOutputError("iperf3's result is incomplete: no usable 'start'")
    if "error" in document:
        raise UnreadableOutputError(f"iperf3 says: {excerpt(str(document['error']))}")
    for name in ("start", "end"):
        if not isinstance(document.get(name), dict):
            raise UnreadableOutputError(f"iperf3's result is incomplete: no usable {name!r}")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


class _Complete:
    """What is missing or of another type becomes one sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        wrong = (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, IndexError)
        if isinstance(error, wrong):
            raise UnreadableOutputError(
                f"iperf3's result is incomplete: no usable {error}"
            ) from error


def _direction(document: Mapping[str, Any], which: str) -> Iperf3Stream:
    """``which`` is "" for the first direction, or BACK."""
    with _Complete():
        start, end = document["start"], document["end"]
        datagrams = _protocol(document) == "udp"
        sent, received = end[f"sum_sent{which}"], end[f"sum_received{which}"]
        cpu = end["cpu_utilization_percent"]
        client, server = (_share(cpu[name], name) for name in _CPU)
        sent_bytes = int(count(sent["bytes"], f"end.sum_sent{which}.bytes"))
        received_bytes = int(count(received["bytes"], f"end.sum_received{which}.bytes"))
        again = sent.get("retransmits")
        return Iperf3Stream(
            received_bit_per_s=rate(received["bits_per_second"], f"end.sum_received{which}"),
            sent_bit_per_s=rate(sent["bits_per_second"], f"end.sum_sent{which}"),
            sent_bytes=sent_bytes,
            received_bytes=received_bytes,
            lost_ratio=1.0 - received_bytes / sent_bytes if datagrams else None,
            retransmits=None if again is None else int(count(again, "end.sum_sent.retransmits")),
            congestion_control=_word(end.get("sender_tcp_congestion")),
            send_buffer_bytes=_buffer(start, "sndbuf_actual"),
            receive_buffer_bytes=_buffer(start, "rcvbuf_actual"),
            cpu_client_ratio=client,
            cpu_server_ratio=server,
        )


def _protocol(document: Mapping[str, Any]) -> str:
    with _Complete():
        name = document["start"]["test_start"]["protocol"]
    if name not in ("TCP", "UDP"):
        raise UnreadableOutputError(f"iperf3 measured {excerpt(str(name))}; TCP and UDP are read")
    return str(name).lower()


def _share(value: Any, name: str) -> float:
    return number(value, f"end.cpu_utilization_percent.{name}", 1e6) / 100.0


def _buffer(start: Mapping[str, Any], name: str) -> int | None:
    return size_bytes(start[name], f"start.{name}") if name in start else None


def _word(value: Any) -> str | None:
    return excerpt(value) if isinstance(value, str) else None


def _version(document: Mapping[str, Any]) -> str | None:
    version = _word(document["start"].get("version"))
    return None if version is None else version.removeprefix("iperf ")


def _started(document: Mapping[str, Any]) -> str | None:
    stamp = document["start"].get("timestamp")
    seconds = stamp.get("timesecs") if isinstance(stamp, dict) else None
    if not isinstance(seconds, int) or not 0 < seconds < 2**33:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _parameters(settings: Mapping[str, Any], there: Iperf3Stream) -> dict[str, Any]:
    streams = int(number(settings.get("num_streams", 1), "num_streams", STREAMS_LIMIT, 1))
    target = rate(settings.get("target_bitrate", 0), "start.test_start.target_bitrate")
    omitted_ns = time_ns(settings.get("omit", 0), "start.test_start.omit", 1e9)
    options = {
        "send_buffer_bytes": there.send_buffer_bytes,
        "receive_buffer_bytes": there.receive_buffer_bytes,
        "congestion_control": there.congestion_control,
    }
    optional = {
        "streams": streams if streams > 1 else None,
        "rate_bit_per_s": int(target) or None,
        "omit_ns": int(omitted_ns) or None,
    }
    return {
        "duration_ns": int(time_ns(settings.get("duration", 0), "start.test_start.duration", 1e9)),
        "options": {name: value for name, value in options.items() if value is not None},
        **{name: value for name, value in optional.items() if value is not None},
    }


def _figures(
    document: Mapping[str, Any], there: Iperf3Stream, back: Iperf3Stream | None
) -> list[ImportedFigure]:
    figures = [ImportedFigure("throughput_bit_per_s", there.received_bit_per_s)]
    ways = [("", "", there)]
    if back is not None:
        figures += [
            ImportedFigure("throughput_back_bit_per_s", back.received_bit_per_s),
            ImportedFigure(
                "throughput_sum_bit_per_s", there.received_bit_per_s + back.received_bit_per_s
            ),
        ]
        ways.append((BACK, "back_", back))
    for which, word, way in ways:
        if way.sent_bytes:  # a server that only received says nothing of the sender
            figures.append(ImportedFigure(f"iperf3_sender_{word}bit_per_s", way.sent_bit_per_s))
        if _protocol(document) == "udp":
            figures += _datagrams(document, which, word, way)
    again = [way.retransmits for _, _, way in ways if way.retransmits is not None]
    if again:
        figures.append(ImportedFigure("retransmitted_segments", float(sum(again))))
    if back is None:
        figures += _flows(document)
    return [
        *figures,
        *_tcp_info(document),
        ImportedFigure("iperf3_cpu_client_ratio", there.cpu_client_ratio),
        ImportedFigure("iperf3_cpu_server_ratio", there.cpu_server_ratio),
    ]


def _datagrams(
    document: Mapping[str, Any], which: str, word: str, way: Iperf3Stream
) -> Iterator[ImportedFigure]:
    """Loss by bytes means what netsonde's does, by gaps in the numbers not; nor does the mean of
    several streams' jitter."""
    sums = document["end"][f"sum_received{which}"]
    packets = int(count(sums.get("packets", 0), f"end.sum_received{which}.packets"))
    if way.lost_ratio is not None and way.lost_ratio >= 0:
        yield ImportedFigure(f"lost_{word}ratio", way.lost_ratio, max(packets, 1))
    if "lost_percent" in sums:
        lost = number(sums["lost_percent"], f"end.sum_received{which}.lost_percent", 100.0)
        yield ImportedFigure(f"iperf3_lost_{word}ratio", lost / 100.0, max(packets, 1))
    if "jitter_ms" in sums:
        streams = int(document["start"]["test_start"].get("num_streams", 1))
        jitter = time_ns(sums["jitter_ms"], f"end.sum_received{which}.jitter_ms", 1e6)
        name = f"jitter_{word}ns" if streams == 1 else f"iperf3_jitter_mean_{word}ns"
        yield ImportedFigure(name, jitter)


def _flows(document: Mapping[str, Any]) -> Iterator[ImportedFigure]:
    """The slowest and fastest of several TCP streams at their receiver, and how even they were."""
    streams = [s["receiver"] for s in _streams(document) if "receiver" in s]
    rates = [rate(s["bits_per_second"], "end.streams[].receiver") for s in streams]
    if len(rates) > 1:
        yield ImportedFigure("slowest_flow_bit_per_s", min(rates))
        yield ImportedFigure("fastest_flow_bit_per_s", max(rates))
        yield ImportedFigure("fairness_ratio", float(jain_fairness(np.array([rates]))[0]))


def _streams(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    streams = document["end"].get("streams", [])
    if not isinstance(streams, list) or len(streams) > 2 * STREAMS_LIMIT:
        raise UnreadableOutputError(f"end.streams is no list of at most {2 * STREAMS_LIMIT}")
    return streams


def _tcp_info(document: Mapping[str, Any]) -> Iterator[ImportedFigure]:
    """The kernel's smoothed round trip and largest window of the first stream; 0 is not known."""
    senders = [s["sender"] for s in _streams(document) if "sender" in s][:1]
    for sender in senders:
        for name in ("mean", "min", "max"):
            found = time_ns(sender.get(f"{name}_rtt", 0), f"end.streams[0].sender.{name}_rtt", 1e3)
            if found:
                yield ImportedFigure(f"iperf3_smoothed_round_trip_{name}_ns", found)
        window = count(sender.get("max_snd_cwnd", 0), "end.streams[0].sender.max_snd_cwnd")
        if window:
            yield ImportedFigure("iperf3_congestion_window_max_bytes", window)


def _intervals(document: Mapping[str, Any]) -> dict[str, list[float]]:
    """The intervals that count, all streams together; retransmits and the like where all have
    them."""
    intervals = document.get("intervals", [])
    if not isinstance(intervals, list) or len(intervals) > INTERVALS_LIMIT:
        raise UnreadableOutputError(f"intervals is no list of at most {INTERVALS_LIMIT}")
    kept = [i for i in intervals if not i["sum"].get("omitted", False)]
    series: dict[str, list[float]] = {
        "interval_begin_ns": [time_ns(i["sum"]["start"], "intervals[].start", 1e9) for i in kept],
        "interval_end_ns": [time_ns(i["sum"]["end"], "intervals[].end", 1e9) for i in kept],
        "interval_bit_per_s": [rate(i["sum"]["bits_per_second"], "intervals[]") for i in kept],
    }
    firsts = [i["streams"][0] for i in kept] if kept else []
    optional: dict[str, tuple[list[Any], str, float]] = {
        "interval_retransmits": ([i["sum"] for i in kept], "retransmits", 1.0),
        "interval_congestion_window_bytes": (firsts, "snd_cwnd", 1.0),
        "interval_round_trip_ns": (firsts, "rtt", 1e3),
    }
    for name, (rows, key, unit) in optional.items():
        if rows and all(key in row for row in rows):
            series[name] = [count(row[key], f"intervals[].{key}") * unit for row in rows]
    return series if kept else {}
