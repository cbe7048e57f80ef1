"""Figures over hours, days and weeks of one host's trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

import numpy as np

from netsonde.stats.quantiles import quantiles
from netsonde.trace.names import is_loss, split_interface
from netsonde.trace.series import Amounts, by_second
from netsonde.trace.windows import Windows

BUSY = 0.9
"""A CPU that is busy for this share of a window counts as saturated."""
SHORT = 0.5
"""A window of less than so many intervals is in totals and means, not in quantiles and extremes."""
DAY_NS = 86400 * 10**9
HOUR_NS = 3600 * 10**9
By = Literal["day", "hour"]


@dataclass(frozen=True)
class Spread:
    """Of a rate or share over windows: mean over time, quantiles and the largest of windows."""

    mean: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True)
class Direction:
    """One way through an interface. above: share of time above a threshold, None without one."""

    bit_per_s: Spread
    packets_per_s: Spread
    total_bytes: float
    total_packets: float
    above: float | None


@dataclass(frozen=True)
class InterfaceSummary:
    """losses: counters of what was dropped or damaged, those that moved. Interrupts are None where
    none bear the interface's name or that of its device."""

    name: str
    received: Direction
    sent: Direction
    losses: dict[str, float]
    interrupts_per_s: float | None
    packets_per_interrupt: float | None


@dataclass(frozen=True)
class HostSummary:
    """One host over one period. Shares of 1; None where the system does not tell."""

    host: str
    begun: datetime
    ended: datetime
    observed_s: float
    windows: int
    busy: Spread | None
    kinds: dict[str, float]
    saturated: float | None
    memory_most: float | None
    interrupts_per_s: float | None
    switches_per_s: float | None
    losses: dict[str, float]
    interfaces: list[InterfaceSummary]


def summarise(windows: Windows, above_bit_per_s: float | None = None) -> HostSummary | None:
    """Of all windows; None of none. ``above_bit_per_s`` is the threshold for the share of time; by
    default half the speed of the link, where that is known."""
    if not len(windows):
        return None
    observed_s = float(windows.window_s.sum())
    ends = windows.end_unix_ns
    begun_ns = int(ends[0]) - int(windows.window_s[0] * 1e9)
    busiest = windows.column("busiest")
    memory = windows.column("memory")
    return HostSummary(
        windows.host,
        datetime.fromtimestamp(begun_ns / 1e9, UTC),
        datetime.fromtimestamp(int(ends[-1]) / 1e9, UTC),
        observed_s,
        len(windows),
        spread_of_share(windows, windows.column("busy")),
        {
            name.removeprefix("share:"): _mean_over_time(windows, column)
            for name, column in windows.columns.items()
            if name.startswith("share:")
        },
        _share_of_time(windows, busiest, BUSY),
        float(np.nanmax(memory)) if _is_known(memory) else None,
        _per_s(windows, "system.interrupts"),
        _per_s(windows, "system.context_switches"),
        _losses(windows),
        [_interface(windows, name, above_bit_per_s) for name in windows.interfaces],
    )


def by_day(windows: Windows) -> dict[date, Windows]:
    """Windows by the day (UTC) on which they ended."""
    days = windows.end_unix_ns // DAY_NS
    return {
        datetime.fromtimestamp(int(day) * 86400, UTC).date(): windows.part(days == day)
        for day in np.unique(days)
    }


def by_hour(windows: Windows) -> dict[int, Windows]:
    """Windows by the hour of the day (UTC) in which they ended, over all days."""
    hours = windows.end_unix_ns % DAY_NS // HOUR_NS
    return {int(hour): windows.part(hours == hour) for hour in np.unique(hours)}


def spread_of_share(windows: Windows, share: Amounts) -> Spread | None:
    if not _is_known(share):
        return None
    return _spread(windows, share, _mean_over_time(windows, share))


def spread_of_rate(windows: Windows, amounts: Amounts, unit: float = 1.0) -> Spread:
    """By second; ``unit`` is what one of the amount counts. NaN where nothing is known."""
    known = ~np.isnan(amounts)
    seconds = float(windows.window_s[known].sum())
    mean = unit * float(amounts[known].sum()) / seconds if seconds > 0 else np.nan
    return _spread(windows, by_second(amounts * unit, windows.window_s), mean)


def _spread(windows: Windows, values: Amounts, mean: float) -> Spread:
    known = ~np.isnan(values) & (windows.window_s >= SHORT * windows.interval_s)
    if not known.any():
        return Spread(mean, np.nan, np.nan, np.nan)
    median, p95 = quantiles(values[known], [0.5, 0.95])
    return Spread(mean, float(median), float(p95), float(values[known].max()))


def _interface(windows: Windows, name: str, above_bit_per_s: float | None) -> InterfaceSummary:
    above = above_bit_per_s
    if above is None and name in windows.speeds_bit_per_s:
        above = windows.speeds_bit_per_s[name] / 2
    received, sent = (_direction(windows, name, way, above) for way in ("rx", "tx"))
    interrupts = windows.column(f"interrupts:{name}")
    counted = float(np.nansum(interrupts))
    packets = received.total_packets + sent.total_packets
    return InterfaceSummary(
        name,
        received,
        sent,
        {
            place[1]: amount
            for counter, amount in _losses(windows).items()
            if (place := split_interface(counter)) is not None and place[0] == name
        },
        _per_s(windows, f"interrupts:{name}"),
        packets / counted if counted > 0 else None,
    )


def _direction(windows: Windows, name: str, way: str, above: float | None) -> Direction:
    moved_bytes = windows.column(f"interface.{name}.{way}_bytes")
    packets = windows.column(f"interface.{name}.{way}_packets")
    share = None
    if above is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = _share_of_time(windows, 8 * moved_bytes / windows.window_s, above)
    return Direction(
        spread_of_rate(windows, moved_bytes, 8.0),
        spread_of_rate(windows, packets),
        float(np.nansum(moved_bytes)),
        float(np.nansum(packets)),
        share,
    )


def _losses(windows: Windows) -> dict[str, float]:
    sums = {
        name: float(np.nansum(column)) for name, column in windows.columns.items() if is_loss(name)
    }
    return {name: amount for name, amount in sums.items() if amount > 0}


def _share_of_time(windows: Windows, values: Amounts, above: float) -> float | None:
    known = ~np.isnan(values)
    seconds = float(windows.window_s[known].sum())
    if seconds <= 0:
        return None
    return float(windows.window_s[known & (values > above)].sum()) / seconds


def _mean_over_time(windows: Windows, values: Amounts) -> float:
    known = ~np.isnan(values)
    seconds = float(windows.window_s[known].sum())
    if seconds <= 0:
        return np.nan
    return float((values[known] * windows.window_s[known]).sum()) / seconds


def _per_s(windows: Windows, name: str) -> float | None:
    amounts = windows.column(name)
    return spread_of_rate(windows, amounts).mean if _is_known(amounts) else None


def _is_known(values: Amounts) -> bool:
    return bool((~np.isnan(values)).any())
