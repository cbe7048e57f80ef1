"""Figures of simulated runs. A batch is the run of one seed; figures are medians over them.

What the records hold is said in docs/reference/records.md, each figure in
docs/methods/simulations.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from netsonde.catalogue.point import Simulation
from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker
from netsonde.model.congestion import Chances, output_efficiency
from netsonde.model.events import Event, EventCounts, Run, count_events
from netsonde.model.loss_cycles import loss_cycles, mean_cycle
from netsonde.records.data import Batch, EndData, Point

Floats = npt.NDArray[np.float64]
COMPLETION = "simulations#completion"
THROUGHPUT = "simulations#throughput"
PROTOCOL = "simulations#protocol"
CHANCES = "simulations#chances"
EVENTS: tuple[Event, ...] = ("P", "N", "TO")
OF_INPUTS = "input-buffered"
"""The formula of input-buffered switches, whose loss goes in cycles."""


@MAKERS.of("simulation")
def simulation_figures(maker: Maker) -> list[Figure]:
    """All figures of a simulated point."""
    batches = maker.point.batches
    return [
        *_completion(maker),
        *_throughput(maker),
        *_losses(maker),
        *_protocol(maker),
        *_chances(maker),
        *_packets(maker),
        *_queues(maker, batches),
        *_loss_cycles(maker),
        *_formula(maker),
    ]


def _done(batch: Batch, name: str) -> float:
    return float(batch.ends[0].done.get(name, 0))


def completions_ns(batch: Batch, hosts: int) -> Floats:
    """How long each repetition took, from the last host's end of the one before; shape
    (repetitions,). Empty where a host was never done."""
    ends = batch.ends[0]
    if ends.done.get("ended_by") == "stuck":
        return np.empty(0)
    times = ends.series.get("completion_ns")
    if times is None or len(times) <= hosts or len(times) % hosts:
        return np.array([float(ends.done.get("elapsed_ns", 0))])
    last = times.reshape(-1, hosts).max(axis=1).astype(np.float64)
    return np.diff(last, prepend=0.0)


def _completion(maker: Maker) -> list[Figure]:
    hosts = maker.point.spec.of(Simulation).hosts
    times = np.concatenate([completions_ns(batch, hosts) for batch in maker.point.batches])
    if not len(times):
        return []
    return [
        maker.quantile("completion_median_ns", times, 0.5, method=COMPLETION),
        maker.figure("completion_min_ns", float(times.min()), len(times), method=COMPLETION),
        maker.figure("completion_max_ns", float(times.max()), len(times), method=COMPLETION),
    ]


def _throughput(maker: Maker) -> list[Figure]:
    """Data received, each byte once, over the whole time; how well hosts' lines were used."""
    point = maker.point
    slot_ns = point.spec.of(Simulation).slot_ns
    rates, each, busiest, mean = [], [], [], []
    for batch in point.batches:
        elapsed = _done(batch, "elapsed_ns")
        ends = [end for end in batch.ends.values() if end.counters.get("packets_received")]
        if not elapsed or not ends:
            continue
        received = [end.counters["bytes_received"] for end in ends]
        packets = [end.counters["packets_received"] for end in ends]
        rates.append(8e9 * sum(received) / elapsed)
        each.append(8e9 * sum(received) / len(received) / elapsed)
        lines = [
            count * (end.counters.get("full_packet_ns") or slot_ns) / elapsed
            for count, end in zip(packets, ends, strict=True)
        ]
        busiest.append(max(lines))
        mean.append(sum(lines) / len(lines))
    values = {
        "throughput_bit_per_s": rates,
        "host_throughput_bit_per_s": each,
        "line_use_ratio": busiest,
        "mean_line_use_ratio": mean,
    }
    return [
        maker.quantile(name, np.array(found), 0.5, method=THROUGHPUT)
        for name, found in values.items()
        if found and (slot_ns or not name.endswith("_ratio"))
    ]


def _losses(maker: Maker) -> list[Figure]:
    """Of all packets that were made, acknowledgements and those retransmitted among them."""
    batches = maker.point.batches
    made = int(sum(_done(batch, "packets_created") for batch in batches))
    return [
        maker.ratio(f"{name}_ratio", int(sum(_done(batch, name) for batch in batches)), made)
        for name in ("lost_overflow", "lost_random", "lost_receive_pool")
    ]


def _protocol(maker: Maker) -> list[Figure]:
    point = maker.point
    if not point.carrier.has_protocol:
        return []
    names = ("packets_sent", "packets_retransmitted", "time_outs", "nacks_sent", "fast_retransmits")
    totals = {name: _total(point, name) for name in names}
    figures = [
        maker.ratio(
            "retransmitted_ratio",
            min(totals["packets_retransmitted"], _sent(totals)),
            _sent(totals),
            method=PROTOCOL,
        )
    ]
    figures += [
        maker.figure(name, totals[name] / len(point.batches), len(point.batches), method=PROTOCOL)
        for name in ("time_outs", "nacks_sent", "fast_retransmits")
        if totals[name]
    ]
    return figures


def _sent(totals: Mapping[str, int]) -> int:
    return totals["packets_sent"] + totals["packets_retransmitted"]


def _total(point: Point, name: str) -> int:
    return sum(end.counters.get(name, 0) for b in point.batches for end in b.ends.values())


def event_runs(end: EndData) -> list[list[Run]]:
    """The protocol events of each of a sender's flows, equal ones joined; empty where they were not
    recorded."""
    if "event_kind" not in end.series:
        return []
    series = (end.series[f"event_{name}"].tolist() for name in ("target", "kind", "count"))
    flows: dict[int, list[Run]] = {}
    for target, kind, count in zip(*series, strict=True):
        runs = flows.setdefault(target, [])
        event = EVENTS[kind]
        if runs and runs[-1].event == event:
            runs[-1] = Run(event, runs[-1].count + count)
        else:
            runs.append(Run(event, count))
    return list(flows.values())


def chances_of(batches: Sequence[Batch]) -> Chances | None:
    """c, a and f of Eqs. (4.11)-(4.13): of each flow alone, then averaged; None where no flow has a
    Nack after a Pack."""
    counts = [
        count_events(runs)
        for batch in batches
        for end in batch.ends.values()
        for runs in event_runs(end)
    ]
    if not any(each.pack_to_nack for each in counts):
        return None
    severity = min(1.0, _mean(counts, lambda each: each.severity))
    f = _mean(counts, lambda each: each.f) if any(each.time_outs for each in counts) else 1.0
    c = _mean(counts, lambda each: each.c)
    return Chances(c, 1.0 - severity, f) if f > 0 else None


def _mean(counts: Sequence[EventCounts], of: Callable[[EventCounts], object]) -> float:
    known = [float(value) for each in counts if (value := of(each)) is not None]  # type: ignore[arg-type]
    return sum(known) / len(known)


def _chances(maker: Maker) -> list[Figure]:
    if not maker.point.carrier.fixed_window:
        return []
    chances = chances_of(maker.point.batches)
    if chances is None:
        return []
    flows = sum(len(event_runs(end)) for b in maker.point.batches for end in b.ends.values())
    return [
        maker.figure("loss_chance_ratio", chances.c, flows, method=CHANCES),
        maker.figure("severity_ratio", 1.0 - chances.a, flows, method=CHANCES),
        maker.figure("last_time_out_ratio", chances.f, flows, method=CHANCES),
    ]


def _packets(maker: Maker) -> list[Figure]:
    """From the process's first handing over to the other process, where packets were recorded."""
    parts = [
        end.series["packet_received_ns"] - end.series["packet_sent_ns"]
        for batch in maker.point.batches
        for end in batch.ends.values()
        if "packet_sent_ns" in end.series
    ]
    times = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if not len(times):
        return []
    return [
        *maker.quantiles("delivery", times),
        maker.figure("delivery_max_ns", float(times.max()), len(times)),
    ]


def _queues(maker: Maker, batches: Sequence[Batch]) -> list[Figure]:
    names = sorted({name for batch in batches for name in batch.ends[0].series if _is_queue(name)})
    return [
        maker.figure(
            f"{name.removesuffix('_packets')}_most_packets",
            float(
                max(
                    b.ends[0].series[name].max(initial=0)
                    for b in batches
                    if name in b.ends[0].series
                )
            ),
            len(batches),
        )
        for name in names
    ]


def _is_queue(name: str) -> bool:
    return name.startswith("queue_") and name.endswith("_packets")


def _loss_cycles(maker: Maker) -> list[Figure]:
    """Packets that pass in each period of an input's loss cycles, where its queue was recorded."""
    spec = maker.point.spec.of(Simulation)
    buffer, window = spec.buffer_packets, spec.window
    if spec.formula != OF_INPUTS or buffer is None or window is None:
        return []
    cycles = [
        cycle
        for batch in maker.point.batches
        if "queue_0_packets" in (series := batch.ends[0].series)
        for cycle in loss_cycles(
            series["queue_0_ns"], series["queue_0_packets"], buffer, window, spec.slot_ns
        )
    ]
    means = mean_cycle(cycles)
    if means is None:
        return []
    return [
        maker.figure(f"loss_cycle_{part}_packets", mean, len(cycles))
        for part, mean in zip(("a", "b", "c"), means, strict=True)
    ]


def _formula(maker: Maker) -> list[Figure]:
    """What a formula of the model says of the figure that is compared."""
    spec = maker.point.spec.of(Simulation)
    value = spec.formula_value
    if spec.formula == "three-states":
        value = _three_states(maker.point, spec)
    if spec.formula is None or value is None:
        return []
    return [maker.figure(f"formula_{spec.compared}", value, 1)]


def _three_states(point: Point, spec: Simulation) -> float | None:
    """Eq. (4.10) with the chances that the simulated senders' events have."""
    chances = chances_of(point.batches)
    window, senders = spec.window, spec.senders
    buffer, slots = spec.buffer_packets, spec.timeout_slots
    if chances is None or window is None or senders is None or buffer is None or slots is None:
        return None
    return output_efficiency(chances, window, senders, buffer, slots)
