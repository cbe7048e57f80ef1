"""The order of verdicts, and which of them come before the figures."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.explain import Finding

LEVELS = {"bad": "Bad", "warning": "Warning", "good": "Good", "note": "Note"}
WRONG = frozenset({"bad", "warning"})
NOTES_FIRST, FINDINGS_FIRST = 3, 8


def first_and_more(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """All that is wrong and the first of what is only worth knowing, so that figures are not far
    below; and the others. The worst come first in each."""
    order = list(LEVELS)
    ranked = sorted(findings, key=lambda f: order.index(f.level))
    wrong = sum(f.level in WRONG for f in ranked)
    first = max(wrong + NOTES_FIRST, FINDINGS_FIRST)
    return ranked[:first], ranked[first:]
