"""The sessions of a run, each from a start of netsonde to its end; what differs between them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import netsonde

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


def note_facts(manifest: dict[str, Any], host: str, facts: dict[str, Any]) -> list[str]:
    """Puts a host's facts into the manifest. Returns the names of those that were others in a
    session before; what they were is kept under ``changed``."""
    known: dict[str, Any] = manifest["hosts"].setdefault(host, {})
    differing = sorted(name for name in facts if name in known and known[name] != facts[name])
    changed: list[dict[str, Any]] = manifest.get("changed", [])
    number = len(manifest.get("sessions", [])) or 1
    new = [
        {"session": number, "host": host, "fact": name, "before": known[name], "now": facts[name]}
        for name in differing
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
