"""Figures of tests of many hosts."""

from __future__ import annotations

import numpy as np

from netsonde.catalogue.test import names_of
from netsonde.figures.data import Figure
from netsonde.figures.flow_figures import flow_figures, loss_figures, retransmit_figures
from netsonde.figures.global_time import uncertainty_ns
from netsonde.figures.host_load import loads_of_hosts
from netsonde.figures.maker import MAKERS, Maker
from netsonde.figures.patterns import (
    beside_bit_per_s,
    is_alone,
    received_bytes,
    round_times_ns,
    shared_host,
    start_spreads_ns,
    time_outs,
)
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.patterns import STREAM_PATTERNS, WITH_ONE_IN_ALL


@MAKERS.of(*STREAM_PATTERNS, *names_of("is_whole"))
def pattern_figures(maker: Maker) -> list[Figure]:
    """Streams of many hosts at once, until a time is over or all of it is there."""
    rates = np.array([stream_rates_bit_per_s(batch)[1] for batch in maker.point.batches])
    return [
        maker.quantile("throughput_bit_per_s", rates, 0.5, method="patterns#throughput"),
        *flow_figures(maker),
        *_offered(maker),
        *_host_loads(maker),
        *_start_spread(maker),
        *loss_figures(maker),
        *retransmit_figures(maker),
    ]


def _offered(maker: Maker) -> list[Figure]:
    """Of datagrams: what all senders together handed to the kernel, beside what arrived."""
    if not maker.point.carrier.counts_datagrams:
        return []
    rates = np.array([stream_rates_bit_per_s(batch)[0] for batch in maker.point.batches])
    return [maker.quantile("offered_bit_per_s", rates, 0.5)]


def _host_loads(maker: Maker) -> list[Figure]:
    """Of the host that is in every flow, and the mean of the others, where there is such a one."""
    if maker.point.test not in WITH_ONE_IN_ALL:
        return []
    batches = maker.point.batches
    shared = shared_host(batches[0])
    found: dict[str, list[float]] = {"shared_host": [], "other_hosts": []}
    for batch in batches:
        loads = loads_of_hosts(batch)
        one = loads.pop(shared, None)
        if one is not None and loads:
            found["shared_host"].append(one)
            found["other_hosts"].append(float(np.mean(list(loads.values()))))
    return [
        maker.quantile(f"{name}_load_ratio", np.array(values), 0.5)
        for name, values in found.items()
        if values
    ]


@MAKERS.of("incast")
def incast_figures(maker: Maker) -> list[Figure]:
    """Rounds: all origins send one block at one instant; a round ends with the last arrival."""
    batches = maker.point.batches
    times = round_times_ns(batches)
    moved = np.array([received_bytes(batch) for batch in batches])
    counted = time_outs(batches) if maker.point.carrier.has_connection else None
    return [
        maker.figure(
            "throughput_bit_per_s",
            8e9 * float(moved.sum() / times.sum()),
            len(times),
            method="patterns#rounds",
        ),
        *maker.times("round", times, "patterns"),
        *(
            [maker.ratio("timed_out_rounds_ratio", int((counted > 0).sum()), len(counted))]
            if counted is not None
            else []
        ),
        *_host_loads(maker),
        *_start_spread(maker),
        *loss_figures(maker),
        *retransmit_figures(maker),
    ]


@MAKERS.of("victim")
def victim_figures(maker: Maker) -> list[Figure]:
    """One flow's response times, alone and beside the streams of all others."""
    batches = maker.point.batches
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
        found = maker.quantiles(f"response_{name}", responses)
        figures += found
        if found[-1].name.endswith("_p99_ns"):
            tails[name] = found[-1].value
    if len(tails) == 2 and tails["alone"] > 0:
        ratio = tails["beside"] / tails["alone"]
        figures.append(maker.figure("slowdown_p99_times", ratio, len(batches)))
    rates = np.array([beside_bit_per_s(b) for b in batches if not is_alone(b)])
    if len(rates):
        figures.append(maker.quantile("beside_bit_per_s", rates, 0.5))
    return [*figures, *_start_spread(maker)]


def _start_spread(maker: Maker) -> list[Figure]:
    spreads = start_spreads_ns(maker.point.batches)
    method = "patterns#common-start"
    uncertain_ns = max(uncertainty_ns(batch) for batch in maker.point.batches)
    return [
        maker.quantile("start_spread_median_ns", spreads, 0.5, method=method),
        maker.figure("start_spread_max_ns", float(spreads.max()), len(spreads), method=method),
        maker.figure("clock_uncertainty_ns", uncertain_ns, len(spreads), method="one-way#clock"),
    ]
