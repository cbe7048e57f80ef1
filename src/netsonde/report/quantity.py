"""Figures as people read them: one unit and as many digits as the interval supports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from netsonde.figures import Figure
from netsonde.units import format_size

Kind = Literal["time_ns", "bit_per_s", "bytes", "size", "count", "ratio", "number", "text"]

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "time_ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "bit_per_s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "ratio": ((1e-2, "%"),),
}
_DIGITS_WITHOUT_INTERVAL = 4
_DECIMALS_LIMIT = 9
THIN_SPACE = "\u202f"


def kind_of(unit: str) -> Kind:
    """The kind of quantity of a figure's unit."""
    kinds: dict[str, Kind] = {
        "ns": "time_ns",
        "bit_per_s": "bit_per_s",
        "ratio": "ratio",
        "bytes": "bytes",
    }
    return kinds.get(unit, "count")


def format_value(value: object, kind: Kind) -> str:
    """One value without an interval: 23456 ns -> ``23.46 µs``; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or kind == "text":
        return str(value)
    if not math.isfinite(value):
        return "–"
    if kind == "size":
        return size_text(int(value))
    if kind in ("count", "bytes"):
        return group_digits(value) + (" B" if kind == "bytes" else "")
    if kind == "number":
        return f"{value:.4g}"
    scale, unit = _scale(abs(value), kind)
    return f"{_fixed(value / scale, _digits_decimals(value / scale))} {unit}"


def format_value_and_interval(figure: Figure) -> tuple[str, str]:
    """A figure and its interval in the same unit: (``23.46 µs``, ``23.40 – 23.52``).

    The decimals show half the width of the interval with two digits. The second part is empty where
    the figure has no interval.
    """
    kind = kind_of(figure.unit)
    if figure.low is None or figure.high is None:
        return format_value(figure.value, kind), ""
    if kind not in _SCALES:
        return _with_interval(
            figure.value, figure.low, figure.high, "B" if kind == "bytes" else "", group_digits
        )
    scale, unit = _scale(max(abs(figure.value), abs(figure.high) * 0.5), kind)
    value, low, high = (x / scale for x in (figure.value, figure.low, figure.high))
    return _with_interval(value, low, high, unit)


def format_in_unit(figure: Figure, unit: str) -> tuple[str, str]:
    """The same in a unit that the name does not say: (``812.4 Mop/s``, ``811.9 – 812.9``)."""
    if figure.low is None or figure.high is None:
        return f"{format_value(figure.value, 'number')} {unit}".rstrip(), ""
    return _with_interval(figure.value, figure.low, figure.high, unit)


def _with_interval(
    value: float,
    low: float,
    high: float,
    unit: str,
    exact: Callable[[float], str] | None = None,
) -> tuple[str, str]:
    """``exact`` writes whole numbers and those without any width."""
    half = (high - low) / 2
    ends = (value, low, high)
    if exact is not None and (half == 0 or all(float(x).is_integer() for x in ends)):
        return f"{exact(value)} {unit}".rstrip(), f"{exact(low)} – {exact(high)}"
    texts = value_and_ends(value, low, high)
    return f"{texts[0]} {unit}".rstrip(), f"{texts[1]} – {texts[2]}"


def value_and_ends(value: float, low: float, high: float) -> tuple[str, str, str]:
    """The three with decimals that show half the width of the interval with two digits."""
    half = (high - low) / 2
    decimals = _digits_decimals(value)
    if half > 0:
        decimals = min(_DECIMALS_LIMIT, max(0, 1 - math.floor(math.log10(half * 1.001))))
        decimals = min(decimals, _digits_decimals(value or high) + 2)
        # A wide interval must not hide what lies in it: 0.040 ms is not 0.
        decimals = min(_DECIMALS_LIMIT, max(decimals, *(_decimals(x, 2) for x in (value, low))))
        if _fixed(low, decimals) == _fixed(high, decimals):
            # Nor may a narrow one look as if it had no width: it is rounded outwards.
            step = 10.0**-decimals
            low, high = (max(0.0, low - step) if low >= 0.0 else low - step), high + step
    return _fixed(value, decimals), _fixed(low, decimals), _fixed(high, decimals)


def common_scale(values: Sequence[float], kind: Kind) -> tuple[float, str]:
    """One unit for all of a column, in which their geometric mean is a number of few digits: (1e3,
    ``µs``); (1, ````) of a kind without units."""
    if kind not in _SCALES:
        return 1.0, ""
    logs = [math.log(abs(value)) for value in values if value]
    return _scale(math.exp(sum(logs) / len(logs)) if logs else 0.0, kind)


def three_digits(value: float) -> str:
    """What is known no better than that: ``1234``, ``12.3``, ``0.0123``."""
    return _fixed(value, min(_DECIMALS_LIMIT, _decimals(value, 3)))


def format_figure(figure: Figure) -> str:
    """A figure on one line, with its interval or that it has none: ``23.46 µs [23.40 – 23.52]``,
    ``41.57 µs [no interval]``, ``12 [count]``."""
    value, interval = format_value_and_interval(figure)
    return f"{value} [{interval or no_interval(figure)}]"


def format_with_margin(figure: Figure) -> str:
    """A figure where there is no room for both ends of its interval: ``23.46 µs ±0.3 %``, by the
    end that is farther away; ``41.57 µs [no interval]``."""
    value = format_value(figure.value, kind_of(figure.unit))
    return f"{value} {margin_text(figure.value, figure.low, figure.high) or NO_INTERVAL}"


def margin_text(value: float, low: float | None, high: float | None) -> str:
    """``±0.3 %``, ``±120 %``: the farther end of an interval from the value; empty where there is
    none, or nothing to take a share of."""
    if low is None or high is None or value == 0:
        return ""
    share = 100 * max(value - low, high - value) / abs(value)
    return f"±{share:.1f} %" if share < 9.95 else f"±{share:.0f} %"


NO_INTERVAL = "[no interval]"


def no_interval(figure: Figure) -> str:
    """What stands where a figure has no interval."""
    return "count" if figure.is_a_count else "no interval"


def size_text(size_bytes: int) -> str:
    """A message size in prose: ``64 B``, ``16k``; the latter as it can be given again."""
    text = format_size(size_bytes)
    return f"{text} B" if text.isdigit() else text


def short_rate(bit_per_s: float) -> str:
    """A nominal rate without the zeros of a measured one: ``1 Gbit/s``."""
    scale, unit = _scale(bit_per_s, "bit_per_s")
    return f"{bit_per_s / scale:.4g} {unit}"


def group_digits(value: float) -> str:
    """1234567 -> ``1 234 567`` with thin spaces; a share of one keeps two decimals."""
    text = f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:,.2f}"
    return text.replace(",", THIN_SPACE)


def format_duration(seconds: float) -> str:
    """How long something took: ``41 s``, ``3 min 5 s``, ``2 h 4 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole >= 10 else f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def list_in_words(words: Sequence[str]) -> str:
    """``TCP, UDP and MPI``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _scale(magnitude: float, kind: Kind) -> tuple[float, str]:
    scales = _SCALES[kind]
    if magnitude == 0:
        return scales[-1] if kind != "time_ns" else (1.0, "ns")
    # 999.96 shows as 1000.0, so the next unit begins a little below its power.
    return next(((s, u) for s, u in scales if magnitude >= s * 0.99995), scales[-1])


def _decimals(value: float, digits: int) -> int:
    """So many that a value shows these digits."""
    return 0 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))


def _digits_decimals(value: float) -> int:
    if value == 0:
        return 0
    return max(
        0, min(_DECIMALS_LIMIT, _DIGITS_WITHOUT_INTERVAL - 1 - math.floor(math.log10(abs(value))))
    )


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        return text.replace("-0", "0")
    return f"{value:,.{decimals}f}".replace(",", THIN_SPACE) if abs(value) >= 1e4 else text


def times_text(ratio: float) -> str:
    """``1.08``, ``23``, ``0.012``: what is near 1 by the hundredth."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 10 else f"{ratio:.2g}" if ratio < 1 else f"{ratio:.0f}"
