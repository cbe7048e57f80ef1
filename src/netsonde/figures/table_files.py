"""The tables that a run leaves beside its journal, where the library of tables is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netsonde.extras import is_installed
from netsonde.figures.data import Figure
from netsonde.memory import lacks_room
from netsonde.records.data import Run

TABLES = "polars"


def write_table_files(run: Run, figures: Sequence[Figure], directory: Path) -> list[Path]:
    """Writes ``tables/*.parquet`` and returns the paths; none where the library is not there, or
    the limit of memory leaves it no room: all of it is in the journal, and ``netsonde export``
    makes tables of it at any time.

    Raises UsageError where they cannot be written.
    """
    if lacks_room(TABLES) or not is_installed(TABLES):
        return []
    from netsonde.figures.tables import write_tables

    return write_tables(run, figures, directory)
