"""Hosts that have other work while something is measured on them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from netsonde.busy import BusyWork
from netsonde.errors import UsageError
from netsonde.launch.closing import Closing
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.session import Record
from netsonde.launch.worker import Worker, start_worker
from netsonde.limits import limit_s
from netsonde.records.decode import decode_series

BEGIN_TIMEOUT_S = limit_s("load")
REST_TIMEOUT_S = limit_s("load")
MOST_S = 86_400


class BusyHosts(Closing):
    """A worker of its own on each host works from the beginning of the ``with`` block to ``rest``,
    or for ``longest_s`` at most. Making one raises HostError where a host cannot."""

    def __init__(self, hosts: Sequence[Host], work: BusyWork, longest_s: float) -> None:
        self._work = work
        self._stack = ExitStack()
        self._workers: list[Worker] = []
        apart = {host.name: host for host in hosts}
        for host in apart.values():
            if launcher_row(host).is_served:
                raise UsageError(
                    f"{host.name} runs netsonde serve, which works for nobody: other work there "
                    "and --background-load do not go together"
                )
        try:
            for host in apart.values():
                worker = self._stack.enter_context(start_worker(host))
                worker.request("burn", BEGIN_TIMEOUT_S, **_fields(work, longest_s))
                self._workers.append(worker)
        except BaseException:
            self._stack.close()
            raise

    def rest(self) -> dict[str, Any]:
        """Ends the work. By host: the CPUs, what share of each was asked for and what was
        got. Raises HostError where a worker is gone."""
        found = {}
        try:
            for worker in self._workers:
                records = worker.request("rest", REST_TIMEOUT_S)
                found[worker.host_name] = self._got(records)
        finally:
            self.close()
        return found

    def _got(self, records: Sequence[Record]) -> dict[str, Any]:
        cpus, got_ns, lasted_ns = (
            decode_series([r for r in records if r.get("name") == name]).tolist()
            for name in ("cpu", "processor_ns", "lasted_ns")
        )
        return {
            "cpus": cpus,
            "asked_share": self._work.share,
            "nice": self._work.nice,
            "share": [
                round(got / max(lasted, 1), 4)
                for got, lasted in zip(got_ns, lasted_ns, strict=True)
            ],
        }

    def close(self) -> None:
        """Ends the workers, and with them the work. Idempotent."""
        self._workers = []
        self._stack.close()


def _fields(work: BusyWork, longest_s: float) -> dict[str, Any]:
    return {
        "share_permille": round(1000 * work.share),
        "nice": work.nice,
        "longest_ns": int(min(longest_s, MOST_S) * 1e9),
        **({"cpus": list(work.cpus)} if work.cpus else {}),
    }
