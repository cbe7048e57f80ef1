"""The page of a folder of runs: a line for each, the newest first, with the way to its report.

A run is read whole to know its figures and verdicts, which takes up to seconds. So what was read is
kept beside the page, and a run is read again only where its journal or netsonde is another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import NetsondeError, UsageError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.headlines import Headline
from netsonde.records.data import Run
from netsonde.records.journal import JOURNAL_NAME
from netsonde.records.rundir import MANIFEST_NAME, open_measured, read_manifest
from netsonde.report.circumstances import heading
from netsonde.report.key_figures import key_rows
from netsonde.report.links import link_to_report
from netsonde.report.lookup import Study
from netsonde.report.page import Section, write_sections_page, write_whole
from netsonde.report.plot import Column, Table, columns
from netsonde.report.quantity import format_value, kind_of
from netsonde.report.verdict_order import LEVELS, WRONG
from netsonde.units import format_count

INDEX_NAME, KEPT_NAME = "index.html", "index.json"
RUNS_MOST = 1000
"""Of a folder; older ones are counted in words. A thousand lines are a page of half a megabyte."""
FIGURES_MOST = 4
FORMAT = 1


@dataclass(frozen=True)
class LongTable(Table):
    """A table of which a page shows more rows than of others."""

    rows_shown: int = RUNS_MOST


@dataclass(frozen=True)
class IndexRow:
    """What the page says of a run. ``level`` is that of its worst finding, empty where there is
    none; ``said`` is what is wrong, or why the run cannot be read."""

    name: str
    when: str
    title: str
    label: str
    figures: str
    level: str
    said: str


def has_runs(folder: Path) -> bool:
    """Whether it is no run itself, but has some in it."""
    return not (folder / MANIFEST_NAME).exists() and any(_runs_in(folder))


def _runs_in(folder: Path) -> Iterable[Path]:
    try:
        return [path.parent for path in folder.glob(f"*/{MANIFEST_NAME}")]
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error


def write_index(folder: Path, target: Path) -> Path:
    """Writes the page into a directory, whole or not at all; returns its path. Raises UsageError
    where the directory cannot be written."""
    dated = sorted(((_started(run), run.name, run) for run in _runs_in(folder)), reverse=True)
    runs = [run for _, _, run in dated[:RUNS_MOST]]
    kept = _kept(target / KEPT_NAME)
    found = {run.name: _row_and_state(run, kept.get(run.name)) for run in runs}
    page = target / INDEX_NAME
    rows = [row for row, _ in found.values()]
    write_sections_page(page, "Runs", _line(rows, folder), [_section(rows, dated, folder, target)])
    content = {name: {"state": state, "row": asdict(row)} for name, (row, state) in found.items()}
    text = json.dumps({"format": FORMAT, "runs": content}, indent=1)
    write_whole(target / KEPT_NAME, text + "\n", "choose another directory")
    return page


def _started(run: Path) -> str:
    """As the manifest has it; nothing of one that cannot be read, which then stands last."""
    try:
        return str(read_manifest(run).get("started_utc") or "")
    except NetsondeError:
        return ""


def _kept(path: Path) -> Mapping[str, Any]:
    """What an earlier call kept by name of run; nothing where it is damaged or of another form."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(runs, dict) or document.get("format") != FORMAT:
        return {}
    return runs


def _row_and_state(run: Path, kept: Any) -> tuple[IndexRow, list[Any]]:
    state = [netsonde.__version__, *_seal(run / JOURNAL_NAME), *_seal(run / MANIFEST_NAME)]
    if isinstance(kept, dict) and kept.get("state") == state:
        row = _row_of(kept.get("row"))
        if row is not None and row.name == run.name:
            return row, state
    return _read(run), state


def _row_of(kept: Any) -> IndexRow | None:
    names = IndexRow.__dataclass_fields__
    if not isinstance(kept, dict) or set(kept) != set(names):
        return None
    return IndexRow(**kept) if all(isinstance(value, str) for value in kept.values()) else None


def _seal(path: Path) -> tuple[int, int]:
    """Size and time of change; a journal only ever grows."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)


def _read(run: Path) -> IndexRow:
    try:
        return _row(run.name, open_measured(run))
    except NetsondeError as error:
        return IndexRow(run.name, _started(run)[:16].replace("T", " "), "", "", "", "", str(error))


def _row(name: str, run: Run) -> IndexRow:
    figures = figures_of(run)
    findings = explain(run, figures)
    study = Study(run, figures)
    top = heading(study)
    worst = min((f.level for f in findings), key=list(LEVELS).index, default="")
    count = sum(f.level == worst for f in findings)
    said = [f.claim for f in findings if f.level == worst and worst in WRONG]
    more = f" And {count - 1} more." if len(said) > 1 else ""
    return IndexRow(
        name,
        top.when,
        f"{top.name}: {top.title}{'' if run.finished else ', not finished'}",
        top.label,
        "; ".join(_key_figures(study)),
        worst,
        f"{said[0]}{more}" if said else "",
    )


def _key_figures(study: Study) -> list[str]:
    """Round trip and throughput of each transport; of a run that has neither, the main figure of
    the first conditions."""
    shown = [
        f"{row.name} {cell.of} {cell.value}"
        for row in key_rows(study)
        for cell in (row.cells[0], row.cells[2])
        if cell.headline is not None
    ]
    main = [h for h in study.headlines.all if h.key.figure == h.key.kind.main]
    shown = shown or [_in_words(headline) for headline in main]
    left = len(shown) - FIGURES_MOST
    return shown[:FIGURES_MOST] + ([f"{left} more"] if left > 0 else [])


def _in_words(headline: Headline) -> str:
    value = format_value(headline.value, kind_of(headline.figure.unit))
    return f"{headline.label} {value}"


def _line(rows: list[IndexRow], folder: Path) -> str:
    levels = {LEVELS[level].lower(): sum(row.level == level for row in rows) for level in WRONG}
    words = ", ".join(f"{levels[name]} {name}" for name in sorted(levels) if levels[name])
    runs = format_count(len(rows), "run")
    return f"{runs} in {folder.resolve().name}" + (f"; worst verdict: {words}" if words else "")


def _section(
    rows: list[IndexRow], dated: list[tuple[str, str, Path]], folder: Path, target: Path
) -> Section:
    words = [
        "The newest first. A name leads to the run's report where it has one; netsonde report DIR "
        "writes it."
    ]
    left = len(dated) - len(rows)
    if left > 0:
        words.append(
            f"The newest {RUNS_MOST} of {len(dated)} runs; move older ones into a folder of their "
            "own to have a page of them."
        )
    table = LongTable(
        "runs",
        "Runs",
        (
            *columns("text", when="Began", run="Run", title="What", label="Network"),
            *columns("text", figures="Key figures", worst="Worst verdict"),
            Column("said", "What is wrong"),
        ),
        [
            (
                *(row.when, link_to_report(row.name, folder / row.name, target), row.title),
                *(row.label, row.figures, LEVELS.get(row.level, "–"), row.said),
            )
            for row in rows
        ],
    )
    return Section("runs", "Runs", words, table)
