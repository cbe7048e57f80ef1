"""One worker, whose messages the kernel at the other end answers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from netsonde.catalogue.transport import transport_row
from netsonde.launch.host import Host, check_origin
from netsonde.launch.local import target_address
from netsonde.launch.lone import LoneSession
from netsonde.launch.session import SLACK_S, Record
from netsonde.launch.worker import Worker, start_worker
from netsonde.limits import limit_s

OPEN_TIMEOUT_S = limit_s("open-echoes")


class AloneSession(LoneSession):
    """Made by open_alone(); a failure of a request ends it."""

    def __init__(self, worker: Worker, transport: str, opened: Record) -> None:
        super().__init__(worker)
        self.transport = transport
        self.opened = {0: opened}

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """As of a session."""
        request = {"timeout_ns": int(timeout_s * 1e9), **fields}
        return self._ask("run", request, timeout_s + SLACK_S)


def open_alone(
    origin: Host,
    target: Host,
    transport: str,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
) -> AloneSession:
    """Ready for messages from origin, such as ICMP echoes, that the kernel of target answers.

    options: those of a request. Raises HostError, with the
    worker ended, where the origin may send none.
    """
    check_origin(origin)
    address = target_address(origin, target, family)
    request = {"role": "alone", "transport": transport, "family": family, "address": address}
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(
            start_worker(origin, family=family, program=transport_row(transport).worker)
        )
        opened = worker.values("open", OPEN_TIMEOUT_S, **request, options=dict(options or {}))
        stack.pop_all()
    return AloneSession(worker, transport, opened)
