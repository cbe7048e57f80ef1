"""Response times from intended times, over a cluster whose delay and pauses are known."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from lab_truth import COUNTING, scenario_lab

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
# What waited comes out one behind the other: the line takes 10 us of each, and each passes the
# switch, the target and the origin, twice the switch again, on CPUs that others use as well.
# With TCP the first go in a window, and the others a round trip later.
DRAIN_NS = 100_000
LATER_NS = {"udp": 0, "tcp": ROUND_TRIP_NS}
# The first and the last of them may lie on either side of an instant, and so may the pause's ends.
LEAST_OFF = 2


def open_loop(session):
    fields = {
        "test": "open_loop",
        "message_bytes": MESSAGE_BYTES,
        "count": MESSAGES,
        "rate_bit_per_s": MESSAGE_BYTES * 8 * 10**9 // INTERVAL_NS,
    }
    return decode_batch(0, session.run(fields, 20)).ends[0]


def responses_over_a_pause(lab, transport, options):
    """Response times in ns, and for how many seconds no frame left a host meanwhile."""
    stood_s = []

    def stand_still():
        time.sleep(0.5)
        closed = lab.ask_switch("gate", {"open": False})["unix_ns"]
        time.sleep(PAUSE_S)
        stood_s.append((lab.ask_switch("gate", {"open": True})["unix_ns"] - closed) / 1e9)

    with open_pair(lab.hosts[0], lab.hosts[1], transport, options=options) as session:
        pausing = threading.Thread(target=stand_still)
        pausing.start()
        end = open_loop(session)
        pausing.join()
    return end.series["response_ns"], stood_s[0]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", [pytest.param("tcp", marks=pytest.mark.soak), "udp"])
def test_a_pause_is_in_every_response_that_waited_for_it(transport, attempts):
    """While the network stands still for 200 ms, one message each ms goes on: their responses are
    200 ms, 199 ms, 198 ms ... A test that waits for each answer would have a single slow one,
    of a hundred that are wanted here."""
    # Nagle's algorithm would hold a message until the one before it is acknowledged.
    options = {"no_delay": True} if transport == "tcp" else {}
    link = {"rate": "100M", "delay": "1ms"}
    with scenario_lab(hosts=2, pace=COUNTING, link=link) as lab:
        for attempt in attempts(2, of=3):
            responses, stood_s = responses_over_a_pause(lab, transport, options)
            assert len(responses) == MESSAGES
            # What came in the first half of the pause waited for the other half and a round trip;
            # so did that whose answer was about to leave, as no host's line starts a frame.
            half_ns = stood_s / 2 * 1e9
            waited = int((responses >= half_ns).sum())
            least = (half_ns + 1.5 * ROUND_TRIP_NS) / INTERVAL_NS
            drained = (least * DRAIN_NS + LATER_NS[transport]) / INTERVAL_NS
            worst_ns = stood_s * 1e9 + ROUND_TRIP_NS
            more_ms = (float(responses.max()) - worst_ns) / 1e6
            usual_ms = (float(np.median(responses)) - ROUND_TRIP_NS) / 1e6
            attempt.found(waited=waited, least=least, worst_more_ms=more_ms, usual_more_ms=usual_ms)
            with attempt:
                assert least - LEAST_OFF <= waited <= least + drained + LEAST_OFF
                assert abs(more_ms) <= 10
                assert abs(usual_ms) <= 1
