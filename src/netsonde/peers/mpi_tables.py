"""The tables of the OSU Micro-Benchmarks and the Intel MPI Benchmarks.

Both print means over a loop, one way for point-to-point and over ranks for collectives, so that
hardly a figure means what netsonde's do: they keep their own names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

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

OSU, IMB = "osu", "imb"
OPERATIONS = {
    "barrier": "barrier",
    "broadcast": "bcast",
    "bcast": "bcast",
    "allreduce": "allreduce",
    "all-to-all personalized exchange": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
    "all-to-allw personalized exchange": "alltoallw",
    "alltoall": "alltoall",
}
"""The names that netsonde has for operations; others keep theirs."""
_WAYS = {
    "win_flush": "flush",
    "win_fence": "fence",
    "win_lock/unlock": "lock",
    "win_post/start/complete/wait": "pscw",
}
"""netsonde's words for how a one-sided operation is completed."""

_OSU_TITLE = re.compile(
    r"^# OSU (MPI_\w+|MPI(?:-\S+)?|\S+) (.{1,60}?)(?: Test)?(?: v(\d[\w.]{0,20}))?$"
)
_OSU_WAY = re.compile(r"^# Synchronization: (?:MPI_)?(\S{1,60})$")
_OSU_PAIRS = re.compile(r"^# \[ pairs: (\d{1,9}) \](?: \[ window size: (\d{1,9}) \])?")
_OSU_ROW = re.compile(r"^[\d.]+(?:\s+(?:[\d.eE+-]+|Pass|Fail))*$")
_OSU_TAIL = re.compile(r"^p(\d{1,2}(?:\.\d{1,4})?) tail lat$")
_OSU_HEADING = re.compile(r"\(us\)|MB/s")
_ROW = re.compile(r"^[\d.\seE+-]+$")
_IMB_TITLE = re.compile(r"^# Benchmarking (\S{1,40})")
_IMB_VERSION = re.compile(r"^#\s+Intel\(R\) MPI Benchmarks (\S{1,30}?),")
_IMB_SIGN = re.compile(r"(?m)^#\s+(Benchmarking \S|Intel\(R\) MPI Benchmarks)")
_IMB_RANKS = re.compile(r"^# #processes = (\d{1,9})")
_IMB_GROUPS = re.compile(r"^# \( (\d{1,9}) groups of (\d{1,9}) processes each")
_IMB_MODE = re.compile(r"^#\s+MODE: (\S{1,40})")
MEGA_BIT = 8e6
"""MB/s of OSU are of 10^6 bytes. Those of IMB are of 2^20 or 10^6 by version, and are not read."""


def looks_like_osu(text: str) -> bool:
    return re.search(r"(?m)^# OSU ", text[:8192]) is not None


def looks_like_imb(text: str) -> bool:
    return _IMB_SIGN.search(text[:8192]) is not None


@dataclass
class _Table:
    """The table that is being read."""

    title: str
    columns: tuple[str, ...] = ()
    access: str | None = None  # of one-sided operations of OSU: put, get and others
    said: dict[str, Any] = field(default_factory=dict)  # above it: how many ranks, which mode

    def cells(self, line: str, place: str) -> list[tuple[str, str]]:
        """What a line of numbers has in each column."""
        words = line.split()
        if len(words) != len(self.columns):
            raise UnreadableOutputError(
                f"{place} has {len(words)} numbers for {len(self.columns)} columns: "
                f"{excerpt(self.title)}"
            )
        return list(zip(self.columns, words, strict=True))


def read_osu(text: str, hints: Hints) -> FileRead:  # noqa: ARG001
    """Every table of a file."""
    points: list[PointRead] = []
    version: str | None = None
    table: _Table | None = None
    for place, line in numbered_lines(text):
        title = _OSU_TITLE.match(line)
        if title:
            table, version = _osu_table(title), title.group(3) or version
        elif table is not None and (found := _OSU_WAY.match(line)):
            table.said["synchronization"] = found.group(1).lower()
        elif table is not None and (found := _OSU_PAIRS.match(line)):
            table.said["pairs"] = int(found.group(1))
            if found.group(2):
                table.said["window"] = int(found.group(2))
        elif line.startswith("#") and table is not None and _OSU_HEADING.search(line):
            table.columns = _osu_columns(line)
        elif line and _OSU_ROW.match(line) and table is not None:
            where = f"line {place} of OSU's table"
            _add(points, _osu_point(table, line, where), where)
    return FileRead(OSU, _some(points, OSU, text), version)


def _osu_table(title: re.Match[str]) -> _Table:
    """``MPI_Put Latency`` is of a one-sided operation, ``MPI Latency`` of messages."""
    first, rest = title.group(1), title.group(2)
    if not first.startswith("MPI_"):
        return _Table(rest)
    access = first.removeprefix("MPI_").partition("-")[0].lower()  # -CUDA and others behind it
    return _Table(f"{first} {rest}", access=access)


def _osu_columns(heading: str) -> tuple[str, ...]:
    """``# Size  Avg Latency(us)  Min Latency(us)`` as words between two spaces or a unit's end."""
    plain = re.sub(r"\s+\((us|MB/s)\)", r"(\1)", heading.lstrip("# "))
    return tuple(part.strip() for part in re.split(r"\s{2,}", plain.strip()))


_OSU_TIMES = {
    "latency": "mean",
    "avg latency": "mean",
    "min latency": "min",
    "max latency": "max",
    "pure comm.": "pure",
    "min comm.": "pure_min",
    "max comm.": "pure_max",
}


def _osu_point(table: _Table, line: str, place: str) -> PointRead:
    cells = table.cells(line, place)
    size = 0
    if cells[0][0].lower() == "size":
        size = size_bytes(cells.pop(0)[1], f"{place}, size")
    test, operation = _kind(table)
    prefix = "osu_completion" if operation and not table.access else "osu_one_way"
    prefix = "osu_access" if table.access else prefix
    samples = next((int(count(w, place)) for n, w in cells if n.lower() == "iterations"), 1)
    parameters = {"benchmark": table.title, **table.said}
    figures = list[ImportedFigure]()
    for name, word in cells:
        if name.lower() == "validation":
            parameters["validation"] = word.lower()
        elif (figure := _osu_figure(prefix, name, word, samples, place)) is not None:
            figures.append(figure)
    return PointRead("mpi", test, size, tuple(figures), operation, parameters)


def _osu_figure(
    prefix: str, name: str, word: str, samples: int, place: str
) -> ImportedFigure | None:
    plain, _, unit = name.lower().partition("(")
    plain, unit = plain.strip(), unit.rstrip(")")
    if unit == "us":
        value = time_ns(word, f"{place}, {name}", 1e3)
        return ImportedFigure(f"{prefix}_{_osu_time(plain)}_ns", value, samples)
    if unit == "%":
        ratio = number(word, f"{place}, {name}", 100.0) / 100
        return ImportedFigure("osu_overlap_ratio", ratio, samples)
    if "mb/s" in (unit, plain):
        value = number(word, f"{place}, {name}", RATE_LIMIT_BIT_PER_S / MEGA_BIT) * MEGA_BIT
        return ImportedFigure("osu_bandwidth_bit_per_s", value, samples)
    if "messages/s" in (unit, plain):
        rate = number(word, f"{place}, {name}", 1e15)
        return ImportedFigure("osu_messages_per_s", rate, samples)
    return None


def _osu_time(plain: str) -> str:
    if tail := _OSU_TAIL.match(plain):
        order = tail.group(1).replace(".", "")
        return "median" if order == "50" else f"p{order}"
    return _OSU_TIMES.get(plain, re.sub(r"[^a-z0-9]+", "_", plain).strip("_"))


def _kind(table: _Table) -> tuple[str, str | None]:
    """(test, operation) of a benchmark."""
    if table.access is not None:
        way = str(table.said.get("synchronization", "")).removeprefix("mpi_")
        known = _WAYS.get(way, re.sub(r"[^a-z0-9]+", "_", way).strip("_"))
        return "collective", f"{table.access}_{known}" if known else table.access
    plain = table.title.lower().removesuffix(" test").removesuffix(" latency")
    if "bandwidth" in plain or "bidirectional" in plain:
        both = "bi-directional" in plain or "bidirectional" in plain
        return ("duplex" if both else "stream"), None
    if plain in ("", "latency", "multi latency", "multi-threaded", "multi-process", "multi"):
        return "latency", None
    return "collective", _operation(plain)


def _operation(plain: str) -> str:
    """``non-blocking allreduce`` is iallreduce, ``persistent`` allreduce_init."""
    for word, before, behind in (
        ("non-blocking ", "i", ""),
        ("persistent ", "", "_init"),
        ("neighborhood ", "neighbor_", ""),
    ):
        if plain.startswith(word):
            return f"{before}{_operation(plain.removeprefix(word))}{behind}"
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    return OPERATIONS.get(plain, name or "other")


def read_imb(text: str, hints: Hints) -> FileRead:  # noqa: ARG001
    """Every table of a file."""
    points: list[PointRead] = []
    version = command = None
    expects_command = False
    table: _Table | None = None
    for place, line in numbered_lines(text):
        if found := _IMB_VERSION.match(line):
            version = found.group(1)
        elif "Calling sequence was" in line:
            expects_command = True
        elif expects_command and line.lstrip("# "):
            command, expects_command = excerpt(line.lstrip("# ")), False
        elif found := _IMB_TITLE.match(line):
            table = _Table(found.group(1))
        elif table is not None and (found := _IMB_RANKS.match(line)):
            table.said["ranks"] = int(found.group(1))
        elif table is not None and (found := _IMB_GROUPS.match(line)):
            table.said["groups"] = int(found.group(1))
            table.said["ranks"] = int(found.group(2))
        elif table is not None and (found := _IMB_MODE.match(line)):
            table.said["mode"] = found.group(1).lower()
        elif table is not None and "#repetitions" in line:
            table.columns = tuple(line.split())
        elif line and _ROW.match(line) and table is not None:
            where = f"line {place} of IMB's table"
            _add(points, _imb_point(table, line, where), where)
    return FileRead(IMB, _some(points, IMB, text), version, command)


_IMB_ONE_WAY = ("PingPong", "PingPing", "PingPongSpecificSource", "PingPingSpecificSource")
_IMB_TIMES = {
    "t[usec]": "mean",
    "t_min[usec]": "min",
    "t_max[usec]": "max",
    "t_avg[usec]": "mean",
    "t_ovrl[usec]": "overlapped",
    "t_pure[usec]": "pure",
    "t_CPU[usec]": "computation",
}


def _imb_point(table: _Table, line: str, place: str) -> PointRead:
    cells = dict(table.cells(line, place))
    size = size_bytes(cells.get("#bytes", "0"), f"{place}, #bytes")
    samples = int(count(cells.get("#repetitions", "1"), f"{place}, #repetitions"))
    one_way = table.title.removeprefix("Multi-") in _IMB_ONE_WAY
    prefix = "imb_one_way" if one_way else "imb_rank"
    figures = [
        ImportedFigure(f"{prefix}_{name}_ns", time_ns(cells[key], f"{place}, {key}", 1e3), samples)
        for key, name in _IMB_TIMES.items()
        if key in cells
    ]
    if "overlap[%]" in cells:
        ratio = number(cells["overlap[%]"], f"{place}, overlap[%]", 100.0) / 100
        figures.append(ImportedFigure("imb_overlap_ratio", ratio, samples))
    if "Msg/sec" in cells:
        rate = number(cells["Msg/sec"], f"{place}, Msg/sec", 1e15)
        figures.append(ImportedFigure("imb_messages_per_s", rate, samples))
    parameters: dict[str, Any] = {"benchmark": table.title, **table.said}
    if "Group" in cells:
        parameters["group"] = int(count(cells["Group"], f"{place}, Group"))
    if "defects" in cells:
        parameters["defects"] = number(cells["defects"], f"{place}, defects", 1e15)
    if one_way:
        return PointRead("mpi", "latency", size, tuple(figures), None, parameters)
    plain = table.title.lower()
    operation = OPERATIONS.get(plain, re.sub(r"[^a-z0-9]+", "_", plain))
    return PointRead("mpi", "collective", size, tuple(figures), operation, parameters)


def _add(points: list[PointRead], point: PointRead, place: str) -> None:
    if not point.figures:
        raise UnreadableOutputError(f"{place} has none of the columns that are read")
    points.append(point)
    if len(points) > POINTS_LIMIT:
        raise UnreadableOutputError(f"more than {POINTS_LIMIT} lines of numbers; split the file")


def _some(points: list[PointRead], tool: str, text: str) -> list[PointRead]:
    if not points:
        raise UnreadableOutputError(f"no table of {tool.upper()} with numbers: {excerpt(text)}")
    return points
