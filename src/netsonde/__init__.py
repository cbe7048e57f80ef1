"""netsonde measures, explains and predicts how a cluster's network performs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from netsonde.opened import OpenedRun

__version__ = "0.2.0"


def open(directory: str | Path) -> OpenedRun:
    """Reads a run directory; its ``points``, ``samples``, ``figures`` and ``findings`` are tables.

    Raises netsonde.errors.UsageError where the directory is no run.
    """
    # Late: every command imports this module, and none but this needs the libraries behind it.
    from netsonde.opened import OpenedRun

    return OpenedRun(directory)
