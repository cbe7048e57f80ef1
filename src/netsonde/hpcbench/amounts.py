"""Sizes, rates and counts as Hpcbench's options write them.

Sizes take k and m, large or small: 1024 and 1024 squared bytes. Rates take K and M, large or small:
1000 and a million bit/s. Everything else is refused, and so is what does not fit.
"""

from __future__ import annotations

import re

from netsonde.errors import UsageError

_AMOUNT = re.compile(r"([0-9]{1,18})([kKmM]?)\Z")
_POWER = {"": 0, "k": 1, "m": 2}


def parse_size_bytes(text: str, option: str, least: int, most: int) -> int:
    """Bytes of ``65536``, ``64k`` or ``1m``. Raises UsageError that names the option."""
    return _amount(text, option, 1024, least, most, "bytes, such as 65536, 64k or 1m")


def parse_rate_bit_per_s(text: str, option: str, least: int, most: int) -> int:
    """Bits per second of ``10M`` or ``500k``. Raises UsageError that names the option."""
    return _amount(text, option, 1000, least, most, "bit/s, such as 500K or 10M")


def parse_time(text: str, option: str, least: float, most: float, unit: str = "seconds") -> float:
    """A number of seconds or minutes, in parts too. Raises UsageError that names the option."""
    if (
        not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9}", text)
        or not least <= float(text) <= most
    ):
        raise UsageError(f"{option} {text!r} is not a time of {least:g} to {most:g} {unit}")
    return float(text)


def _amount(text: str, option: str, base: int, least: int, most: int, what: str) -> int:
    match = _AMOUNT.match(text)
    value = int(match[1]) * base ** _POWER[match[2].lower()] if match else -1
    if not least <= value <= most:
        raise UsageError(f"{option} {text!r} is not a number from {least} to {most} of {what}")
    return value
