"""Sessions that are spoken to through one worker: a lone host's, and an MPI program's rank 0."""

from __future__ import annotations

from collections.abc import Mapping

from netsonde.errors import HostError
from netsonde.launch.closing import Closing
from netsonde.launch.session import FACTS_TIMEOUT_S, Record, closing_on_failure
from netsonde.launch.worker import Worker, facts_told


class WorkerSession(Closing):
    """Asks its worker and ends it: idempotent, and after the first failure."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._closed = False

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._worker.close()

    def _ask(self, verb: str, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        self._check_open()
        with closing_on_failure(self):
            return self._checked(self._worker.request(verb, timeout_s, **fields))

    def _checked(self, records: list[Record]) -> list[Record]:
        """The records, where they are what this session may get. Raises HostError."""
        return records

    def _check_open(self) -> None:
        if self._closed:
            raise HostError("the session is closed; open another one")


class LoneSession(WorkerSession):
    """One worker, rank 0; nobody answers it. What runs on its host is the subclass's."""

    ranks = 1

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker)
        self.hosts = frozenset((worker.host_name,))
        self.host_names: tuple[str, ...] = (worker.host_name,)
        self.opened: dict[int, Record] = {}

    def facts(self) -> dict[str, Record]:
        """The facts of the host, by its name. Raises HostError."""
        records = self._ask("facts", {}, FACTS_TIMEOUT_S)
        return {self._worker.host_name: facts_told(self._worker.hello, records)}

    def snapshots(self) -> list[Record]:
        """The counters of the host now. Raises HostError."""
        records = self._ask("snapshot", {}, FACTS_TIMEOUT_S)
        return [record for record in records if record["record"] == "snapshot"]
