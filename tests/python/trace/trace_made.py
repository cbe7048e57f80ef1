"""Traces that are written by hand: known counters at known times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

BEGIN_NS = 100 * 10**9
BEGIN_UNIX_NS = 1_785_412_800 * 10**9  # 2026-07-30, 12:00 UTC
OFFSET_US = (BEGIN_UNIX_NS - BEGIN_NS) // 1000
ABOUT = {
    "host": "node1",
    "interval_ns": 10**9,
    "begin_ns": BEGIN_NS,
    "begin_unix_ns": BEGIN_UNIX_NS,
    "jiffies_per_s": 100,
    "facts": {"interface.eth0.device": "virtio3", "interface.eth0.speed_mbit": 1000},
}


def head(**about: object) -> str:
    return f"netsonde-trace 1 {json.dumps({**ABOUT, **about})}\n"


def write_file(folder: Path, text: str, number: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"trace-{number:06}.log"
    path.write_text(text)
    return path


def kind_of(name: str) -> str:
    gauge = name.startswith(("memory.", "load.")) or name.endswith((".index", "_offset_us"))
    return "g" if gauge else "c0" if "_cpu." in name and not name.startswith("softnet") else "c"


def unit_of(name: str) -> str:
    return "jiffies" if name.startswith("cpu.") else "bytes" if name.endswith("_bytes") else "count"


def trace_text(
    samples: Sequence[Mapping[str, int]], numbers: Sequence[int] | None = None, **about: object
) -> str:
    """A whole file; a counter that a sample does not have is gone there."""
    text, indices, before = head(**about), dict[str, int](), dict[str, int]()
    for place, sample in enumerate(samples):
        now = {"trace.unix_offset_us": OFFSET_US, **sample}
        changes = []
        for name, value in now.items():
            if name not in indices:
                indices[name] = len(indices)
                text += f"N {indices[name]} {kind_of(name)} {unit_of(name)} {name}\n"
            if name not in before:
                changes.append(f"{indices[name]}={value}")
            elif value != before[name]:
                changes.append(f"{indices[name]}{value - before[name]:+}")
        changes += [f"{indices[name]}!" for name in before if name not in now]
        before = now
        number = place if numbers is None else numbers[place]
        text += " ".join([f"S {number} 0 1000", *changes]) + "\n"
    return text


def made_trace(
    folder: Path,
    samples: Sequence[Mapping[str, int]],
    numbers: Sequence[int] | None = None,
    **about: object,
) -> Path:
    write_file(folder, trace_text(samples, numbers, **about))
    return folder
