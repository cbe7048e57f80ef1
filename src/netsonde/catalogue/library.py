"""Libraries of a host that a transport's worker is built for, as data of the transport's row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Linked:
    """What a program is linked with: the first of some ``files`` that is there, else what the
    linker is told, where it is told anything."""

    files: tuple[str, ...]
    otherwise: str = ""


@dataclass(frozen=True)
class Library:
    """A library whose worker is built on first use where none is installed.

    ``title`` and ``packages`` are for sentences: what it is, and what brings what a build needs.
    ``roots`` are patterns of the folders that it may be installed below, after the one that the
    environment's ``variable`` names: as a root, or as the library in one of a root's folders where
    it ``names_file``. ``header`` is below a root's ``include``. ``file`` is below its folders of
    libraries, wherever it can be used. ``sources`` are patterns below the engine's folder, beside
    what needs no library; ``linked`` what the program is linked with. ``about_s``: how long two
    CPUs build.
    """

    title: str
    packages: str
    variable: str
    roots: tuple[str, ...]
    header: str
    file: str
    sources: tuple[str, ...]
    names_file: bool = False
    linked: tuple[Linked, ...] = ()
    about_s: int = 40
