"""Former keys of a study, read as today's until the next version (the rows' ``aliases``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netsonde.catalogue.option import Option
from netsonde.catalogue.options.commands import BLOCK, ORDER, PATH, STOPPING
from netsonde.catalogue.options.mpi import MPI, WINDOWS
from netsonde.catalogue.options.sockets import STUDY_OPTIONS

_FACTORS = ("vary", "baseline")
"""Tables of a block whose keys are those of the block and of its options."""
_TABLES = {"all_pairs": "tournament"}
"""Former tables of a study: today's name."""


def with_present_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with today's keys; what is no table is left to the checks that follow.

    Raises ValueError where a key is given by both its names.
    """
    found = _renamed_tables(_renamed(content, [*ORDER.values(), *STOPPING.values()]))
    if "path" in found:
        found["path"] = _renamed(found["path"], PATH.values())
    if "mpi" in found:
        found["mpi"] = _renamed(found["mpi"], MPI.values())
    if isinstance(found.get("measure"), list):
        found["measure"] = [_block(block) for block in found["measure"]]
    return found


def _renamed_tables(content: dict[str, Any]) -> dict[str, Any]:
    for former, present in _TABLES.items():
        if former in content:
            if present in content:
                raise ValueError(f"{present} is given twice: {former} and {present} are one table")
            content[present] = content.pop(former)
    return content


def _block(block: Any) -> Any:
    found = _renamed(block, BLOCK.values())
    if not isinstance(found, dict):
        return found
    both = [*BLOCK.values(), *STUDY_OPTIONS.values()]
    if "options" in found:
        found["options"] = _renamed(found["options"], STUDY_OPTIONS.values())
    if "windows" in found:
        found["windows"] = _renamed(found["windows"], WINDOWS.values())
    for name in _FACTORS:
        if name in found:
            found[name] = _renamed(found[name], both)
    if isinstance(found.get("exclude"), list):
        found["exclude"] = [_renamed(rule, both) for rule in found["exclude"]]
    return found


def _renamed(table: Any, rows: Iterable[Option]) -> Any:
    if not isinstance(table, Mapping):
        return table
    present = {alias: row.key for row in rows for alias in row.aliases}
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = str(present.get(key, key))
        if name in found:
            both = " and ".join(one for one in table if present.get(one, one) == name)
            raise ValueError(f"{name} is given twice: {both} are one key")
        found[name] = value
    return found
