"""Where a command's results go, and how it answers: in lines, or as one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder in which the run directory is made.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
HtmlOption = Annotated[
    bool, typer.Option("--html", help="Also write the run's page, report.html in its directory.")
]
RUNS = Path("runs")


def answer(document: object, lines: Iterable[str], as_json: bool) -> None:
    """The document as JSON, or the lines."""
    typer.echo(json.dumps(document, indent=1) if as_json else "\n".join(lines))


def show(text: str) -> None:
    """A line on standard output, at once."""
    typer.echo(text)
    sys.stdout.flush()


def warn(text: str) -> None:
    """A sentence beside the results, on standard error."""
    typer.echo(f"netsonde: {text}", err=True)
