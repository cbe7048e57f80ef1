"""Several flows at once, between two hosts or many, each with two workers of its own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence

from netsonde.errors import HostError
from netsonde.launch.host import Host
from netsonde.launch.pair import PairSession, open_pair
from netsonde.launch.session import SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import wait_all

FIRST_LEAD_NS = 200_000_000
"""From asking all workers to the common start: reading requests and synchronising the ends of each
flow (8 round trips) must fit. Later ones are twice what the slowest flow needed."""
LEAD_LEAST_NS = 10_000_000
LEAD_MOST_NS = 10_000_000_000


class FlowsSession:
    """Flow i has the ranks 2 i (origin) and 2 i + 1 (target). Made by open_flows().

    A run is asked of all flows at once. Each synchronises its two ends and then waits for one
    instant, which the clocks of all origins are told; ``start_late_ns`` says how late each began.
    The field ``background`` of a run changes what all flows but the first are asked; None leaves
    them out. A failure of one ends the session.
    """

    def __init__(self, flows: Sequence[PairSession]) -> None:
        self._flows = flows
        self._lead_ns = FIRST_LEAD_NS
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
        flows = self._flows[: len(requests)]
        with closing_on_failure(self):
            clocks = [flow.clocks() for flow in flows]
            start_ns = time.monotonic_ns() + self._lead_ns
            submitted = [
                pair
                for flow, (origin, _), request in zip(flows, clocks, requests, strict=True)
                for pair in flow.submit(
                    {**request, "start_at_ns": start_ns + origin.lead_ns}, timeout_s
                )
            ]
            answers = wait_all(submitted, timeout_s + SLACK_S)
            found = []
            for number, flow in enumerate(flows):
                ends = answers[2 * number : 2 * number + 2]
                flow.check_ranks(ends)
                found.append(flow.clocks_after(ends))
        self._learn(answers)
        records: list[Record] = []
        for number, comparison in enumerate(found):
            ends = answers[2 * number : 2 * number + 2]
            records += _numbered([*ends[0], *ends[1], *comparison], 2 * number)
        return records

    def _requests(self, fields: Mapping[str, object]) -> list[dict[str, object]]:
        """What each flow that takes part is asked."""
        common = dict(fields)
        if "background" not in common:
            return [common] * len(self._flows)
        background = common.pop("background")
        if background is None:
            return [common]
        if not isinstance(background, Mapping):
            raise TypeError("background is no table of fields")
        kept = {name: common[name] for name in ("seed", "timeout_ns") if name in common}
        return [common] + [{**kept, **background}] * (len(self._flows) - 1)

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

    def __enter__(self) -> FlowsSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
) -> FlowsSession:
    """Opens a flow for each (origin, target). Raises HostError, with everything ended, where one
    cannot be had."""
    for _, target in ends:
        if target.kind == "paired":
            raise HostError(f"{target.name} runs netsonde serve, which takes one flow at a time")
    wakeup = threading.Condition()
    with contextlib.ExitStack() as stack:
        flows = [
            stack.enter_context(
                open_pair(
                    origin,
                    target,
                    transport,
                    family=family,
                    options=options,
                    target_options=target_options,
                    wakeup=wakeup,
                )
            )
            for origin, target in ends
        ]
        stack.pop_all()
    return FlowsSession(flows)
