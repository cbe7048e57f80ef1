"""Summaries of traces as tables of 80 columns, and as one JSON document."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from netsonde.trace.summary import (
    By,
    HostSummary,
    InterfaceSummary,
    Spread,
    by_day,
    by_hour,
    summarise,
)
from netsonde.trace.windows import Windows

WIDTH = 80
NAME_CHARACTERS = 15
ANOMALIES_SHOWN = 12
LOSSES_SHOWN = 12
NOTHING_LOST = "nothing was dropped or retransmitted"


def summary_lines(
    traces: Sequence[Windows], by: By | None, above_bit_per_s: float | None
) -> list[str]:
    """Tables over all traces, then what stands out of each."""
    found = [(one, summarise(one, above_bit_per_s)) for one in traces]
    summaries = [summary for _, summary in found if summary is not None]
    lines: list[str] = []
    for windows, summary in found:
        lines += _wrapped(about_sentence(windows, summary))
    if summaries:
        lines += ["", *_processor_table(summaries)]
        lines += ["", *_rate_table(summaries)]
        lines += ["", *_packet_table(summaries)]
        lines += _loss_lines(summaries)
    if by is not None:
        for windows, summary in found:
            if summary is not None:
                lines += ["", *_period_table(windows, by, above_bit_per_s)]
    for windows, _ in found:
        odd = odd_sentences(windows)
        lines += ["", *(part for line in odd for part in _wrapped(line))] if odd else []
    return lines


def summary_document(
    traces: Sequence[Windows], by: By | None, above_bit_per_s: float | None
) -> dict[str, Any]:
    """The same for programs: rates in bit/s, shares of 1, null where something is not known."""
    hosts = []
    for windows in traces:
        summary = summarise(windows, above_bit_per_s)
        entry: dict[str, Any] = {
            "source": windows.source,
            "host": windows.host,
            "interval_s": windows.interval_s,
            "missed": windows.missed,
            "missing": windows.missing,
            "problems": windows.problems,
            "summary": None if summary is None else asdict(summary),
            "processors_busy_s": windows.processor_busy_s,
            "anomalies": [asdict(one) for one in windows.anomalies],
        }
        if by is not None:
            entry[f"by_{by}"] = {
                label: asdict(part) for label, part in periods(windows, by, above_bit_per_s)
            }
        hosts.append(entry)
    made: dict[str, Any] = _plain({"hosts": hosts})
    return made


def about_sentence(windows: Windows, summary: HostSummary | None) -> str:
    """Of which host and time a trace is."""
    if summary is None:
        return f"{windows.host}: no two samples in the time asked for ({windows.source})"
    words = (
        f"{windows.host}: {_when(summary.begun)} to {_when(summary.ended)} UTC, "
        f"{summary.windows} times {_seconds(windows.interval_s)}"
    )
    return f"{words}, {windows.missed} missed" if windows.missed else words


def _processor_table(summaries: Sequence[HostSummary]) -> list[str]:
    lines = [
        f"{'CPUs':<{NAME_CHARACTERS}}{'busy %':>7}{'median':>7}{'p95':>7}{'max':>7}"
        f"{'soft%':>7}{'stolen':>7}{'one>90':>7}{'mem %':>6}{'Intr/s':>10}"
    ]
    for one in summaries:
        busy = one.busy or Spread(math.nan, math.nan, math.nan, math.nan)
        shares = (busy.mean, busy.median, busy.p95, busy.most)
        soft = one.kinds.get("softirq", math.nan) + one.kinds.get("irq", math.nan)
        cells = [*shares, soft, one.kinds.get("steal", math.nan), _or_nan(one.saturated)]
        lines.append(
            f"{_cut(one.host):<{NAME_CHARACTERS}}"
            + "".join(f"{_percent(cell):>7}" for cell in cells)
            + f"{_percent(_or_nan(one.memory_most)):>6}{_number(_or_nan(one.interrupts_per_s)):>10}"
        )
    return lines


def _rate_table(summaries: Sequence[HostSummary]) -> list[str]:
    lines = [
        f"{'interface':<{NAME_CHARACTERS + 8}}{'mean':>11}{'median':>11}{'p95':>11}{'max':>11}"
        f"{'above':>6}{'bytes':>7}"
    ]
    for host, interface in moved_interfaces(summaries):
        for word, way in (("in", interface.received), ("out", interface.sent)):
            rates = way.bit_per_s
            cells = (rates.mean, rates.median, rates.p95, rates.most)
            name = f"{_cut(host.host, 14)} {_cut(interface.name, 8)}"
            lines.append(
                f"{_cut(name, NAME_CHARACTERS + 3) if word == 'in' else '':<{NAME_CHARACTERS + 4}}"
                f"{word:<4}"
                + "".join(f"{_rate(cell):>11}" for cell in cells)
                + f"{_percent(_or_nan(way.above)):>6}{_size(way.total_bytes):>7}"
            )
    return [*lines, "rates in bit/s; above: per cent of the time above the threshold (--above)"]


def _packet_table(summaries: Sequence[HostSummary]) -> list[str]:
    lines = [
        f"{'packets':<{NAME_CHARACTERS + 8}}{'in /s':>10}{'out /s':>10}{'bytes':>7}{'Intr/s':>9}"
        f"{'a Intr':>8}{'lost':>12}"
    ]
    for host, interface in moved_interfaces(summaries):
        packets = interface.received.total_packets + interface.sent.total_packets
        moved = interface.received.total_bytes + interface.sent.total_bytes
        mean = moved / packets if packets > 0 else math.nan
        name = f"{_cut(host.host, 14)} {_cut(interface.name, 8)}"
        lines.append(
            f"{_cut(name, NAME_CHARACTERS + 7):<{NAME_CHARACTERS + 8}}"
            f"{_number(interface.received.packets_per_s.mean):>10}"
            f"{_number(interface.sent.packets_per_s.mean):>10}{_number(mean):>7}"
            f"{_number(_or_nan(interface.interrupts_per_s)):>9}"
            f"{_number(_or_nan(interface.packets_per_interrupt)):>8}"
            f"{_number(sum(interface.losses.values())):>12}"
        )
    return [*lines, "bytes: of a packet, mean; a Intr: packets for each interrupt"]


def _loss_lines(summaries: Sequence[HostSummary]) -> list[str]:
    rows = loss_rows(summaries)
    if not rows:
        return ["", NOTHING_LOST]
    lines = ["", f"{'dropped, retransmitted, swapped':<66}{'counted':>14}"]
    lines += [
        f"{_cut(f'{host} {name}', 65):<66}{_number(n):>14}" for host, name, n in rows[:LOSSES_SHOWN]
    ]
    if len(rows) > LOSSES_SHOWN:
        lines.append(f"and {len(rows) - LOSSES_SHOWN} more (--json has all)")
    return lines


def loss_rows(summaries: Sequence[HostSummary]) -> list[tuple[str, str, float]]:
    """Host, counter and what it counted, the most first."""
    rows = [(one.host, name, amount) for one in summaries for name, amount in one.losses.items()]
    return sorted(rows, key=lambda row: -row[2])


def _period_table(windows: Windows, by: By, above_bit_per_s: float | None) -> list[str]:
    heading = "day (UTC)" if by == "day" else "hour (UTC)"
    lines = [
        f"{_cut(windows.host, 20)}",
        f"{heading:<12}{'busy %':>8}{'interface':>12}{'in mean':>12}{'in max':>12}{'out mean':>12}"
        f"{'out max':>12}",
    ]
    whole = summarise(windows, above_bit_per_s)
    moved = {one.name for _, one in moved_interfaces([] if whole is None else [whole])}
    for label, part in periods(windows, by, above_bit_per_s):
        busy = math.nan if part.busy is None else part.busy.mean
        shown = [one for one in part.interfaces if one.name in moved]
        for count, interface in enumerate(shown):
            cells = (
                interface.received.bit_per_s.mean,
                interface.received.bit_per_s.most,
                interface.sent.bit_per_s.mean,
                interface.sent.bit_per_s.most,
            )
            first = f"{label:<12}{_percent(busy):>8}" if count == 0 else " " * 20
            lines.append(
                f"{first}{_cut(interface.name, 11):>12}"
                + "".join(f"{_rate(cell):>12}" for cell in cells)
            )
    return lines


def periods(
    windows: Windows, by: By, above_bit_per_s: float | None
) -> list[tuple[str, HostSummary]]:
    """Each day, or hour of the day, that has samples."""
    parts: list[tuple[str, Windows]]
    if by == "day":
        parts = [(str(day), part) for day, part in by_day(windows).items()]
    else:
        parts = [(f"{hour:02}", part) for hour, part in by_hour(windows).items()]
    found = ((label, summarise(part, above_bit_per_s)) for label, part in parts)
    return [(label, summary) for label, summary in found if summary is not None]


def odd_sentences(windows: Windows) -> list[str]:
    """What stands out of a trace, and what the tracer itself took."""
    lines = [f"{windows.host}: {problem}" for problem in windows.problems]
    for one in windows.anomalies[:ANOMALIES_SHOWN]:
        when = _when(datetime.fromtimestamp(one.unix_ns / 1e9, UTC))
        lines.append(f"{windows.host}: {when} {one.words}")
    rest = len(windows.anomalies) - ANOMALIES_SHOWN + windows.anomalies_left_out
    if rest > 0:
        lines.append(f"{windows.host}: and {rest} more of these")
    if windows.processor_busy_s and len(windows):
        total_s = float(windows.window_s.sum())
        cpu = max(windows.processor_busy_s, key=lambda one: windows.processor_busy_s[one])
        share = windows.processor_busy_s[cpu] / total_s if total_s > 0 else math.nan
        lines.append(f"{windows.host}: the busiest CPU is {cpu}, {share:.1%} on average")
    own = windows.column("trace.cpu_us")
    known = own[~_is_nan(own)]
    if len(known) and float(windows.window_s.sum()) > 0:
        share = float(known.sum()) / 1e6 / float(windows.window_s.sum())
        lines.append(f"{windows.host}: the tracer itself took {share:.3%} of a CPU")
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _is_nan(values: Any) -> Any:
    return values != values


def moved_interfaces(
    summaries: Sequence[HostSummary],
) -> list[tuple[HostSummary, InterfaceSummary]]:
    """All but those that moved nothing, unless there are no others."""
    every = [(host, one) for host in summaries for one in host.interfaces]
    moved = [
        (host, one) for host, one in every if one.received.total_packets + one.sent.total_packets
    ]
    return moved or every


def _cut(text: str, width: int = NAME_CHARACTERS - 1) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s"


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _shown(value: float, show: Callable[[float], str]) -> str:
    return "-" if math.isnan(value) else show(value)


def _percent(share: float) -> str:
    return _shown(share, lambda value: f"{100 * value:.1f}")


def _rate(bit_per_s: float) -> str:
    return _shown(bit_per_s, lambda value: _scaled(value, 1000.0, ("", " k", " M", " G", " T")))


def _size(size_bytes: float) -> str:
    return _shown(
        size_bytes, lambda value: _scaled(value, 1000.0, ("", "k", "M", "G", "T", "P"), 3)
    )


def _number(value: float) -> str:
    return _shown(
        value, lambda one: f"{one:.0f}" if one >= 100 or one == int(one) else f"{one:.3g}"
    )


def _scaled(value: float, base: float, units: Sequence[str], digits: int = 4) -> str:
    for unit in units[:-1]:
        if abs(value) < base * (1 - 0.5 * 10**-digits):
            return f"{value:.{digits}g}{unit}"
        value /= base
    return f"{value:.{digits}g}{units[-1]}"


def _plain(value: Any) -> Any:
    """What JSON has: null for what is not known, texts for times and keys."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
