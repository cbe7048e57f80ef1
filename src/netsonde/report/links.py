"""Cells of a page's tables that lead to a file beside the page."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from netsonde.report import REPORT_NAME


class Link(str):
    """Words that lead somewhere on a page; in exports they are words like others."""

    __slots__ = ("href",)
    href: str

    def __new__(cls, words: str, href: str) -> Link:
        made = super().__new__(cls, words)
        made.href = href
        return made


def link_to_report(words: str, run: Path, page_folder: Path) -> str:
    """The words, linked to the run's report where it has one: by its way from the page, so that
    both may be moved together."""
    report = run / REPORT_NAME
    if not report.is_file():
        return words
    way = os.path.relpath(report.resolve(), page_folder.resolve())
    return Link(words, quote(os.fsencode(way)))
