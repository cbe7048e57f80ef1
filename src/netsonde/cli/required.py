"""``--at-least`` and ``--at-most``: what the figures of a single command have to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netsonde.errors import UsageError


def required(at_least: Sequence[str] | None, at_most: Sequence[str] | None) -> list[dict[str, Any]]:
    """The blocks ``[[require]]`` of a study. Raises UsageError with one sentence."""
    return [
        *(_block("at_least", text) for text in at_least or ()),
        *(_block("at_most", text) for text in at_most or ()),
    ]


def _block(key: str, text: str) -> dict[str, Any]:
    # Late, as in study_of.
    from netsonde.study.requirement_table import RequirementTable
    from netsonde.tables import checked

    option = f"--{key.replace('_', '-')} {text}"
    figure, _, limit = (part.strip() for part in text.partition("="))
    if not figure or not limit:
        raise UsageError(
            f"{option}: write a figure's name and its limit, such as throughput_bit_per_s=900M"
        )
    block = {"figure": figure, key: limit}
    checked(RequirementTable, block, option)
    return block
