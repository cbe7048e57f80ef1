"""sockperf's summary in words, and its log of every packet (``--full-log``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from netsonde.catalogue.transport import transport_row
from netsonde.peers.data import FileRead, Hints, PointRead
from netsonde.peers.output import (
    RATE_LIMIT_BIT_PER_S,
    UnreadableOutputError,
    count,
    excerpt,
    number,
    numbered_lines,
    size_bytes,
    time_ns,
    without_colours,
)
from netsonde.records.data import ImportedFigure, Series

TOOL = "sockperf"
DEFAULT_MESSAGE_BYTES = 14
MEBI = 1 << 20
"""Its MBps and Mbps are of 2**20."""
SAMPLES_LIMIT = 1 << 24

_NUMBER = r"(\S+)"
_OBSERVATIONS = re.compile(rf"Total {_NUMBER} observations")
_DROPPED = re.compile(
    r"# dropped messages = (\S+); # duplicated messages = (\S+); # out-of-order messages = (\S+)"
)
_PERCENTILE = re.compile(rf"---> percentile {_NUMBER} =\s*{_NUMBER}")
_EXTREME = re.compile(rf"---> <(MIN|MAX)> observation =\s*{_NUMBER}")
_MEAN = re.compile(rf"====> avg-(rtt|latency)={_NUMBER} \(std-dev={_NUMBER}\)")
_RATE = re.compile(rf"Summary: Message Rate is {_NUMBER} \[msg/sec\]")
_BANDWIDTH = re.compile(rf"Summary: BandWidth is {_NUMBER} MBps \({_NUMBER} Mbps\)")
_SIZE = re.compile(r"msg-size=(\d+)")
_VERSION = re.compile(r"== version #(\S{1,40}) ==")
_PROTOCOL = re.compile(r"PORT =\s*\d+ # (TCP|UDP)")
_PARAMETERS = "test was performed using the following parameters:"
_LOG_HEADING = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (rtt|latency)\(usec\)")
_LOG_LINE = re.compile(r"(\d+), (\d+)\.(\d{9}), (\d+)\.(\d{9}), ")

Point = Callable[..., PointRead]
"""Makes a point of what is known of the whole file."""
Kind = Literal["rtt", "latency", "throughput"]
ROUND_TRIP_NAMES = {50.0: "median", 90.0: "p90", 99.0: "p99", 99.9: "p999"}
_OWN_NAMES = {25.0: "p25", 75.0: "p75", 99.99: "p9999", 99.999: "p99999", **ROUND_TRIP_NAMES}


@dataclass(frozen=True)
class Summary:
    """The summary of a run whose answers were timed.

    ``kind`` rtt: times are whole round trips (``--full-rtt``); latency: halves. Times in ns;
    ``percentiles`` by the percentage.
    """

    kind: Kind
    mean_ns: float
    deviation_ns: float
    least_ns: float
    largest_ns: float
    percentiles_ns: dict[float, float]
    observations: int
    dropped: int


def looks_like_sockperf(text: str) -> bool:
    head = without_colours(text[:4096])
    return re.search(r"(?m)^sockperf: ", head) is not None or _PARAMETERS in head


def parse_sockperf(text: str) -> Summary:
    """The result of ``sockperf ping-pong --full-rtt``."""
    plain = without_colours(text)
    if "Round trip is" not in plain:
        raise UnreadableOutputError(f"sockperf wrote no round trips: {excerpt(plain)}")
    return _summary(plain)


def read_sockperf(text: str, hints: Hints) -> FileRead:
    """Everything that a summary or a log of sockperf says."""
    plain = without_colours(text[:8192]) + "\n" + without_colours(text[-8192:])
    named = _SIZE.search(plain)
    known = size_bytes(named.group(1), "msg-size") if named else hints.message_bytes
    size = DEFAULT_MESSAGE_BYTES if known is None else known
    assumed = {} if known is not None else {"assumed": "the message size, sockperf's default"}
    found = _PROTOCOL.search(plain)
    transport = hints.transport or (found.group(1).lower() if found else "udp")
    point: Point = partial(PointRead, transport, message_bytes=size, parameters=assumed)
    if _LOG_HEADING.search(plain):
        read = _logged(text, point)
    elif _RATE.search(plain):
        read = _throughput(plain, point)
    else:
        read = _summarised(_summary(plain), plain, transport, point)
    version = _VERSION.search(plain)
    return FileRead(TOOL, [read], version.group(1) if version else None, _command(plain))


def _command(plain: str) -> str | None:
    """The options that a log names; a summary has none."""
    _, _, after = plain.partition(_PARAMETERS)
    options = after.split("\n", 1)[0].strip()
    return f"sockperf {excerpt(options)}" if options else None


def _summary(plain: str) -> Summary:
    """Where a number of it stands twice, as where a log follows, the last one counts."""
    tail = plain[-16384:]
    percentiles = {
        number(name, f"percentile {name}", 100.0): time_ns(value, f"percentile {name}", 1e3)
        for name, value in _PERCENTILE.findall(tail)
    }
    extremes = {
        name: time_ns(value, f"<{name}> observation", 1e3) for name, value in _EXTREME.findall(tail)
    }
    means, observations = _MEAN.findall(tail), _OBSERVATIONS.findall(tail)
    dropped = _DROPPED.findall(tail)
    missing = [
        name
        for name, there in (
            ("observations", observations),
            ("dropped messages", dropped),
            ("mean", means),
            ("minimum", "MIN" in extremes),
            ("maximum", "MAX" in extremes),
            ("percentile 50", 50.0 in percentiles),
            ("percentile 99", 99.0 in percentiles),
        )
        if not there
    ]
    if missing:
        raise UnreadableOutputError(
            f"sockperf's result is incomplete: no {', '.join(missing)}: {excerpt(plain)}"
        )
    kind, mean, deviation = means[-1]
    return Summary(
        "rtt" if kind == "rtt" else "latency",
        time_ns(mean, f"avg-{kind}", 1e3),
        time_ns(deviation, "std-dev", 1e3),
        extremes["MIN"],
        extremes["MAX"],
        percentiles,
        int(count(observations[-1], "observations")),
        int(count(dropped[-1][0], "dropped messages")),
    )


def _summarised(summary: Summary, plain: str, transport: str, point: Point) -> PointRead:
    """Ping-pong where as many came back as were timed; under load where answers were asked for now
    and then, whose times are no closed loop's."""
    samples = summary.observations
    closed = _closed_loop(plain)
    figures = list(_own_figures(summary))
    if closed:
        figures = [*_round_trips(summary), *figures]
        if transport_row(transport).counts_datagrams:
            sent = samples + summary.dropped
            figures.append(
                ImportedFigure("unanswered_ratio", summary.dropped / sent if sent else 0.0, sent)
            )
    return point(test="latency" if closed else "under_load", figures=tuple(figures))


def _closed_loop(plain: str) -> bool:
    """Whether every message of the valid part was answered, or lost, before the next."""
    sent = re.findall(r"\[Valid Duration\] .*SentMessages=(\d+); ReceivedMessages=(\d+)", plain)
    if not sent:
        return False
    messages, answers = (int(count(n, "SentMessages")) for n in sent[-1])
    dropped = _DROPPED.findall(plain)
    lost = int(count(dropped[-1][0], "dropped messages")) if dropped else 0
    return messages <= answers + lost and "under-load" not in plain


def _own_figures(summary: Summary) -> Iterator[ImportedFigure]:
    """The times as sockperf prints them: whole round trips, or halves that it calls latency."""
    prefix = "sockperf_rtt" if summary.kind == "rtt" else "sockperf_latency"
    samples = summary.observations
    yield ImportedFigure(f"{prefix}_mean_ns", summary.mean_ns, samples)
    yield ImportedFigure(f"{prefix}_deviation_ns", summary.deviation_ns, samples)
    yield ImportedFigure(f"{prefix}_min_ns", summary.least_ns, samples)
    yield ImportedFigure(f"{prefix}_max_ns", summary.largest_ns, samples)
    for percentage, name in sorted(_OWN_NAMES.items()):
        if percentage in summary.percentiles_ns:
            value = summary.percentiles_ns[percentage]
            yield ImportedFigure(f"{prefix}_{name}_ns", value, samples)


def _round_trips(summary: Summary) -> Iterator[ImportedFigure]:
    """The same as whole round trips, under netsonde's names: what was halved is doubled."""
    scale = 1.0 if summary.kind == "rtt" else 2.0
    samples = summary.observations
    for percentage, name in ROUND_TRIP_NAMES.items():
        if percentage in summary.percentiles_ns:
            value = scale * summary.percentiles_ns[percentage]
            yield ImportedFigure(f"round_trip_{name}_ns", value, samples)
    yield ImportedFigure("round_trip_mean_ns", scale * summary.mean_ns, samples)
    yield ImportedFigure("round_trip_min_ns", scale * summary.least_ns, samples)
    yield ImportedFigure("round_trip_max_ns", scale * summary.largest_ns, samples)


def _throughput(plain: str, point: Point) -> PointRead:
    messages = number(_RATE.findall(plain)[-1], "Message Rate", 1e12)
    bandwidth = _BANDWIDTH.findall(plain)
    if not bandwidth:
        raise UnreadableOutputError("sockperf's result is incomplete: no BandWidth")
    bits = number(bandwidth[-1][1], "BandWidth in Mbps", RATE_LIMIT_BIT_PER_S / MEBI)
    figures = (
        ImportedFigure("sockperf_sender_bit_per_s", bits * MEBI),
        ImportedFigure("sockperf_sender_messages_per_s", messages),
    )
    return point(test="stream", figures=figures)


def _logged(text: str, point: Point) -> PointRead:
    """Every round trip of a log, from its two times, which are never halved."""
    sent_ns, received_ns = _log_times(text)
    summary = _summary(without_colours(text[:8192]))
    trips = received_ns - sent_ns
    if (trips <= 0).any():
        raise UnreadableOutputError("sockperf's log has an answer that came before its message")
    figures = tuple(_own_figures(summary))
    one_by_one = bool((sent_ns[1:] >= received_ns[:-1]).all())
    if not one_by_one:  # messages overlapped: under load
        return point(test="under_load", figures=figures)
    sent = len(trips) + summary.dropped
    return point(test="latency", figures=figures, round_trips_ns=trips, sent=sent)


def _log_times(text: str) -> tuple[Series, Series]:
    """(sent, received) in ns by packet, in the order of the log."""
    sent, received = list[int](), list[int]()
    inside = ended = False
    for place, line in numbered_lines(text):
        if not inside:
            inside = _LOG_HEADING.match(line) is not None
        elif line.startswith("---"):
            ended = True
            break
        else:
            found = _LOG_LINE.match(line)
            if found is None:
                raise UnreadableOutputError(
                    f"line {place} of sockperf's log is {excerpt(line)!r}; expected packet, two "
                    "times and their difference"
                )
            _, begin_s, begin_ns, end_s, end_ns = found.groups()
            if len(begin_s) > 9 or len(end_s) > 9 or len(sent) == SAMPLES_LIMIT:
                raise UnreadableOutputError(
                    f"line {place} of sockperf's log has a time beyond 10^9 s, or is beyond the "
                    f"{SAMPLES_LIMIT} packets that are read"
                )
            sent.append(int(begin_s) * 10**9 + int(begin_ns))
            received.append(int(end_s) * 10**9 + int(end_ns))
    if not ended or not sent:
        raise UnreadableOutputError("sockperf's log breaks off before its last line of dashes")
    return np.array(sent, np.int64), np.array(received, np.int64)
