"""Several flows at once, between two hosts or many, each with two workers of its own."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Protocol

from netsonde.errors import HostError
from netsonde.launch.clocks import Clocks
from netsonde.launch.closing import Closing
from netsonde.launch.host import Host
from netsonde.launch.pair import PairSession, open_pair
from netsonde.launch.session import SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import wait_all

FIRST_LEAD_NS = 200_000_000
"""From asking all workers to the common start: reading requests and synchronising the ends of each
flow (8 round trips) must fit. Later ones are twice what the slowest flow needed."""
LEAD_LEAST_NS = 10_000_000
LEAD_MOST_NS = 10_000_000_000
STARTED_AT_ONCE = 8
"""Flows whose workers are started at the same time: an ssh server refuses some of more than ten
that log in at once."""


CLOSED_BEFORE_NS = 50_000_000
"""A gate is closed so long before the common start: whatever the ends say to each other has passed
by then."""
SILENCE_NS = 120_000_000
"""From the last word between the ends of a silent start to the start: a delayed acknowledgement
(40 ms) has passed before the gate is closed."""


class Gate(Protocol):
    """What holds back all that hosts send, and then lets it go at one instant."""

    def close(self) -> None: ...

    def open(self) -> None: ...


class FlowsSession(Closing):
    """Flow i has the ranks 2 i (origin) and 2 i + 1 (target). Made by open_flows().

    A run is asked of all flows at once. Each synchronises its two ends and then waits for one
    instant, which the clocks of all origins are told; ``start_late_ns`` says how late each began.
    With ``held_ns`` the start is silent: nothing but messages is on its way from then on, and
    ``gate``, where there is one, is closed until so long after it.
    The field ``background`` of a run changes what all flows but the first are asked; None leaves
    them out. ``flows`` has the numbers of those that take part, all where it is missing. A failure
    of one ends the session.

    Flows whose targets are on one host may have a run with ``rounds``, at most so many: nobody
    begins one before all have ended the one before. The targets agree on it among themselves; they
    begin none later than ``rounds_ns`` after the end of the first, and each ``round_lead_ns`` after
    the last arrival of the one before.
    """

    def __init__(self, flows: Sequence[PairSession], gate: Gate | None = None) -> None:
        self._flows = flows
        self._gate = gate
        self._lead_ns = FIRST_LEAD_NS
        self._clocks = Clocks([worker for flow in flows for worker in flow.workers])
        self.transport = flows[0].transport
        self.ranks = 2 * len(flows)
        self.hosts = frozenset(name for flow in flows for name in flow.hosts)
        self.opened: dict[int, Record] = {
            2 * number + rank: values
            for number, flow in enumerate(flows)
            for rank, values in flow.opened.items()
        }

    def facts(self) -> dict[str, Record]:
        known: dict[str, Record] = {}
        for flow in self._flows:
            if not flow.hosts <= known.keys():
                known |= flow.facts()
        return known

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        requests = self._requests(fields)
        meetings = self._meetings(fields)
        with closing_on_failure(self):
            clocks = self._clocks.last()
            start_ns = time.monotonic_ns() + self._lead_ns
            held_ns = fields.get("held_ns")
            start_ns += SILENCE_NS if held_ns is not None else 0
            submitted = [
                asked
                for number, request in requests.items()
                for asked in self._flows[number].submit(
                    {**request, "start_at_ns": start_ns + clocks[2 * number].lead_ns},
                    timeout_s,
                    meetings[number],
                )
            ]
            if isinstance(held_ns, int) and self._gate is not None:
                _hold(self._gate, start_ns, held_ns)
            answers = wait_all(submitted, timeout_s + SLACK_S)
            for place, number in enumerate(requests):
                self._flows[number].check_ranks(answers[2 * place : 2 * place + 2])
            ranks = [2 * number + end for number in requests for end in (0, 1)]
            comparisons = self._clocks.records_after(answers, ranks)
        self._learn(answers)
        records: list[Record] = []
        for rank, of_worker in zip(ranks, answers, strict=True):
            records += _numbered(of_worker, rank - rank % 2)
        return records + comparisons

    def _meetings(self, fields: Mapping[str, object]) -> list[dict[str, object]]:
        """What each target is asked beside the fields of both ends: how rounds follow."""
        if "rounds" not in fields:
            return [{} for _ in self._flows]
        if len({flow.workers[1].host_name for flow in self._flows}) > 1:
            raise ValueError("rounds are for flows whose targets are on one host")
        common = {
            "name": secrets.token_hex(16),
            "members": len(self._flows),
            "lead_ns": fields["round_lead_ns"],
            "most_ns": fields["rounds_ns"],
        }
        return [{"meeting": {**common, "leads": n == 0}} for n in range(len(self._flows))]

    def _requests(self, fields: Mapping[str, object]) -> dict[int, dict[str, object]]:
        """What each flow that takes part is asked, by its number."""
        of_session = ("rounds_ns", "round_lead_ns", "flows", "background", "held_ns")
        common = {k: v for k, v in fields.items() if k not in of_session}
        if "held_ns" in fields:
            common["silent_start"] = True
        chosen = fields.get("flows", range(len(self._flows)))
        if not isinstance(chosen, Sequence):
            raise TypeError("flows are no numbers of flows")
        if "background" not in fields:
            return {int(number): common for number in chosen}
        background = fields["background"]
        if background is None:
            return {0: common}
        if not isinstance(background, Mapping):
            raise TypeError("background is no table of fields")
        kept = {name: common[name] for name in ("seed", "timeout_ns") if name in common}
        behind = {number: {**kept, **background} for number in range(1, len(self._flows))}
        return {0: common, **behind}

    def _learn(self, answers: Sequence[Sequence[Record]]) -> None:
        """How long the slowest flow took to be ready decides on the next lead."""
        needed_ns = [
            self._lead_ns + int(values["start_late_ns"]) - int(values["start_waited_ns"])
            for records in answers
            for record in records
            if record["record"] == "counters" and "start_late_ns" in (values := record["values"])
        ]
        if needed_ns:
            self._lead_ns = min(max(2 * max(needed_ns), LEAD_LEAST_NS), LEAD_MOST_NS)

    def close(self) -> None:
        for flow in self._flows:
            flow.close()


def _hold(gate: Gate, start_ns: int, held_ns: int) -> None:
    """Closed from shortly before an instant of this host's clock until held_ns after it."""
    _sleep_until(start_ns - CLOSED_BEFORE_NS)
    try:
        gate.close()
        _sleep_until(start_ns + held_ns)
    finally:
        gate.open()


def _sleep_until(instant_ns: int) -> None:
    time.sleep(max(0.0, (instant_ns - time.monotonic_ns()) / 1e9))


def _numbered(records: list[Record], first_rank: int) -> list[Record]:
    for record in records:
        record["rank"] += first_rank
    return records


def open_flows(
    ends: Sequence[tuple[Host, Host]],
    transport: str,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
    target_options: Mapping[str, object] | None = None,
    gate: Gate | None = None,
) -> FlowsSession:
    """Opens a flow for each (origin, target), some of them at the same time. Raises HostError, with
    everything ended, where one cannot be had."""
    wakeup = threading.Condition()

    def open_one(origin: Host, target: Host) -> PairSession:
        try:
            return open_pair(
                origin,
                target,
                transport,
                family=family,
                options=options,
                target_options=target_options,
                wakeup=wakeup,
            )
        except HostError as error:
            if origin.name in str(error) or target.name in str(error):
                raise
            raise HostError(f"the flow from {origin.name} to {target.name}: {error}") from error

    with ThreadPoolExecutor(STARTED_AT_ONCE, "open flow") as starters:
        opening = [starters.submit(open_one, origin, target) for origin, target in ends]
        try:
            wait(opening, return_when=FIRST_EXCEPTION)
            _raise_first(opening)
        except BaseException:
            starters.shutdown(cancel_futures=True)  # waits for those that have begun
            for future in opening:
                if not future.cancelled() and future.exception() is None:
                    future.result().close()
            raise
    return FlowsSession([future.result() for future in opening], gate)


def _raise_first(opening: Sequence[Future[PairSession]]) -> None:
    """Raises what the first of the flows, by their order, has failed with, if one has."""
    for future in opening:
        error = future.exception() if future.done() else None
        if error is not None:
            raise error
