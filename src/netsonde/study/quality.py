"""Quality of service: what a person writes, as the byte of the IP header.

Classes 1 to 6 are Hpcbench's (two of the older type of service, four of DiffServ); names and code
points are those of RFC 2474, 2597, 3246, 5865 and 8622.
"""

from __future__ import annotations

from netsonde.errors import UsageError

LOW_DELAY, HIGH_THROUGHPUT = 0x10, 0x08  # RFC 1349


def _assured(forwarding_class: int, drop: int) -> int:
    return (8 * forwarding_class + 2 * drop) << 2


CLASSES = {
    "1": LOW_DELAY,
    "2": HIGH_THROUGHPUT,
    "3": _assured(1, 1),
    "4": _assured(1, 3),
    "5": _assured(4, 1),
    "6": _assured(4, 3),
}
NAMES = {
    **{f"cs{number}": number << 5 for number in range(8)},
    **{f"af{c}{d}": _assured(c, d) for c in range(1, 5) for d in range(1, 4)},
    "ef": 46 << 2,
    "va": 44 << 2,
    "le": 1 << 2,
}


def parse_traffic_class(text: str) -> int:
    """``1`` to ``6``, a name (``af41``, ``cs5``, ``ef``), ``dscp46``, or the byte as ``0xb8``.

    Raises UsageError.
    """
    lower = text.strip().lower()
    known = CLASSES.get(lower, NAMES.get(lower))
    if known is not None:
        return known
    number = lower.removeprefix("dscp")
    if number != lower and number.isdecimal() and int(number) < 64:
        return int(number) << 2
    try:
        byte = int(lower, 16) if lower.startswith("0x") else -1
    except ValueError:
        byte = -1
    if not 0 <= byte <= 255:
        raise UsageError(
            f"quality of service {text!r} is none of 1 to 6, a name such as af41, cs5 or ef, "
            "dscp0 to dscp63, or a byte such as 0xb8"
        )
    return byte
