"""Plots alone on a page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from markupsafe import Markup

import netsonde
from netsonde.report.page import (
    ROW_LIMIT,
    embedded_json,
    page_environment,
    page_policy,
    page_style,
    panels_of,
    resource,
)
from netsonde.report.plot import Plot


def write_plain_page(path: Path, title: str, line: str, plots: Sequence[Plot]) -> None:
    """Writes the page whole or not at all. Raises OSError."""
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(plain_page(title, line, plots), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def plain_page(title: str, line: str, plots: Sequence[Plot]) -> str:
    """The page's text: a heading with a line beneath it, each plot with its caption and table."""
    from plotly.offline import get_plotlyjs  # slow to load, and no other command needs it

    script = resource("page.js")
    plotly = get_plotlyjs().replace("\r\n", "\n")
    return (
        page_environment()
        .get_template("plain_page.html.j2")
        .render(
            title=title,
            line=line,
            plots=plots,
            row_limit=ROW_LIMIT,
            policy=page_policy(plotly, script),
            style=Markup(page_style()),
            plotly=Markup(plotly),
            script=Markup(script),
            version=netsonde.__version__,
            panels=Markup(embedded_json(panels_of(plots))),
        )
    )
