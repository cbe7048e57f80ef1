"""What run directories show of a platform: real, emulated or simulated runs, several together.

Methods and limits: docs/methods/communication-model.md, "From runs".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from netsonde.catalogue.point import AllPairs, Simulation
from netsonde.catalogue.transport import TCP_IP_BYTES
from netsonde.errors import UsageError
from netsonde.figures.costs import bursts, overheads, pair_trips, send_costs
from netsonde.figures.stages import has_stages, stages_of
from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.model.buffers import BurstLoss
from netsonde.model.fit import ALIKE, Kind, Observation, Observed
from netsonde.records.data import Batch, Point, Run, Series
from netsonde.records.rundir import open_run

FIRST_SENDS = 8
"""Sends that find room in any card's ring, Eq. (2.1); so many more than this are needed."""
KINDS: dict[str, Literal["measured", "emulated", "simulated"]] = {
    "real": "measured",
    "emulated": "emulated",
    "simulated": "simulated",
}


def observe(
    directories: Sequence[Path], link_bit_per_s: float | None, packet_bytes: int | None, name: str
) -> Observed:
    """All observations of the runs, which are of one platform. Raises UsageError where a directory
    is no run, where runs differ in kind, or where nobody says the links' rate."""
    for option, value in (("--rate", link_bit_per_s), ("--packet", packet_bytes)):
        if value is not None and value < 1:
            raise UsageError(f"{option} {value:g}: expected 1 or more")
    runs = [open_run(directory) for directory in directories]
    kinds = {run.origin for run in runs}
    if len(kinds) > 1 or not kinds <= KINDS.keys():
        raise UsageError(
            f"the runs are {' and '.join(sorted(kinds))}; a platform is fitted to runs of one kind:"
            f" {', '.join(KINDS)}"
        )
    found = Observed(
        name=name,
        about=f"fitted to {len(runs)} run{'s' if len(runs) > 1 else ''}"[:500],
        packet_bytes=_packet_bytes(runs) if packet_bytes is None else packet_bytes,
        header_bytes=_header_bytes(runs),
        link_bit_per_s=_rate(runs) if link_bit_per_s is None else link_bit_per_s,
        serialisations=_serialisations(runs),
        ranks=_most_hosts(runs),
        kind=KINDS[kinds.pop()],
    )
    observations: list[Observation] = []
    losses: list[BurstLoss] = []
    messages: list[tuple[int, float]] = []
    remarks: list[str] = []
    copies: dict[str, list[tuple[int, float]]] = {}
    for run in runs:
        for name, pairs in read_copies(run.directory).items():
            copies.setdefault(name, []).extend(pairs)
        for point in run.points:
            if point.measured and point.kind.is_simulated:
                observations += _simulated(run, point)
                losses += _simulated_bursts(run, point)
            elif point.measured:
                observations += _measured(run, point, found.packet_bytes, remarks)
                losses += _bursts(run, point, remarks)
                messages += _messages(point)
    simulated = [(o.size_bytes, o.time_ns) for o in observations if o.kind == "one_way"]
    return replace(
        found,
        observations=observations + _busy_hosts(observations),
        bursts=losses,
        messages=messages or simulated,
        copies=copies,
        remarks=list(dict.fromkeys(remarks)),
    )


# What the runs say of themselves.


def _paths(runs: Sequence[Run]) -> list[dict[str, Any]]:
    return [path for run in runs if isinstance(path := run.manifest.get("path"), dict)]


def _rate(runs: Sequence[Run]) -> float:
    for path in _paths(runs):
        rate = path.get("rate_bit_per_s")
        if isinstance(rate, int | float) and rate > 0:
            return float(rate)
    raise UsageError("the runs do not say the rate of the links; give it with --rate")


def _most_hosts(runs: Sequence[Run]) -> int:
    specs = (point.spec for run in runs for point in run.points)
    return max((s.hosts if isinstance(s, AllPairs | Simulation) else 2 for s in specs), default=2)


def _serialisations(runs: Sequence[Run]) -> int | None:
    """How often L holds the time on the wire: once, and once more for each switch that stores; None
    where only the times themselves say it."""
    for path in _paths(runs)[:1]:
        kinds = path.get("switch_kinds")
        if isinstance(kinds, dict) and len(kinds) == 1:
            return 1 + sum(1 for kind in kinds.values() if not kind.get("cut_through"))
    return None


def _packet_bytes(runs: Sequence[Run]) -> int:
    """The largest packet: what simulations sent, or what the path's MTU leaves."""
    points = [(run, point) for run in runs for point in run.points]
    specs = (point.spec for _, point in points)
    payloads = [spec.payload_bytes for spec in specs if isinstance(spec, Simulation)]
    if payloads:
        return max(payloads)
    if not points:
        raise UsageError("the runs have no points; measure first")
    return min(run.mtu_bytes(point) for run, point in points) - _header_bytes(runs)


def _header_bytes(runs: Sequence[Run]) -> int:
    carriers = (point.carrier for run in runs for point in run.points)
    return max((carrier.header_bytes for carrier in carriers), default=TCP_IP_BYTES)


# Simulated packets.


def _simulated(run: Run, point: Point) -> Iterator[Observation]:
    """Of datagrams, which nothing but the hosts and lines holds back."""
    operation = point.operation
    if point.carrier.has_protocol or operation not in ("one-way", "two-way", "many-to-one"):
        return
    size = point.spec.of(Simulation).payload_bytes

    def seen(kind: Any, time_ns: float) -> Observation:
        return Observation(kind, size, time_ns, str(run.directory))

    for batch in point.batches:
        if operation == "many-to-one":
            gap = _arrival_gap_ns(batch)
            if gap is not None:
                yield seen("receive_gap", gap)
            continue
        flow = _first_flow(batch)
        if flow is None:
            continue
        sent, received = flow
        first = float(np.median(np.diff(sent[: FIRST_SENDS + 1])))
        half = len(sent) // 2
        later = float(sent[-1] - sent[half]) / (len(sent) - 1 - half)
        if operation == "two-way":
            yield seen("both_ways_gap", later)
            continue
        yield seen("one_way", float(received[0] - sent[0]))
        yield seen("send_overhead", first)
        if later > (1.0 + ALIKE) * first:
            yield seen("send_gap", later)


def _first_flow(batch: Batch) -> tuple[Series, Series] | None:
    """When the packets of one sender were handed over and received, in their order; None where
    some were lost, or there are too few to tell the first sends from later ones."""
    for end in batch.ends.values():
        if "packet_sent_ns" not in end.series:
            continue
        order = np.argsort(end.series["packet_sequence"], kind="stable")
        sequence = end.series["packet_sequence"][order]
        if len(order) >= 4 * FIRST_SENDS and sequence[-1] == len(order) - 1:
            return end.series["packet_sent_ns"][order], end.series["packet_received_ns"][order]
    return None


def _arrival_gap_ns(batch: Batch) -> float | None:
    """The mean time between packets that a flooded receiver takes, the first and last tenth left
    out."""
    for end in batch.ends.values():
        times = np.sort(end.series.get("packet_received_ns", np.empty(0, np.int64)))
        cut = len(times) // 10
        if len(times) >= 4 * FIRST_SENDS and len(np.unique(end.series["packet_source"])) > 1:
            return float(times[-1 - cut] - times[cut]) / (len(times) - 1 - 2 * cut)
    return None


def _busy_hosts(observations: Sequence[Observation]) -> list[Observation]:
    """What both ways at once shows is the CPU's work only where it is slower than one way:
    else the card or the line limits."""
    limits: dict[int, float] = {}
    for one in observations:
        if one.kind in ("send_overhead", "send_gap"):
            limits[one.size_bytes] = max(limits.get(one.size_bytes, 0.0), one.time_ns)
    return [
        replace(one, kind="busy_host")
        for one in observations
        if one.kind == "both_ways_gap"
        and one.size_bytes in limits
        and one.time_ns > (1.0 + ALIKE) * limits[one.size_bytes]
    ]


def _simulated_bursts(run: Run, point: Point) -> Iterator[BurstLoss]:
    if point.operation != "burst":
        return
    for batch in point.batches:
        ends = [end.counters for end in batch.ends.values()]
        sent = sum(counters.get("packets_sent", 0) for counters in ends)
        received = sum(counters.get("packets_received", 0) for counters in ends)
        sources = sum(1 for counters in ends if counters.get("packets_sent"))
        sinks = sum(1 for counters in ends if counters.get("packets_received"))
        if sent and sources and sinks:
            yield BurstLoss(sources, sinks, sent, received / sent, str(run.directory))


# Measured messages.


def _measured(
    run: Run, point: Point, packet_bytes: int, remarks: list[str]
) -> Iterator[Observation]:
    """Of messages that fit a packet: round trips, what the kernel's times take them apart into,
    costs one by one, and streams, whose rate is one packet in a gap."""
    size = point.message_bytes
    if not 1 <= size <= packet_bytes or point.flows > 1:
        return

    def seen(kind: Kind, time_ns: float, ranks: int = 2) -> Observation:
        return Observation(kind, size, time_ns, str(run.directory), ranks)

    if point.kind.is_cost:
        yield from _costs(point, seen, remarks)
    elif point.kind.grows:
        for one in pair_trips(point):
            for trip_ns in one.medians_ns:
                yield seen("pair_trip", float(trip_ns) / 2.0, 2 * one.pairs)
    elif point.spec.rate_bit_per_s is None and _is_to_one(point):
        yield from (seen("flooded", gap) for gap in _flooded_ns(point))
    trips = point.series("round_trip_ns")
    if point.kind.asks_round_trip and len(trips):
        yield seen("one_way", float(np.median(trips)) / 2.0)
        if has_stages(point):
            parts = stages_of(point).parts
            if len(parts["network"]):
                send = parts["origin_send_to_queue"] + parts["origin_queue_to_driver"]
                yield seen("send_overhead", float(np.median(send)))
                yield seen("receive_work", float(np.median(parts["origin_driver_to_receive"])))
                yield seen("network", float(np.median(parts["network"])) / 2.0)
    if point.kind.is_one_way_stream and point.spec.rate_bit_per_s is None:
        for batch in point.batches:
            sent, received = stream_rates_bit_per_s(batch)
            yield seen("send_gap", 8e9 * size / sent)
            yield seen("receive_gap", 8e9 * size / received)


def _costs(
    point: Point, seen: Callable[[Kind, float], Observation], remarks: list[str]
) -> Iterator[Observation]:
    """Of series of sends, and of messages whose sender watched its own time."""
    series = send_costs(point)
    if series is not None:
        yield seen("send_series", series.overhead_ns)
        if series.gap_ns is not None:
            yield seen("send_equilibrium", series.gap_ns)
        else:
            remarks.append(f"series of {point.message_bytes} bytes: {series.why}")
    found = overheads(point)
    if found is None:
        return
    yield seen("send_call", float(np.median(found.send_ns)))
    yield seen("receive_call", float(np.median(found.receive_ns)))
    arrivals = found.arrivals
    if arrivals.is_known:
        yield seen("arrival", float(np.median(arrivals.accepted_ns)))
    remarks.append(
        f"arrivals of {point.message_bytes} bytes: {arrivals.rejected_ratio:.0%} of the gaps are"
        f" rejected ({arrivals.short} short, {arrivals.long} long)"
    )


def _is_to_one(point: Point) -> bool:
    """Whether one host receives from all others, as fast as they send."""
    kind, batch = point.kind, point.batches[0]
    if not kind.has_like_flows or not kind.one_in_all or kind.has_rounds or kind.is_whole:
        return False
    targets = {end.host for rank, end in batch.ends.items() if rank % 2}
    return len(targets) == 1 and len(batch.ends) > 2


def _flooded_ns(point: Point) -> Iterator[float]:
    """The mean time between messages at the one host, of each batch, whoever sent them."""
    for batch in point.batches:
        if point.counts_datagrams:
            gap_ns = _gap_of_all_ns(batch)
        else:
            received = stream_rates_bit_per_s(batch)[1]
            gap_ns = 8e9 * point.message_bytes / received if received else None
        if gap_ns is not None:
            yield gap_ns


def _gap_of_all_ns(batch: Batch) -> float | None:
    """From the first tenth to the last of what came while all senders' messages came."""
    arrivals = [
        end.counters["start_ns"] + end.series["received_ns"]
        for rank, end in batch.ends.items()
        if rank % 2 and len(end.series.get("received_ns", ()))
    ]
    if len(arrivals) < len(batch.ends) // 2:
        return None
    first, last = max(a[0] for a in arrivals), min(a[-1] for a in arrivals)
    times = np.sort(np.concatenate(arrivals))
    times = times[(times >= first) & (times <= last)]
    cut = len(times) // 10
    if len(times) < 4 * FIRST_SENDS:
        return None
    return float(times[-1 - cut] - times[cut]) / (len(times) - 1 - 2 * cut)


def _bursts(run: Run, point: Point, remarks: list[str]) -> Iterator[BurstLoss]:
    if not point.kind.overflows:
        return
    for one in bursts(point):
        if one.spilled:
            remarks.append(
                f"a burst of {one.sent} is left out: the receivers' sockets had no room for "
                f"{one.spilled} of it; give them more (--target-buffer)"
            )
        elif one.sent:
            yield one.as_loss(str(run.directory))


def _messages(point: Point) -> list[tuple[int, float]]:
    """Half a round trip of each size of messages, of any length."""
    trips = point.series("round_trip_ns")
    if not point.kind.is_round_trip or not len(trips):
        return []
    return [(max(1, point.message_bytes), float(np.median(trips)) / 2.0)]


# Copies of memory, which a worker times for itself.

COPIES_NAME = "copies.json"
MOST_COPIES_BYTES = 1 << 16
COPIES: Mapping[str, str] = {
    "cache to cache": "copy_cache_to_cache",
    "cache to memory": "copy_cache_to_memory",
    "memory to memory": "copy_memory_to_memory",
}
"""Kind of copy -> parameter."""


def write_copies(directory: Path, copies: Sequence[tuple[str, int, float]]) -> None:
    """Into a run directory: kind, bytes and ns of each copy that was timed."""
    rows = [{"kind": kind, "bytes": size, "copy_ns": time} for kind, size, time in copies]
    (directory / COPIES_NAME).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def read_copies(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """By parameter; none where the run has none. Raises UsageError for a file that is not one of
    ours."""
    path = directory / COPIES_NAME
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            content = file.read(MOST_COPIES_BYTES + 1)
        if len(content) > MOST_COPIES_BYTES:
            raise ValueError("it is too long")
        found: dict[str, list[tuple[int, float]]] = {}
        for row in json.loads(content):
            size, time = int(row["bytes"]), float(row["copy_ns"])
            if not (0 < size <= 1 << 40 and 0.0 < time < 1e15):
                raise ValueError("a copy's size or time makes no sense")
            found.setdefault(COPIES[row["kind"]], []).append((size, time))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} holds no copies that netsonde timed: {error}") from error
    return found
