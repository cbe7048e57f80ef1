"""Sizes, rates and durations as people write them.

Sizes take 1k and 1M (binary, 1024) and 1kB and 1MB (decimal); rates 10M and 1G (decimal, bit/s);
durations 10ms, 2s, 1m. Everything inside netsonde is an integer of bytes, bit/s or nanoseconds.
"""

import math
import re

from netsonde.errors import UsageError

_NUMBER = r"(\d+(?:\.\d+)?)"
_SIZE = re.compile(rf"^{_NUMBER}\s*(|B|[kKMGT](?:i?B)?)$")
_RATE = re.compile(rf"^{_NUMBER}\s*(|[kKMGT])(?:bit/s|bps|bit)?$")
_DURATION = re.compile(rf"^{_NUMBER}\s*(ns|us|µs|ms|s|m|min|h)?$")

_SHARE = re.compile(rf"^{_NUMBER}\s*(%?)$")

_POWER = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_DURATION_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}


def parse_size_bytes(text: str) -> int:
    """Bytes of a size: ``64`` ``1k`` (1024) ``1KiB`` (1024) ``1kB`` (1000) ``8M``."""
    match = _SIZE.match(text.strip())
    if not match:
        raise UsageError(f"size {text!r} is not a size; write it like 64, 1k, 1M or 1MB")
    number, unit = match.groups()
    decimal = len(unit) == 2
    base = 1000 if decimal else 1024
    power = _POWER["" if unit in ("", "B") else unit[0]]
    return _whole(float(number) * base**power, "size", text)


def parse_rate_bit_per_s(text: str) -> int:
    """Bits per second of a rate: ``10M`` ``1G`` ``2.5G`` (decimal)."""
    match = _RATE.match(text.strip())
    if not match:
        raise UsageError(f"rate {text!r} is not a rate in bit/s; write it like 10M or 1G")
    number, unit = match.groups()
    return _whole(float(number) * 1000 ** _POWER[unit], "rate", text)


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of a duration: ``10ms`` ``2s`` ``1m``; a bare number is seconds."""
    match = _DURATION.match(text.strip())
    if not match:
        raise UsageError(f"duration {text!r} is not a duration; write it like 500ms, 2s or 1m")
    number, unit = match.groups()
    return _whole(float(number) * _DURATION_NS[unit or "s"], "duration", text)


def _whole(value: float, what: str, text: str) -> int:
    if not math.isfinite(value):
        raise UsageError(f"{what} {text[:20]!r}... is beyond all measure")
    if abs(value - round(value)) > 1e-6 * max(1.0, abs(value)):
        raise UsageError(f"{what} {text!r} is not a whole number of its smallest unit")
    return round(value)


def format_size(size_bytes: int) -> str:
    """A size in bytes the way it can be given again: 1536 -> ``1536``, 65536 -> ``64k``."""
    for power, unit in ((3, "G"), (2, "M"), (1, "k")):
        if size_bytes >= 1024**power and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{unit}"
    return str(size_bytes)


def bytes_in_words(size_bytes: int) -> str:
    """A message's size in a sentence: ``1 byte``, ``64 bytes``, ``64k bytes``."""
    return f"{format_size(size_bytes)} byte" + ("" if size_bytes == 1 else "s")


def format_rate(bit_per_s: float) -> str:
    """A rate for people: 956400000 -> ``956.4 Mbit/s``."""
    for power, unit in ((3, "Gbit/s"), (2, "Mbit/s"), (1, "kbit/s")):
        if abs(bit_per_s) >= 1000**power:
            return f"{_four_digits(bit_per_s / 1000**power)} {unit}"
    return f"{_four_digits(bit_per_s)} bit/s"


def format_time(time_ns: float) -> str:
    """A duration for people: 23456 -> ``23.46 µs``."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(time_ns) >= scale:
            return f"{_four_digits(time_ns / scale)} {unit}"
    return f"{_four_digits(time_ns)} ns"


def format_bytes(size_bytes: float) -> str:
    """An amount of traffic for people, decimal: 1234567890 -> ``1.235 GB``."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if abs(size_bytes) >= 1000**power:
            return f"{_four_digits(size_bytes / 1000**power)} {unit}"
    return f"{size_bytes:.0f} B"


def format_duration(time_ns: float) -> str:
    """How long something takes a person: ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    seconds = round(time_ns / 1e9)
    if seconds < 1:
        return format_time(time_ns)
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _four_digits(value: float) -> str:
    magnitude = len(str(int(abs(value))))
    return f"{value:.{max(0, 4 - magnitude)}f}"


def value_in_words(value: float, unit: str) -> str:
    """A value in the unit that its figure's name ends in, in four digits: ``941.2 Mbit/s``."""
    if unit == "ns":
        return format_time(value)
    if unit == "bit_per_s":
        return format_rate(value)
    return f"{100 * value:.3g} %" if unit == "ratio" else f"{value:.4g}"


def change_in_words(ratio: float, unit: str, inverse: float | None = None) -> str:
    """What a figure after is over the one before, with its convention: of a time (``ns``) ``27 %
    less time, 38 % more rate``, of a rate (``bit_per_s``) the rate first, of all else ``27 %
    less``.

    A per cent of a time and one of the rate are two numbers for one change, so both are said.
    ``inverse``: the mean of before over after, where ``ratio`` is a mean of several; else 1 /
    ratio.
    """
    if not (math.isfinite(ratio) and ratio > 0.0):
        return "no ratio"
    if abs(ratio - 1.0) < _NO_CHANGE:
        return "no change"
    own, other = _share_in_words(ratio), _share_in_words(inverse or 1.0 / ratio)
    if unit not in ("ns", "bit_per_s"):
        return own
    names = ("time", "rate") if unit == "ns" else ("rate", "time")
    return f"{own} {names[0]}, {other} {names[1]}"


def _share_in_words(ratio: float) -> str:
    """``27 % less``, ``3.1 % more``; beyond ten times, how many times."""
    change = 100.0 * (ratio - 1.0)
    if ratio > _TIMES_FROM:
        return f"{ratio:.3g} times the"
    digits = f"{abs(change):.0f}" if abs(change) >= 9.95 else f"{abs(change):.1f}"
    return f"{digits} % {'less' if change < 0 else 'more'}"


_NO_CHANGE = 0.0005
"""Would be said as 0.0 %."""
_TIMES_FROM = 10.0
"""What is more than ten times as much is said in times: nobody reads 1786 %."""


def format_count(count: int, word: str) -> str:
    """A number with its word, with an ``s`` where it is not one: ``1 point``, ``3 points``."""
    return f"{count} {word}" + ("" if count == 1 else "s")


def parse_share(text: str, what: str) -> float:
    """A share of one: ``3%`` ``3 %`` ``0.03``. ``what`` names it in the error."""
    match = _SHARE.match(text.strip())
    if not match:
        raise UsageError(f"{what} {text!r} is not a share; write it like 3% or 0.03")
    number, percent = match.groups()
    return float(number) / (100.0 if percent else 1.0)
