"""ICMP echoes: one worker asks, and the kernel at the other end answers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from netsonde.launch.host import Host, check_origin
from netsonde.launch.local import target_address
from netsonde.launch.lone import LoneSession
from netsonde.launch.session import SLACK_S, Record
from netsonde.launch.worker import Worker, start_worker

OPEN_TIMEOUT_S = 10.0


class EchoSession(LoneSession):
    """The worker sends echoes. Made by open_echoes(); a failure of a request ends it."""

    transport = "icmp"

    def __init__(self, worker: Worker, opened: Record) -> None:
        super().__init__(worker)
        self.opened = {0: opened}

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """As of a session."""
        request = {"timeout_ns": int(timeout_s * 1e9), **fields}
        return self._ask("run", request, timeout_s + SLACK_S)


def open_echoes(
    origin: Host,
    target: Host,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
) -> EchoSession:
    """Ready for ICMP echoes from origin, which the kernel of target answers.

    options: traffic_class, busy_poll_us, wait and cpu of a request. Raises HostError, with the
    worker ended, where the origin may send none.
    """
    check_origin(origin)
    address = target_address(origin, target, family)
    request = {"role": "alone", "transport": "icmp", "family": family, "address": address}
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(start_worker(origin, family=family))
        opened = worker.values("open", OPEN_TIMEOUT_S, **request, options=dict(options or {}))
        stack.pop_all()
    return EchoSession(worker, opened)
