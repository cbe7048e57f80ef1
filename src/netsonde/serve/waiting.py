"""A client that waits for a place, and is told which one it has in the queue."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping

from netsonde.launch.keep_alive import WAITING_LINE
from netsonde.serve.limits import QueueLimits
from netsonde.serve.places import Guest, Places
from netsonde.serve.wire import VisitRefusedError, Wire

TELL_FIRST_S = 0.5  # who gets its place sooner is told nothing
TELL_EVERY_S = 5.0
OWN_SESSION_S = 3.0  # a peer that comes right back may find its last session still ending


class VisitorLeftError(Exception):
    """A client that does not wait any longer."""


async def wait_for_place(wire: Wire, guest: Guest, places: Places, session_s: float) -> None:
    """Until the guest has a place. session_s is how long a session may take.

    Raises VisitRefusedError where it has waited too long or in vain, VisitorLeftError where it is
    gone, ValueError where it says something else than that it waits.
    """
    limits = places.limits
    pause_s = TELL_FIRST_S
    while not await _is_set(guest.has_place, pause_s):
        waited_s = time.monotonic() - guest.since_s
        if waited_s >= OWN_SESSION_S and places.waits_for_itself(guest):
            raise VisitRefusedError(
                "the server is busy with another session of the same measurement; netsonde "
                "serve --sessions N takes several"
            )
        if waited_s >= limits.wait_s:
            raise VisitRefusedError(limits.said("wait_s"))
        if place := places.place_in_queue(guest):
            told = {
                "place": place,
                "about_s": round(places.about_s(guest, session_s)),
                "is_most": not places.knows_how_long,
            }
            await tell(wire, told, limits)
        pause_s = min(2 * pause_s, TELL_EVERY_S)


async def tell(wire: Wire, told: Mapping[str, object], limits: QueueLimits) -> None:
    """Tells a client its place, and takes its answer. Raises as wait_for_place does."""
    try:
        async with asyncio.timeout(limits.answer_s):
            await wire.say("queued", **told)
            answer = await wire.reader.readuntil(b"\n")
    except TimeoutError:
        raise VisitRefusedError(limits.said("answer_s")) from None
    except asyncio.IncompleteReadError:
        raise VisitorLeftError from None
    if answer != WAITING_LINE:
        raise ValueError("no answer of a waiting client")


async def _is_set(event: asyncio.Event, timeout_s: float) -> bool:
    """Whether an event is set before a time is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()
