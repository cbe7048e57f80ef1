"""Receive windows that a setting keeps from growing, however large the buffer may become."""

from __future__ import annotations

from dataclasses import dataclass

from netsonde.explain.evidence import facts_of
from netsonde.records.data import Point, Run

OFFERED = "connection.test.snd_wnd"
"""What the other end offers; after a batch, with all of it read, that is the whole window."""
MODERATE = "sysctl.net.ipv4.tcp_moderate_rcvbuf"
ROUTE = "route.window_bytes"
FIRST_BYTES = 65535
"""A route's window keeps Linux from offering more than it began with, which may be as much."""


@dataclass(frozen=True)
class HeldWindow:
    """``window_bytes``: the largest that was offered, and where the kernel does not tell
    (``is_told``), what the setting leaves. ``setting`` in words, ``undo`` what takes it away."""

    window_bytes: int
    is_told: bool
    host: str
    setting: str
    undo: str


def held_window(run: Run, point: Point, buffer_part: float) -> HeldWindow | None:
    """Of the receiver of a stream; ``buffer_part`` is what of a buffer becomes window. None where
    no setting holds it, or a larger window than that was offered."""
    host, facts = facts_of(run, point, 1)
    offered = _offered_bytes(point)
    buffer_bytes = point.opened.get(1, {}).get("receive_buffer_bytes")
    window = facts.get(ROUTE)
    if isinstance(window, int) and (offered or 0) <= max(window, FIRST_BYTES):
        return HeldWindow(
            offered or max(window, FIRST_BYTES),
            offered is not None,
            host,
            f"a route there sets window {window}",
            f"See ip route at {host} and take window {window} out of the route.",
        )
    if (
        facts.get(MODERATE) == 0
        and not point.spec.chosen.sets_buffers
        and (offered or buffer_bytes)
    ):
        return HeldWindow(
            offered or int(buffer_part * int(buffer_bytes or 0)),
            offered is not None,
            host,
            "net.ipv4.tcp_moderate_rcvbuf is 0 there",
            f"At {host}: sysctl -w net.ipv4.tcp_moderate_rcvbuf=1, or ask for a --receive-buffer.",
        )
    return None


def _offered_bytes(point: Point) -> int | None:
    """The largest window that the receiver offered when a batch began or was over."""
    found = [
        snapshot.values[OFFERED]
        for batch in point.batches
        if (end := batch.ends.get(0))
        for snapshot in (end.before, end.after)
        if snapshot is not None and OFFERED in snapshot.values
    ]
    return max(found, default=None)
