"""Measurements that know of each other: each host is had by one at a time, or it is said."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from netsonde.errors import HostError
from netsonde.launch.closing import Closing
from netsonde.launch.contact import AT_ONCE
from netsonde.launch.host import Host, launcher_row
from netsonde.launch.local import LocalHost
from netsonde.launch.worker import Worker, start_worker
from netsonde.limits import limit_s

FOLDER = "NETSONDE_EXCLUSION_FOLDER"
"""In the environment: where the locks lie instead of /tmp; for machines whose users do not share
that, and for tests."""
ANSWER_TIMEOUT_S = limit_s("claim")
POLL_S = 0.05
MOST_LETTERS = 300
KEY_LETTERS = 24


@dataclass
class _Claim:
    """A worker that has its host, or measures beside ``holder``."""

    worker: Worker
    waited_s: float = 0.0
    holder: str = ""


@runtime_checkable
class TellsOfOthers(Protocol):
    """A host that takes itself, and tells who was ``beside`` a measurement, by name."""

    name: str
    beside: str


class Exclusion(Closing):
    """Takes hosts for one measurement after the other. Its workers stay until it is closed.

    ``what`` is what others are told; ``wait_s`` how long another measurement's end is awaited at
    most, after which this one measures beside it; ``say`` is told that it waits. A host that
    cannot be asked is left to whatever measures on it, which will say why.
    """

    def __init__(self, what: str, wait_s: float, say: Callable[[str], None]) -> None:
        self._what = what
        self._wait_s = wait_s
        self._say = say
        self._workers: dict[str, Worker] = {}
        self._coming: dict[str, Future[Worker | None]] = {}
        self._claims: dict[str, _Claim] = {}
        self._served: list[TellsOfOthers] = []

    def expect(self, hosts: Sequence[Host]) -> None:
        """These will probably be asked for: what asks them starts meanwhile, for that takes longer
        than to ask."""
        machines = _machines(hosts)
        starters = ThreadPoolExecutor(AT_ONCE, "claim")
        for name in machines.keys() - self._workers.keys() - self._coming.keys():
            self._coming[name] = starters.submit(_started, machines[name])
        starters.shutdown(wait=False)

    def begin(self, hosts: Sequence[Host]) -> None:
        """Has these hosts from now on, or measures beside whoever has one of them. Of those that
        serve themselves it is learnt when they were opened."""
        self._served = [host for host in hosts if isinstance(host, TellsOfOthers)]
        asking = self._asking(hosts)
        deadline = time.monotonic() + self._wait_s
        for name, worker in asking.items():
            try:
                self._claims[name] = self._claimed(worker, deadline)
            except HostError:
                self._forget(name)

    def begin_if_free(self, host: Host, what: str) -> str:
        """Who has the host; where nobody has (empty), it is had from now on, for ``what``. Does not
        wait."""
        self._what = what
        for name, worker in self._asking([host]).items():
            try:
                if holder := self._holder(worker, beside=False):
                    return holder
                self._claims[name] = _Claim(worker)
            except HostError:
                self._forget(name)
        return ""

    def end(self) -> dict[str, Any]:
        """Gives the hosts back. By host, where there is something to say: ``waited_s`` for another
        measurement, ``beside`` whom this one was made, and who was ``meanwhile`` beside it."""
        claims, self._claims = self._claims, {}
        served, self._served = self._served, []
        told: dict[str, Any] = {h.name: {"beside": h.beside} for h in served if h.beside}
        for name, claim in claims.items():
            meanwhile = ""
            try:
                meanwhile = str(claim.worker.values("release", ANSWER_TIMEOUT_S)["beside"])
            except HostError:
                self._forget(name)
            found = {
                "waited_s": round(claim.waited_s, 3),
                "beside": claim.holder,
                "meanwhile": meanwhile,
            }
            if any(found.values()):
                told[name] = {key: value for key, value in found.items() if value}
        return told

    def close(self) -> None:
        """Gives everything back. Idempotent."""
        self._wait_for(self._coming.keys())
        workers, self._workers, self._claims = self._workers, {}, {}
        for worker in workers.values():
            worker.close()

    def _asking(self, hosts: Sequence[Host]) -> dict[str, Worker]:
        """By machine, those that can be asked; always in one order, for two that want the same
        hosts must not wait for each other."""
        self.expect(hosts)
        names = _machines(hosts).keys()
        self._wait_for(names & self._coming.keys())
        return {name: self._workers[name] for name in sorted(names & self._workers.keys())}

    def _wait_for(self, names: Collection[str]) -> None:
        for name in list(names):
            if worker := self._coming.pop(name).result():
                self._workers[name] = worker

    def _claimed(self, worker: Worker, deadline: float) -> _Claim:
        began, told = time.monotonic(), False
        while holder := self._holder(worker, beside=False):
            if is_of(own_key(), holder):  # a server has it for us
                return _Claim(worker)
            now = time.monotonic()
            if now >= deadline:
                waited_s = now - began if told else 0.0
                return _Claim(worker, waited_s, self._holder(worker, beside=True))
            if not told:
                self._say(
                    f"{worker.host_name}: another measurement has this host ({holder}); waiting "
                    f"for at most {deadline - now:.0f} s"
                )
                told = True
            time.sleep(min(POLL_S, deadline - now))
        return _Claim(worker, time.monotonic() - began if told else 0.0)

    def _holder(self, worker: Worker, *, beside: bool) -> str:
        """Who has the worker's host, where it is not ours."""
        fields: dict[str, object] = {"what": _printable(self._what), "beside": beside}
        if folder := os.environ.get(FOLDER):
            fields["folder"] = folder
        return str(worker.values("claim", ANSWER_TIMEOUT_S, **fields)["holder"])

    def _forget(self, name: str) -> None:
        if (worker := self._workers.pop(name, None)) is not None:
            worker.close()


def own_name(measurement: str) -> str:
    """What others are told of a measurement of this process."""
    return f"{measurement}, {_process_name()}"


def own_key() -> str:
    """By which a server knows that a measurement has its host because this process has it."""
    return _key_of(_process_name())


def is_of(key: str, holder: str) -> bool:
    """Whether who has a host is the process with that key, or a server that serves it."""
    return key in holder or key == _key_of(holder[holder.rfind("process ") :])


def _key_of(process_name: str) -> str:
    return hashlib.sha256(_printable(process_name).encode()).hexdigest()[:KEY_LETTERS]


def _process_name() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = f"user {os.getuid()}"
    return f"process {os.getpid()} of {user} on {os.uname().nodename}"


def _machines(hosts: Sequence[Host]) -> dict[str, Host]:
    """The machines that hosts are on: those of a lab are on this one. A server takes its own, and
    the nodes of a job are nobody else's."""
    found: dict[str, Host] = {}
    for host in hosts:
        row = launcher_row(host)
        if row.is_here or row.is_closed:
            here = LocalHost()
            found[here.name] = here
        elif not (row.is_served or row.has_job):
            found[host.name] = host
    return found


def _started(host: Host) -> Worker | None:
    with contextlib.suppress(HostError):
        return start_worker(host)
    return None


def _printable(text: str) -> str:
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:MOST_LETTERS]
