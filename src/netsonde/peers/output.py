"""What all parsers of other tools' output share: the error, limits, and checked numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from netsonde.errors import UsageError

EXCERPT_CHARACTERS = 200
LINE_LIMIT_CHARACTERS = 100_000
POINTS_LIMIT = 10_000
"""Points of one file: more than any sweep has."""
INTERVALS_LIMIT = 100_000
RATE_LIMIT_BIT_PER_S = 1e15
TIME_LIMIT_NS = 1e15  # eleven days
COUNT_LIMIT = 2.0**63
SIZE_LIMIT_BYTES = 2.0**40

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class UnreadableOutputError(UsageError):
    """A tool's output does not hold the figures of a complete run."""


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) without colours and spaces around it. Raises where a line has no end."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_LIMIT_CHARACTERS:
            raise UnreadableOutputError(
                f"line {number} has {len(line)} characters; none of these tools writes more than "
                f"{LINE_LIMIT_CHARACTERS}"
            )
        yield number, (_COLOUR.sub("", line) if "\x1b" in line else line).strip()


def without_colours(text: str) -> str:
    return _COLOUR.sub("", text)


def number(value: Any, what: str, most: float, least: float = 0.0) -> float:
    """A finite number between least and most, from a text or a JSON number.

    ``what`` names it and its place in the sentence of the error.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found = float(value)
    except (ValueError, OverflowError):
        raise UnreadableOutputError(f"{what} is {excerpt(str(value))}, not a number") from None
    if not least <= found <= most:  # not even NaN is between them
        raise UnreadableOutputError(
            f"{what} is {found:g}; expected {least:g} to {most:g} in a result of that kind"
        )
    return found


def rate(value: Any, what: str, unit_bit: float = 1.0) -> float:
    """A rate in bit/s from a value in units of ``unit_bit``."""
    return number(value, what, RATE_LIMIT_BIT_PER_S / unit_bit) * unit_bit


def time_ns(value: Any, what: str, unit_ns: float) -> float:
    """A time in ns from a value in units of ``unit_ns``."""
    return number(value, what, TIME_LIMIT_NS / unit_ns) * unit_ns


def count(value: Any, what: str) -> float:
    return number(value, what, COUNT_LIMIT)


def size_bytes(value: Any, what: str) -> int:
    """A message size: a whole number of bytes."""
    found = number(value, what, SIZE_LIMIT_BYTES)
    if found != int(found):
        raise UnreadableOutputError(f"{what} is {found:g}, not a whole number of bytes")
    return int(found)


def excerpt(text: str) -> str:
    """The end of a text, on one line, printable."""
    words = " ".join(text[-4 * EXCERPT_CHARACTERS :].split())
    shown = "".join(c if c.isprintable() else "?" for c in words[-EXCERPT_CHARACTERS:])
    return shown or "nothing"
