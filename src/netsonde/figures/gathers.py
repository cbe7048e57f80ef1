"""Of gathers: which share of its time the receiver's line carried something for the first time.

Defined in docs/methods/patterns.md, "Gather".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.packet_figures import link_rate_bit_per_s
from netsonde.figures.patterns import round_times_ns
from netsonde.model.platform import wire_time_ns
from netsonde.records.data import Batch, Point, Run


def line_use_figures(run: Run, point: Point) -> list[Figure]:
    """None where nobody knows the line's rate."""
    rate = sink_rate_bit_per_s(run, point)
    if not point.kind.is_whole or not point.batches or not rate:
        return []
    found = Maker(point).quantile(
        "line_use_ratio", np.array(line_uses(point, rate)), 0.5, method="patterns#gather"
    )
    return [found]


def sink_rate_bit_per_s(run: Run, point: Point) -> float | None:
    """Of the receiver's line: as the lab has it, else as of every path; None if unknown."""
    path: Mapping[str, Any] = run.manifest.get("path") or {}
    links = (path.get("topology") or {}).get("links") or ()
    sinks = {end.host for batch in point.batches for rank, end in batch.ends.items() if rank % 2}
    own = [link["down"]["rate_bit_per_s"] for link in links if link["lower"] in sinks]
    return float(min(own)) if own else link_rate_bit_per_s(run, point)


def line_uses(point: Point, rate_bit_per_s: float) -> list[float]:
    """Of each batch: packets that came, each once, times the time of one on the line, over the time
    from the first origin's start to the last arrival."""
    times = round_times_ns(point.batches)
    return [
        _carried_ns(point, batch, rate_bit_per_s) / float(time)
        for batch, time in zip(point.batches, times, strict=True)
    ]


def _carried_ns(point: Point, batch: Batch, rate_bit_per_s: float) -> float:
    targets = [end for rank, end in batch.ends.items() if rank % 2]
    moved = sum(end.counters.get("bytes_received", 0) for end in targets)
    messages = sum(end.counters.get("messages_received", 0) for end in targets)
    packets = sum(end.counters.get("packets_received", 0) for end in targets) or messages
    if not packets:
        return 0.0
    each_bytes = moved / packets + point.carrier.header_bytes
    return packets * wire_time_ns(round(each_bytes), rate_bit_per_s)
