"""Plots of many hosts at once: each flow's rate, or when its block was there, and who was last."""

from __future__ import annotations

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
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_figure, list_in_words

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
        panels.append(_rounds(study, point) if point.kind.has_rounds else _rates(point))
        rows += _rows(point)
        throughput = study.figure(point, "throughput_bit_per_s")
        if throughput:
            words.append(f"{point_label(point)} {format_figure(throughput)} in all")
    return tabled(
        "by-flow",
        "Many hosts at once",
        "Of incast: when each sender's block was complete, round by round, since the first sender "
        "began; a round lasts until the slowest. Of the others: each flow's throughput, with its "
        "range over the batches. The table says who was last how often.",
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


def _rates(point: Point) -> Panel:
    rates = np.array([flow_rates_bit_per_s(batch) for batch in point.batches])
    curve = Curve(
        "flow",
        [float(number) for number in range(1, rates.shape[1] + 1)],
        np.median(rates, axis=0).tolist(),
        point.carrier.colour,
        draw="points",
        low=list(rates.min(axis=0)),
        high=list(rates.max(axis=0)),
        in_legend=False,
    )
    return Panel(
        point_label(point),
        Axis("flow", "count"),
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
