"""Paced datagrams from a host to another on which nothing of ours runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from netsonde.errors import HostError, InterruptedByUserError
from netsonde.launch.host import Host
from netsonde.launch.lone import LoneSession
from netsonde.launch.session import SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import Worker, start_worker

ENDING_S = 2.0
"""In which the worker ends when it is told to."""


class GeneratorSession(LoneSession):
    """The worker sends. Made by open_generator()."""

    def __init__(self, worker: Worker, transport: str, fields: Mapping[str, object]) -> None:
        super().__init__(worker)
        self.transport = transport
        self.opened = {0: {"peer_address": fields["address"]}}
        self._fields = dict(fields)

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """As of a session; ``test`` is that of a stream, whose receiver nobody is.

        Where it is interrupted, the error has the records of what was sent until then.
        """
        self._check_open()
        with closing_on_failure(self):
            request = {**fields, **self._fields, "test": "stream"}
            number = self._worker.submit("generate", **request)
            try:
                return self._worker.wait(number, timeout_s + SLACK_S)
            except InterruptedByUserError as interrupted:
                with contextlib.suppress(HostError):  # it is too late, or had said all before
                    self._worker.end_input()
                    interrupted.records = self._worker.wait(number, ENDING_S)
                raise


def open_generator(
    origin: Host,
    address: str,
    port: int,
    family: str,
    options: Mapping[str, object],
    *,
    transport: str,
) -> GeneratorSession:
    """Ready to send from origin to the address. Raises HostError."""
    target = {"family": family, "address": address, "port": port, "options": dict(options)}
    return GeneratorSession(start_worker(origin, family=family), transport, target)
