"""A measurement between two hosts: a worker at each end, asked at once."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Mapping, Sequence

from netsonde.catalogue.test import TESTS, names_of
from netsonde.catalogue.transport import TRANSPORTS, Ends, transport_row
from netsonde.errors import HostError, UsageError
from netsonde.launch.clocks import Clocks
from netsonde.launch.closing import Closing
from netsonde.launch.host import Host, check_origin, launcher_row
from netsonde.launch.local import address_family, target_address
from netsonde.launch.session import FACTS_TIMEOUT_S, SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import Worker, WorkerError, facts_told, start_worker, wait_all
from netsonde.limits import limit_s

CLOSE_TIMEOUT_S = limit_s("close-pair")
_COOKIE_BYTES = 16
_KEY_BYTES = 32
TIMED_ON_ONE_CLOCK = frozenset(TESTS[name].engine for name in names_of("is_stream"))
"""Tests of which one-way delays are wanted, so that their ends' clocks are compared."""


class PairSession(Closing):
    """Two workers with an open transport: rank 0 the origin, rank 1 the target.

    ``host_names`` are the keys of facts() in that order. Made by open_pair(). A failure of a run
    ends the session.
    """

    ranks = 2

    def __init__(
        self, transport: str, origin: Worker, target: Worker, opened: dict[int, Record]
    ) -> None:
        self.transport = transport
        self.opened = opened
        self.hosts = frozenset((origin.host_name, target.host_name))
        self.host_names: tuple[str, ...] = (origin.host_name, target.host_name)
        self._workers = (origin, target)
        self._clocks = Clocks(self._workers)
        self._closed = False

    def facts(self) -> dict[str, Record]:
        self._check_open()
        with closing_on_failure(self):
            answers = wait_all(self._submit("facts", {}), FACTS_TIMEOUT_S)
        facts: dict[str, Record] = {}
        for worker, records in zip(self._workers, answers, strict=True):
            known = facts.setdefault(worker.host_name, {})
            known.update(facts_told(worker.hello, records))
        return facts

    def snapshots(self) -> list[Record]:
        """The counters of both hosts now, origin first. Raises HostError."""
        self._check_open()
        with closing_on_failure(self):
            answers = wait_all(self._submit("snapshot", {}), FACTS_TIMEOUT_S)
            self.check_ranks(answers)
        return [r for records in answers for r in records if r["record"] == "snapshot"]

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        compared = fields.get("test") in TIMED_ON_ONE_CLOCK
        with closing_on_failure(self):
            if compared:
                self._clocks.last()
            answers = wait_all(self.submit(fields, timeout_s), timeout_s + SLACK_S)
            self.check_ranks(answers)
            found = self._clocks.records_after(answers) if compared else []
        return [record for records in answers for record in records] + found

    @property
    def workers(self) -> tuple[Worker, Worker]:
        """Origin and target."""
        return self._workers

    def submit(
        self,
        fields: Mapping[str, object],
        timeout_s: float,
        target_fields: Mapping[str, object] | None = None,
    ) -> list[tuple[Worker, int]]:
        """Asks both ends for a batch, the target for target_fields as well; (worker, request) to
        wait for, origin first."""
        self._check_open()
        request = {"timeout_ns": _ns(timeout_s), **fields}
        origin, target = self._workers
        return [
            (origin, origin.submit("run", **request)),
            (target, target.submit("run", **request, **(target_fields or {}))),
        ]

    def check_ranks(self, answers: Sequence[list[Record]]) -> None:
        """Raises HostError where an end says that it is the other."""
        for rank, (worker, records) in enumerate(zip(self._workers, answers, strict=True)):
            _check_rank(worker, rank, records)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for worker in self._workers:
            worker.close()

    def _submit(self, verb: str, fields: Mapping[str, object]) -> list[tuple[Worker, int]]:
        return [(worker, worker.submit(verb, **fields)) for worker in self._workers]

    def _check_open(self) -> None:
        if self._closed:
            raise HostError("the session is closed; open another one")


def open_pair(
    origin: Host,
    target: Host,
    transport: str,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
    target_options: Mapping[str, object] | None = None,
    timeout_s: float = 10.0,
    wakeup: threading.Condition | None = None,
) -> PairSession:
    """Opens a transport between two workers from origin to target.

    options are the ``options`` of a request, of both ends where target_options is not given.
    wakeup: shared with other pairs that are waited for together. Raises HostError, with everything
    ended, where an end fails.
    """
    row = transport_row(transport)
    if row.ends is not Ends.PAIR:
        known = " or ".join(sorted(name for name, r in TRANSPORTS.items() if r.ends is Ends.PAIR))
        raise UsageError(f"transport {transport!r} is not one between two hosts; it is {known}")
    address_family(family)
    check_origin(origin)
    wakeup = wakeup or threading.Condition()
    with contextlib.ExitStack() as stack:
        # The target first: where it refuses, nothing has been started at the origin.
        target_worker, origin_worker = (
            stack.enter_context(
                start_worker(host, family=family, wakeup=wakeup, program=row.worker)
            )
            for host in (target, origin)
        )
        opened = _open(
            (origin, target),
            (origin_worker, target_worker),
            transport,
            family,
            dict(options or {}),
            dict(target_options if target_options is not None else options or {}),
            timeout_s,
        )
        session = PairSession(transport, origin_worker, target_worker, opened)
        stack.pop_all()
    return session


def _open(
    hosts: tuple[Host, Host],
    workers: tuple[Worker, Worker],
    transport: str,
    family: str,
    options: dict[str, object],
    target_options: dict[str, object],
    timeout_s: float,
) -> dict[int, Record]:
    origin, target = workers
    timeout = {"timeout_ns": _ns(timeout_s)}
    common = {"transport": transport, "family": family, **session_secrets(options), **timeout}
    allow = known_origin_address(*hosts, family)
    listen_fields: dict[str, object] = {**common, "options": target_options}
    if allow is not None:
        listen_fields["allow_address"] = options.get("source_address", allow)
    listening = target.values("listen", timeout_s + SLACK_S, **listen_fields)
    port = listening.get("port")
    if type(port) is not int or not 0 < port < 65536:
        raise WorkerError(
            f"{target.host_name}: the worker listens on port {port!r}, which is no port",
            "garbage",
            target.host_name,
        )
    address = target_address(*hosts, family)
    requests = [
        (target, target.submit("open", role="target", **timeout)),
        (
            origin,
            origin.submit(
                "open", role="origin", address=address, port=port, options=options, **common
            ),
        ),
    ]
    target_records, origin_records = wait_all(requests, timeout_s + SLACK_S)
    return {0: origin_records[-1]["values"], 1: target_records[-1]["values"]}


def session_secrets(options: Mapping[str, object]) -> dict[str, str]:
    """What the requests of both ends of one session hold so that they know each other: drawn anew
    each time, told to the workers and to nobody else, and never recorded."""
    known = {"cookie": secrets.token_hex(_COOKIE_BYTES)}
    if options.get("authenticated"):
        known["key"] = secrets.token_hex(_KEY_BYTES)
    return known


def known_origin_address(origin: Host, target: Host, family: str) -> str | None:
    """The address that the target sees the origin at, where that is certain.

    Across a real network the origin may have several, or an address translator before it; the
    cookie alone then tells who may connect.
    """
    row = launcher_row(origin)
    is_known = target.kind == origin.kind and (row.is_here or row.is_closed)
    return origin.address(family) if is_known else None


def _check_rank(worker: Worker, rank: int, records: list[Record]) -> None:
    for record in records:
        if record["rank"] != rank:
            raise WorkerError(
                f"{worker.host_name}: the worker wrote rank {record['rank']} where it is {rank}",
                "garbage",
                worker.host_name,
            )


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
