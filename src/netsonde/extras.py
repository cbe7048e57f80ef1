"""Libraries that not everybody needs: what brings each, and what is said where one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

EXTRAS: Mapping[str, str] = {
    "scipy": "analysis",
    "polars": "analysis",
    "pandas": "pandas",
    "pyarrow": "pandas",
    "matplotlib": "png",
    "duckdb": "history",
    "cryptography": "serve",
    "hdrh": "analysis",
    "xlsxwriter": "xlsx",
    "mpich": "mpich",
}
"""The extra of pyproject.toml that brings each library, by the name that is imported."""


def is_installed(library: str) -> bool:
    """Whether it can be imported, which takes longer than to look."""
    return find_spec(library) is not None


def how_to_get(library: str) -> str:
    """``pip install 'netsonde[analysis]'``."""
    return f"pip install 'netsonde[{EXTRAS[library]}]'"


def missing_in_words(error: ModuleNotFoundError) -> str | None:
    """The sentence for a library that is not installed; None for a module that no extra brings."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        return None
    return f"this needs {library}, which is not installed: {how_to_get(library)}"
