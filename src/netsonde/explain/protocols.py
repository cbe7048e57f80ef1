"""From which size on a library waits for the receiver, and what its copies cost."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import OPERATION, SIZE
from netsonde.figures.protocols import Modes, modes_of
from netsonde.units import format_rate, format_size, format_time


def protocol_of_sending(seen: Seen) -> list[Finding]:
    """Where a plain send changes from eager to rendezvous, by its own modes."""
    found = (_finding(modes) for modes in modes_of(seen.run, seen.figures)[:2])
    return [finding for finding in found if finding is not None]


def _finding(modes: Modes) -> Finding | None:
    change, copy = modes.rendezvous_from, modes.copy_ns_per_byte
    if change is None and copy is None:
        return None
    parts, claim = [], ""
    if change is not None:
        last, first = change
        claim = (
            f"MPI_Send waits for the receiver from {format_size(first)} on (rendezvous); up to "
            f"{format_size(last)} it does not (eager)."
        )
        parts.append(
            f"MPI_Ssend takes {_times(modes, 'ssend', last)} at {format_size(last)} and "
            f"{_times(modes, 'ssend', first)} at {format_size(first)} times as long."
        )
    if copy is not None:
        claim = claim or "A buffered send pays for its copy."
        rate = format_rate(8e9 / copy)
        parts.append(f"MPI_Bsend's copy takes {format_time(1024 * copy)} for each KiB ({rate}).")
    sides = tuple(tuple(f.point for f in own.values()) for own in modes.medians.values())
    return Finding(
        "note",
        claim,
        " ".join(parts),
        points=tuple(dict.fromkeys(point for side in sides for point in side)),
        sides=sides,
        factor=(OPERATION | SIZE).name,
    )


def _times(modes: Modes, mode: str, size: int) -> str:
    ratio = modes.ratio(mode, size)
    return "" if ratio is None else f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
