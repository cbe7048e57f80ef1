"""What a repetition gave: a row of the result file and a line on the screen.

Rates are payload in Mbit/s (10^6 bit/s). Which end measured them is in the name of the column: C_
the client, S_ the server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netsonde.figures.throughput import (
    duplex_rates_bit_per_s,
    origin_elapsed_ns,
    receiving_ns,
    stream_rates_bit_per_s,
    target_elapsed_ns,
)
from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.table import Cell
from netsonde.records.data import Batch, EndData
from netsonde.stats.quantiles import quantile


@dataclass(frozen=True)
class Repetition:
    """One repetition, measured. number counts from 1."""

    number: int
    size_bytes: int
    batch: Batch

    @property
    def client(self) -> EndData:
        return self.batch.ends[0]

    @property
    def server(self) -> EndData:
        return self.batch.ends[1]


Column = tuple[str, int, Callable[[Repetition], Cell]]  # heading, width, content
Columns = tuple[Column, ...]


def columns_of(settings: Settings) -> Columns:
    """The columns of the result file, of a test over this transport in this mode."""
    match settings.mode:
        case "round_trip":
            return _ROUND_TRIP
        case "generator":
            return _GENERATOR
        case "stream":
            return _UDP_STREAM if settings.carrier.counts_datagrams else _TCP_STREAM
        case "ping_pong":
            return _PING_PONG
        case "both_ways":
            return _UDP_BOTH if settings.carrier.counts_datagrams else _TCP_BOTH


def cells_of(columns: Columns, repetition: Repetition) -> list[Cell]:
    return [content(repetition) for _, _, content in columns]


def screen_line(settings: Settings, repetition: Repetition) -> str:
    """Number and figure, in the manner of Hpcbench; fits a line of 80 characters."""
    size = f" {repetition.size_bytes} bytes :" if settings.exponential else ""
    return f" ({repetition.number}) :{size} {_said(settings, repetition)}"


def _said(settings: Settings, repetition: Repetition) -> str:
    """The figure, its unit, what it counts, and which end measured it."""
    match settings.mode:
        case "round_trip":
            return f"{_mean_us(repetition)} us round trip, the mean (client)"
        case "generator":
            return (
                f"{_generated_mbps(repetition)} Mbps of payload sent (client), "
                f"{_datagrams_per_s(repetition)}/s"
            )
        case "both_ways":
            out, back, _ = _both_mbps(repetition)
            if not settings.carrier.counts_datagrams:
                return f"{out:.6f} Mbps of payload out (server), {back:.6f} back (client)"
            there = _lost(repetition.server, repetition.client)
            here = _lost(repetition.client, repetition.server)
            return (
                f"{_short(out)} Mbps out (server), {_short(back)} back (client), "
                f"lost {there} {here} %"
            )
        case "ping_pong":
            return f"{_ping_pong_mbps(repetition)[0]:.6f} Mbps of payload, both crossings (client)"
        case "stream":
            sent, received = _stream_mbps(repetition)
            if not settings.carrier.counts_datagrams:
                return f"{sent:.6f} Mbps of payload (client)"
            lost = _lost(repetition.server, repetition.client)
            return (
                f"{_short(sent)} Mbps sent (client), {_short(received)} received (server), "
                f"lost {lost} %"
            )


Figure = tuple[str, str]  # a column, and what its figure is in words
_MBPS = "payload, Mbps, by the "
_BY_END: tuple[Figure, ...] = (("C_Mbps", f"{_MBPS}client"), ("S_Mbps", f"{_MBPS}server"))


def figures_of(settings: Settings) -> tuple[Figure, ...]:
    """What the repetitions of a test are compared by."""
    match settings.mode:
        case "round_trip":
            return (
                ("Mean_us", "mean round trip, us, by the client"),
                ("Median_us", "median round trip, us, by the client"),
            )
        case "generator":
            return (("C_Mbps", "payload sent, Mbps, by the client"),)
        case "both_ways":
            ways = (
                ("S_Mbps", "payload out, Mbps, by the server"),
                ("C_Mbps", "payload back, Mbps, by the client"),
                ("BothMbps", "payload of both ways, Mbps"),
            )
            lost = (("OutLost%", "datagrams lost out, %"), ("BackLost%", "datagrams lost back, %"))
            return (*ways, *lost) if settings.carrier.counts_datagrams else ways
        case "ping_pong":
            return _BY_END
        case "stream":
            if settings.carrier.counts_datagrams:
                return (*_BY_END, ("Lost%", "datagrams lost, %, by the server"))
            return _BY_END


def lasted_s(settings: Settings, repetition: Repetition) -> float:
    """How long the client was at it."""
    if settings.mode == "stream":
        return origin_elapsed_ns(repetition.client) / 1e9
    counters = repetition.client.counters
    return (counters["end_ns"] - counters["start_ns"]) / 1e9


def _counter(name: str, end: int) -> Callable[[Repetition], Cell]:
    return lambda r: r.batch.ends[end].counters.get(name)


def _number(r: Repetition) -> Cell:
    return r.number


def _size(r: Repetition) -> Cell:
    return r.size_bytes


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.6f}"


def _process_s(kind: str, end: int) -> Callable[[Repetition], Cell]:
    def content(r: Repetition) -> Cell:
        used_ns = r.batch.ends[end].difference(f"process.{kind}_ns")
        return None if used_ns is None else f"{used_ns / 1e9:.4f}"

    return content


def _stream_mbps(r: Repetition) -> tuple[float, float]:
    sent, received = stream_rates_bit_per_s(r.batch)
    return sent / 1e6, received / 1e6


def _both_mbps(r: Repetition) -> tuple[float, float, float]:
    out, back = (rate / 1e6 for rate in duplex_rates_bit_per_s(r.batch))
    return out, back, out + back


def _round_trips_ns(r: Repetition) -> float:
    """How long all took: one ends where the next begins."""
    return float(r.client.series["round_trip_ns"].sum())


def _crossed_bytes(end: EndData) -> int:
    """A message crosses twice in a round trip."""
    return end.counters["bytes_sent"] + end.counters["bytes_received"]


def _ping_pong_mbps(r: Repetition) -> tuple[float, float]:
    return (
        _rate_mbps(_crossed_bytes(r.client), _round_trips_ns(r)),
        _rate_mbps(_crossed_bytes(r.server), target_elapsed_ns(r.server)),
    )


def _rate_mbps(payload_bytes: int, elapsed_ns: float) -> float:
    return payload_bytes * 8e3 / elapsed_ns if elapsed_ns > 0 else 0.0


def _round_trip_us(q: float) -> Callable[[Repetition], Cell]:
    def content(r: Repetition) -> Cell:
        samples = r.client.series["round_trip_ns"]
        return f"{quantile(samples, q) / 1e3:.3f}" if len(samples) else None

    return content


def _mean_us(r: Repetition) -> str:
    samples = r.client.series["round_trip_ns"]
    return f"{float(samples.mean()) / 1e3:.3f}" if len(samples) else "no"


def _lost(receiver: EndData, sender: EndData) -> str:
    return f"{float(_lost_percent(receiver, sender)):.2f}"


def _short(rate: float) -> str:
    """Seven digits: both ends' rates and the loss fit a line."""
    return f"{rate:#.7g}"


def _lost_percent(receiver: EndData, sender: EndData) -> str:
    sent = sender.counters["messages_sent"]
    return f"{100 * receiver.counters['lost'] / sent if sent else 0.0:.4f}"


def _generated_ns(r: Repetition) -> int:
    return r.client.counters["last_send_ns"] - r.client.counters["start_ns"]


def _generated_mbps(r: Repetition) -> str:
    return f"{_rate_mbps(r.client.counters['bytes_sent'], _generated_ns(r)):.6f}"


def _datagrams_per_s(r: Repetition) -> str:
    elapsed_ns = _generated_ns(r)
    sent = r.client.counters["messages_sent"]
    return f"{sent * 1e9 / elapsed_ns if elapsed_ns > 0 else 0.0:.1f}"


def _mbps(rate: float) -> str:
    return f"{rate:.6f}"


def _receiving_s(end: int) -> Callable[[Repetition], Cell]:
    def content(r: Repetition) -> Cell:
        return _seconds(receiving_ns(r.batch.ends[end]))

    return content


_CLIENT_PROCESS: Columns = (
    ("C_user_s", 9, _process_s("user", 0)),
    ("C_sys_s", 8, _process_s("system", 0)),
)
_SYNC_US: Columns = (
    ("Sync_us", 9, lambda r: f"{r.client.counters['sync_round_trip_ns'] / 1e3:.3f}"),
)
_PROCESSES: Columns = (
    *_CLIENT_PROCESS,
    ("S_user_s", 9, _process_s("user", 1)),
    ("S_sys_s", 8, _process_s("system", 1)),
    *_SYNC_US,
)
_ONE_WAY: Columns = (
    ("C_Mbps", 14, lambda r: _mbps(_stream_mbps(r)[0])),
    ("S_Mbps", 14, lambda r: _mbps(_stream_mbps(r)[1])),
    ("C_s", 11, lambda r: _seconds(origin_elapsed_ns(r.client))),
    ("S_s", 11, lambda r: _seconds(target_elapsed_ns(r.server))),
    *_PROCESSES,
)
_BOTH_WAYS: Columns = (
    ("S_Mbps", 14, lambda r: _mbps(_both_mbps(r)[0])),
    ("C_Mbps", 14, lambda r: _mbps(_both_mbps(r)[1])),
    ("BothMbps", 14, lambda r: _mbps(_both_mbps(r)[2])),
    ("S_s", 11, _receiving_s(1)),
    ("C_s", 11, _receiving_s(0)),
    *_PROCESSES,
)
_MESSAGE: Columns = (("#No", 5, _number), ("Message", 10, _size))
_DATAGRAM: Columns = (("#No", 5, _number), ("Datagram", 8, _size))

_TCP_STREAM: Columns = (
    *_MESSAGE,
    ("Iterations", 10, _counter("messages_sent", 0)),
    ("Bytes", 13, _counter("bytes_sent", 0)),
    *_ONE_WAY,
)
_PING_PONG: Columns = (
    *_MESSAGE,
    ("Iterations", 10, _counter("messages_sent", 0)),
    ("Bytes", 13, lambda r: _crossed_bytes(r.client)),
    ("C_Mbps", 14, lambda r: _mbps(_ping_pong_mbps(r)[0])),
    ("S_Mbps", 14, lambda r: _mbps(_ping_pong_mbps(r)[1])),
    ("C_s", 11, lambda r: _seconds(_round_trips_ns(r))),
    ("S_s", 11, lambda r: _seconds(target_elapsed_ns(r.server))),
    *_PROCESSES,
)
_TCP_BOTH: Columns = (
    *_MESSAGE,
    ("Iterations", 10, _counter("messages_sent", 0)),
    ("OutBytes", 13, _counter("bytes_received", 1)),
    ("BackBytes", 13, _counter("bytes_received", 0)),
    *_BOTH_WAYS,
)
_UDP_STREAM: Columns = (
    *_DATAGRAM,
    ("SentDgrams", 11, _counter("messages_sent", 0)),
    ("SentBytes", 13, _counter("bytes_sent", 0)),
    ("RecvDgrams", 11, _counter("messages_received", 1)),
    ("RecvBytes", 13, _counter("bytes_received", 1)),
    ("Lost", 10, _counter("lost", 1)),
    ("Lost%", 8, lambda r: _lost_percent(r.server, r.client)),
    ("Twice", 6, _counter("duplicates", 1)),
    ("Reordered", 9, _counter("reordered", 1)),
    *_ONE_WAY,
)
_UDP_BOTH: Columns = (
    *_DATAGRAM,
    ("C_Sent", 11, _counter("messages_sent", 0)),
    ("S_Recv", 11, _counter("messages_received", 1)),
    ("OutLost%", 8, lambda r: _lost_percent(r.server, r.client)),
    ("S_Sent", 11, _counter("messages_sent", 1)),
    ("C_Recv", 11, _counter("messages_received", 0)),
    ("BackLost%", 9, lambda r: _lost_percent(r.client, r.server)),
    *_BOTH_WAYS,
)
_ROUND_TRIP: Columns = (
    *_MESSAGE,
    ("Iterations", 10, _counter("messages_sent", 0)),
    ("Unanswered", 10, lambda r: r.client.counters.get("unanswered", 0)),
    ("Mean_us", 12, _mean_us),
    ("Median_us", 12, _round_trip_us(0.5)),
    ("Min_us", 12, _round_trip_us(0.0)),
    ("Max_us", 12, _round_trip_us(1.0)),
    ("C_s", 11, lambda r: _seconds(_round_trips_ns(r))),
    *_PROCESSES,
)
_GENERATOR: Columns = (
    *_DATAGRAM,
    ("SentDgrams", 11, _counter("messages_sent", 0)),
    ("SentBytes", 13, _counter("bytes_sent", 0)),
    ("C_Mbps", 14, _generated_mbps),
    ("Dgrams/s", 12, _datagrams_per_s),
    ("C_s", 11, lambda r: _seconds(_generated_ns(r))),
    ("Refused", 9, _counter("refusals", 0)),
    *_CLIENT_PROCESS,
)
