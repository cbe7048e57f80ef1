"""The server's host, for its sessions: taken with the first, given back with the last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from netsonde.launch.closing import Closing
from netsonde.launch.exclusion import Exclusion, is_of, own_name
from netsonde.launch.local import LocalHost
from netsonde.limits import limit_s

POLL_S = 0.2
TELL_EVERY_S = 5.0
MOST_WAIT_S = limit_s("others")

Tell = Callable[[float], Awaitable[None]]
"""Is told now and then for how long, in seconds, a client may have to wait yet."""


class HostClaim(Closing):
    """Waits for other measurements of this host for a while, then lets the sessions be beside them.

    A client on this host, or in a lab here, has taken it itself, and gives its key.
    """

    def __init__(self) -> None:
        self._exclusion = Exclusion("", 0.0, lambda _: None)
        self._sessions = 0
        self._changing = asyncio.Lock()
        self._beside = ""

    async def take(self, key: str, tell: Tell) -> str:
        """Who has the host beside the session that begins; empty where nobody has."""
        async with self._changing:
            if self._sessions == 0:
                self._beside = await self._wait(key, tell)
            self._sessions += 1
            return self._beside

    async def give_back(self) -> str:
        """Who measured here as well while this was the only session left; empty where nobody."""
        async with self._changing:
            self._sessions -= 1
            if self._sessions:
                return ""
            told = await asyncio.to_thread(self._exclusion.end)
            return next((str(t["meanwhile"]) for t in told.values() if "meanwhile" in t), "")

    def close(self) -> None:
        self._exclusion.close()

    async def _wait(self, key: str, tell: Tell) -> str:
        here, what = LocalHost(), own_name(f"netsonde serve for {key}")
        began = told = time.monotonic()
        while holder := await asyncio.to_thread(self._exclusion.begin_if_free, here, what):
            if is_of(key, holder):
                return ""
            now = time.monotonic()
            left_s = MOST_WAIT_S - (now - began)
            if left_s <= 0:
                await asyncio.to_thread(self._exclusion.begin, [here])
                return holder
            if told == began or now - told >= TELL_EVERY_S:
                told = now
                await tell(left_s)
            await asyncio.sleep(POLL_S)
        return ""
