"""Lines of ``key=value`` as several peers print them."""

from __future__ import annotations

import math
import re

from netsonde.peers.output import EXCERPT_CHARACTERS, UnreadableOutputError

# No tool prints longer ones; what does not fit is not taken for a value.
_PAIR = re.compile(r"(?<!\S)([A-Za-z_][A-Za-z0-9_]{0,63})=(\S{0,63})(?!\S)")


def key_values(text: str) -> dict[str, str]:
    """All of them; of one that comes twice, the last."""
    return dict(_PAIR.findall(text))


def positive(values: dict[str, str], key: str, tool: str, text: str) -> float:
    """The value as a finite number above 0. Raises UnreadableOutputError."""
    number = amount(values, key, tool, text)
    if number == 0.0:
        raise UnreadableOutputError(f"{tool}'s result is unusable: {key} is 0")
    return number


def amount(values: dict[str, str], key: str, tool: str, text: str) -> float:
    """The value as a finite number of 0 or more. Raises UnreadableOutputError."""
    if key not in values:
        words = " ".join(text.split())[-EXCERPT_CHARACTERS:] or "nothing"
        raise UnreadableOutputError(f"{tool}'s result is incomplete: no {key} in: {words}")
    try:
        number = float(values[key])
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0.0:
        raise UnreadableOutputError(f"{tool}'s result is unusable: {key} is {values[key]!r}")
    return number
