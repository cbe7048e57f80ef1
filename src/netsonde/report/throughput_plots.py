"""Plots of throughput: against size, against time, and what the CPUs did meanwhile."""

from __future__ import annotations

import numpy as np

from netsonde.explain.evidence import cpu_shares
from netsonde.figures import Figure
from netsonde.figures.headlines import fastest_of
from netsonde.figures.throughput import arrivals_ns
from netsonde.model.goodput import LINE, framing_that_counts, shaped_goodput_bit_per_s
from netsonde.records.data import Batch, Point
from netsonde.records.negotiated import agreed
from netsonde.report.against import (
    RATE_AXIS,
    SIZE_AXIS,
    TEST_AND_SIZE,
    by_size,
    curve,
    estimate_cells,
    estimate_columns,
)
from netsonde.report.lookup import THROUGHPUT_TESTS, Study, point_label
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Mark,
    Panel,
    Plot,
    Stack,
    columns,
    tabled,
)
from netsonde.report.quantity import (
    format_figure,
    format_value,
    list_in_words,
    short_rate,
    size_text,
)
from netsonde.report.shapes import shares_panel
from netsonde.report.theme import transport_look, transport_name
from netsonde.report.thinning import interval_rates

STRETCHES = 80
"""Stretches that throughput over time is drawn in: a stall of 1 % of the time still shows."""
FEWEST = 8
ABOVE = 1.02
"""Of the link's rate: a stretch may begin with a message that was read late."""
MESSAGES_PER_STRETCH = 4
CORES_SHOWN = 8
BARS_SHOWN = 48
CPU_PARTS = (
    ("user", "user", ("user", "nice")),
    ("system", "system", ("system",)),
    ("softirq", "softirq", ("softirq",)),
    ("irq", "irq", ("irq",)),
    ("steal", "steal", ("steal",)),
    ("idle", "idle", ("idle", "iowait")),
)


def against_size(study: Study) -> Plot | None:
    """Throughput of streams, ping-pongs and one direction of duplex, with what the link allows."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for row in THROUGHPUT_TESTS:
        test, title = row.name, f"{row.title}, one way" if row.both_ways else row.title
        curves, limits = [], dict[tuple[str, int], float]()
        for transport in study.transports:
            found = _rates(study, transport, test)
            if not found:
                continue
            curves.append(
                curve(transport_name(transport), by_size(found), transport_look(transport))
            )
            limits |= _allowed(study, transport, test)
            rows += [
                (
                    transport,
                    test,
                    f.message_bytes,
                    *estimate_cells(f),
                    limits.get((transport, f.message_bytes)),
                    f.samples,
                )
                for f in found
            ]
            best = max(found, key=lambda f: f.value)
            words.append(
                f"{transport_name(transport)} {title} reaches "
                f"{format_figure(best)} at {size_text(best.message_bytes)}"
            )
        if curves:
            curves += _allowed_curves(limits)
            panels.append(Panel(title.capitalize(), SIZE_AXIS, RATE_AXIS, curves, link_mark(study)))
    limit = (
        f" Grey lines: the link's {short_rate(study.rate_bit_per_s)}, and what headers leave "
        "of it for each transport's payload (allowed)."
        if study.rate_bit_per_s
        else ""
    )
    return tabled(
        "throughput-size",
        "Throughput against message size",
        "Payload only, with 95 % intervals. A stream is what its receiver got; a ping-pong "
        "waits for each answer, so it falls behind at small sizes." + limit,
        f"{list_in_words(words)}.",
        panels,
        (
            Column("transport", "Transport"),
            *TEST_AND_SIZE,
            *estimate_columns("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("allowed_bit_per_s", "Link allows", "bit_per_s"),
            Column("samples", "Samples", "count"),
        ),
        rows,
        methods=("throughput#", "sweeps#peak", "sweeps#asymptotic-bandwidth"),
        heading="Throughput by size",
    )


def against_time(study: Study) -> Plot | None:
    """The fastest stream of each transport over time, of launches the one in the middle;
    retransmitted segments beneath."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for transport in study.transports:
        point = middle_of_fastest(study, transport)
        if point is None:
            continue
        begins, ends, rates = rates_over_time(point, study.rate_bit_per_s)
        if not len(rates):
            continue
        repeats = _retransmits(point)
        never = bool(repeats) and not any(count for _, _, count in repeats)
        panels.append(
            Panel(
                point_label(point),
                Axis("time", "time_ns", low=0, high=ends[-1]),
                RATE_AXIS,
                [
                    time_curve(
                        transport_name(transport),
                        transport_look(transport).colour,
                        (begins, ends, rates),
                    )
                ],
                link_mark(study),
                note="no segment was retransmitted" if never else "",
                height=240,
            )
        )
        rows += [
            (point.id, transport, b, e, r, None)
            for b, e, r in zip(begins, ends, rates, strict=True)
        ]
        if any(count for _, _, count in repeats):
            panels.append(_retransmit_panel(point, repeats, ends[-1]))
        rows += [(point.id, transport, b, e, None, n) for b, e, n in repeats]
        known = [r for r in rates if r is not None]
        words.append(
            f"{transport_name(transport)} between {format_value(min(known), 'bit_per_s')} "
            f"and {format_value(max(known), 'bit_per_s')}"
        )
    return tabled(
        "throughput-time",
        "Throughput against time",
        "Each transport's fastest stream at its receiver, of several launches the one nearest to "
        "their median, batch after batch (the pauses "
        "between batches are left out). Every step begins and ends with a message's "
        "arrival, so its height is exact. Steps are made longer until none lies above the link's "
        "rate, down to eight in all: where one still does, the receiver read late what had come "
        "before. TCP's retransmitted segments are counted by the sender's kernel.",
        f"{list_in_words(words)}.",
        panels,
        (
            *columns("text", point="Point", transport="Transport"),
            *columns("time_ns", begin="From", end="To"),
            Column("throughput_bit_per_s", "Throughput", "bit_per_s"),
            Column("retransmits", "Retransmits", "count"),
        ),
        rows,
        methods=("throughput#stream", "throughput#retransmits"),
        heading="Throughput over time",
        wide=True,
    )


def processors(study: Study) -> Plot | None:
    """What each core of each host did during throughput points."""
    points = _points_for_processors(study)
    panels, rows = [], list[tuple[Cell, ...]]()
    for host, rank in _host_ranks(study).items():
        labels, bars = [], []
        for point in points:
            for core, kinds in _busiest_cores(point, rank):
                shares = [sum(kinds.get(k, 0.0) for k in names) for _, _, names in CPU_PARTS]
                labels.append(f"{point_label(point)} · {core}")
                bars.append(shares)
                rows.append((point.id, point_label(point), host, core, *shares))
        if labels:
            parts = [
                (name, colour, [bar[i] for bar in bars])
                for i, (name, colour, _) in enumerate(CPU_PARTS)
            ]
            stack = Stack(labels, parts)
            panels.append(shares_panel(host, "share of time", stack, 90 + 19 * len(labels)))
    if not panels:
        return None
    shared = (
        " Emulated hosts share the CPUs of one machine, so both show the same cores."
        if study.run.origin == "emulated"
        else ""
    )
    return tabled(
        "processors",
        "CPUs during throughput points",
        "Time of each core by kind, from the kernel's counters before and after; user "
        "includes nice, idle includes waiting for disks. Up to 8 of the busiest cores of "
        "each host are drawn; where there are many points, the largest size of each test "
        "stands for the others." + shared,
        _busiest_in_words(rows),
        panels,
        (
            *columns("text", point="Point", label="What", host="Host", core="Core"),
            *(Column(f"{name}_ratio", name, "ratio") for name, _, _ in CPU_PARTS),
        ),
        rows,
        methods=("throughput#processor-time",),
        heading="CPUs",
    )


def middle_of_fastest(study: Study, transport: str) -> Point | None:
    """The transport's fastest stream, of several launches the one nearest to their median."""
    every = study.headlines.all
    one_way = fastest_of(every, transport, lambda test: test.is_one_way_stream)
    fastest = one_way or fastest_of(every, transport, lambda test: test.both_ways)
    return None if fastest is None else study.point(fastest.middle)


def _rates(study: Study, transport: str, test: str) -> list[Figure]:
    return [h.figure for h in study.plain_headlines(transport, lambda row: row.name == test)]


def _allowed(study: Study, transport: str, test: str) -> dict[tuple[str, int], float]:
    points = study.run.select(transport, test)
    return {
        (transport, p.message_bytes): limit
        for p in points
        if (limit := allowed_bit_per_s(study, p)) is not None
    }


def _allowed_curves(limits: dict[tuple[str, int], float]) -> list[Curve]:
    """What the headers leave, by transport; MPI's own headers are not known, so TCP's are it."""
    curves = list[Curve]()
    for transport in dict.fromkeys(t for t, _ in limits):
        pairs = [(float(size), limit) for (t, size), limit in limits.items() if t == transport]
        if len(pairs) > 1:
            curves.append(
                Curve(
                    "allowed",
                    [s for s, _ in pairs],
                    [limit for _, limit in pairs],
                    "limit",
                    width=1.0,
                    dash=transport_look(transport).dash,
                    in_legend=not curves,
                )
            )
    return curves


def link_mark(study: Study) -> list[Mark]:
    rate = study.rate_bit_per_s
    return [Mark("y", rate, f"link {short_rate(rate)}", "limit", "dash")] if rate else []


Stretches = tuple[list[float], list[float], list[float | None]]


def rates_over_time(point: Point, link_bit_per_s: float | None) -> Stretches:
    """(begin, end, bit/s) of stretches, batch after batch on one axis, as many as there can be with
    none above the link's rate: a receiver that was away reads what came meanwhile at once."""
    stretches = STRETCHES
    while True:
        found = _rates_of(point, stretches)
        most = max((rate for rate in found[2] if rate is not None), default=0.0)
        if link_bit_per_s is None or most <= ABOVE * link_bit_per_s or stretches <= FEWEST:
            return found
        stretches //= 2


def _rates_of(point: Point, stretches: int) -> Stretches:
    begins, ends, rates = list[float](), list[float](), list[float | None]()
    offset = 0.0
    lengths = [float(arrivals_ns(b).max()) for b in _receiving(point)]
    for batch, length in zip(_receiving(point), lengths, strict=True):
        times = arrivals_ns(batch)
        interval = max(sum(lengths) / stretches, MESSAGES_PER_STRETCH * length / len(times))
        low, high, rate = interval_rates(times, point.message_bytes, interval)
        begins += (low + offset).tolist()
        ends += (high + offset).tolist()
        rates += rate.tolist()
        offset += length
    return begins, ends, rates


def _receiving(point: Point) -> list[Batch]:
    return [b for b in point.batches if len(arrivals_ns(b)) > 1]


def time_curve(label: str, colour: str, found: Stretches) -> Curve:
    """The rate of each stretch, level from its begin to its end."""
    x, y = list[float | None](), list[float | None]()
    for begin, end, rate in zip(*found, strict=True):
        if x and x[-1] != begin:  # a batch has ended: nothing is known of the time between
            x.append(begin)
            y.append(None)
        x += [begin, end]
        y += [rate, rate]
    return Curve(label, x, y, colour, width=1.3)


def _retransmits(point: Point) -> list[tuple[float, float, int]]:
    """(begin, end, segments retransmitted) by interval, batch after batch on one axis."""
    found = []
    offset = 0.0
    for batch in point.batches:
        series = batch.ends[0].series if 0 in batch.ends else {}
        times, counts = series.get("tcp_info_time_ns"), series.get("tcp_info_retransmits")
        if times is not None and counts is not None and len(times) > 1:
            grown = np.diff(counts)
            found += [
                (offset + float(a), offset + float(b), int(n))
                for a, b, n in zip(times[:-1], times[1:], grown, strict=True)
            ]
        received = batch.ends[1].series.get("received_ns") if 1 in batch.ends else None
        offset += float(received.max()) if received is not None and len(received) > 1 else 0.0
    return found


def _retransmit_panel(
    point: Point, repeats: list[tuple[float, float, int]], until_ns: float
) -> Panel:
    x, y = list[float | None](), list[float | None]()
    for begin, end, count in repeats:
        x += [begin, begin, end, end, end]
        y += [0.0, float(count), float(count), 0.0, None]
    highest = max(count for _, _, count in repeats)
    return Panel(
        f"{point_label(point)}: retransmitted segments per interval",
        Axis("time", "time_ns", low=0, high=until_ns),
        Axis("segments", "count", low=0, high=max(1, highest) * 1.1),
        [Curve("retransmits", x, y, "loss", width=1.3)],
        height=170,
    )


def _points_for_processors(study: Study) -> list[Point]:
    points = [p for p in study.throughput_points() if p.batches]
    cores = max((len(_busiest_cores(p, r)) for p in points for r in (0, 1)), default=1)
    if len(points) * cores <= BARS_SHOWN:
        return points
    largest = {(p.transport, p.test): p for p in points}  # sizes rise, so the last one stays
    return list(largest.values())


def _host_ranks(study: Study) -> dict[str, int]:
    """The first rank on each host."""
    ranks: dict[str, int] = {}
    for point in study.throughput_points():
        for batch in point.batches:
            for rank in sorted(batch.ends):
                ranks.setdefault(batch.ends[rank].host, rank)
    return ranks


def _busiest_cores(point: Point, rank: int) -> list[tuple[str, dict[str, float]]]:
    shares = {core: kinds for core, kinds in cpu_shares(point, rank).items() if core != "all"}
    busiest = sorted(shares, key=lambda core: shares[core].get("idle", 0.0))[:CORES_SHOWN]
    return [(f"cpu{core}", shares[core]) for core in sorted(busiest, key=int)]


def _busiest_in_words(rows: list[tuple[Cell, ...]]) -> str:
    point, host, core, idle = min(
        ((r[1], r[2], r[3], r[-1]) for r in rows),
        key=lambda r: r[3] if isinstance(r[3], float) else 1.0,
    )
    busy = 1 - idle if isinstance(idle, float) else 0.0
    return f"The busiest core is {core} of {host} during {point}: {busy:.0%} busy."


def allowed_bit_per_s(study: Study, point: Point) -> float | None:
    """The payload rate that the headers leave of the link's, by :mod:`netsonde.model.goodput`.

    None where the link's rate is not known or the message has no payload. MPI's own headers are not
    known, so TCP's alone stand for them: an upper bound.
    """
    rate = study.rate_bit_per_s
    if rate is None or point.message_bytes == 0:
        return None
    path = study.run.manifest["path"]
    counted = path.get("counted_frame_header_bytes")
    framing = framing_that_counts(counted) if path.get("kind") == "lab" else LINE
    is_v6 = ":" in str(point.opened.get(0, {}).get("local_address", ""))
    try:
        return shaped_goodput_bit_per_s(
            point.transport,
            rate,
            point.message_bytes,
            family="ipv6" if is_v6 else "ipv4",
            framing=framing,
            mtu_bytes=study.run.mtu_bytes(point),
            timestamps=agreed(point, "timestamps", study.run.facts_of_hosts(point)),
        )
    except ValueError:  # a size or MTU that the transport cannot have: nothing is allowed for it
        return None
