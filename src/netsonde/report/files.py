"""The plots and tables of a run as files of their own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson

from netsonde.csv_rows import write_rows
from netsonde.errors import UsageError
from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.figures.headlines import HEADLINE_COLUMNS
from netsonde.records.data import Run
from netsonde.report.circumstances import facts_table
from netsonde.report.counter_table import counters_table
from netsonde.report.lookup import Study
from netsonde.report.other_tools import told_table
from netsonde.report.plot import Cell, Table, plain_table
from netsonde.report.plots import all_plots
from netsonde.report.point_table import points_table
from netsonde.report.program_table import relations_table
from netsonde.report.requirement_table import requirements_table

IMAGE_FORMATS = ("png", "svg", "pdf")
FORMATS = (*IMAGE_FORMATS, "csv", "json")
JSON_FORMAT = 1
"""Version of the JSON document; see docs/reference/report.md."""


def export(
    run: Run,
    figures: Sequence[Figure],
    findings: Sequence[Finding],
    format: str,
    directory: Path,
) -> list[Path]:
    """Writes the run as files of a format and returns their paths.

    ``png``, ``svg``, ``pdf``: ``plots/NAME.FORMAT``, one file per plot. ``csv``:
    ``csv/NAME.csv``, one tidy file per table, raw values in the unit that the heading ends in.
    ``json``: ``report.json``, one document with everything. Raises UsageError for another format
    and where the directory cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"format {format!r} is not known; choose one of {', '.join(FORMATS)}")
    study = Study(run, figures)
    try:
        if format in IMAGE_FORMATS:
            return _images(study, format, directory / "plots")
        if format == "csv":
            return _csv_files(study, findings, directory / "csv")
        return [_json_file(study, findings, directory)]
    except OSError as error:
        raise UsageError(
            f"cannot write to {directory}: {error.strerror}; choose another directory"
        ) from error


def all_tables(study: Study, findings: Sequence[Finding]) -> list[Table]:
    """Figures, the same over launches, findings, points, counters, facts, other tools, programs,
    requirements, and the table of each plot."""
    return [
        _figures_table(study.figures),
        _headlines_table(study),
        _findings_table(findings),
        *_further_tables(study),
    ]


def _further_tables(study: Study) -> list[Table]:
    """Those that a document has as tables only."""
    return [
        points_table(study),
        counters_table(study),
        facts_table(study),
        told_table(study),
        relations_table(study),
        requirements_table(study),
        *(plot.table for plot in all_plots(study)),
    ]


def _images(study: Study, format: str, directory: Path) -> list[Path]:
    from netsonde.report.image import draw_plot  # matplotlib takes a second to load

    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for plot in all_plots(study):
        path = directory / f"{plot.id}.{format}"
        draw_plot(plot, path)
        paths.append(path)
    return paths


def _csv_files(study: Study, findings: Sequence[Finding], directory: Path) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in all_tables(study, findings):
        path = directory / f"{table.id}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            write_rows(file, [[column.name for column in table.columns], *table.rows])
        paths.append(path)
    return paths


def _json_file(study: Study, findings: Sequence[Finding], directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "report.json"
    path.write_bytes(document(study, findings))
    return path


def document(study: Study, findings: Sequence[Finding]) -> bytes:
    """Everything of a run as one JSON document, in UTF-8; see docs/reference/report.md. What is not
    finite is null."""
    content = {
        "format": JSON_FORMAT,
        "manifest": study.run.manifest,
        "finished": study.run.finished,
        "figures": list(study.figures),
        "headlines": [headline.as_json() for headline in study.headlines.all],
        "findings": list(findings),
        "tables": {
            table.id: {"columns": [c.name for c in table.columns], "rows": table.rows}
            for table in _further_tables(study)
        },
    }
    # By orjson: without a second copy of the counters of all points.
    option = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(content, option=option | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(_finite(content), indent=1, allow_nan=False).encode() + b"\n"


def _finite(value: Any) -> Any:
    """JSON has no infinity and no NaN: null stands for them. Dataclasses are objects of their
    fields, as orjson has them."""
    if is_dataclass(value) and not isinstance(value, type):
        return _finite(asdict(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def _figures_table(figures: Sequence[Figure]) -> Table:
    cells = {field.name: attrgetter(field.name) for field in fields(Figure)}
    return plain_table("figures", "Figures", figures, **cells)


def _headlines_table(study: Study) -> Table:
    cells = {name: partial(_headline_cell, name) for name in HEADLINE_COLUMNS}
    made = [headline.as_json() for headline in study.headlines.all]
    return plain_table("headlines", "Figures over launches", made, **cells)


def _headline_cell(name: str, made: Mapping[str, Any]) -> Cell:
    value: Cell | list[str] = made.get(name)
    return " ".join(value) if isinstance(value, list) else value


def _findings_table(findings: Sequence[Finding]) -> Table:
    return plain_table(
        "findings",
        "Findings",
        findings,
        level=lambda f: f.level,
        kind=lambda f: f.kind,
        place=lambda f: f.place,
        confidence=lambda f: f.confidence,
        claim=lambda f: f.claim,
        evidence=lambda f: f.evidence,
        advice=lambda f: f.advice,
        points=lambda f: " ".join(f.points),
        docs=lambda f: f.docs,
    )
