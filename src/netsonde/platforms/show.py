"""Platforms, predictions and windows for a terminal of 80 columns, and as documents."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from netsonde.model.fit import Fitted
from netsonde.model.platform import SYMBOLS, TRANSFER, Cost, Platform
from netsonde.model.predict import Prediction
from netsonde.model.transfers import single_packet_ns, stages
from netsonde.model.views import hockney, loggp, logp, plogp
from netsonde.platforms.document import platform_document
from netsonde.platforms.simulated import Simulated
from netsonde.published import PublishedTable
from netsonde.units import bytes_in_words, format_rate, format_size, format_time

WIDTH = 80
MISSING = "–"


def wrapped(text: str, indent: str = "") -> list[str]:
    """A text in lines of a terminal."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def mega(byte_per_s: float | None) -> str:
    """Decimal megabytes per second."""
    if byte_per_s is None or byte_per_s == float("inf"):
        return MISSING
    return f"{byte_per_s / 1e6:.2f} MB/s"


# A platform.


def platform_lines(platform: Platform) -> list[str]:
    """Parameters with their origin, the switch, and what follows from them."""
    lines = wrapped(f"{platform.name}: {platform.about}" if platform.about else platform.name)
    lines += [
        "",
        f"Packets of {platform.packet_bytes} bytes, links of {format_rate(platform.link_bit_per_s)}"
        f", {format_time(platform.wire_ns())} on the wire",
        "",
    ]
    if platform.costs:
        lines.append(f"{'':<13}{'law, µs (m in bytes, p processes)':<39}{'full packet':>14}")
        lines += [line for name in SYMBOLS for line in _parameter(platform, name)]
    lines += _switch_lines(platform)
    return [*lines, "", *_consequences(platform)]


def fit_lines(fitted: Fitted) -> list[str]:
    """A platform that was fitted, its lines of whole messages with intervals, and what is not
    known of it."""
    lines = platform_lines(fitted.platform)
    messages = fitted.platform.messages
    if messages is not None:
        alpha, beta = (fitted.message_intervals[name] for name in ("alpha_ns", "beta_ns"))
        lines += [
            "",
            *wrapped(
                f"Whole messages: alpha {messages.alpha_ns:.6g} ns ({alpha.low:.6g}.."
                f"{alpha.high:.6g}), beta {messages.beta_ns:.6g} ns a byte ({beta.low:.6g}.."
                f"{beta.high:.6g})"
            ),
        ]
    if fitted.buffer is not None:
        for (sources, sinks), (slope, interval) in fitted.buffer.slopes.items():
            lines += wrapped(
                f"Bursts from {sources} to {sinks}: the buffers hold {slope:.4g} packets "
                f"({interval.low:.4g}..{interval.high:.4g})"
            )
    for note in fitted.notes:
        lines += wrapped(f"Note: {note}.")
    return lines


def fit_document(fitted: Fitted) -> dict[str, Any]:
    """The platform's document, the notes, and the intervals that a platform's file has no place
    for."""
    found: dict[str, Any] = {
        "platform": platform_document(fitted.platform),
        "notes": fitted.notes,
        "messages_intervals": {n: asdict(i) for n, i in fitted.message_intervals.items()},
    }
    if fitted.buffer is not None:
        found["buffer"] = {
            "architecture": fitted.buffer.architecture,
            "packets": fitted.buffer.packets,
            "told_apart": fitted.buffer.told_apart,
            "slopes": [
                {"sources": a, "sinks": b, "packets": slope, **asdict(interval)}
                for (a, b), (slope, interval) in fitted.buffer.slopes.items()
            ],
        }
    return found


_MODELS: Mapping[str, Callable[[Platform, int], Any]] = {
    "hockney": hockney,
    "logp": lambda platform, ranks: logp(platform, ranks=ranks),
    "loggp": lambda platform, ranks: loggp(platform, ranks=ranks),
    "plogp": lambda platform, ranks: plogp(platform, platform.packet_bytes, ranks),
}


def in_another_model(platform: Platform, name: str) -> tuple[list[str], dict[str, Any]]:
    """A platform as Hockney, LogP, LogGP or PLogP see it: lines, and a document. Raises
    ``ValueError`` for another name and where a parameter is missing."""
    ranks = platform.ranks or 2
    if name not in _MODELS:
        raise ValueError(f"--as {name}: expected {', '.join(_MODELS)}")
    document = asdict(_MODELS[name](platform, ranks))
    flat = {**document.pop("small", {}), **document}
    lines = [f"{platform.name} as {name}, {ranks} processes"]
    lines += [f"    {key:<28}{value:>16.6g}" for key, value in flat.items()]
    return lines, {"platform": platform.name, "model": name, **flat}


def _parameter(platform: Platform, name: str) -> list[str]:
    """The law that is used, and those of other methods beside it."""
    lines = []
    if name in platform.costs:
        lines = _law_lines(platform, SYMBOLS[name], platform.costs[name])
    for other in platform.others.get(name, ()):
        lines += _law_lines(platform, "  or", other)
    return lines


def _law_lines(platform: Platform, symbol: str, cost: Cost) -> list[str]:
    value = format_time(cost.at(platform.packet_bytes, platform.ranks or 2))
    lines = [f"{symbol:<13}{law(cost):<39}{value:>14}"]
    where = f"{cost.origin.kind}: {cost.origin.source}"
    if cost.origin.run is not None:
        where += f"; {cost.origin.run}"
    if cost.sizes is not None:
        low, high = cost.sizes
        where += f"; of {low} bytes" if low == high else f"; of {low} to {high} bytes"
    if cost.fit is not None:
        fit = cost.fit
        where += f"; {fit.n} points, residual {format_time(fit.residual_ns)}"
        where += f", R² {fit.r_squared:.4f}"
        for coefficient, interval in fit.intervals.items():
            where += f", {coefficient} {interval.low:.6g}..{interval.high:.6g}"
    return [*lines, *wrapped(where, "    ")]


def law(cost: Cost) -> str:
    """A cost as a formula in µs."""
    terms = [(cost.start_ns, ""), (cost.per_byte_ns, " m"), (cost.per_rank_ns, " p")]
    terms.append((cost.per_rank_byte_ns, " m p"))
    said = [f"{value / 1e3:.6g}{unit}" for value, unit in terms if value or not unit]
    if len(said) > 1 and cost.start_ns == 0:
        said = said[1:]
    return " + ".join(said).replace("+ -", "- ")


def _switch_lines(platform: Platform) -> list[str]:
    lines: list[str] = []
    if platform.buffer is not None:
        buffer = platform.buffer
        text = f"Switch: {buffer.architecture}-buffered, B_L {buffer.packets} packets"
        if buffer.low is not None and buffer.high is not None:
            text += f", {buffer.low:.4g}..{buffer.high:.4g} by shape of burst"
        lines += ["", *wrapped(f"{text} ({buffer.origin.kind}: {buffer.origin.source})")]
    if platform.uplink is not None:
        uplink = platform.uplink
        text = (
            f"Uplink: {format_rate(uplink.rate_bit_per_s)} nominal, at most"
            f" {mega(uplink.ceiling_byte_per_s)} seen both ways, B_L {uplink.buffer.packets}"
            f" packets ({uplink.origin.kind}: {uplink.origin.source})"
        )
        lines += wrapped(text)
    if platform.messages is not None:
        text = (
            f"Messages: alpha {format_time(platform.messages.alpha_ns)}, beta"
            f" {platform.messages.beta_ns:.6g} ns a byte ({platform.messages.origin.kind}:"
            f" {platform.messages.origin.source})"
        )
        lines += wrapped(text)
    return lines


def _consequences(platform: Platform) -> list[str]:
    lines: list[str] = []
    if "send_gap" in platform.costs:
        lines.append("Stages, the slowest first:")
        for stage in stages(platform):
            name = f"{stage.stage} ({stage.symbol})"
            time, rate = format_time(stage.time_ns), mega(stage.byte_per_s)
            lines.append(f"    {name:<28}{time:>12}{rate:>16}")
    if all(name in platform.costs for name in TRANSFER):
        lines += ["", *_views(platform)]
    elif platform.messages is not None:
        line = hockney(platform)
        lines.append(f"Hockney: n_1/2 {line.half_performance_bytes:.6g} bytes")
    return lines


def _views(platform: Platform) -> list[str]:
    ranks = platform.ranks or 2
    times = platform.times(ranks=ranks)
    line, small = hockney(platform, ranks), logp(platform, ranks=ranks)
    long = loggp(platform, ranks=ranks)
    said = "holds" if times.is_full_duplex else "does not hold"
    symbols = (
        f"O_s + O_r + U_r < g < L {said}: {format_time(times.host_ns)},"
        f" {format_time(times.gap_ns)}, {format_time(times.latency_ns)}."
    )
    beyond = platform.beyond(platform.packet_bytes, ranks)
    told = f"Extrapolated to a full packet and p = {ranks}: {', '.join(beyond)}."
    return [
        *(wrapped(told) if beyond else []),
        f"A full packet one way, p = {ranks}: {format_time(single_packet_ns(times))};"
        f" g_s - O_s {format_time(times.slack_ns)}",
        *wrapped(symbols),
        f"Hockney  alpha {format_time(line.alpha_ns)}, beta {line.beta_ns:.6g} ns a byte"
        f" ({mega(line.bandwidth_byte_per_s)})",
        f"LogP     L {format_time(small.latency_ns)}, o {format_time(small.overhead_ns)},"
        f" g {format_time(small.gap_ns)}, {small.capacity} under way at most",
        f"LogGP    G {long.gap_per_byte_ns:.6g} ns a byte",
    ]


def platform_answer(platform: Platform) -> dict[str, Any]:
    """The same as a document."""
    content: dict[str, Any] = {"platform": platform_document(platform)}
    content["wire_ns"] = platform.wire_ns()
    if "send_gap" in platform.costs:
        content["stages"] = [
            {**asdict(stage), "byte_per_s": stage.byte_per_s if stage.time_ns > 0.0 else None}
            for stage in stages(platform)
        ]
    if all(name in platform.costs for name in TRANSFER):
        ranks = platform.ranks or 2
        times = platform.times(ranks=ranks)
        content["full_packet"] = {
            **asdict(times),
            "gap_ns": times.gap_ns,
            "slack_ns": times.slack_ns,
            "one_way_ns": single_packet_ns(times),
            "full_duplex": times.is_full_duplex,
        }
        content["hockney"] = asdict(hockney(platform, ranks))
        content["logp"] = asdict(logp(platform, ranks=ranks))
        content["loggp"] = asdict(loggp(platform, ranks=ranks))
        content["plogp"] = asdict(plogp(platform, platform.packet_bytes, ranks))
    return content


# Predictions.


def prediction_lines(platform: Platform, found: Prediction) -> list[str]:
    """One prediction: time, bandwidth beside its bounds, other formulas, notes."""
    equation = f"Eq. ({found.equation})" if found.equation else "alpha, beta, gamma"
    lines = wrapped(
        f"{found.algorithm} on {found.platform}, {found.ranks} processes,"
        f" {bytes_in_words(found.size_bytes)}{_of_what(found)}"
    )
    lines.append("")
    if found.packets is not None:
        lines.append(f"{'packets of a message or block':<34}{found.packets:>20}")
    lines.append(f"{'time':<34}{format_time(found.time_ns):>20}  {equation}")
    lines += wrapped(found.formula, "    ")
    if found.rounds is not None:
        lines.append(f"{'rounds':<34}{found.rounds:>20}")
    if found.least_ns is not None:
        share = f"{100 * found.least_ns / found.time_ns:.1f} % of it reached"
        lines.append(
            f"{'no schedule is faster than':<34}{format_time(found.least_ns):>20}  {share}"
        )
    if found.window is not None:
        lines.append(f"{'global window W_g, packets':<34}{found.window:>20}  Eq. (6.2)")
    lines += _bandwidth_lines(platform, found)
    for other in found.others:
        lines += ["", f"{'by another formula':<34}{format_time(other.time_ns):>20}"]
        lines += wrapped(f"{other.formula}. {other.why}".strip(), "    ")
    for note in found.notes:
        lines += ["", *wrapped(f"Note: {note}")]
    return lines


def _bandwidth_lines(platform: Platform, found: Prediction) -> list[str]:
    if found.node_byte_per_s is None:
        return []
    return [
        f"{'bandwidth of a node':<34}{mega(found.node_byte_per_s):>20}  of what it sends",
        f"{'the link, nominal':<34}{mega(platform.link_bit_per_s / 8):>20}",
        f"{'the link, payload of full packets':<34}"
        f"{mega(platform.packet_bytes * 1e9 / platform.wire_ns()):>20}",
    ]


def _of_what(found: Prediction) -> str:
    family = found.algorithm.split("/")[0]
    if family == "alltoall":
        return " for each partner"
    if family in ("scatter", "gather", "allgather", "reduce-scatter"):
        return " of each process"
    return ""


def comparison_lines(found: Sequence[Prediction]) -> list[str]:
    """Predictions of a family, the fastest first."""
    first = found[0]
    lines = wrapped(
        f"{first.platform}, {first.ranks} processes, {format_size(first.size_bytes)}"
        f" bytes{_of_what(first)}, the fastest first"
    )
    has_rates = any(each.node_bytes is not None for each in found)
    rate_title = f"{'bandwidth':>16}" if has_rates else ""
    lines += ["", f"{'algorithm':<38}{'time':>13}{rate_title}  formula"]
    for each in found:
        equation = f"Eq. ({each.equation})" if each.equation else "alpha beta"
        rate = f"{mega(each.node_byte_per_s):>16}" if has_rates else ""
        lines.append(f"{each.algorithm:<38}{format_time(each.time_ns):>13}{rate}  {equation}")
    notes: dict[str, list[str]] = {}
    for each in found:
        for note in each.notes:
            notes.setdefault(note, []).append(each.algorithm)
    for note, whose in notes.items():
        about = "" if len(whose) == len(found) else f" ({', '.join(whose)})"
        lines += ["", *wrapped(f"Note{about}: {note}")]
    return lines


def prediction_document(found: Prediction) -> dict[str, Any]:
    """A prediction for JSON."""
    return {**asdict(found), "node_byte_per_s": found.node_byte_per_s}


def simulated_lines(found: Prediction, beside: Simulated) -> list[str]:
    """The simulated time beside the formula's."""
    lost = f"{beside.lost_packets} packets lost"
    if beside.time_ns is None:
        return wrapped(
            f"Simulated: it does not end. {lost} to full buffers, and nobody sends again; netsonde"
            " model safe-window says what the switch takes."
        )
    by = f"{beside.time_ns / found.time_ns - 1:+.2%} of the formula" if found.time_ns else ""
    return [
        f"{'simulated':<34}{format_time(beside.time_ns):>20}  {by}",
        f"{'':<34}{lost:>20}  seed {beside.seed}",
    ]


def simulated_document(found: Prediction, beside: Simulated) -> dict[str, Any]:
    """The same for JSON; ``deviation`` is simulated over predicted, less 1."""
    deviation = None
    if beside.time_ns is not None and found.time_ns > 0.0:
        deviation = beside.time_ns / found.time_ns - 1.0
    return {**asdict(beside), "deviation": deviation}


# What if.


def change_lines(before: Platform, after: Platform, steps: Sequence[str]) -> list[str]:
    """Parameters and stages beside each other."""
    lines = [line for step in steps for line in wrapped(step)]
    lines += ["", f"{'':<34}{'before':>18}{'after':>18}"]
    for name in TRANSFER:
        if name in before.costs:
            values = [p.costs[name].at(p.packet_bytes, p.ranks or 2) for p in (before, after)]
            lines.append(_beside(SYMBOLS[name], [format_time(v) for v in values]))
    if all(name in before.costs for name in TRANSFER):
        both = [p.times(ranks=p.ranks or 2) for p in (before, after)]
        times = [format_time(single_packet_ns(t)) for t in both]
        lines.append(_beside("a full packet one way", times))
        said = ["yes" if t.is_full_duplex else "no" for t in both]
        lines.append(_beside("O_s + O_r + U_r < g < L", said))
    old = {stage.stage: stage for stage in stages(before)}
    new = {stage.stage: stage for stage in stages(after)}
    lines += ["", "What each stage lets pass:"]
    for stage, rate in old.items():
        values_said = [mega(rate.byte_per_s), mega(new[stage].byte_per_s)]
        lines.append(_beside(f"    {stage} ({rate.symbol})", values_said))
    slowest = [stages(p)[0] for p in (before, after)]
    lines += ["", _beside("slowest stage", [s.stage for s in slowest])]
    lines.append(_beside("bandwidth at most", [mega(s.byte_per_s) for s in slowest]))
    return lines


def _beside(name: str, values: Sequence[str]) -> str:
    return f"{name:<34}" + "".join(f"{value:>18}" for value in values)


def change_document(before: Platform, after: Platform, steps: Sequence[str]) -> dict[str, Any]:
    """The same for JSON."""
    return {
        "steps": list(steps),
        "before": platform_answer(before),
        "after": platform_answer(after),
    }


# Published tables.


def published_lines(table: PublishedTable) -> list[str]:
    """A table in columns as wide as they need to be, or row by row where that is too wide."""
    head = [
        *wrapped(f"{table.number}: {table.title}"),
        *wrapped(f"In {table.unit}. {table.note}"),
        "",
    ]
    rows = [[str(value) if value != "" else MISSING for value in row] for row in table.rows]
    names, kinds = list(table.columns), list(table.kinds)
    for shown_kinds in (kinds, [kind[:1] for kind in kinds]):
        cells = [names, shown_kinds, *rows]
        widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
        for between in ("  ", " "):
            if sum(widths) + len(between) * (len(widths) - 1) <= WIDTH:
                lines = [_columns(row, widths, between) for row in cells]
                return [*head, *lines, *([] if shown_kinds is kinds else ["", *_explained(kinds)])]
    lines = []
    for row in rows:
        pairs = zip(names, kinds, row, strict=True)
        said = "; ".join(f"{name} {value} ({kind})" for name, kind, value in pairs)
        lines += [*wrapped(said), ""]
    return [*head, *lines]


def _columns(row: Sequence[str], widths: Sequence[int], between: str) -> str:
    return between.join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _explained(kinds: Sequence[str]) -> list[str]:
    return wrapped(", ".join(f"{kind[:1]} {kind}" for kind in dict.fromkeys(kinds)))
