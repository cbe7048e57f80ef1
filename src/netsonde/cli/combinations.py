"""Options with several values, as ``--buffer 64k,1M``: one measurement for each combination."""

from __future__ import annotations

from itertools import product
from typing import Any

from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.errors import UsageError

LISTED = {row.key: row.shown for row in STUDY_OPTIONS.values() if row.listed}
"""The options that take several values, and how a label names them."""
COMBINATIONS_LIMIT = 200


def combinations(block: dict[str, Any]) -> list[dict[str, Any]]:
    """A block of a study for each combination of its options' values, with a label that says which.

    Values are separated by commas; ``1..6`` stands for six classes of service. Raises UsageError
    where there would be too many.
    """
    options = block["options"]
    several = {key: _values(options.get(key)) for key in LISTED}
    several = {key: values for key, values in several.items() if len(values) > 1}
    if not several:
        return [block]
    blocks = []
    for values in product(*several.values()):
        chosen = dict(zip(several, values, strict=True))
        label = ", ".join(f"{LISTED[key]} {value}".strip() for key, value in chosen.items())
        blocks.append({**block, "options": {**options, **chosen}, "label": label})
    if len(blocks) > COMBINATIONS_LIMIT:
        raise UsageError(
            f"the options have {len(blocks)} combinations; {COMBINATIONS_LIMIT} are the most"
        )
    return blocks


def _values(text: str | None) -> list[str]:
    values: list[str] = []
    for part in (text or "").split(","):
        first, dots, last = part.partition("..")
        if dots and first.isdecimal() and last.isdecimal() and len(first) == len(last) == 1:
            values += [str(number) for number in range(int(first), int(last) + 1)]
        else:
            values.append(part)
    return values
