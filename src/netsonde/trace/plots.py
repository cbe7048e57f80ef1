"""Plots of traces: load and traffic over time, and over the hours of the day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

from netsonde.errors import UsageError
from netsonde.report.plot import Axis, Cell, Column, Curve, Panel, Plot, columns, tabled
from netsonde.report.quantity import list_in_words, short_rate
from netsonde.report.theme import Look
from netsonde.trace.series import Amounts, by_second
from netsonde.trace.summary import By, HostSummary, by_hour, summarise
from netsonde.trace.windows import Windows

POINTS = 600
"""Of a curve at most: several windows become a stretch, with their mean and their largest."""
PANELS_LIMIT = 48
IMAGES = (".svg", ".png", ".pdf")
_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@dataclass(frozen=True)
class Stretches:
    """Windows put together: hours and the like since the beginning, mean over time, and the
    largest of the windows."""

    time: list[float | None]
    mean: list[float | None]
    most: list[float | None]


def draw_summary(
    traces: Sequence[Windows],
    path: Path,
    by: By | None = None,
    above_bit_per_s: float | None = None,
) -> None:
    """Writes all plots into one page (.html), with the tables of the terminal, or into an image.
    Raises UsageError."""
    plots = summary_plots(traces)
    if not plots:
        raise UsageError("there is nothing to draw: no trace has two samples in the time asked for")
    if path.suffix == ".html":
        from netsonde.report.page import Section, write_sections_page
        from netsonde.trace.page_tables import summary_sections

        hosts = list_in_words(list(dict.fromkeys(one.host for one in traces)))
        sections = [
            *summary_sections(traces, by, above_bit_per_s),
            Section("recorded", "Over time", plots=plots),
        ]
        write_sections_page(path, f"What {hosts} did", _period(traces), sections)
    elif path.suffix in IMAGES:
        from netsonde.report.image import draw_plot

        panels = [panel for plot in plots for panel in plot.panels]
        whole = Plot("trace", _period(traces), "", "", panels, plots[0].table, wide=True)
        try:
            draw_plot(whole, path)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
    else:
        raise UsageError(f"--plot {path} ends in none of .html, {', '.join(IMAGES)}")


def summary_plots(traces: Sequence[Windows]) -> list[Plot]:
    """Load, traffic of each interface, and the day, of all traces with samples."""
    found = [one for one in traces if len(one)]
    if not found:
        return []
    begin_ns = min(int(one.end_unix_ns[0] - one.window_s[0] * 1e9) for one in found)
    end_ns = max(int(one.end_unix_ns[-1]) for one in found)
    scale_s, unit = next(
        (pair for pair in _UNITS if (end_ns - begin_ns) / 1e9 >= 3 * pair[0]), _UNITS[-1]
    )
    when = datetime.fromtimestamp(begin_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    time = _Time(begin_ns, scale_s, f"{unit} since {when} UTC")
    plots = [_load_plot(found, time), _traffic_plot(found, time)]
    if (end_ns - begin_ns) / 1e9 > 86400:
        plots.append(_day_plot(found))
    return [plot for plot in plots if plot is not None]


@dataclass(frozen=True)
class _Time:
    begin_ns: int
    scale_s: float
    label: str

    @property
    def axis(self) -> Axis:
        return Axis(self.label, "number")


def stretches(windows: Windows, values: Amounts, begin_ns: int, scale_s: float) -> Stretches:
    """values: shares, or rates by second, one for each window. A gap breaks the line."""
    count = len(windows)
    edges = np.unique(np.linspace(0, count, min(POINTS, count) + 1).astype(int))
    time: list[float | None] = []
    mean: list[float | None] = []
    most: list[float | None] = []
    for low, high in pairwise(edges):
        part, lengths = values[low:high], windows.window_s[low:high]
        known = ~np.isnan(part) & (lengths > 0)
        end_s = (int(windows.end_unix_ns[high - 1]) - begin_ns) / 1e9
        time.append((end_s - float(lengths.sum()) / 2) / scale_s)
        if known.any():
            mean.append(float((part[known] * lengths[known]).sum() / lengths[known].sum()))
            most.append(float(part[known].max()))
        else:
            mean.append(None)
            most.append(None)
    return Stretches(time, mean, most)


def _load_plot(traces: Sequence[Windows], time: _Time) -> Plot | None:
    panels, rows, words = list[Panel](), list[tuple[Cell, ...]](), list[str]()
    for one in [t for t in traces if "busy" in t.columns][:PANELS_LIMIT]:
        curves = []
        for label, name, colour in (
            ("all CPUs", "busy", "user"),
            ("busiest CPU", "busiest", "system"),
            ("soft interrupts", "share:softirq", "softirq"),
        ):
            if name in one.columns:
                found = stretches(one, one.columns[name], time.begin_ns, time.scale_s)
                curves.append(Curve(label, found.time, found.mean, colour))
                rows += [(one.host, label, *row) for row in _rows(found)]
        panels.append(
            Panel(one.host, time.axis, Axis("share of time busy", "ratio", low=0, high=1), curves)
        )
        summary = summarise(one)
        if summary is not None and summary.busy is not None:
            words.append(f"{one.host} {summary.busy.mean:.0%} on average")
    return tabled(
        "load",
        "CPUs",
        "The share of time in which CPUs were neither idle nor waiting for disks. "
        f"{_thinned(traces)}",
        f"Busy: {list_in_words(words)}.",
        panels,
        (
            *columns("text", host="Host", of="Of"),
            Column("time", time.label, "number"),
            *columns("ratio", mean="Mean", most="Largest"),
        ),
        rows,
        heading="Load over time",
        wide=True,
    )


def _traffic_plot(traces: Sequence[Windows], time: _Time) -> Plot | None:
    panels, rows, words = list[Panel](), list[tuple[Cell, ...]](), list[str]()
    for one, interface in _interfaces(traces):
        received, sent = (
            8 * _per_s(one, f"interface.{interface}.{way}_bytes") for way in ("rx", "tx")
        )
        if len(panels) == PANELS_LIMIT or not (np.nansum(received) + np.nansum(sent)) > 0:
            continue
        curves = []
        for label, rates, look in (
            ("in", received, Look("blue")),
            ("out", sent, Look("orange", dash="dash")),
        ):
            found = stretches(one, rates, time.begin_ns, time.scale_s)
            curves += _spanned(label, found, look)
            rows += [(one.host, interface, label, *row) for row in _rows(found)]
        name = f"{one.host} {interface}"
        panels.append(Panel(name, time.axis, Axis("rate", "bit_per_s", low=0), curves))
        words.append(
            f"{name} at most {short_rate(float(np.nanmax(received)))} in and "
            f"{short_rate(float(np.nanmax(sent)))} out"
        )
    return tabled(
        "traffic",
        "Traffic",
        "What passed each interface, frames and their headers included: the line is the mean over "
        f"time, the area goes up to the largest. {_thinned(traces)}",
        f"{list_in_words(words)}.",
        panels,
        (
            *columns("text", host="Host", interface="Interface", way="Way"),
            Column("time", time.label, "number"),
            *columns("bit_per_s", mean="Mean", most="Largest"),
        ),
        rows,
        heading="Traffic over time",
        wide=True,
    )


def _spanned(label: str, found: Stretches, look: Look) -> list[Curve]:
    """The mean as a line, and an area from there up to the largest."""
    low, high = ([0.0 if v is None else v for v in values] for values in (found.mean, found.most))
    area = Curve(f"{label}, largest", found.time, found.most, look.colour, draw="area")
    return [
        replace(area, low=[*low], high=[*high], opacity=0.25, in_legend=False),
        Curve(label, found.time, found.mean, look.colour, dash=look.dash),
    ]


def _day_plot(traces: Sequence[Windows]) -> Plot | None:
    panels, rows = list[Panel](), list[tuple[Cell, ...]]()
    for one in traces:
        hours = {hour: summarise(part) for hour, part in by_hour(one).items()}
        for interface in one.interfaces:
            if len(panels) == PANELS_LIMIT:
                break
            curves = []
            for label, colour in (("in", "blue"), ("out", "orange")):
                rates = list(_rates_of(interface, label, hours))
                rows += [(one.host, interface, label, *found) for found in rates]
                x, y = [float(hour) for hour, _ in rates], [rate for _, rate in rates]
                curves.append(Curve(label, [*x], [*y], colour, draw="line+points"))
            if any(y for curve in curves for y in curve.y):
                panels.append(
                    Panel(
                        f"{one.host} {interface}",
                        Axis("hour of the day, UTC", "number", low=0, high=24),
                        Axis("mean rate", "bit_per_s", low=0),
                        curves,
                    )
                )
    return tabled(
        "hours",
        "Hours of the day",
        "Means over all days, of the windows that ended in each hour.",
        "",
        panels,
        (
            *columns("text", host="Host", interface="Interface", way="Way"),
            Column("hour", "Hour", "number"),
            Column("mean_bit_per_s", "Mean", "bit_per_s"),
        ),
        rows,
        heading="Traffic by hour of the day",
        wide=True,
    )


def _rates_of(
    interface: str, way: str, hours: Mapping[int, HostSummary | None]
) -> Iterator[tuple[int, float]]:
    """The mean of one way through an interface in each hour that has it."""
    for hour, summary in hours.items():
        for found in summary.interfaces if summary else ():
            if found.name == interface:
                yield hour, (found.received if way == "in" else found.sent).bit_per_s.mean


def _interfaces(traces: Sequence[Windows]) -> list[tuple[Windows, str]]:
    return [(one, interface) for one in traces for interface in one.interfaces]


def _per_s(windows: Windows, name: str) -> Amounts:
    return by_second(windows.column(name), windows.window_s)


def _rows(found: Stretches) -> list[tuple[float | None, float | None, float | None]]:
    return list(zip(found.time, found.mean, found.most, strict=True))


def _thinned(traces: Sequence[Windows]) -> str:
    longest = max(len(one) for one in traces)
    if longest <= POINTS:
        return "Every window between two samples is drawn."
    return f"Up to {-(-longest // POINTS)} windows between samples are drawn as one."


def _period(traces: Sequence[Windows]) -> str:
    found = [s for s in (summarise(one) for one in traces) if s is not None]
    if not found:
        return "no samples"
    begun, ended = min(s.begun for s in found), max(s.ended for s in found)
    return f"{begun:%Y-%m-%d %H:%M:%S} to {ended:%Y-%m-%d %H:%M:%S} UTC"
