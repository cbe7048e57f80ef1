"""PVM over links that are known: the delay of either route, and the rate of the direct one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lab_truth import COUNTING, scenario_lab

from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.lab import Lab, permission_problem
from netsonde.launch.pair import PairSession
from netsonde.launch.tasks import open_tasks
from netsonde.records.decode import decode_batch
from netsonde.stats.quantiles import quantile
from pvm_needed import require_pvm

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.timeout(120),
]
DELAY_MS = 3
COUNT = 30
MORE_NS = 2_000_000
"""What four processes that wake each other may take on two CPUs, beside 12 ms of links."""
RATE_BIT_PER_S, LINE_BYTES, SEGMENT_BYTES, FRAGMENT_HEADER_BYTES = 20e6, 1538, 1448, 16
"""Of a full frame with all that is around it, of its payload; of each fragment of PVM's."""


@contextlib.contextmanager
def between(lab: Lab, **options: Any) -> Iterator[PairSession]:
    with open_tasks(lab.hosts[0], lab.hosts[1], "pvm", options=options) as session:
        assert session.opened[0]["route"] == options["route"]
        yield session


@pytest.mark.tolerant
@pytest.mark.parametrize("route", ["normal", "direct"])
def test_a_round_trip_has_the_delay_of_the_links(route: str, attempts: Any) -> None:
    """A frame crosses two links each way; nobody waits for acknowledgements. Without the pace
    that takes off what the machine itself usually needs, no round trip can be shorter."""
    require_pvm()
    set_ns = 4 * DELAY_MS * 1_000_000
    link = {"rate": "1G", "delay": f"{DELAY_MS}ms"}
    with scenario_lab(hosts=2, link=link, pace=COUNTING) as lab:
        for attempt in attempts(2, of=3):
            with between(lab, route=route) as session:
                fields = {"test": "latency", "message_bytes": 40, "count": COUNT}
                batch = decode_batch(0, session.run(fields, 15))
            trips = np.asarray(batch.ends[0].series["round_trip_ns"])
            assert trips.min() >= set_ns
            median_ns = quantile(trips, 0.5)
            attempt.found(median_ns=median_ns, set=set_ns)
            with attempt:
                assert set_ns <= median_ns <= set_ns + MORE_NS


@pytest.mark.tolerant
def test_the_direct_route_fills_a_link_that_is_slower_than_the_hosts(attempts: Any) -> None:
    """TCP's goodput, less the header of each of PVM's fragments; the window of PVM's sockets holds
    more than is on such a link."""
    require_pvm()
    with scenario_lab(hosts=2, link={"rate": f"{RATE_BIT_PER_S / 1e6:.0f}M"}, pace=COUNTING) as lab:
        for attempt in attempts(2, of=3):
            with between(lab, route="direct", encoding="raw") as session:
                share = 1 - FRAGMENT_HEADER_BYTES / session.opened[0]["fragment_bytes"]
                fields = {"test": "stream", "message_bytes": 40_000, "duration_ns": 10**9}
                batch = decode_batch(0, session.run(fields, 15))
            _, rate = stream_rates_bit_per_s(batch)
            allowed = RATE_BIT_PER_S * SEGMENT_BYTES / LINE_BYTES * share
            attempt.found(bit_per_s=rate, allowed=allowed)
            with attempt:
                assert rate == pytest.approx(allowed, rel=0.02)
