"""Response times from intended times, over a cluster whose delay and pauses are known."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from lab_truth import scenario_lab

from netsonde.lab import permission_problem
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

INTERVAL_NS = 1_000_000
MESSAGE_BYTES = 64
MESSAGES = 1500
PAUSE_S = 0.2
ROUND_TRIP_NS = 4_000_000
# TCP has so many segments under way at most; what more came in the pause goes a round trip later.
MORE_WAITING = {"udp": 6, "tcp": 15}


def open_loop(session):
    fields = {
        "test": "open_loop",
        "message_bytes": MESSAGE_BYTES,
        "count": MESSAGES,
        "rate_bit_per_s": MESSAGE_BYTES * 8 * 10**9 // INTERVAL_NS,
    }
    return decode_batch(0, session.run(fields, 20)).ends[0]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_pause_is_in_every_response_that_waited_for_it(transport, attempts):
    """While the network stands still for 200 ms, one message each ms goes on: their responses are
    200 ms, 199 ms, 198 ms ... A test that waits for each answer would have a single slow one."""
    # Nagle's algorithm would hold a message until the one before it is acknowledged.
    options = {"no_delay": True} if transport == "tcp" else {}
    for attempt in attempts(2, of=3):
        with (
            scenario_lab(hosts=2, link={"rate": "100M", "delay": "1ms"}) as lab,
            open_pair(lab.hosts[0], lab.hosts[1], transport, options=options) as session,
        ):
            stood_s: list[float] = []

            def stand_still(lab=lab, stood_s=stood_s):
                time.sleep(0.5)
                closed = lab.ask_switch("gate", {"open": False})["unix_ns"]
                time.sleep(PAUSE_S)
                stood_s.append((lab.ask_switch("gate", {"open": True})["unix_ns"] - closed) / 1e9)

            pausing = threading.Thread(target=stand_still)
            pausing.start()
            end = open_loop(session)
            pausing.join()
        responses = end.series["response_ns"]
        assert len(responses) == MESSAGES
        # What came in the first half of the pause waited for the other half and a round trip.
        half_ns = stood_s[0] / 2 * 1e9
        waited = int((responses >= half_ns).sum())
        expected = (half_ns + ROUND_TRIP_NS) / INTERVAL_NS
        worst_ns = stood_s[0] * 1e9 + ROUND_TRIP_NS
        off = [
            (waited - expected) / MORE_WAITING[transport],
            (float(responses.max()) - worst_ns) / 10_000_000,
            (float(np.median(responses)) - ROUND_TRIP_NS) / 1_000_000,
        ]
        attempt.found(off=dict(zip(("waited", "worst", "median"), off, strict=True)))
        with attempt:
            assert max(abs(part) for part in off) <= 1
