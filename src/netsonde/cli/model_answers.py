"""How every command of ``netsonde model`` shows its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netsonde.cli.output import answer

if TYPE_CHECKING:
    from netsonde.platforms.answers import Answer


def say(found: Answer, as_json: bool) -> None:
    """Its lines, or its document."""
    answer(found.document, found.lines, as_json)
