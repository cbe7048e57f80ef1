"""The lines that sysmon writes, and reads again for a summary.

The overall log has, for each sample, a line of the system, one of each CPU, one of each
interface and one of each queue of an interface that has several; the third word says which. The log
of one interface has one line for each sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from netsonde.errors import UsageError
from netsonde.hpcbench.syslog import (
    INTERFACE_COLUMNS,
    SHARE_COLUMNS,
    SYSTEM_COLUMNS,
    interface_cells,
    share_cells,
    system_cells,
)
from netsonde.hpcbench.system import ALL, SystemRow
from netsonde.hpcbench.table import Cell, cell_text, line

MEMORY_FULL_PERCENT = 95.0
Way = Literal["received", "sent"]
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
EACH_COLUMNS = (*("#No", "Time", "Window_s"), *SYSTEM_COLUMNS, *INTERFACE_COLUMNS, "IfIntr")
_EACH_WIDTHS = (5, 20, 10, 6, 6, 6, 6, 9, 8, 8, 7, 7, 9, 10, 13, 10, 13, 9)
_SCREEN_WIDTHS = (4, 5, 5, 5, 5, 8, 8, 10, 10, 10)
SCREEN_COLUMNS = (
    *("No", "Load%", "User%", "Sys%", "Mem%", "Intr/s", "Ctx/s"),
    *("Interface", "Recv Mbps", "Sent Mbps"),
)


@dataclass(frozen=True)
class Sample:
    """One period: its number, when it ended (UTC), and what happened in it."""

    number: int
    ended: datetime
    row: SystemRow


@dataclass(frozen=True)
class TrafficSample:
    """What a summary needs of a sample, of one interface."""

    number: int
    ended: datetime
    window_s: float
    load_percent: float
    memory_percent: float
    swapped_pages: float
    received_bytes: float
    sent_bytes: float

    def moved_bytes(self, way: Way) -> float:
        return self.received_bytes if way == "received" else self.sent_bytes

    def kbit_per_s(self, way: Way) -> float:
        return self.moved_bytes(way) * 8e-3 / self.window_s

    @property
    def swaps_with_full_memory(self) -> bool:
        return self.memory_percent > MEMORY_FULL_PERCENT and self.swapped_pages > 0


def log_heading(host: str, begun: datetime, interval_s: float, interfaces: Sequence[str]) -> str:
    """Comment lines of the overall log."""
    lines = [
        f"sysmon log of {host}, begun {begun.strftime(TIME_FORMAT)}, by netsonde hpcbench",
        f"a sample every {interval_s:g} s; interfaces: {' '.join(interfaces)}",
        "numbers are of the Window_s seconds before Time (UTC); pages in and out are KiB",
        f"No Time system all Window_s {' '.join(SYSTEM_COLUMNS)}",
        f"No Time cpu N Window_s {' '.join(SHARE_COLUMNS)}",
        f"No Time net INTERFACE Window_s {' '.join(INTERFACE_COLUMNS)} IfIntr",
        "No Time queue INTERFACE Window_s NAME Intr: where it has several; IfIntr is their sum",
    ]
    return "".join(f"# {text}\n" for text in lines)


def each_heading(host: str, begun: datetime, interface: str) -> str:
    """The lines above those of one interface's log."""
    text = f"# sysmon log of {host}, {interface}, begun {begun.strftime(TIME_FORMAT)}\n"
    return text + line(EACH_COLUMNS, _EACH_WIDTHS)


def log_lines(sample: Sample, interfaces: Sequence[str]) -> str:
    """The lines of a sample in the overall log."""
    row = sample.row
    window = f"{row.window_s:.3f}"
    lines: list[list[Cell]] = [["system", ALL, window, *system_cells(row)]]
    lines += [
        ["cpu", name, window, *share_cells(shares)]
        for name, shares in row.processors.items()
        if name != ALL
    ]
    for name in interfaces:
        lines.append(["net", name, window, *_interface(row, name)])
        lines += [["queue", name, window, *cells] for cells in queue_cells(row, name)]
    before = f"{sample.number} {sample.ended.strftime(TIME_FORMAT)} "
    return "".join(before + " ".join(cell_text(cell) for cell in cells) + "\n" for cells in lines)


def each_line(sample: Sample, interface: str) -> str:
    """The line of a sample in the log of one interface."""
    row = sample.row
    cells: list[Cell] = [
        sample.number,
        sample.ended.strftime(TIME_FORMAT),
        f"{row.window_s:.3f}",
        *system_cells(row),
        *_interface(row, interface),
    ]
    return line(cells, _EACH_WIDTHS)


def ending_line(ended: datetime, samples: int, reason: str) -> str:
    return f"# ended {ended.strftime(TIME_FORMAT)} after {samples} samples: {reason}\n"


SCREEN_UNITS = "# Mbps: 10^6 bit/s, as this host's interfaces count frames with headers"


def screen_heading() -> str:
    return line(SCREEN_COLUMNS, _SCREEN_WIDTHS)


def screen_lines(sample: Sample, interfaces: Sequence[str]) -> str:
    """A line for each interface; the system stands in the first only."""
    row = sample.row
    window_s = max(row.window_s, 1e-9)
    cells = system_cells(row)
    system: list[Cell] = [
        sample.number,
        *cells[:4],
        None if row.interrupts is None else f"{row.interrupts / window_s:.0f}",
        None if row.context_switches is None else f"{row.context_switches / window_s:.0f}",
    ]
    lines = []
    for interface in interfaces:
        counts = row.interfaces.get(interface)
        rates: list[Cell] = [None, None]
        if counts is not None:
            rates = [
                f"{moved * 8e-6 / window_s:.3f}"
                for moved in (counts.received_bytes, counts.sent_bytes)
            ]
        lines.append(line([*system, interface[:10], *rates], _SCREEN_WIDTHS))
        system = [""] * len(system)
    return "".join(lines)


def _interface(row: SystemRow, interface: str) -> list[Cell]:
    counts = row.interfaces.get(interface)
    return [*interface_cells(counts), None if counts is None else counts.all_interrupts]


def queue_cells(row: SystemRow, interface: str) -> list[list[Cell]]:
    """Name and interrupts of each queue; none of an interface that has only one."""
    counts = row.interfaces.get(interface)
    if counts is None or len(counts.queues) < 2:
        return []
    return [[name, count] for name, count in counts.queues.items()]


class LogReader:
    """Reads an overall log line by line; add() returns the traffic of an interface's line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = 0
        self._system: dict[str, float] = {}
        self.host: str | None = None

    def add(self, text: str) -> tuple[str, TrafficSample] | None:
        """Raises UsageError where a line is none of sysmon's."""
        self._lines += 1
        words = text.split()
        if text.startswith("#"):
            if self.host is None and words[1:4] == ["sysmon", "log", "of"] and len(words) > 4:
                self.host = words[4].rstrip(",")
            return None
        if not words:
            return None
        try:
            return self._sample(words)
        except (ValueError, KeyError) as error:
            raise UsageError(
                f"{self._name}: line {self._lines} is not one of sysmon's overall log"
            ) from error

    def _sample(self, words: Sequence[str]) -> tuple[str, TrafficSample] | None:
        number, ended, kind, name, window, *values = words
        ended_at = datetime.strptime(ended, TIME_FORMAT).replace(tzinfo=UTC)
        if kind in ("cpu", "queue"):
            return None
        columns = SYSTEM_COLUMNS if kind == "system" else (*INTERFACE_COLUMNS, "IfIntr")
        if kind not in ("system", "net"):
            raise ValueError(f"kind {kind}")
        numbers = dict(zip(columns, map(float, values), strict=True))
        if kind == "system":
            self._system = numbers
            return None
        system = self._system
        return name, TrafficSample(
            int(number),
            ended_at,
            float(window),
            system["Load%"],
            system["Mem%"],
            system["SwapIn"] + system["SwapOut"],
            numbers["RecvByte"],
            numbers["SentByte"],
        )
