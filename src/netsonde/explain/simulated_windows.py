"""Windows of simulated senders that a switch's buffer does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.catalogue.point import Simulation
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import ids_of
from netsonde.figures.alike import WINDOW, alike
from netsonde.records.data import Point


def windows_that_lose(seen: Seen) -> Iterator[Finding]:
    """Where windows were swept: the largest that loses nothing, and what larger ones cost."""
    points = [p for p in seen.run.select() if p.kind.is_simulated and _asked(p).window is not None]
    for found in alike(points, WINDOW):
        sweep = sorted(found, key=_window)
        lossy = [p for p in sweep if _lost(seen, p) > 0.0]
        safe = [p for p in sweep if _lost(seen, p) == 0.0]
        if lossy and safe and _window(safe[-1]) < _window(lossy[0]):
            yield _finding(seen, safe[-1], lossy)


def _finding(seen: Seen, safe: Point, lossy: list[Point]) -> Finding:
    first, last = lossy[0], lossy[-1]
    told = {_window(p): seen.value("line_use_ratio", p.id) for p in (safe, first, last)}
    uses = [f"{use:.1%} at {window}" for window, use in told.items()]
    return Finding(
        "note",
        f"Windows of up to {_window(safe)} packets lose nothing; from {_window(first)} on the "
        f"switch drops {_lost(seen, first):.2%} and more.",
        f"The line is used {', '.join(uses)}.{_room(first)}",
        f"Keep windows at {_window(safe)}; netsonde model safe-window works them out.",
        ids_of((safe, *lossy)),
        sides=tuple((p.id,) for p in (safe, *lossy)),
        factor=WINDOW.name,
    )


def _room(point: Point) -> str:
    """How much of the buffer each sender has, where a point says it."""
    buffer, senders = _asked(point).buffer_packets, _asked(point).senders
    if not buffer or not senders:
        return ""
    return (
        f" The buffer holds {buffer} packets, {buffer / senders:.1f} of each of {senders} senders."
    )


def _lost(seen: Seen, point: Point) -> float:
    return seen.value("lost_overflow_ratio", point.id)


def _window(point: Point) -> int:
    return _asked(point).window or 0


def _asked(point: Point) -> Simulation:
    return point.spec.of(Simulation)
