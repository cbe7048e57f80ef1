"""What a transport's row says of a library of the host, looked for on this machine, and
how its worker is built with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from netsonde.catalogue.library import Library, Linked
from netsonde.catalogue.transport import TRANSPORTS, Transport
from netsonde.errors import HostError
from netsonde.launch.engine_build import Recipe

USUAL_HEADERS = Path("/usr/include")
TOP = Path("/")
"""Below which this machine has what it has."""
_SYSTEM = ("/usr", "/usr/local")
_FOLDERS = ("lib", "lib64", "lib/*")
"""Below a root: of libraries."""


def has_library(row: Transport) -> bool:
    """Whether the library that a transport needs is here, where hosts that measure have it."""
    library = row.library
    if library is None:
        return True
    named = _named(library)
    if named is not None and library.names_file:
        return named.is_file()
    return _first(library, library.file) is not None


def recipe_for(program: str) -> Recipe | None:
    """How a worker is built on the spot; None of one that is not. Raises HostError where this
    machine has not what that needs."""
    rows = (row for row in TRANSPORTS.values() if row.worker == program)
    return next((recipe(row, row.library) for row in rows if row.library is not None), None)


def recipe(row: Transport, library: Library) -> Recipe:
    """Raises HostError where this machine has no such header."""
    includes = (root / "include" for root in _roots(library))
    include = next((folder for folder in includes if (folder / library.header).is_file()), None)
    if include is None:
        raise HostError(
            f"{row.worker} cannot be built here: {library.header} is neither where "
            f"{library.variable} points nor in {USUAL_HEADERS}; install {library.packages}"
        )
    header = include / library.header
    linked = [_link(library, each) for each in library.linked]
    return Recipe(
        program=row.worker,
        title=library.title,
        by=str(header),
        name=row.name,
        sources=library.sources,
        compile_flags=("-isystem", str(include)) if include != USUAL_HEADERS else (),
        link_flags=tuple(filter(None, linked)),
        key=(str(header), str(header.stat().st_mtime_ns)),
        about_s=library.about_s,
    )


def _named(library: Library) -> Path | None:
    named = os.environ.get(library.variable)
    return Path(named) if named else None


def _roots(library: Library) -> Iterator[Path]:
    named = _named(library)
    if named is not None:
        yield named.parent.parent if library.names_file else named
    for pattern in (*library.roots, *_SYSTEM):  # of several versions, the newest
        yield from sorted(TOP.glob(pattern.removeprefix("/")), reverse=True)


def _first(library: Library, *names: str) -> Path | None:
    """The first of some files in a folder of libraries."""
    folders = [
        folder
        for root in _roots(library)
        for folder in chain.from_iterable(sorted(root.glob(pattern)) for pattern in _FOLDERS)
    ]
    found = (folder / name for name in names for folder in folders)
    return next((path for path in found if path.is_file()), None)


def _link(library: Library, linked: Linked) -> str:
    found = _first(library, *linked.files)
    return linked.otherwise if found is None else str(found)
