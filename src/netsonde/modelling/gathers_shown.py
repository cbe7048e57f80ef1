"""Gathers beside model and simulator for a terminal of 80 columns, and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from netsonde.model.congestion import Chances
from netsonde.modelling.gathers import WITHIN, Gathered, Spread


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "median": spread.median,
        "least": spread.least,
        "most": spread.most,
        "runs": spread.runs,
    }


def gathers_document(found: Sequence[Gathered]) -> dict[str, Any]:
    """All of it for JSON."""
    return {"gathers": [_document(one) for one in found]}


def _document(one: Gathered) -> dict[str, Any]:
    load = one.load
    return {
        "point": one.point,
        "senders": load.senders,
        "packets": load.packets,
        "architecture": load.architecture,
        "buffer_packets": load.buffer_packets,
        "window_packets": load.window,
        "timeout_ns": load.timeout_ns,
        "timeout_slots": load.timeout_slots,
        "measured": _spread(one.measured),
        "simulated": _spread(one.simulated),
        "model": one.model,
        "apart": one.apart,
        "chances": _chances(one.chances),
        "simulated_chances": _chances(one.simulated_chances),
        "late_p99_ns": one.late_p99_ns,
        "moved_by_lateness": one.moved,
        "decided_by_lateness": one.is_decided_by_lateness,
    }


def _chances(chances: Chances | None) -> dict[str, float] | None:
    return None if chances is None else {"c": chances.c, "1-a": 1.0 - chances.a, "f": chances.f}


def gathers_lines(found: Sequence[Gathered]) -> list[str]:
    """For a terminal of 80 columns."""
    lines = [
        f"{'':<22}{'window':>7}{'slots':>7}  {'measured':<18}"
        f"{'model':>6}{'simulated':>10}{'apart':>7}",
    ]
    for one in found:
        lines += _lines(one)
    late = [one for one in found if one.is_decided_by_lateness]
    counted = [one for one in found if not one.is_decided_by_lateness]
    near = sum(abs(one.apart) <= WITHIN for one in counted)
    lines += ["", f"{near} of {len(counted)} are within {WITHIN} of the simulator's."]
    if late:
        lines.append(f"{len(late)} are not counted: frames as late as these would decide (late).")
    return lines


def _lines(one: Gathered) -> Iterator[str]:
    load, measured = one.load, one.measured
    buffer = f"{load.buffer_packets} packets" if load.buffer_packets is not None else "bytes"
    ends = f" {measured.least:.2f}..{measured.most:.2f}" if measured.runs > 1 else ""
    model = "-" if one.model is None else f"{one.model:.2f}"
    mark = "  late" if one.is_decided_by_lateness else ""
    yield (
        f"{load.senders} senders, {load.architecture:<10.10}"
        f"{load.window:>9}{load.timeout_slots:>7.0f}  {measured.median:.3f}{ends:<13}"
        f"{model:>6}{one.simulated.median:>10.3f}{one.apart:>+7.3f}{mark}"
    )
    late = "" if one.late_p99_ns is None else f", p99 late {one.late_p99_ns / load.slot_ns:.1f}"
    least, most = one.simulated.least, one.simulated.most
    yield f"  {buffer}, {load.packets} packets each{late}; simulated {least:.2f}..{most:.2f}"
    for name, chances in (("measured", one.chances), ("simulated", one.simulated_chances)):
        if chances is not None:
            said = f"c {chances.c:.4f}, 1-a {1 - chances.a:.4f}, f {chances.f:.4f}"
            yield f"  {name:<10}{said}"
