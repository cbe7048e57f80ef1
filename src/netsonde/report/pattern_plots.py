"""Plots of many hosts at once: each flow's rate, or when its block was there, and who was last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from netsonde.figures.patterns import (
    flow_sent_bit_per_s,
    flow_throughputs_bit_per_s,
    flow_times_ns,
)
from netsonde.figures.throughput import flow_rates_bit_per_s
from netsonde.figures.time_outs import least_time_out_ns
from netsonde.records.data import Point
from netsonde.report.lookup import Study, point_label
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Curve,
    Heat,
    Mark,
    Panel,
    Plot,
    columns,
    tabled,
)
from netsonde.report.quantity import format_figure, format_value, list_in_words
from netsonde.report.rank_names import named_axis
from netsonde.report.shapes import map_panel

HOSTS_SHOWN = 32
WORDS_SHOWN = 8
"""Hosts of a map whose cells have room for their values."""

COLUMNS = (
    Column("point", "Point"),
    Column("flow", "Flow", "count"),
    *columns("text", origin="From", target="To"),
    *columns("bit_per_s", sent="Offered", throughput="Throughput"),
    Column("lost_ratio", "Lost", "ratio"),
    *columns("time_ns", median="Last message", max="Latest"),
    Column("last_ratio", "Was last", "ratio"),
)


def by_flow(study: Study) -> Plot | None:
    """A panel for each pattern; the table has every flow."""
    panels, rows, words = [], list[tuple[Cell, ...]](), []
    for point in study.run.select():
        if not point.kind.has_like_flows:
            continue
        panels.append(_rounds(study, point) if point.kind.has_rounds else _rates_panel(point))
        rows += _rows(point)
        throughput = study.figure(point, "throughput_bit_per_s")
        if throughput:
            words.append(f"{point_label(point)} {format_figure(throughput)} in all")
    return tabled(
        "by-flow",
        "Many hosts at once",
        "Of incast: when each sender's block was complete, round by round, since the first sender "
        "began; a round lasts until the slowest. Of the others: each flow's throughput, with its "
        "range over the batches; where all hosts send to all others, a map of medians from "
        "whom to whom. The table says who was last how often.",
        f"{list_in_words(words)}.",
        panels,
        COLUMNS,
        rows,
        methods=("throughput#flows", "patterns#"),
        heading="Flows",
    )


def _rounds(study: Study, point: Point) -> Panel:
    times = flow_times_ns(point.batches)
    rounds: list[float | None] = [float(number) for number in range(1, len(times) + 1)]
    curves = [
        Curve(
            "each sender",
            [number for number in rounds for _ in range(times.shape[1])],
            [float(time) for time in times.ravel()],
            "blue",
            draw="points",
            opacity=0.5,
        ),
        Curve("slowest", rounds, [float(time) for time in times.max(axis=1)], "green", width=1.0),
    ]
    least = least_time_out_ns(study.run, point)
    waited = times.max() >= least and point.carrier.has_connection
    return Panel(
        point_label(point),
        Axis("round", "count"),
        Axis("block complete after", "time_ns", log=True),
        curves,
        [Mark("y", least, "least retransmission timeout")] if waited else [],
    )


def _ways(point: Point) -> list[tuple[str, str]]:
    """From which host to which each flow goes."""
    ends = point.batches[0].ends
    return [(ends[rank].host, ends[rank + 1].host) for rank in range(0, len(ends) - 1, 2)]


def _between_all(ways: Sequence[tuple[str, str]]) -> list[str]:
    """The hosts, where there is one flow from each to every other of three or more."""
    hosts = list(dict.fromkeys(origin for origin, _ in ways))
    every = {(a, b) for a in hosts for b in hosts if a != b}
    return hosts if len(hosts) > 2 and sorted(ways) == sorted(every) else []


def _rates_panel(point: Point) -> Panel:
    """A map from whom to whom where all hosts send to all others; else flow beside flow."""
    ways = _ways(point)
    hosts = _between_all(ways)
    return _rates_map(point, ways, hosts) if hosts else _rates(point, ways)


def _rates_map(point: Point, ways: Sequence[tuple[str, str]], hosts: list[str]) -> Panel:
    rates = dict(zip(ways, _medians(point).tolist(), strict=True))
    best = max(rates.values()) or 1.0
    shown = hosts[:HOSTS_SHOWN]
    found = [[rates.get((origin, target)) for target in shown] for origin in shown]
    heat = Heat(
        shown,
        shown,
        [[None if rate is None else rate / best for rate in row] for row in found],
        [["" if r is None else format_value(r, "bit_per_s") for r in row] for row in found],
        meaning="of the fastest",
        words_shown=len(shown) <= WORDS_SHOWN,
    )
    panel = map_panel(f"{point_label(point)}: from the host of a row", "to", heat)
    left = len(hosts) - len(shown)
    return replace(panel, note=f"{left} more hosts are in the table" if left else "")


def _rates(point: Point, ways: Sequence[tuple[str, str]]) -> Panel:
    rates = np.array([flow_rates_bit_per_s(batch) for batch in point.batches])
    names = [f"{origin} → {target}" for origin, target in ways]
    axis = named_axis("flow", names, Axis("flow", "count"))
    first = 0 if axis.names else 1
    curve = Curve(
        "flow",
        [float(number) for number in range(first, rates.shape[1] + first)],
        np.median(rates, axis=0).tolist(),
        point.carrier.colour,
        draw="points",
        low=list(rates.min(axis=0)),
        high=list(rates.max(axis=0)),
        in_legend=False,
    )
    return Panel(
        point_label(point),
        axis,
        Axis("throughput", "bit_per_s", low=0),
        [curve],
    )


def _medians(point: Point) -> npt.NDArray[np.float64]:
    rates = np.array([flow_rates_bit_per_s(batch) for batch in point.batches])
    return np.asarray(np.median(rates, axis=0), np.float64)


def _medians_sent(point: Point) -> list[float]:
    rates = np.array([flow_sent_bit_per_s(batch) for batch in point.batches])
    return [float(rate) for rate in np.median(rates, axis=0)]


def _lost_ratio(point: Point, flow: int) -> float | None:
    """Of the datagrams of one flow, over all batches; None of TCP, which sends again."""
    ends = [batch.ends for batch in point.batches]
    if not all("lost" in each[2 * flow + 1].counters for each in ends):
        return None
    sent = sum(each[2 * flow].counters.get("messages_sent", 0) for each in ends)
    lost = sum(each[2 * flow + 1].counters["lost"] for each in ends)
    return lost / sent if sent else None


def _rows(point: Point) -> list[tuple[Cell, ...]]:
    times = flow_times_ns(point.batches)
    rates = flow_throughputs_bit_per_s(point.batches) if point.kind.has_rounds else _medians(point)
    last = np.bincount(times.argmax(axis=1), minlength=times.shape[1]) / len(times)
    ends = point.batches[0].ends
    sent = None if point.kind.has_rounds else _medians_sent(point)
    return [
        (
            point_label(point),
            flow + 1,
            ends[2 * flow].host,
            ends[2 * flow + 1].host,
            None if sent is None else sent[flow],
            float(rates[flow]),
            _lost_ratio(point, flow),
            float(np.median(times[:, flow])),
            float(times[:, flow].max()),
            float(last[flow]),
        )
        for flow in range(times.shape[1])
    ]
