"""The report as pages of a PDF file, drawn by matplotlib: what was found, the figures in a table,
then the plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure as Canvas

from netsonde.explain import Finding
from netsonde.figures import Figure
from netsonde.records.data import Run
from netsonde.report.circumstances import general, heading
from netsonde.report.image import canvas_of, drawing_settings
from netsonde.report.lookup import Study, condition_label
from netsonde.report.plots import all_plots
from netsonde.report.quantity import format_value_and_interval, no_interval
from netsonde.report.theme import LIGHT

A4_INCHES = (8.27, 11.69)
_COLUMNS = 96
_LINES = 72
_BOLD = "\0"
"""Begins a line that is set in bold."""


def write_pdf(run: Run, figures: Sequence[Figure], findings: Sequence[Finding], path: Path) -> None:
    """Writes the pages, A4; the same run gives the same file."""
    study = Study(run, figures)
    lines = [*_summary(study, findings), *_table(study), *_circumstances(run)]
    with drawing_settings(), PdfPages(path, metadata={"CreationDate": None}) as pages:
        for begin in range(0, len(lines), _LINES):
            pages.savefig(_text_page(lines[begin : begin + _LINES]))
        for plot in all_plots(study):
            pages.savefig(canvas_of(plot))


def _text_page(lines: Sequence[str]) -> Canvas:
    canvas = Canvas(figsize=A4_INCHES)
    FigureCanvasAgg(canvas)
    for number, line in enumerate(lines):
        bold = line.startswith(_BOLD)
        canvas.text(
            *(0.06, 0.955 - number * 0.0125, line.removeprefix(_BOLD)),
            fontsize=8.5,
            family="sans-serif" if bold else "monospace",
            fontweight="bold" if bold else "normal",
            color=LIGHT["ink"],
            va="top",
        )
    return canvas


def _summary(study: Study, findings: Sequence[Finding]) -> Iterator[str]:
    top = heading(study)
    yield _BOLD + top.title
    yield from _wrapped(" · ".join(part for part in (top.label, top.when, top.lasted) if part))
    yield from _wrapped(top.explanation)
    yield ""
    if findings:
        yield _BOLD + "What was found"
    for finding in findings:
        yield from _wrapped(f"{finding.level:<8} {finding.claim}", 9)
        for words in (finding.evidence, finding.advice):
            yield from _wrapped(" " * 9 + words, 9) if words else ()
    yield ""


def _table(study: Study) -> Iterator[str]:
    yield _BOLD + "Figures, with their intervals"
    for condition in study.conditions:
        for name, word in condition[0].kind.tells:
            figure = study.figure_of(condition, name)
            if figure is not None:
                value, interval = format_value_and_interval(figure)
                label = f"{condition_label(condition[0])} {word}".strip()
                yield f"{label[:52]:<52} {value:>16} {interval or no_interval(figure):>24}"
    yield ""


def _circumstances(run: Run) -> Iterator[str]:
    yield _BOLD + "How it was measured"
    for name, words in general(run):
        yield from _wrapped(f"{name:<28} {words}", 29)


def _wrapped(text: str, indent: int = 0) -> list[str]:
    return wrap(text, _COLUMNS, subsequent_indent=" " * indent, replace_whitespace=False)
