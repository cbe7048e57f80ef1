"""A figure as another tool says it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """One figure as a tool defines it.

    ``name`` and ``value`` are in netsonde's units, the name begins with the tool's. ``words`` is
    what the tool would print, in its unit. ``beside`` names netsonde's figure of the same thing,
    and ``why`` says in one sentence how they differ.
    """

    name: str
    value: float
    samples: int
    words: str
    beside: str
    why: str
