"""Scores for a terminal of 80 columns, as a document, and as a page with pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netsonde.model.platform import SYMBOLS, Cost, Platform
from netsonde.model.score import WITHIN, Score, Scored
from netsonde.modelling.distributions import Convolved
from netsonde.platforms.answers import Answer
from netsonde.platforms.show import law
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import Axis, Column, Curve, Panel, Plot, Table, columns, tabled
from netsonde.report.theme import series_look
from netsonde.units import format_time

WIDTH = 80
HOW = "How predictions and measurements are made: netsonde man model-measure."
POINTS_OF_A_LAW = 41


def score_lines(platform: Platform, score: Score) -> list[str]:
    """Predicted, measured and the error of each, then the median and what is to blame."""
    lines = [f"{'':<26}{'bytes':>6}{'predicted':>12}{'measured':>12}{'error':>9}  95 %"]
    for test, items in score.of_tests().items():
        lines.append(test)
        lines += [_line(one) for one in items]
    lines += ["", *_in_all(platform, score)]
    drawn = [one for one in score.items if one.quantiles]
    if drawn:
        lines += ["", "Distributions, from those of single messages: predicted, measured"]
        for one in drawn:
            said = ", ".join(
                f"p{100 * q:g} {format_time(a)} {format_time(b)}"
                for q, (a, b) in one.quantiles.items()
            )
            lines += textwrap.wrap(f"{one.test} {one.size_bytes} bytes: {said}", WIDTH)
    for note in score.notes:
        lines += textwrap.wrap(f"Note: {note}.", WIDTH)
    return lines


def _line(one: Scored) -> str:
    interval = one.error_interval
    said = f"{interval[0]:+.1%}..{interval[1]:+.1%}" if interval else "-"
    mark = " late" if one.late else " *" if one.is_misfit else ""
    times = f"{format_time(one.foretold.time_ns):>12}{format_time(one.measured_ns):>12}"
    return f"  {one.what:<24}{one.size_bytes:>6}{times}{one.error:>+9.1%}  {said}{mark}"


def _in_all(platform: Platform, score: Score) -> list[str]:
    interval = score.median_interval
    worth = f" ({interval.low:.1%}..{interval.high:.1%})" if interval else ""
    misfits, counted = score.misfits, score.counted
    lines = textwrap.wrap(
        f"{len(counted)} predictions of {platform.name}: the median error is "
        f"{score.median_error:.1%}{worth}; {len(misfits)} are misfits (*: certainly more than "
        f"{WITHIN:.0%} beside it).",
        WIDTH,
    )
    late = sum(one.late for one in score.items)
    if late:
        left = "there are no others, so they count" if counted[0].late else "they do not count"
        lines += textwrap.wrap(
            f"Of {len(score.items)}, at {late} the emulated network came late: {left}. A slower "
            "one, or a machine that is free, keeps time.",
            WIDTH,
        )
    if misfits:
        worst = max(misfits, key=lambda one: abs(one.error))
        blamed = ", ".join(f"{term} in {count}" for term, count in score.blamed)
        lines += textwrap.wrap(
            f"Misfits by the term that weighs most: {blamed}. The worst is {worst.test} "
            f"{worst.what} of {worst.size_bytes} bytes, {worst.error:+.1%}, where that is "
            f"{worst.blamed}.",
            WIDTH,
        )
    beyond = sorted({symbol for one in score.items for symbol in one.beyond})
    if beyond:
        lines += textwrap.wrap(f"Extrapolated in some: {', '.join(beyond)}.", WIDTH)
    return lines


def with_quantiles(found: Answer, drawn: Convolved) -> Answer:
    """A prediction with the quantiles that distributions of single messages give."""
    sizes = ", ".join(map(str, drawn.sizes_bytes))
    said = [f"p{100 * q:g} {format_time(time)}" for q, time in drawn.quantiles_ns.items()]
    lines = [
        *found.lines,
        "",
        *textwrap.wrap(
            f"Convolved along its {drawn.messages} messages, from times of messages of {sizes} "
            f"bytes: {', '.join(said)}",
            WIDTH,
        ),
    ]
    quantiles = [{"share": q, "time_ns": time} for q, time in drawn.quantiles_ns.items()]
    told = {"messages": drawn.messages, "drawn_bytes": list(drawn.sizes_bytes)}
    return Answer(lines, found.document | {"convolved": {**told, "quantiles": quantiles}})


def score_document(platform: Platform, score: Score) -> dict[str, Any]:
    """All of it for JSON; ``error`` is measured over predicted, less 1."""
    interval = score.median_interval
    return {
        "platform": platform.name,
        "median_error": score.median_error,
        "median_error_interval": None if interval is None else asdict(interval),
        "blamed": [{"term": term, "misfits": count} for term, count in score.blamed],
        "predictions": [_item(one) for one in score.items],
        "notes": list(score.notes),
    }


def _item(one: Scored) -> dict[str, Any]:
    return {
        "test": one.test,
        "what": one.what,
        "message_bytes": one.size_bytes,
        "ranks": one.ranks,
        "predicted_ns": one.foretold.time_ns,
        "terms_ns": dict(one.foretold.terms),
        "measured_ns": one.measured_ns,
        "measured_low_ns": one.low_ns,
        "measured_high_ns": one.high_ns,
        "error": one.error,
        "error_interval": one.error_interval,
        "misfit": one.is_misfit,
        "late": one.late,
        "extrapolated": list(one.beyond),
        "quantiles": [
            {"share": q, "predicted_ns": a, "measured_ns": b} for q, (a, b) in one.quantiles.items()
        ],
    }


def write_score_page(platform: Platform, score: Score, path: Path) -> None:
    """Raises UsageError where it cannot be written."""
    words = _in_all(platform, score)
    plots = [plot for plot in (_beside(score), _errors(score)) if plot is not None]
    section = Section("score", "Predicted and measured", [" ".join(words)], None, plots)
    title = f"What {platform.name} foretells, and what was measured"
    write_sections_page(path, title, HOW, [section])


def _beside(score: Score) -> Plot | None:
    """Measured over predicted times: what lies on the diagonal is right."""
    times = [t for one in score.items for t in (one.foretold.time_ns, one.measured_ns)]
    ends: list[float | None] = [min(times), max(times)]
    curves = [Curve("as predicted", ends, list(ends), "grey", dash="dash")]
    for place, (test, items) in enumerate(score.of_tests().items()):
        look = series_look(place)
        curves.append(
            Curve(
                test,
                [one.foretold.time_ns for one in items],
                [one.measured_ns for one in items],
                look.colour,
                draw="points",
                symbol=look.symbol,
                low=[one.low_ns for one in items],
                high=[one.high_ns for one in items],
            )
        )
    panel = Panel(
        "Each prediction",
        Axis("Predicted", "time_ns", log=True),
        Axis("Measured", "time_ns", log=True),
        curves,
    )
    rows = [
        (one.test, one.what, one.size_bytes, one.foretold.time_ns, one.measured_ns, one.error)
        for one in score.items
    ]
    named = (
        Column("test", "Test"),
        Column("what", "Of"),
        Column("message_bytes", "Bytes", "bytes"),
        *columns("time_ns", predicted="Predicted", measured="Measured"),
        Column("error_ratio", "Error", "ratio"),
    )
    return tabled(
        "predicted-and-measured",
        "Predicted and measured times",
        "Sizes, pairs and patterns that the fit has not seen, with the intervals of what was "
        "measured.",
        f"The median error of {len(score.counted)} predictions is {score.median_error:.1%}.",
        [panel],
        named,
        rows,
    )


def _errors(score: Score) -> Plot | None:
    """Errors over the size, each test a curve."""
    curves = []
    for place, (test, items) in enumerate(score.of_tests().items()):
        look = series_look(place)
        ordered = sorted(items, key=lambda one: one.size_bytes)
        curves.append(
            Curve(
                test,
                [float(one.size_bytes) for one in ordered],
                [one.error for one in ordered],
                look.colour,
                draw="points",
                symbol=look.symbol,
            )
        )
    panel = Panel(
        "Measured over predicted, less 1",
        Axis("Message size", "bytes"),
        Axis("Error", "ratio"),
        curves,
    )
    rows = [(one.test, one.size_bytes, one.error) for one in score.items]
    named = (
        Column("test", "Test"),
        Column("message_bytes", "Bytes", "bytes"),
        Column("error_ratio", "Error", "ratio"),
    )
    return tabled(
        "errors-over-size",
        "Errors over the size",
        "An error that is the same at all sizes is one of a start-up, one that grows of a rate.",
        "Errors of predictions over the size of the message.",
        [panel],
        named,
        rows,
    )


def write_platform_page(platform: Platform, path: Path) -> None:
    """A platform's laws over the size, those of other methods beside them. Raises UsageError where
    it cannot be written."""
    sections = [
        Section(
            "parameters",
            "Parameters",
            [platform.about] if platform.about else [],
            _parameters(platform),
            [plot for plot in (_laws(platform),) if plot is not None],
        )
    ]
    write_sections_page(path, f"Platform {platform.name}", HOW, sections)


def _parameters(platform: Platform) -> Table:
    rows = [
        (
            SYMBOLS[name],
            law(cost),
            "used" if number == 0 else "beside",
            cost.origin.kind,
            cost.origin.source,
            cost.origin.run or "",
        )
        for name in SYMBOLS
        for number, cost in enumerate(_all_of(platform, name))
    ]
    if platform.buffer is not None:
        buffer = platform.buffer
        said = f"{buffer.packets} packets, {buffer.architecture}"
        origin = buffer.origin
        rows.append(("B_L", said, "used", origin.kind, origin.source, origin.run or ""))
    names = ("Parameter", "Law in µs", "", "Origin", "Method", "Run")
    labelled = tuple(Column(n.lower() or "use", n) for n in names)
    return Table("parameters", "Parameters", labelled, list(rows))


def _all_of(platform: Platform, name: str) -> Sequence[Cost]:
    used = [platform.costs[name]] if name in platform.costs else []
    return [*used, *platform.others.get(name, ())]


def _laws(platform: Platform) -> Plot | None:
    sizes = [
        1.0 + (platform.packet_bytes - 1) * n / (POINTS_OF_A_LAW - 1)
        for n in range(POINTS_OF_A_LAW)
    ]
    panels, rows = [], []
    for name, symbol in SYMBOLS.items():
        found = _all_of(platform, name)
        curves = []
        for place, cost in enumerate(found):
            look = series_look(place)
            values = [cost.at(size, platform.ranks or 2) for size in sizes]
            curves.append(Curve(cost.origin.source, list(sizes), list(values), look.colour))
            rows += [
                (symbol, cost.origin.source, size, v) for size, v in zip(sizes, values, strict=True)
            ]
        if curves:
            x, y = Axis("Packet size", "bytes"), Axis(symbol, "time_ns")
            panels.append(Panel(symbol, x, y, curves))
    named = (
        Column("parameter", "Parameter"),
        Column("method", "Method"),
        Column("packet_bytes", "Bytes", "bytes"),
        Column("time_ns", "Time", "time_ns"),
    )
    return tabled(
        "laws",
        "Parameters over the size of a packet",
        "Of several methods for one parameter the first is used.",
        "Each parameter as a line over the size.",
        panels,
        named,
        rows,
    )
