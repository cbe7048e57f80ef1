"""netperf: its classic tables, and the omni output as CSV (``-o``) or key=value (``-k``)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from netsonde.catalogue.transport import transport_row
from netsonde.peers.data import FileRead, Hints, PointRead
from netsonde.peers.output import (
    COUNT_LIMIT,
    UnreadableOutputError,
    count,
    excerpt,
    number,
    numbered_lines,
    rate,
    size_bytes,
    time_ns,
)
from netsonde.records.data import ImportedFigure

TOOL = "netperf"

_BANNER = re.compile(
    r"^(?:MIGRATED )?(?:(TCP|UDP|OMNI|SCTP) )?"
    r"(REQUEST/RESPONSE|STREAM|SENDFILE|MAERTS|UNIDIRECTIONAL SEND|Send\|Recv|Send|Receive)"
    r" TEST from ",
    re.IGNORECASE,
)
_BURST = re.compile(r"first burst (\d{1,9})")
_KEY = re.compile(r"^([A-Z][A-Z0-9_]{1,60})=(.*)$")

_UNITS_BIT = {
    "10^0bits": 1.0,
    "10^3bits": 1e3,
    "10^6bits": 1e6,
    "10^9bits": 1e9,
    "bytes": 8.0,
    "kbytes": 8.0 * 2**10,
    "mbytes": 8.0 * 2**20,
    "gbytes": 8.0 * 2**30,
}
"""What a unit of throughput stands for, in bits; netperf's bytes are binary multiples."""

_NAMES = {
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Local Send Throughput": "LOCAL_SEND_THROUGHPUT",
    "Local Recv Throughput": "LOCAL_RECV_THROUGHPUT",
    "Remote Send Throughput": "REMOTE_SEND_THROUGHPUT",
    "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Initial Burst Requests": "BURST_SIZE",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Command Line": "COMMAND_LINE",
}
"""Headings of the CSV, and the same as keys."""

_LATENCIES = {
    "P50_LATENCY": "median",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MIN_LATENCY": "min",
    "MAX_LATENCY": "max",
    "MEAN_LATENCY": "mean",
}
_ROUND_TRIPS, _CALLS = "round_trip", "netperf_call"
"""Of a stream, netperf's latencies are those of its send calls; with a burst, of the queue."""
_WAYS = {
    "LOCAL_SEND_THROUGHPUT": "netperf_local_send_bit_per_s",
    "LOCAL_RECV_THROUGHPUT": "netperf_local_receive_bit_per_s",
    "REMOTE_SEND_THROUGHPUT": "netperf_remote_send_bit_per_s",
    "REMOTE_RECV_THROUGHPUT": "netperf_remote_receive_bit_per_s",
}


def looks_like_netperf(text: str) -> bool:
    for line in text[:8192].split("\n"):
        key = _KEY.match(line.strip())
        known = key is not None and key.group(1) in _NAMES.values()
        if _BANNER.match(line.strip()) or known or _is_heading(line.strip()):
            return True
    return False


def read_netperf(text: str, hints: Hints) -> FileRead:
    """One point from the whole file: netperf writes one test."""
    lines = [(place, line) for place, line in numbered_lines(text) if line]
    banner = next((line for _, line in lines if _BANNER.match(line)), "")
    values = _keyed(lines) or _comma_separated(lines)
    if values:
        point = _omni(values, banner, hints)
    elif banner:
        point = _classic(lines, banner)
    else:
        raise UnreadableOutputError(
            f"netperf's result has neither its first line nor names of its values, as without "
            f"-P 0: {excerpt(text)}"
        )
    command = values.get("COMMAND_LINE", "").strip('"')
    return FileRead(TOOL, [point], None, excerpt(command) if command else None)


def _keyed(lines: Sequence[tuple[int, str]]) -> dict[str, str]:
    found = dict[str, str]()
    for place, line in lines:
        key = _KEY.match(line)
        if key is not None:
            if key.group(1) in found:
                raise UnreadableOutputError(
                    f"line {place} of netperf's result has {key.group(1)} a second time; write "
                    "each run into a file of its own"
                )
            found[key.group(1)] = key.group(2).strip()
    return found


def _is_heading(line: str) -> bool:
    cells = [cell.strip() for cell in line.split(",")]
    return sum(cell in _NAMES for cell in cells) * 2 > len(cells)


def _comma_separated(lines: Sequence[tuple[int, str]]) -> dict[str, str]:
    for (_, heading), (place, row) in pairwise(lines):
        if not _is_heading(heading):
            continue
        names = [cell.strip() for cell in heading.split(",")]
        cells = next(csv.reader([row]))
        if len(cells) != len(names):
            raise UnreadableOutputError(
                f"line {place} of netperf's result has {len(cells)} values for {len(names)} names"
            )
        return {_NAMES.get(n, n): cell.strip() for n, cell in zip(names, cells, strict=True)}
    return {}


def _omni(values: Mapping[str, str], banner: str, hints: Hints) -> PointRead:
    transport = _transport(values, banner, hints)
    units = values.get("THROUGHPUT_UNITS", "10^6bits/s")
    named = _BANNER.match(banner)
    test = named.group(2).upper() if named is not None else ""
    if units == "Trans/s" or test == "REQUEST/RESPONSE":
        return _omni_rr(values, banner, transport, hints)
    return _omni_stream(values, units, transport, hints)


def _transport(values: Mapping[str, str], banner: str, hints: Hints) -> str:
    named = _BANNER.match(banner)
    words = (values.get("PROTOCOL"), named.group(1) if named else None, hints.transport)
    found = next((w.lower() for w in words if w and w.upper() in ("TCP", "UDP")), None)
    if found is None:
        raise UnreadableOutputError(
            "netperf's result does not say over which transport it measured; give --transport"
        )
    return found


def _omni_rr(values: Mapping[str, str], banner: str, transport: str, hints: Hints) -> PointRead:
    burst = _burst(values, banner)
    size, assumed = _size(values.get("REQUEST_SIZE"), hints, 1, "request size, netperf's default")
    figures = list[ImportedFigure]()
    if values.get("THROUGHPUT_UNITS") == "Trans/s" and "THROUGHPUT" in values:
        figures.append(_transactions(values["THROUGHPUT"], "THROUGHPUT"))
    elif "TRANSACTION_RATE" in values:
        figures.append(_transactions(values["TRANSACTION_RATE"], "TRANSACTION_RATE"))
    figures += _latencies(values, _CALLS if burst else _ROUND_TRIPS)
    if "RT_LATENCY" in values:
        latency = time_ns(values["RT_LATENCY"], "RT_LATENCY", 1e3)
        figures.append(ImportedFigure("netperf_round_trip_mean_ns", latency))
    parameters: dict[str, Any] = {**assumed, **_elapsed(values)}
    if burst:
        parameters["burst"] = burst
    response = values.get("RESPONSE_SIZE")
    if response and size_bytes(response, "RESPONSE_SIZE") != size:
        parameters["response_bytes"] = size_bytes(response, "RESPONSE_SIZE")
    return _point(transport, "latency", size, [*figures, *_common(values)], parameters)


def _omni_stream(values: Mapping[str, str], units: str, transport: str, hints: Hints) -> PointRead:
    unit_bit = _unit_bit(units)
    figures = list[ImportedFigure]()
    if "THROUGHPUT" in values:
        name = (
            "throughput_bit_per_s"
            if transport_row(transport).has_connection
            else "netperf_throughput_bit_per_s"
        )
        figures.append(ImportedFigure(name, rate(values["THROUGHPUT"], "THROUGHPUT", unit_bit)))
    figures += [
        ImportedFigure(name, rate(values[key], key, unit_bit))
        for key, name in _WAYS.items()
        if key in values
    ]
    if transport_row(transport).counts_datagrams and "REMOTE_RECV_THROUGHPUT" in values:
        arrived = rate(values["REMOTE_RECV_THROUGHPUT"], "REMOTE_RECV_THROUGHPUT", unit_bit)
        figures.insert(0, ImportedFigure("throughput_bit_per_s", arrived))
    figures += _latencies(values, _CALLS)
    size, assumed = _size(values.get("LOCAL_SEND_SIZE"), hints, 16384, "send size, Linux's default")
    return _point(
        transport, "stream", size, [*figures, *_common(values)], {**assumed, **_elapsed(values)}
    )


def _point(
    transport: str,
    test: str,
    size: int,
    figures: Sequence[ImportedFigure],
    parameters: dict[str, Any],
) -> PointRead:
    if not figures:
        raise UnreadableOutputError("netperf's result holds none of the values that are read")
    return PointRead(transport, test, size, tuple(figures), parameters=parameters)


def _unit_bit(units: str) -> float:
    """``10^6bits/s``, ``MBytes/s``, and as the classic table writes them."""
    plain = units.lower().replace(" ", "").removesuffix("/sec").removesuffix("/s")
    if plain not in _UNITS_BIT:
        raise UnreadableOutputError(f"netperf's unit of throughput is {excerpt(units)!r}")
    return _UNITS_BIT[plain]


def _burst(values: Mapping[str, str], banner: str) -> int:
    """How many further requests were on their way at once."""
    named = _BURST.search(banner)
    if "BURST_SIZE" in values:
        return int(number(values["BURST_SIZE"], "BURST_SIZE", 1e9))
    return int(named.group(1)) if named else 0


def _size(value: str | None, hints: Hints, default: int, words: str) -> tuple[int, dict[str, str]]:
    if value is not None and value not in ("-1", ""):
        return size_bytes(value, "message size"), {}
    if hints.message_bytes is not None:
        return hints.message_bytes, {}
    return default, {"assumed": f"the {words}"}


def _elapsed(values: Mapping[str, str]) -> dict[str, int]:
    if "ELAPSED_TIME" not in values:
        return {}
    return {"duration_ns": int(time_ns(values["ELAPSED_TIME"], "ELAPSED_TIME", 1e9))}


def _transactions(value: str, what: str) -> ImportedFigure:
    return ImportedFigure("netperf_transactions_per_s", number(value, what, COUNT_LIMIT))


def _latencies(values: Mapping[str, str], what: str) -> Iterator[ImportedFigure]:
    """netperf writes -1 for what it did not count."""
    names = {key: f"{what}_{which}_ns" for key, which in _LATENCIES.items()}
    for key, name in {**names, "STDDEV_LATENCY": "netperf_deviation_ns"}.items():
        if key in values and not values[key].startswith("-1"):
            yield ImportedFigure(name, time_ns(values[key], key, 1e3))


def _common(values: Mapping[str, str]) -> Iterator[ImportedFigure]:
    for key, end in (("LOCAL_CPU_UTIL", "local"), ("REMOTE_CPU_UTIL", "remote")):
        if key in values and not values[key].startswith("-1"):
            share = number(values[key], key, 1e4) / 100.0
            yield ImportedFigure(f"netperf_cpu_{end}_ratio", share)
    again = values.get("LOCAL_TRANSPORT_RETRANS", "-1")
    if not again.startswith("-1"):
        segments = count(again, "LOCAL_TRANSPORT_RETRANS")
        yield ImportedFigure("retransmitted_segments", segments)


def _classic(lines: Sequence[tuple[int, str]], banner: str) -> PointRead:
    """The tables of TCP_STREAM and its kin, UDP_STREAM, and the _RR tests."""
    named = _BANNER.match(banner)
    kind = named.group(2).upper() if named else ""
    transport = (named.group(1) or "TCP").upper() if named else ""
    if transport not in ("TCP", "UDP"):
        raise UnreadableOutputError(f"netperf measured {transport or banner}; TCP and UDP are read")
    units = next((m.group(1) for _, line in lines if (m := _UNIT_WORDS.search(line))), None)
    rows = [(place, words) for place, line in lines if (words := _numbers(line)) is not None]
    if kind == "REQUEST/RESPONSE":
        return _classic_rr(rows, transport.lower(), _burst({}, banner))
    if units is None:
        raise UnreadableOutputError("netperf's table has no unit of throughput above its numbers")
    unit_bit = _unit_bit(units)
    if kind == "UNIDIRECTIONAL SEND" or transport == "UDP":
        return _classic_udp(rows, unit_bit)
    place, row = _first_row(rows, 5)
    where = f"line {place} of netperf's table"
    figure = ImportedFigure("throughput_bit_per_s", rate(row[4], f"{where}, throughput", unit_bit))
    elapsed_ns = int(time_ns(row[3], f"{where}, elapsed time", 1e9))
    return PointRead(
        "tcp",
        "stream",
        size_bytes(row[2], f"{where}, message size"),
        (figure,),
        parameters={"duration_ns": elapsed_ns},
        reverse=kind == "MAERTS",
    )


_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,9})?")
_UNIT_WORDS = re.compile(r"\b(10\^[0369]bits|[KMG]?Bytes\s*)/s(?:ec)?\b", re.IGNORECASE)


def _numbers(line: str) -> list[str] | None:
    words = line.split()
    return words if words and all(_NUMBER.fullmatch(word) for word in words) else None


def _first_row(rows: Sequence[tuple[int, list[str]]], least: int) -> tuple[int, list[str]]:
    for place, row in rows:
        if len(row) >= least:
            return place, row
    raise UnreadableOutputError(
        f"netperf's table breaks off: no line of {least} numbers or more beneath its heading"
    )


def _classic_rr(rows: Sequence[tuple[int, list[str]]], transport: str, burst: int) -> PointRead:
    place, row = _first_row(rows, 6)
    where = f"line {place} of netperf's table"
    request, response = (size_bytes(row[i], f"{where}, size") for i in (2, 3))
    transactions = _transactions(row[5], f"{where}, transactions")
    parameters: dict[str, Any] = {
        "duration_ns": int(time_ns(row[4], f"{where}, elapsed time", 1e9))
    }
    figures = [transactions]
    if burst:
        parameters["burst"] = burst
    elif transactions.value > 0:
        figures.append(ImportedFigure("netperf_round_trip_mean_ns", 1e9 / transactions.value))
    if response != request:
        parameters["response_bytes"] = response
    return PointRead(transport, "latency", request, tuple(figures), parameters=parameters)


def _classic_udp(rows: Sequence[tuple[int, list[str]]], unit_bit: float) -> PointRead:
    """Two lines: what was sent, and what arrived."""
    place, sent = _first_row(rows, 6)
    where = f"line {place} of netperf's table"
    after = [(p, row) for p, row in rows if p > place and len(row) >= 4]
    if not after:
        raise UnreadableOutputError("netperf's table breaks off: no line of what arrived")
    below = f"line {after[0][0]} of netperf's table"
    arrived = after[0][1]
    messages = count(sent[3], f"{where}, messages")
    received = count(arrived[2], f"{below}, messages")
    figures = [
        ImportedFigure("throughput_bit_per_s", rate(arrived[3], f"{below}, throughput", unit_bit)),
        ImportedFigure("netperf_sender_bit_per_s", rate(sent[5], f"{where}, throughput", unit_bit)),
    ]
    if 0 < messages >= received:
        lost = 1.0 - received / messages
        figures.append(ImportedFigure("lost_ratio", lost, int(messages)))
    return PointRead(
        "udp",
        "stream",
        size_bytes(sent[1], f"{where}, message size"),
        tuple(figures),
        parameters={"duration_ns": int(time_ns(sent[2], f"{where}, elapsed time", 1e9))},
    )
