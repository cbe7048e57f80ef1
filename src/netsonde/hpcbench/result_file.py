"""The result file: what was asked for and obtained, then a row for each repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import netsonde
from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.requests import outstanding, run_fields
from netsonde.hpcbench.results import Column, Columns, Repetition, cells_of
from netsonde.hpcbench.table import line

OBTAINED = (
    ("local_address", ""),
    ("send_buffer_bytes", "send buffer"),
    ("receive_buffer_bytes", "receive buffer"),
    ("max_segment_bytes", "segment"),
    ("no_delay", "no delay"),
    ("cork", "cork"),
    ("congestion_control", "congestion control"),
    ("traffic_class", "type of service"),
    ("interface", "interface"),
    ("mpi_library", "MPI"),
    ("mpi_timer", "timer"),
)


@dataclass(frozen=True)
class Setting:
    """What is known when a test begins. ``opened``: what each end obtained, by rank."""

    started: str  # UTC
    command: str
    hosts: tuple[str, str]
    opened: Mapping[int, Mapping[str, Any]]


def heading(settings: Settings, setting: Setting, columns: Columns) -> str:
    """Comment lines, and the names of the columns."""
    lines = [
        f"netsonde hpcbench {settings.program}, version {netsonde.__version__}, {setting.started}",
        f"command: {setting.command}",
        f"test: {describe(settings)}",
        f"hosts: {setting.hosts[0]} (client), {setting.hosts[1]} (server)",
        *asked_lines(settings),
        *obtained_lines(setting.opened),
        *explanations(settings),
    ]
    return "".join(f"# {text}\n" for text in lines) + row_line(
        columns, [name for name, _, _ in columns]
    )


def row(columns: Columns, repetition: Repetition) -> str:
    return row_line(columns, cells_of(columns, repetition))


def row_line(columns: Columns, cells: Sequence[Any]) -> str:
    return line(cells, [_width(column) for column in columns])


def describe(settings: Settings) -> str:
    """The test in a line, as on the screen."""
    protocol = settings.carrier.title
    what = "datagrams" if settings.carrier.counts_datagrams else "messages"
    sizes = (
        f"of 1 to {settings.sizes[-1]} bytes"
        if settings.exponential
        else f"of {settings.sizes[0]} bytes"
    )
    words = {
        "round_trip": f"{protocol} round trips, {what} {sizes}",
        "stream": f"{protocol} stream to the server, {what} {sizes}",
        "both_ways": f"{protocol} both ways at once, {what} {sizes}",
        "ping_pong": f"{protocol} to and fro (ping-pong), {what} {sizes}",
        "generator": f"{protocol} traffic that nobody answers, {what} {sizes}",
    }[settings.mode]
    if not settings.carrier.counts_datagrams:
        words += ", non-blocking" if settings.ready else ", blocking"
    return words + (", by sendfile" if settings.file else "")


def asked_lines(settings: Settings) -> list[str]:
    """What was asked for, whether it was said or is the default."""
    system = "the system's"
    parts = [f"repetitions {settings.repetitions}"]
    if settings.iterations is None:
        parts.append(f"time of each {settings.test_s:g} s")
    else:
        parts.append(f"iterations {settings.iterations}")
    if settings.call_bytes is not None:
        parts.append(f"bytes per call {settings.call_bytes}")
    if settings.carrier.counts_datagrams and settings.mode in (
        "stream",
        "both_ways",
    ):
        parts.append(f"at least {settings.amount_bytes} bytes")
    if settings.rate_bit_per_s is not None:
        parts.append(f"at most {settings.rate_bit_per_s} bit/s")
    elif settings.mode == "generator":
        parts.append("as fast as it goes")
    asked = f"asked for: {', '.join(parts)}"
    if settings.carrier.has_ranks:
        words = [f"MPI {settings.mpi}", "rank 0 is the client, rank 1 the server"]
        if "outstanding" in run_fields(settings, settings.sizes[-1]):
            fewest, most = (outstanding(size) for size in (settings.sizes[-1], settings.sizes[0]))
            number = str(most) if fewest == most else f"{fewest} to {most}"
            words.append(f"messages on their way at once {number}")
        return [asked, f"asked for: {', '.join(words)}"]
    sockets = [
        f"client buffer {settings.buffer_bytes or system}",
        f"server buffer {settings.server_buffer_bytes or system}",
    ]
    if settings.carrier.has_connection:
        sockets.append(f"segment {settings.segment_bytes or system}")
        sockets.append(f"no delay {'on' if settings.no_delay else 'off'}")
        sockets.append(f"cork {'on' if settings.cork else 'off'}")
    sockets.append(f"quality of service {settings.quality or 'unset'}")
    return [asked, f"asked for: {', '.join(sockets)}"]


def obtained_lines(opened: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """What either end really has."""
    return [
        f"{('client', 'server')[rank]} has: "
        + ", ".join(_obtained(name, words, values) for name, words in OBTAINED if name in values)
        for rank, values in sorted(opened.items())
        if rank in (0, 1) and any(name in values for name, _ in OBTAINED)
    ]


def _obtained(name: str, words: str, values: Mapping[str, Any]) -> str:
    value = values[name]
    if name == "local_address":
        return f"{value} port {values.get('local_port', '?')}"
    if isinstance(value, bool):
        return f"{words} {'on' if value else 'off'}"
    return f"{words} {value}"


def explanations(settings: Settings) -> list[str]:
    """What the columns mean, in sentences."""
    rates = "Mbps is 10^6 bit/s of payload; C_ was measured by the client, S_ by the server"
    times = {
        "round_trip": "Mean_us and the others are of round trips, in microseconds, by the client",
        "stream": "C_s: until the server had all (UDP: all was sent); S_s: until the last arrival",
        "ping_pong": "a message crosses twice in an iteration; Bytes counts both",
        "both_ways": "S_Mbps is what came out to the server, C_Mbps what came back to the client",
        "generator": "what left the client; whether it arrived is not known",
    }[settings.mode]
    process = "user and sys: CPU time of the test's own process, in seconds"
    sync = "Sync_us: round trip of the control connection before the test"
    if settings.carrier.has_ranks:
        sync = "Sync_us: round trip of a control message of MPI before the test"
    return [rates, times, process, *([] if settings.mode == "generator" else [sync])]


def _width(column: Column) -> int:
    name, width, _ = column
    return max(width, len(name))
