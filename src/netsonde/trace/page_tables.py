"""The tables of a summary on a page: what the terminal has, in full and with units in the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netsonde.report.page import Section
from netsonde.report.plot import Cell, Column, Table, columns
from netsonde.trace.summary import By, Direction, HostSummary, Spread, summarise
from netsonde.trace.summary_text import (
    NOTHING_LOST,
    about_sentence,
    loss_rows,
    moved_interfaces,
    odd_sentences,
    periods,
)
from netsonde.trace.windows import Windows

Rows = list[tuple[Cell, ...]]


def summary_sections(
    traces: Sequence[Windows], by: By | None, above_bit_per_s: float | None
) -> list[Section]:
    """Over all traces, by day or hour where that was asked for, and what stands out of each."""
    found = [(one, summarise(one, above_bit_per_s)) for one in traces]
    summaries = [summary for _, summary in found if summary is not None]
    losses = _loss_table(summaries)
    odd = [sentence for windows, _ in found for sentence in odd_sentences(windows)]
    return [
        Section("cpus", "CPUs", [about_sentence(*one) for one in found], _cpu_table(summaries)),
        Section("traffic", "Traffic", [_above_in_words(above_bit_per_s)], _rate_table(summaries)),
        Section("packets", "Packets", [], _packet_table(summaries)),
        Section(
            "lost",
            "Dropped, retransmitted, swapped",
            [] if losses.rows else [f"{NOTHING_LOST.capitalize()}."],
            losses if losses.rows else None,
        ),
        *([_period_section(traces, by, above_bit_per_s)] if by is not None else []),
        *([Section("odd", "What stands out", odd)] if odd else []),
    ]


def _above_in_words(above_bit_per_s: float | None) -> str:
    threshold = "half the link's speed" if above_bit_per_s is None else "that of --above"
    return f"Above: the share of the time in which the rate was higher than {threshold}."


def _spread(spread: Spread | None) -> tuple[Cell, ...]:
    return (None,) * 4 if spread is None else (spread.mean, spread.median, spread.p95, spread.most)


def _cpu_table(summaries: Sequence[HostSummary]) -> Table:
    rows: Rows = []
    for one in summaries:
        soft = [one.kinds[kind] for kind in ("softirq", "irq") if kind in one.kinds]
        rows.append(
            (
                *(one.host, *_spread(one.busy), sum(soft) if soft else None),
                *(one.kinds.get("steal"), one.saturated, one.memory_most),
                *(one.interrupts_per_s, one.switches_per_s),
            )
        )
    return Table(
        "cpus",
        "CPUs",
        (
            Column("host", "Host"),
            *columns("ratio", busy="Busy, mean", median="Median", p95="p95", most="Most"),
            *columns("ratio", interrupts="Interrupts", steal="Stolen"),
            *columns("ratio", saturated="One above 90 %", memory="Memory, most"),
            *columns("count", interrupts_per_s="Interrupts/s", switches_per_s="Switches/s"),
        ),
        rows,
    )


def _rate_table(summaries: Sequence[HostSummary]) -> Table:
    rows: Rows = [
        (
            *(host.host, interface.name, word, *_spread(way.bit_per_s)),
            *(way.above, _known(way.total_bytes)),
        )
        for host, interface in moved_interfaces(summaries)
        for word, way in (("in", interface.received), ("out", interface.sent))
    ]
    return Table(
        "rates",
        "Rates",
        (
            *columns("text", host="Host", interface="Interface", way="Way"),
            *columns("bit_per_s", mean="Mean", median="Median", p95="p95", most="Most"),
            Column("above_ratio", "Above", "ratio"),
            Column("total_bytes", "In all", "bytes"),
        ),
        rows,
    )


def _packet_table(summaries: Sequence[HostSummary]) -> Table:
    rows: Rows = [
        (
            *(host.host, one.name, one.received.packets_per_s.mean, one.sent.packets_per_s.mean),
            *(_mean_bytes(one.received, one.sent), one.interrupts_per_s),
            *(one.packets_per_interrupt, sum(one.losses.values())),
        )
        for host, one in moved_interfaces(summaries)
    ]
    return Table(
        "packets",
        "Packets",
        (
            *columns("text", host="Host", interface="Interface"),
            *columns("count", received="In/s", sent="Out/s"),
            Column("mean_bytes", "Bytes each", "count"),
            *columns("count", interrupts="Interrupts/s", each="Packets an interrupt"),
            Column("lost", "Lost", "count"),
        ),
        rows,
    )


def _mean_bytes(*ways: Direction) -> float | None:
    packets = sum(way.total_packets for way in ways)
    return sum(way.total_bytes for way in ways) / packets if packets > 0 else None


def _loss_table(summaries: Sequence[HostSummary]) -> Table:
    rows: Rows = [(host, name, amount) for host, name, amount in loss_rows(summaries)]
    names = (*columns("text", host="Host", counter="Counter"), Column("count", "Counted", "count"))
    return Table("lost", "Dropped, retransmitted, swapped", names, rows)


def _period_section(traces: Sequence[Windows], by: By, above_bit_per_s: float | None) -> Section:
    rows: Rows = [
        (
            *(windows.host, label, None if part.busy is None else part.busy.mean, one.name),
            *(one.received.bit_per_s.mean, one.received.bit_per_s.most),
            *(one.sent.bit_per_s.mean, one.sent.bit_per_s.most),
        )
        for windows in traces
        for label, part in periods(windows, by, above_bit_per_s)
        for _, one in moved_interfaces([part])
    ]
    title = "By day (UTC)" if by == "day" else "By hour of the day (UTC)"
    table = Table(
        f"by_{by}",
        title,
        (
            *columns("text", host="Host", when="Day" if by == "day" else "Hour"),
            Column("busy_ratio", "Busy", "ratio"),
            Column("interface", "Interface"),
            *columns("bit_per_s", in_mean="In, mean", in_most="In, most"),
            *columns("bit_per_s", out_mean="Out, mean", out_most="Out, most"),
        ),
        rows,
    )
    return Section(f"by-{by}", title, [], table)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
