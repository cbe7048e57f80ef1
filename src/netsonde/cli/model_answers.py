"""How every command of ``netsonde model`` shows its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from netsonde.platforms.answers import Answer


def say(answer: Answer, as_json: bool) -> None:
    """Its lines, or its document."""
    if as_json:
        typer.echo(json.dumps(answer.document, indent=1))
    else:
        typer.echo("\n".join(answer.lines))
