"""The keys of a study for those that the points of a run have, where they are others."""

from __future__ import annotations

from netsonde.catalogue.options.commands import BLOCK, STOPPING
from netsonde.catalogue.options.sockets import SOCKETS

_KEYS = {
    row.stored: row.key
    for rows in (BLOCK, STOPPING, SOCKETS)
    for row in rows.values()
    if row.stored is not None
}


def study_key(run_key: str) -> str:
    """``background_load`` for ``busy``: what a reader knows it by."""
    return _KEYS.get(run_key, run_key)
