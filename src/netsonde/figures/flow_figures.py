"""Figures that every test of streams has: flows beside each other, losses, retransmissions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.figures.data import Figure
from netsonde.figures.maker import Maker
from netsonde.figures.throughput import flow_rates_bit_per_s
from netsonde.records.data import Batch
from netsonde.stats.fairness import jain_fairness

UNAUTHENTIC = "unauthentic_messages"


def flow_figures(maker: Maker) -> list[Figure]:
    """Of several flows at once: the slowest, the fastest, and how even they were."""
    rates = np.array([flow_rates_bit_per_s(batch) for batch in maker.point.batches])
    if rates.shape[1] < 2:
        return []
    each = {"slowest_flow": rates.min(axis=1), "fastest_flow": rates.max(axis=1)}
    return [
        *(maker.quantile(f"{name}_bit_per_s", values, 0.5) for name, values in each.items()),
        maker.quantile("fairness_ratio", jain_fairness(rates), 0.5),
    ]


def loss_figures(maker: Maker) -> list[Figure]:
    """Shares of what either end sent; what the target sent has ``back`` in its names."""
    point = maker.point
    if not point.counts_datagrams:
        return []
    ways = ((0, 1, ""), (1, 0, "back_")) if point.kind.both_ways else ((0, 1, ""),)
    return [
        maker.ratio(
            f"{name}_{way}ratio",
            point.counter(counter, receiver),
            point.counter("messages_sent", sender),
        )
        for sender, receiver, way in ways
        for name, counter in (
            ("lost", "lost"),
            ("reordered", "reordered"),
            ("duplicate", "duplicates"),
        )
    ]


def unauthentic_figures(maker: Maker) -> list[Figure]:
    """Datagrams that another than the other end sent, where the ends could tell: both ends'."""
    point = maker.point
    ends = [end for batch in point.batches for end in batch.ends.values()]
    known = [end.counters[UNAUTHENTIC] for end in ends if UNAUTHENTIC in end.counters]
    return [maker.figure(UNAUTHENTIC, float(sum(known)), len(known))] if known else []


def retransmit_figures(maker: Maker) -> list[Figure]:
    known = _retransmissions(maker.point.batches) if maker.point.carrier.has_connection else []
    return [maker.figure("retransmitted_segments", float(sum(known)), len(known))] if known else []


def retransmitted(batches: Sequence[Batch]) -> int | None:
    """Segments that origins sent again, None where no kernel counted them."""
    known = _retransmissions(batches)
    return sum(known) if known else None


def _retransmissions(batches: Sequence[Batch]) -> list[int]:
    ends = [end for batch in batches for end in batch.ends.values() if end.rank % 2 == 0]
    grown = [end.difference("connection.test.total_retrans") for end in ends]
    return [value for value in grown if value is not None]
