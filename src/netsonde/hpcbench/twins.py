"""FILE.json and FILE.csv: what the result file says, for programs."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import netsonde
from netsonde.csv_rows import write_rows
from netsonde.hpcbench.options import Settings
from netsonde.hpcbench.result_file import Setting, describe, explanations
from netsonde.hpcbench.results import Columns, Repetition, cells_of
from netsonde.hpcbench.spread import spreads_of
from netsonde.hpcbench.system import SystemRow
from netsonde.hpcbench.table import Cell

FORMAT = 1
UNITS = (
    ("Mbps", "Mbit/s"),
    ("_us", "us"),
    ("_s", "s"),
    ("%", "%"),
    ("Bytes", "byte"),
    ("Message", "byte"),
    ("Datagram", "byte"),
    ("Dgrams/s", "1/s"),
)
"""Of a column, by how its name ends; the others are numbers of something."""
NOT_TOLD = frozenset({"pair", "notices"})


@dataclass(frozen=True)
class Outcome:
    """A test that is over. logs: the rows of both systems, the client's first, where asked for."""

    settings: Settings
    setting: Setting
    columns: Columns
    repetitions: Sequence[Repetition]
    complete: bool
    remarks: Sequence[str] = ()
    logs: Sequence[Sequence[SystemRow]] = ()


def json_text(outcome: Outcome) -> str:
    """One document. Numbers are those of the result file; what it has as nan is null."""
    settings, setting = outcome.settings, outcome.setting
    asked = {k: v for k, v in asdict(settings).items() if k not in NOT_TOLD}
    names = [name for name, _, _ in outcome.columns]
    document = {
        "format": FORMAT,
        "program": settings.program,
        "version": netsonde.__version__,
        "started_utc": setting.started,
        "command": setting.command,
        "test": describe(settings),
        "client": setting.hosts[0],
        "server": setting.hosts[1],
        "complete": outcome.complete,
        "asked_for": asked,
        "obtained": {("client", "server")[rank]: got for rank, got in setting.opened.items()},
        "explanations": explanations(settings),
        "remarks": list(outcome.remarks),
        "columns": [{"name": key_of(name), "unit": unit_of(name)} for name in names],
        "rows": [
            dict(zip(map(key_of, names), map(_value, cells_of(outcome.columns, one)), strict=True))
            for one in outcome.repetitions
        ],
        "spread": [asdict(one) for one in _spreads(outcome)],
        "system_logs": {
            ("client", "server")[end]: [asdict(row) for row in rows]
            for end, rows in enumerate(outcome.logs)
        },
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def csv_text(outcome: Outcome) -> str:
    """The names of the columns, and a line for each repetition; what has no value is empty."""
    text = io.StringIO()
    rows = [
        [_value(cell) for cell in cells_of(outcome.columns, repetition)]
        for repetition in outcome.repetitions
    ]
    write_rows(text, [[key_of(name) for name, _, _ in outcome.columns], *rows])
    return text.getvalue()


def key_of(column: str) -> str:
    """The column's name without the mark of a comment."""
    return column.removeprefix("#")


def unit_of(column: str) -> str | None:
    """The unit of a column's numbers; None where they are numbers of something."""
    return next((unit for ending, unit in UNITS if column.endswith(ending)), None)


def _spreads(outcome: Outcome) -> list[Any]:
    return list(spreads_of(outcome.settings, outcome.columns, outcome.repetitions))


def _value(cell: Cell) -> float | int | None:
    if cell is None or isinstance(cell, int):
        return cell
    try:
        return float(cell)
    except ValueError:  # "no": there was none
        return None
