"""Paced datagrams from a host to another on which nothing of ours runs."""

from __future__ import annotations

from collections.abc import Mapping

from netsonde.launch.host import Host
from netsonde.launch.lone import LoneSession
from netsonde.launch.session import SLACK_S, Record
from netsonde.launch.worker import Worker, start_worker


class GeneratorSession(LoneSession):
    """The worker sends. Made by open_generator()."""

    transport = "udp"

    def __init__(self, worker: Worker, fields: Mapping[str, object]) -> None:
        super().__init__(worker)
        self.opened = {0: {"peer_address": fields["address"]}}
        self._fields = dict(fields)

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """As of a session; ``test`` is that of a stream, whose receiver nobody is."""
        request = {**fields, **self._fields, "test": "stream"}
        return self._ask("generate", request, timeout_s + SLACK_S)


def open_generator(
    origin: Host, address: str, port: int, family: str, options: Mapping[str, object]
) -> GeneratorSession:
    """Ready to send from origin to the address. Raises HostError."""
    target = {"family": family, "address": address, "port": port, "options": dict(options)}
    return GeneratorSession(start_worker(origin, family=family), target)
