"""Several flows between two hosts at once, each with two workers of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence

from netsonde.errors import HostError
from netsonde.launch.host import Host
from netsonde.launch.pair import PairSession, open_pair
from netsonde.launch.session import SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import wait_all


class FlowsSession:
    """Flow i has the ranks 2 i (origin) and 2 i + 1 (target). Made by open_flows().

    A run is asked of all flows at once; each then synchronises its own two ends, so that flows
    begin within some milliseconds of each other. A failure of one ends the session.
    """

    def __init__(self, flows: Sequence[PairSession]) -> None:
        self._flows = flows
        self.transport = flows[0].transport
        self.ranks = 2 * len(flows)
        self.hosts = frozenset(name for flow in flows for name in flow.hosts)
        self.opened: dict[int, Record] = {
            2 * number + rank: values
            for number, flow in enumerate(flows)
            for rank, values in flow.opened.items()
        }

    def facts(self) -> dict[str, Record]:
        return self._flows[0].facts()

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        with closing_on_failure(self):
            requests = [pair for flow in self._flows for pair in flow.submit(fields, timeout_s)]
            answers = wait_all(requests, timeout_s + SLACK_S)
            for number, flow in enumerate(self._flows):
                flow.check_ranks(answers[2 * number : 2 * number + 2])
        for rank, records in enumerate(answers):
            for record in records:
                record["rank"] = rank
        return [record for records in answers for record in records]

    def close(self) -> None:
        for flow in self._flows:
            flow.close()

    def __enter__(self) -> FlowsSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_flows(
    origin: Host,
    target: Host,
    transport: str,
    count: int,
    *,
    family: str = "ipv4",
    options: Mapping[str, object] | None = None,
    target_options: Mapping[str, object] | None = None,
) -> FlowsSession:
    """Opens so many flows from origin to target. Raises HostError, with everything ended, where one
    cannot be had."""
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
            for _ in range(count)
        ]
        stack.pop_all()
    return FlowsSession(flows)
