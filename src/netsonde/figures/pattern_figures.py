"""Figures of tests of many hosts."""

from __future__ import annotations

import numpy as np

from netsonde.figures.data import Figure
from netsonde.figures.flow_figures import flow_figures, loss_figures, retransmit_figures
from netsonde.figures.global_time import uncertainty_ns
from netsonde.figures.maker import Maker
from netsonde.figures.patterns import (
    beside_bit_per_s,
    is_alone,
    received_bytes,
    round_times_ns,
    start_spreads_ns,
    time_outs,
)
from netsonde.figures.throughput import stream_rates_bit_per_s


def pattern_figures(maker: Maker) -> list[Figure]:
    """Streams of many hosts at once."""
    rates = np.array([stream_rates_bit_per_s(batch)[1] for batch in maker.point.batches])
    return [
        maker.quantile("throughput_bit_per_s", rates, 0.5, "patterns#throughput"),
        *flow_figures(maker),
        *_start_spread(maker),
        *loss_figures(maker),
        *retransmit_figures(maker),
    ]


def incast_figures(maker: Maker) -> list[Figure]:
    """Rounds: all origins send one block at one instant; a round ends with the last arrival."""
    batches = maker.point.batches
    times = round_times_ns(batches)
    moved = np.array([received_bytes(batch) for batch in batches])
    counted = time_outs(batches) if maker.point.transport == "tcp" else None
    return [
        maker.figure(
            "throughput_bit_per_s",
            8e9 * float(moved.sum() / times.sum()),
            len(times),
            "patterns#rounds",
        ),
        *maker.times("round", times, "patterns"),
        *(
            [
                maker.ratio(
                    "timed_out_rounds_ratio",
                    int((counted > 0).sum()),
                    len(counted),
                    "patterns#time-outs",
                )
            ]
            if counted is not None
            else []
        ),
        *_start_spread(maker),
        *loss_figures(maker),
        *retransmit_figures(maker),
    ]


def victim_figures(maker: Maker) -> list[Figure]:
    """One flow's response times, alone and beside the streams of all others."""
    batches = maker.point.batches
    method = "patterns#victim"
    figures: list[Figure] = []
    tails: dict[str, float] = {}
    for name, chosen in (
        ("alone", [b for b in batches if is_alone(b)]),
        ("beside", [b for b in batches if not is_alone(b)]),
    ):
        parts = [b.ends[0].series["response_ns"] for b in chosen]
        responses = np.concatenate(parts) if parts else np.empty(0, np.int64)
        if not len(responses):
            continue
        figures += maker.quantiles(f"response_{name}", responses, method)
        tails[name] = figures[-1].value
    if len(tails) == 2 and tails["alone"] > 0:
        ratio = tails["beside"] / tails["alone"]
        figures.append(maker.figure("slowdown_p99_times", ratio, len(batches), method))
    rates = np.array([beside_bit_per_s(b) for b in batches if not is_alone(b)])
    if len(rates):
        figures.append(maker.quantile("beside_bit_per_s", rates, 0.5, method))
    return [*figures, *_start_spread(maker)]


def _start_spread(maker: Maker) -> list[Figure]:
    spreads = start_spreads_ns(maker.point.batches)
    method = "patterns#common-start"
    uncertain_ns = max(uncertainty_ns(batch) for batch in maker.point.batches)
    return [
        maker.quantile("start_spread_median_ns", spreads, 0.5, method),
        maker.figure("start_spread_max_ns", float(spreads.max()), len(spreads), method),
        maker.figure("clock_uncertainty_ns", uncertain_ns, len(spreads), "one-way#clock"),
    ]
