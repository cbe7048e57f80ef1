"""Paced datagrams from a host to another on which nothing of ours runs."""

from __future__ import annotations

from collections.abc import Mapping

from netsonde.errors import HostError
from netsonde.launch.host import Host
from netsonde.launch.session import FACTS_TIMEOUT_S, SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import Worker, clock_facts, start_worker


class GeneratorSession:
    """One worker, rank 0; nobody answers. Made by open_generator()."""

    transport = "udp"
    ranks = 1

    def __init__(self, worker: Worker, fields: Mapping[str, object]) -> None:
        self.hosts = frozenset((worker.host_name,))
        self.host_names: tuple[str, ...] = (worker.host_name,)
        self.opened: dict[int, Record] = {0: {"peer_address": fields["address"]}}
        self._worker = worker
        self._fields = dict(fields)
        self._closed = False

    def facts(self) -> dict[str, Record]:
        """The facts of the sending host, by its name. Raises HostError."""
        values = self._ask("facts", {}, FACTS_TIMEOUT_S)
        found: Record = clock_facts(self._worker.hello)
        for record in values:
            if record["record"] == "facts":
                found.update(record["values"])
        return {self._worker.host_name: found}

    def snapshots(self) -> list[Record]:
        """The counters of the sending host now. Raises HostError."""
        records = self._ask("snapshot", {}, FACTS_TIMEOUT_S)
        return [record for record in records if record["record"] == "snapshot"]

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """As of a session; ``test`` is that of a stream, whose receiver nobody is."""
        request = {**fields, **self._fields, "test": "stream"}
        return self._ask("generate", request, timeout_s + SLACK_S)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._worker.close()

    def __enter__(self) -> GeneratorSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, verb: str, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        if self._closed:
            raise HostError("the session is closed; open another one")
        with closing_on_failure(self):
            return self._worker.request(verb, timeout_s, **fields)


def open_generator(
    origin: Host, address: str, port: int, family: str, options: Mapping[str, object]
) -> GeneratorSession:
    """Ready to send from origin to the address. Raises HostError."""
    target = {"family": family, "address": address, "port": port, "options": dict(options)}
    return GeneratorSession(start_worker(origin, family=family), target)
