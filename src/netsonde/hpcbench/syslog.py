"""The text of ``.c_log`` and ``.s_log``: a table for each interface, one for each CPU, and
one of the queues of each interface that has several.

Tables are two empty lines apart, so that gnuplot finds each with ``index``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netsonde.hpcbench.system import ALL, InterfaceCounts, ProcessorShares, SystemRow
from netsonde.hpcbench.table import Cell, table

SYSTEM_COLUMNS = (
    *("Load%", "User%", "Sys%", "Mem%", "Intr", "PageIn", "PageOut", "SwapIn", "SwapOut", "Ctx"),
)
INTERFACE_COLUMNS = {
    "RecvPkg": "received_packets",
    "RecvByte": "received_bytes",
    "SentPkg": "sent_packets",
    "SentByte": "sent_bytes",
}
SHARE_COLUMNS = {"Load%": "load", "User%": "user", "Sys%": "system", "Idle%": "idle"}
EXTRA_SHARES = {"Irq%": "interrupts", "Wait%": "wait", "Stolen%": "stolen"}
"""Headings, and what they stand above of an interface's counts or a CPU's shares."""


BUSY_PROCESSORS = 0.1
"""CPUs: a host that uses more of one while nothing is measured is called busy, as a run's
findings have it (idle-hosts)."""
BUSY_LEAST_S = 0.05
"""And so much time in all: the kernel counts in steps of 4 or 10 ms."""


@dataclass(frozen=True)
class LogHead:
    """What a log says of itself."""

    end: str  # client or server
    host: str
    started: str  # UTC
    test: str
    complete: bool = True  # False: the test broke off


def busy_words(head: LogHead, rows: Sequence[SystemRow]) -> list[str]:
    """A sentence for the period before the test and for that after it, where its host was busy with
    something else meanwhile."""
    outside = [(0, "before")] + [(len(rows) - 1, "after")] * (head.complete and len(rows) > 1)
    said = []
    for number, when in outside:
        row = rows[number]
        shares = row.processors.get(ALL)
        count = len(row.processors) - 1
        used = 0.0 if shares is None else shares.load / 100 * max(1, count)
        if shares is not None and used > BUSY_PROCESSORS and used * row.window_s >= BUSY_LEAST_S:
            said.append(
                f"{head.host} ({head.end}) was not idle {when} the test: row {number} of its log "
                f"has {shares.load:.1f} % of {count} CPUs in use, {used:.2f} of them; "
                f"{BUSY_PROCESSORS} count as idle. Figures may be lower by what else ran"
            )
    return said


def system_log(head: LogHead, rows: Sequence[SystemRow]) -> str:
    """rows: the first before the test, the last after it, one for each repetition between."""
    interfaces = _in_order(name for row in rows for name in row.interfaces)
    processors = [
        name for name in _in_order(n for row in rows for n in row.processors) if name != ALL
    ]
    lines = [
        f"# system log of the {head.end}, by netsonde hpcbench",
        f"# host {head.host}, {head.started}",
        f"# test: {head.test}",
        f"# {len(rows)} periods: row 0 is before the test, "
        + (f"row {len(rows) - 1} after it" if head.complete else "the test broke off"),
        f"# {len(interfaces)} network interfaces: {' '.join(interfaces)}",
        f"# {len(processors)} CPUs",
        "# Window_s is the length of a period; all numbers are of that time. Load% is not idle,",
        "# Sys% has interrupts in it, Mem% is that at the end of the period. PageIn and PageOut",
        "# are KiB, SwapIn and SwapOut pages. IntN are the interface's interrupts at CPU N.",
        *(f"# {sentence}" for sentence in busy_words(head, rows)),
    ]
    tables = ["\n".join(lines) + "\n"]
    tables += [_interface_table(interface, processors, rows) for interface in interfaces]
    tables += [_processor_table(processor, rows) for processor in processors]
    tables += [text for interface in interfaces for text in _queue_tables(interface, rows)]
    return "\n\n".join(tables)


def _interface_table(interface: str, processors: Sequence[str], rows: Sequence[SystemRow]) -> str:
    heading = ["#No", "Window_s", *SYSTEM_COLUMNS, *INTERFACE_COLUMNS]
    heading += [f"Int{number}" for number in processors]
    cells = [
        [
            *_row_cells(number, row),
            *system_cells(row),
            *interface_cells(row.interfaces.get(interface)),
            *_interrupt_cells(row.interfaces.get(interface), processors),
        ]
        for number, row in enumerate(rows)
    ]
    return f"# interface {interface}\n" + table(heading, cells)


def _processor_table(processor: str, rows: Sequence[SystemRow]) -> str:
    heading = ["#No", "Window_s", *SHARE_COLUMNS]
    heading += [f"All{name}" for name in SHARE_COLUMNS]
    cells = [
        [
            *_row_cells(number, row),
            *share_cells(row.processors.get(processor)),
            *share_cells(row.processors.get(ALL)),
            *share_cells(row.processors.get(processor), EXTRA_SHARES),
        ]
        for number, row in enumerate(rows)
    ]
    return f"# CPU {processor}\n" + table([*heading, *EXTRA_SHARES], cells)


def _queue_tables(interface: str, rows: Sequence[SystemRow]) -> list[str]:
    """Interrupts of all queues together and of each; none of an interface with one queue."""
    counts = [row.interfaces.get(interface) for row in rows]
    queues = _in_order(name for one in counts if one is not None for name in one.queues)
    if len(queues) < 2:
        return []
    cells: list[list[Cell]] = [
        [
            *_row_cells(number, row),
            None if one is None else one.all_interrupts,
            *(None if one is None else one.queues.get(name, 0) for name in queues),
        ]
        for number, (row, one) in enumerate(zip(rows, counts, strict=True))
    ]
    heading = ["#No", "Window_s", "IfIntr", *queues]
    return [f"# interrupts of {interface} by queue\n" + table(heading, cells)]


def system_cells(row: SystemRow) -> list[Cell]:
    """In the order of SYSTEM_COLUMNS."""
    shares = row.processors.get(ALL)
    return [
        *share_cells(shares)[:3],
        _tenths(row.memory_percent),
        row.interrupts,
        row.paged_in_kib,
        row.paged_out_kib,
        row.swapped_in_pages,
        row.swapped_out_pages,
        row.context_switches,
    ]


def interface_cells(counts: InterfaceCounts | None) -> list[Cell]:
    """In the order of INTERFACE_COLUMNS."""
    return [getattr(counts, name, None) for name in INTERFACE_COLUMNS.values()]


def share_cells(
    shares: ProcessorShares | None, columns: Mapping[str, str] = SHARE_COLUMNS
) -> list[Cell]:
    """In the order of the columns."""
    return [_tenths(getattr(shares, name, None)) for name in columns.values()]


def _interrupt_cells(counts: InterfaceCounts | None, processors: Sequence[str]) -> list[Cell]:
    if counts is None:
        return [None] * len(processors)
    return [counts.interrupts.get(int(number), 0) for number in processors]


def _row_cells(number: int, row: SystemRow) -> list[Cell]:
    return [number, f"{row.window_s:.3f}"]


def _tenths(value: float | None) -> Cell:
    return None if value is None else f"{value:.1f}"


def _in_order(names: Iterable[str]) -> list[str]:
    """Each name once, in the order of its first appearance."""
    return list(dict.fromkeys(names))
