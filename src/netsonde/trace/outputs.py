"""Which names go with which: a table and the folder that it is made of. Needs no library."""

from __future__ import annotations

from pathlib import Path

TABLES = (".parquet", ".csv")


def is_table(path: Path) -> bool:
    return path.suffix in TABLES


def journal_of(path: Path) -> Path:
    """The folder in which the trace lies that becomes a table: ``net.parquet.trace``."""
    return path.with_name(path.name + ".trace") if is_table(path) else path
