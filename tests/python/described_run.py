"""What a run says, as one JSON document: points, figures, findings, and itself beside itself."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netsonde.compare.values import read_values
from netsonde.compare.verdicts import DEFAULT, compare
from netsonde.errors import UsageError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run

FINDING_KEYS = ("level", "kind", "place", "confidence", "points", "sides", "factor")
"""All but sentences, whose words may change."""


def described(directory: Path) -> dict[str, Any]:
    run = open_run(directory)
    figures = figures_of(run)
    findings = [asdict(finding) for finding in explain(run, figures)]
    found = {
        "points": [
            [p.id, p.transport, p.test, p.status, p.ended_by, p.parameters] for p in run.points
        ],
        "figures": [asdict(figure) for figure in figures],
        "findings": [{key: finding[key] for key in FINDING_KEYS} for finding in findings],
        "beside_itself": _beside_itself(directory),
    }
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def _beside_itself(directory: Path) -> list[list[Any]]:
    """The key and the verdict of each figure; none where no figure is compared."""
    values = read_values(directory, DEFAULT.figures)
    try:
        found = compare([values], [values])
    except UsageError:
        return []
    return [[asdict(figure.key), figure.verdict] for figure in found.figures]
