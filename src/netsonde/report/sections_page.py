"""A page of sections with words, tables and plots, that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup

import netsonde
from netsonde.errors import UsageError
from netsonde.report.page import (
    ROW_LIMIT,
    embedded_json,
    page_environment,
    page_policy,
    page_style,
    panels_of,
    resource,
)
from netsonde.report.plot import Plot, Table


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
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(sections_page(title, line, sections), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error


def sections_page(title: str, line: str, sections: Sequence[Section]) -> str:
    """The page's text: a heading with a line beneath it, and the sections."""
    from plotly.offline import get_plotlyjs  # slow to load, and no other command needs it

    script = resource("page.js")
    plots = [plot for section in sections for plot in section.plots]
    plotly = get_plotlyjs().replace("\r\n", "\n") if plots else ""
    return (
        page_environment()
        .get_template("sections_page.html.j2")
        .render(
            title=title,
            line=line,
            sections=sections,
            row_limit=ROW_LIMIT,
            has_csv=False,
            ways_of=lambda _: (),  # the sections' words say how
            policy=page_policy(plotly, script),
            style=Markup(page_style()),
            plotly=Markup(plotly),
            script=Markup(script),
            version=netsonde.__version__,
            panels=Markup(embedded_json(panels_of(plots))),
        )
    )
