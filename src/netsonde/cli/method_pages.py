"""The pages of docs/methods, which are installed too: a report that stands alone names them."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from netsonde.errors import UsageError

_HEADING = re.compile(r"(#+) (.+?)(?: \{#([\w-]+)\})?$")


def method_text(place: str) -> str:
    """What a place such as ``latency#quantiles`` says; of a page without an anchor all of it.

    Raises UsageError where there is no such place.
    """
    page, _, anchor = place.partition("#")
    folder = _folder()
    names = sorted(path.stem for path in folder.glob("*.md"))
    if page not in names:
        raise UsageError(f"there is no page {page!r} of methods; {_near(page, names)}")
    text = (folder / f"{page}.md").read_text(encoding="utf-8")
    return _section(text, page, anchor) if anchor else text


def _folder() -> Path:
    """In the repository's copy where this is run from it, else where the wheel put them."""
    own = Path(__file__).resolve().parents[3] / "docs" / "methods"
    return own if own.is_dir() else Path(sysconfig.get_path("data"), "share/netsonde/methods")


def _section(text: str, page: str, anchor: str) -> str:
    """From its heading to the next of the same rank or a higher one."""
    lines = text.splitlines()
    headings = list(_headings(lines))
    begin, rank = next(((n, r) for n, r, name in headings if name == anchor), (None, 0))
    if begin is None:
        names = [name for _, _, name in headings]
        raise UsageError(f"the page {page} has no part {anchor!r}; {_near(anchor, names)}")
    end = next((n for n, r, _ in headings if n > begin and r <= rank), len(lines))
    return "\n".join(lines[begin:end]).rstrip() + "\n"


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """(line, rank, anchor) of each heading, its anchor given or made of its words."""
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.fullmatch(line)
        if found:
            plain = re.sub(r"[^\w\s-]", "", found[2]).strip().lower()
            yield number, len(found[1]), found[3] or re.sub(r"[\s-]+", "-", plain)


def _near(name: str, names: list[str]) -> str:
    return f"there are {', '.join(get_close_matches(name, names, 3, 0.5) or names)}"
