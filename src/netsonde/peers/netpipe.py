"""NetPIPE: its result file (``np.out``) of versions 3 and 5, and what version 3 writes before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netsonde.peers.data import FileRead, Hints, PointRead
from netsonde.peers.output import (
    POINTS_LIMIT,
    RATE_LIMIT_BIT_PER_S,
    UnreadableOutputError,
    count,
    excerpt,
    number,
    numbered_lines,
    size_bytes,
    time_ns,
)
from netsonde.records.data import ImportedFigure

TOOL = "netpipe"
MEBI = 1 << 20
"""What version 3 counts as a megabit."""
AGREEMENT = 0.02
"""How far a line's rate may be from its size over its time; both are rounded. What differs more is
another tool's file, or a stream (``-s``) or both ways at once (``-2``), whose sums are others."""
ROUNDED_RATE = 6e-4
ROUNDED_TIME_NS = 6.0


@dataclass(frozen=True)
class NetpipeSize:
    """One message size of NetPIPE: the best of three trials, each the mean of ``repeats``.

    one_way_ns is half a round trip.
    """

    message_bytes: int
    repeats: int
    one_way_ns: float


_LINE = re.compile(
    r"^\s*\d{1,9}:\s+(\d{1,15}) bytes\s+(\d{1,15}) times -->\s+([\d.]{1,30}) Mbps in"
    r"\s+([\d.]{1,30}) usec"
)


def looks_like_netpipe(text: str) -> bool:
    lines = [line for _, line in zip(range(50), text[:8192].split("\n"), strict=False)]
    if any(_LINE.match(line) for line in lines):
        return True
    words = next((line.split() for line in lines if line.strip()), [])
    return len(words) in (3, 4, 5) and all(re.fullmatch(r"\d+(\.\d+)?", w) for w in words)


def parse_netpipe(text: str) -> list[NetpipeSize]:
    """What version 3 writes while it measures, one entry per message size.

    The time is read and not the Mbps, which NetPIPE counts as 2**20 bits.
    """
    sizes = [
        NetpipeSize(
            size_bytes(found.group(1), f"line {place}, bytes"),
            int(count(found.group(2), f"line {place}, times")),
            time_ns(found.group(4), f"line {place}, usec", 1e3),
        )
        for place, line in numbered_lines(text)
        if (found := _LINE.match(line)) is not None
    ]
    if not sizes:
        raise UnreadableOutputError(f"NPtcp wrote no result: {excerpt(text)}")
    return sizes


def read_netpipe(text: str, hints: Hints) -> FileRead:
    """A point for each message size. The file does not say over what: TCP unless the user does."""
    transport = hints.transport or "tcp"
    assumed = {} if hints.transport else {"assumed": "the transport, NPtcp's"}
    if any(_LINE.match(line) for line in text[:8192].split("\n")):
        sizes = parse_netpipe(text)
        rows = [(s.message_bytes, list(_best(s.message_bytes, s.one_way_ns))) for s in sizes]
        version = "3"
    else:
        rows, version = _file_rows(text)
    points = [
        PointRead(transport, "pingpong", size, tuple(figures), parameters=dict(assumed))
        for size, figures in rows
    ]
    return FileRead(TOOL, points, version)


def _file_rows(text: str) -> tuple[list[tuple[int, list[ImportedFigure]]], str]:
    """(message bytes, figures) of each line, and the version that writes so many columns."""
    rows: list[tuple[int, list[ImportedFigure]]] = []
    columns = 0
    ended = text.endswith("\n")
    for place, line in numbered_lines(text):
        words = line.split()
        if not words:
            continue
        columns = columns or len(words)
        if len(words) != columns or columns not in (3, 5) or len(rows) == POINTS_LIMIT:
            raise UnreadableOutputError(
                f"line {place} of NetPIPE's file is {excerpt(line)!r}; expected 3 columns (version "
                f"3) or 5 (version 5) throughout, in at most {POINTS_LIMIT} lines"
            )
        read = _version_3 if columns == 3 else _version_5
        rows.append(read(words, f"line {place} of NetPIPE's file"))
    if not rows or not ended:
        raise UnreadableOutputError("NetPIPE's file breaks off before the end of its last line")
    return rows, "3" if columns == 3 else "5"


def _version_3(words: Sequence[str], place: str) -> tuple[int, list[ImportedFigure]]:
    """bytes, Mbit/s of 2**20, seconds one way."""
    size = size_bytes(words[0], f"{place}, bytes")
    rate = number(words[1], f"{place}, Mbps", RATE_LIMIT_BIT_PER_S / MEBI) * MEBI
    one_way = time_ns(words[2], f"{place}, seconds", 1e9)
    _must_agree(size, rate, one_way, place)
    return size, list(_best(size, one_way))


def _version_5(words: Sequence[str], place: str) -> tuple[int, list[ImportedFigure]]:
    """bytes, Gbit/s of the mean, of the slowest and of the fastest trial, microseconds of the mean;
    all one way."""
    size = size_bytes(words[0], f"{place}, bytes")
    mean, slowest, fastest = (
        number(w, f"{place}, Gbps", RATE_LIMIT_BIT_PER_S / 1e9) * 1e9 for w in words[1:4]
    )
    one_way = time_ns(words[4], f"{place}, usec", 1e3)
    _must_agree(size, mean, one_way, place)
    return size, [
        ImportedFigure("netpipe_one_way_mean_ns", one_way),
        ImportedFigure("netpipe_mean_bit_per_s", mean),
        ImportedFigure("netpipe_slowest_trial_bit_per_s", slowest),
        ImportedFigure("netpipe_fastest_trial_bit_per_s", fastest),
    ]


def _best(size: int, one_way_ns: float) -> Iterator[ImportedFigure]:
    yield ImportedFigure("netpipe_one_way_best_ns", one_way_ns)
    if one_way_ns > 0:
        yield ImportedFigure("netpipe_best_bit_per_s", size * 8e9 / one_way_ns)


def _must_agree(size: int, rate_bit_per_s: float, one_way_ns: float, place: str) -> None:
    bits = rate_bit_per_s * one_way_ns / 1e9
    rounding = ROUNDED_RATE * 1e9 * one_way_ns / 1e9 + ROUNDED_TIME_NS * rate_bit_per_s / 1e9
    if abs(bits - 8 * size) > AGREEMENT * 8 * size + rounding:
        raise UnreadableOutputError(
            f"{place} has {size} bytes, {rate_bit_per_s:.4g} bit/s and {one_way_ns:.4g} ns, which "
            "do not go together; a ping-pong in one direction is read, not -s or -2"
        )
