"""The sessions of a run, each from a start of netsonde to its end; what differs between them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import InterruptedByUserError, NetsondeError
from netsonde.records.sessions import MEASURED_ANEW

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MOST_CHANGES = 1000
"""Changed facts that a manifest keeps."""


def begin_session(manifest: dict[str, Any]) -> list[str]:
    """Notes in a run's manifest that it is gone on with, by whom. Returns a sentence for each thing
    that is not as it was in the session before."""
    sessions = manifest.setdefault("sessions", [])
    own = {
        "started_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": os.uname().nodename,
        "boot_id": _boot_id(),
        "netsonde": netsonde.__version__,
    }
    before = sessions[-1] if sessions else own
    sessions.append(own)
    sentences = []
    if before["host"] != own["host"]:
        sentences.append(f"this run was begun on {before['host']} and goes on on {own['host']}")
    elif before["boot_id"] != own["boot_id"]:
        sentences.append(
            f"{own['host']} was restarted since this run was last measured; its points before and "
            "after may differ for that"
        )
    if before["netsonde"] != own["netsonde"]:
        sentences.append(
            f"this run was begun with netsonde {before['netsonde']} and goes on with "
            f"{own['netsonde']}"
        )
    return sentences


def why_ended(error: NetsondeError) -> dict[str, str]:
    """What the journal says of a session that an error ended."""
    if isinstance(error, InterruptedByUserError):
        return {"ended_by": "interrupted", "why": error.signal}
    return {"ended_by": "error", "why": str(error)}


def note_facts(
    manifest: dict[str, Any],
    host: str,
    facts: dict[str, Any],
    before: dict[str, Any] | None,
    now: str,
) -> list[str]:
    """Puts a host's facts into the manifest. Returns the names of those that were others when they
    were asked for before; what they were, and the time ``now``, is kept under ``changed``.

    ``before`` is what the same way of reaching the host said in this session; where it said nothing
    yet, it is what a session before has left. What is measured anew each time is no change, nor is
    what an MPI says of itself in one session, which depends on its ranks.
    """
    known: dict[str, Any] = manifest["hosts"].setdefault(host, {})
    number = len(manifest.get("sessions", [])) or 1
    if before is not None:
        earlier = {name: value for name, value in before.items() if not name.startswith("mpi.")}
    else:
        earlier = dict(known) if number > 1 else {}
    differing = sorted(
        name
        for name in facts
        if name in earlier and earlier[name] != facts[name] and name not in MEASURED_ANEW
    )
    changed: list[dict[str, Any]] = manifest.get("changed", [])
    about = {"session": number, "time_utc": now, "host": host}
    new = [
        {**about, "fact": name, "before": earlier[name], "now": facts[name]} for name in differing
    ]
    if new:
        manifest["changed"] = [*changed, *new][:MOST_CHANGES]
    known.update(facts)
    return differing


def list_of(names: list[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _boot_id() -> str | None:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:  # no Linux, or hidden
        return None
