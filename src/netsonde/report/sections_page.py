"""A page of sections with words, tables and plots, that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netsonde.report.page import rendered, write_whole
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
        ways_of=lambda _: (),  # the sections' words say how
    )
