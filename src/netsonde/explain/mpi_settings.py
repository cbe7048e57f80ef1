"""Variables of an MPI library that the library does not know, and what it said at its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netsonde.explain.data import Finding, Seen

UNKNOWN = "mpi.unknown."
SAID = "mpi.said"
MOST_NAMED = 4


def unknown_mpi_settings(seen: Seen) -> Iterator[Finding]:
    """Variables of the environment that are none of the MPI that was measured."""
    nearest: dict[str, str] = {}
    for facts in _facts(seen):
        nearest |= {
            name.removeprefix(UNKNOWN): str(value).split(" ")[0]
            for name, value in facts.items()
            if name.startswith(UNKNOWN)
        }
    if not nearest:
        return
    names = list(nearest)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    yield Finding(
        "warning",
        f"{', '.join(names[:MOST_NAMED])}{more} in the environment: no variable of this MPI, "
        "without effect.",
        "The library was asked for its variables in the job. Most like them: "
        f"{', '.join(filter(None, nearest.values()))}.",
        "Correct the name, or take it out of the environment.",
    )


def what_the_library_said(seen: Seen) -> list[Finding]:
    """An MPI library's own words at its start, which are about its settings mostly."""
    said = dict.fromkeys(str(facts[SAID]) for facts in _facts(seen) if facts.get(SAID))
    return [
        Finding("note", f"The MPI library said at its start: {words}", "", "") for words in said
    ]


def _facts(seen: Seen) -> Iterator[Mapping[str, Any]]:
    manifest = seen.run.manifest
    yield from (manifest.get("hosts") or {}).values()
    yield from (manifest.get("mpis") or {}).values()
