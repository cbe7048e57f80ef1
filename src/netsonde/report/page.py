"""The report as one HTML file that needs nothing but itself.

The content security policy allows exactly the one script of the page, by its digest, and no
connection to anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import netsonde
from netsonde.catalogue.method import Method, method_anchor, method_command, methods_of
from netsonde.errors import UsageError
from netsonde.explain import Finding
from netsonde.explain.unlike_hosts import changed_facts
from netsonde.figures import Figure
from netsonde.records.data import Run
from netsonde.report import REPORT_NAME, circumstances, plots, theme
from netsonde.report.counter_table import first_counters
from netsonde.report.interactive import panel_json
from netsonde.report.kernel_trace_table import HEADINGS as TRACE_HEADINGS
from netsonde.report.kernel_trace_table import traces_of_points
from netsonde.report.key_figures import HEADINGS, MOST_ROWS, key_rows
from netsonde.report.lookup import Study, point_label
from netsonde.report.other_tools import remaining_differences, told_rows
from netsonde.report.packet_table import packets_of_points
from netsonde.report.plot import Plot, Table
from netsonde.report.point_table import failures, point_rows, rows_shown
from netsonde.report.program_table import program_rows, relation_rows
from netsonde.report.quantity import format_duration, format_value
from netsonde.report.requirement_table import requirement_rows
from netsonde.report.session_table import session_rows
from netsonde.report.side_by_side import side_by_side
from netsonde.report.size_lines import notes_of
from netsonde.report.size_table import size_tables
from netsonde.report.twelve_rules import in_a_line, rules_of
from netsonde.report.verdict_order import LEVELS, first_and_more

ROW_LIMIT = 150
"""Rows of a plot's table on the page; the exports have all of them."""
POINT_ROWS = 2000
"""Of the table of points: a page stays light enough for a browser."""
IN_SHORT = 5
"""Verdicts beside the key figures."""
ROWS_OPEN = 20
"""Of a table by size; a reader opens the others, and a printer has them."""
SCRIPTS = ("scale.js", "draw.js", "plot.js", "page.js")
"""In the order in which one uses another."""
DETAILED_POINTS = 40
"""Points whose packets and counters are on the page; some hundred rows each."""
COUNTER_ROWS = 4000
"""Of the counters of all points together."""
_SIDE_SECTION = "side-plots"
_PLOT_SECTIONS = (
    (_SIDE_SECTION, "Ratios by size", plots.SIDE_BY_SIDE),
    ("techniques", "Techniques of tools", plots.TECHNIQUES),
    ("simulated", "Simulated", plots.SIMULATED),
    ("latency", "Latency", plots.LATENCY),
    ("throughput", "Throughput", plots.THROUGHPUT),
    ("sweeps", "Sweeps", plots.SWEEPS),
    ("layers", "Layers", plots.LAYERS),
    ("collectives", "MPI operations", plots.COLLECTIVES),
    ("order", "Course of the measurement", plots.ORDER),
    ("imported", "Of another tool", plots.OTHER_TOOLS),
)


def write_report(
    run: Run, figures: Sequence[Figure], findings: Sequence[Finding], directory: Path
) -> Path:
    """Writes ``report.html`` into the directory, whole or not at all; returns its path.

    Raises UsageError where the directory cannot be written.
    """
    path = directory / REPORT_NAME
    write_whole(path, page(run, figures, findings), "choose another directory")
    return path


def write_whole(path: Path, text: str, advice: str) -> None:
    """Writes a file whole or not at all. Raises UsageError, which ends in the advice."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name of a run may hold bytes that are no text.
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}; {advice}") from error


def page(run: Run, figures: Sequence[Figure], findings: Sequence[Finding]) -> str:
    """The page's text."""
    study = Study(run, figures)
    of_pairs = plots.pairs(study)
    drawn = [
        *([("pairs-of-hosts", "All pairs", of_pairs)] if of_pairs else []),
        *_drawn(study),
    ]
    content = _content(study, findings)
    text = rendered(
        "page.html.j2",
        [plot for _, _, made in drawn for plot in made],
        **content,
        plot_sections=drawn,
        of_pairs=bool(of_pairs),
        ways_of=lambda plot: methods_of_plot(plot, study.figures),
        sections=_sections(drawn, content),
    )
    return _led_to_the_section(text, {row.id for row in content["points"]})


def _led_to_the_section(text: str, shown: Container[str]) -> str:
    """Links to points that the table has no row for lead to the table."""

    def target(link: re.Match[str]) -> str:
        return link[0] if unescape(link[1]) in shown else 'href="#points"'

    return re.sub(r'href="#point-([^"]*)"', target, text)


def rendered(template: str, made: Sequence[Plot], **content: Any) -> str:
    """A page of this content with all that it needs to draw these plots."""
    script = page_script()
    return (
        page_environment()
        .get_template(template)
        .render(
            content,
            row_limit=ROW_LIMIT,
            has_plots=bool(made),
            policy=page_policy(script),
            style=Markup(page_style()),
            script=Markup(script),
            version=netsonde.__version__,
            panels=Markup(embedded_json(panels_of(made))),
        )
    )


def methods_of_plot(plot: Plot, figures: Sequence[Figure]) -> list[Method]:
    """The methods behind a plot, of the figures that the run has."""
    return methods_of(figure for figure in figures if figure.method.startswith(plot.methods))


def _drawn(study: Study) -> list[tuple[str, str, list[Plot]]]:
    """(id, name, plots) of each section of plots that has any."""
    return [
        (id_, name, made)
        for id_, name, makers in _PLOT_SECTIONS
        if (made := [p for make in makers if (p := make(study)) is not None])
    ]


def _content(study: Study, findings: Sequence[Finding]) -> dict[str, Any]:
    rows, key = point_rows(study), key_rows(study)
    rules = rules_of(study)
    first, more = first_and_more(findings)
    counters, more_counters = first_counters(study, DETAILED_POINTS, COUNTER_ROWS)
    run = study.run
    return {
        "heading": circumstances.heading(study),
        "findings": first,
        "more_findings": more,
        "in_short": first[:IN_SHORT],
        "level_names": LEVELS,
        "labels": {p.id: point_label(p) for p in run.points},
        "finished": run.finished,
        "directory": run.directory,
        "emulated": run.origin == "emulated",
        "imported": run.origin == "imported",
        "simulated": run.origin == "simulated",
        "key": key[:MOST_ROWS],
        "more_key": max(0, len(key) - MOST_ROWS),
        "key_headings": HEADINGS,
        "points": rows_shown(rows, POINT_ROWS),
        "point_count": len(rows),
        "failures": failures(rows),
        "unmeasured": sum(not p.measured for p in run.points),
        "packets": packets_of_points(study, DETAILED_POINTS),
        "kernel_traces": traces_of_points(study),
        "trace_headings": TRACE_HEADINGS,
        "programs": program_rows(study),
        "relations": relation_rows(study),
        "required": requirement_rows(study, ROW_LIMIT),
        "side": side_by_side(study),
        "told": told_rows(study),
        "remaining": remaining_differences(study),
        "counters": counters,
        "more_counters": more_counters,
        "general": circumstances.general(run),
        "sessions": session_rows(run),
        "changes": changed_facts(run),
        "fact_groups": circumstances.fact_groups(study),
        "by_size": (tables := size_tables(study)),
        "by_size_notes": notes_of(tables),
        "rows_open": ROWS_OPEN,
        "host_names": list(run.manifest.get("hosts") or {}),
        "obtained": circumstances.obtained_options(study),
        "methods": (methods := methods_of(study.figures)),
        "places": {method.place for method in methods},
        "rules": rules,
        "rules_line": in_a_line(rules),
        "has_csv": True,
    }


def _sections(
    drawn: list[tuple[str, str, list[Plot]]], content: Mapping[str, Any]
) -> list[tuple[str, str]]:
    return [
        ("key", "Key figures"),
        *([("by-size", "By size")] if content["by_size"] else []),
        ("verdicts", "Verdicts"),
        *([("required", "Requirements")] if content["required"] else []),
        *([("side", "MPIs side by side")] if content["side"] else []),
        *([("told", "As other tools say it")] if content["told"] else []),
        *([("programs", "Programs")] if content["programs"] else []),
        *((id_, name) for id_, name, _ in drawn if id_ != _SIDE_SECTION),
        ("points", "Points"),
        *([("packets", "Packets")] if content["packets"] else []),
        *([("kernel-tracing", "Inside the hosts")] if content["kernel_traces"] else []),
        ("counters", "Counters"),
        ("circumstances", "Circumstances"),
        ("rules", "Twelve rules"),
        ("methods", "Methods"),
    ]


def panels_of(made: Any) -> dict[str, Any]:
    """What the script of the page draws, by the id of its place."""
    return {
        f"plot-{plot.id}-{number}": panel_json(panel)
        for plot in made
        for number, panel in enumerate(plot.panels, start=1)
    }


def page_environment() -> jinja2.Environment:
    """Finds the templates, and shows values as the report does."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("netsonde.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["quantity"] = format_value
    environment.filters["seconds"] = format_duration
    environment.filters["method_anchor"] = method_anchor
    environment.filters["method_command"] = method_command
    return environment


def page_style() -> str:
    """The style sheet, with the colours of both schemes."""
    light, dark = (theme.style_sheet_colours(colours) for colours in (theme.LIGHT, theme.DARK))
    return (
        f":root{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}" + resource("page.css")
    )


def page_script() -> str:
    """All of the page's script, which leaves no name behind."""
    parts = "".join(resource(name) for name in SCRIPTS)
    return f'"use strict";\n(function () {{\n{parts}}})();\n'


def page_policy(script: str) -> str:
    """Styles may be inline; no script but the one that is known."""
    return (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def embedded_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def resource(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Section:
    """``id`` is its anchor; ``words`` are paragraphs; then come the table and the plots."""

    id: str
    title: str
    words: Sequence[str] = ()
    table: Table | None = None
    plots: Sequence[Plot] = field(default_factory=tuple)


def write_sections_page(path: Path, title: str, line: str, sections: Sequence[Section]) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    write_whole(path, sections_page(title, line, sections), "choose another place")


def sections_page(title: str, line: str, sections: Sequence[Section]) -> str:
    """The page's text: a heading with a line beneath it, and the sections."""
    return rendered(
        "sections_page.html.j2",
        [plot for section in sections for plot in section.plots],
        title=title,
        line=line,
        sections=sections,
        has_csv=False,
        places=(),
        ways_of=lambda _: (),  # the sections' words say how
    )
