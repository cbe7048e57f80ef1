"""Tables of a host's own work for a terminal of 80 columns, and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from netsonde.host_benchmarks.figures import Spread
from netsonde.host_benchmarks.judge_work import judge_work
from netsonde.host_benchmarks.show import MISSING, WIDTH, sentences
from netsonde.host_benchmarks.work_figures import (
    ContextSwitchFigures,
    CopyFigures,
    HintFigures,
    NoiseFigures,
    WorkTables,
)
from netsonde.units import format_count, format_size, format_time

KINDS = ("cache to cache", "cache to memory", "memory to memory")


def work_lines(tables: WorkTables) -> list[str]:
    """All tables, then what stands out; no line is longer than 80 characters."""
    blocks = []
    if tables.noise is not None:
        blocks.append(_noise_lines(tables.host, tables.noise))
    if tables.copies:
        blocks.append(_copy_lines(tables.host, tables.copies))
    if tables.context_switches is not None:
        blocks.append(_context_switch_lines(tables.host, tables.context_switches))
    if tables.hint:
        blocks.append(_hint_lines(tables.host, tables.hint))
    if judged := sentences(judge_work(tables)):
        blocks.append(judged)
    lines = [line for block in blocks for line in ["", *block]]
    return [line[:WIDTH] for line in lines[1:]]


def work_document(tables: WorkTables) -> dict[str, Any]:
    """All figures, for JSON; times in ns."""
    return {
        "host": tables.host,
        "noise": asdict(tables.noise) if tables.noise is not None else None,
        "copies": [asdict(copy) for copy in tables.copies],
        "context_switches": asdict(tables.context_switches)
        if tables.context_switches is not None
        else None,
        "hint": [_hint_document(found) for found in tables.hint],
        "judgements": [asdict(judgement) for judgement in judge_work(tables)],
    }


def _noise_lines(host: str, noise: NoiseFigures) -> list[str]:
    return [
        f"Disturbance of {host}, {noise.quanta} quanta of equal work",
        "",
        f"{'':<16}{'shortest':>12}{'median':>12}{'p99':>12}{'longest':>12}",
        f"{'quantum':<16}{_four(noise.quantum)}",
        f"{'detour':<16}{_four(noise.detours)}",
        detours_sentence(noise),
    ]


def detours_sentence(noise: NoiseFigures) -> str:
    return f"detours: {noise.detours_per_s:.0f} a second, {noise.share:.3%} of the time"


def _four(found: Spread | None) -> str:
    if found is None:
        return f"{MISSING:>12}" * 4
    times = (found.min_ns, found.median_ns, found.p99_ns, found.max_ns)
    return "".join(
        f"{MISSING if time_ns is None else format_time(time_ns):>12}" for time_ns in times
    )


def _copy_lines(host: str, copies: Sequence[CopyFigures]) -> list[str]:
    cells = {(copy.size_bytes, copy.kind): copy for copy in copies}
    lines = [f"Copies of memory on {host}: median time, GB/s", ""]
    lines.append(f"{'':<10}" + "".join(f"{kind:>23}" for kind in KINDS))
    for size in dict.fromkeys(copy.size_bytes for copy in copies):
        row = [_copy_cell(cells.get((size, kind))) for kind in KINDS]
        lines.append(f"{format_size(size):<10}" + "".join(f"{cell:>23}" for cell in row))
    return lines


def _copy_cell(copy: CopyFigures | None) -> str:
    if copy is None:
        return MISSING
    return f"{format_time(copy.copy_ns)} {copy.byte_per_s / 1e9:>7.2f}"


def _context_switch_lines(host: str, found: ContextSwitchFigures) -> list[str]:
    return [
        f"Context switches between threads of {host}",
        "",
        *(f"{what:<52}{format_time(ns):>12}" for what, ns in context_switch_rows(found)),
    ]


def context_switch_rows(found: ContextSwitchFigures) -> list[tuple[str, float]]:
    """What is timed, and how long it takes."""
    cpu, *others = found.cpus
    rows = [
        ("write and read a byte", found.calls_ns),
        (f"switch on CPU {cpu}, without those calls", found.switch_ns),
    ]
    if found.wake_ns is not None:
        rows.append((f"until a thread of CPU {others[0]} runs, with them", found.wake_ns))
    return rows


def _hint_lines(host: str, hints: Sequence[HintFigures]) -> list[str]:
    levels = hint_levels(hints)
    lines = [f"HINT on {host}: million QUIPS where the memory fits in", ""]
    lines.append(f"{'':<20}" + "".join(f"{level.upper():>10}" for level in levels) + f"{'net':>12}")
    for hint in hints:
        found = {regime.level: regime.quips for regime in hint.regimes}
        name = hint_name(hint)
        cells = [f"{found[level] / 1e6:.2f}" if level in found else MISSING for level in levels]
        lines.append(
            f"{name:<20}"
            + "".join(f"{cell:>10}" for cell in cells)
            + f"{hint.net_quips / 1e6:>12.1f}"
        )
    return lines


def hint_levels(hints: Sequence[HintFigures]) -> list[str]:
    """The levels of memory that any of them filled."""
    return list(dict.fromkeys(regime.level for hint in hints for regime in hint.regimes))


def hint_name(hint: HintFigures) -> str:
    """``double, 2 threads``."""
    return f"{hint.number}, {format_count(hint.threads, 'thread')}"


def _hint_document(found: HintFigures) -> dict[str, Any]:
    columns = ("subintervals", "time_ns", "memory_bytes", "quality", "quips")
    return {
        "number": found.number,
        "threads": found.threads,
        "net_quips": found.net_quips,
        "bounds_hold": found.bounds_hold,
        "regimes": [asdict(regime) for regime in found.regimes],
        **{name: list(getattr(found, name)) for name in columns},
    }
