"""One-way delays of directions that differ, by clocks that differ, found within what is known."""

from __future__ import annotations

import pytest
from lab_truth import ROOT, scenario_lab

from netsonde.figures.compute import figures_of_point, find
from netsonde.lab import permission_problem
from netsonde.launch.pair import open_pair
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

MESSAGE_BYTES = 64
# A frame of 110 bytes with preamble and gap, sent by the host and again by the switch at 1 Gbit/s.
FRAME_NS = 2 * (MESSAGE_BYTES + 8 + 20 + 14 + 4 + 20) * 8
WANTED_NS = {"there": 1_000_000 + FRAME_NS, "back": 5_000_000 + FRAME_NS}
TOLERANCE_NS = 20_000
BATCHES = 3
LINK = {"rate": "1G", "delay": "500us"}
SLOW_BACK = {"rate": "1G", "up": {"delay": "4500us"}, "down": {"delay": "500us"}}


def figures_between(origin, target):
    """The figures of 300 datagrams, one each ms."""
    fields = {
        "test": "stream",
        "message_bytes": MESSAGE_BYTES,
        "count": 100,
        "rate_bit_per_s": MESSAGE_BYTES * 8 * 1000,
    }
    with open_pair(origin, target, "udp") as session:
        batches = [decode_batch(i, session.run(fields, 20)) for i in range(BATCHES)]
    parameters = {"message_bytes": MESSAGE_BYTES}
    return figures_of_point(Point("p001", "udp", "stream", parameters, batches=batches))


def delays(hosts):
    """(median, its interval, what the clocks are uncertain by) of each direction."""
    with scenario_lab(
        hosts=2,
        link=LINK,
        host=[{"name": "h2", "link": SLOW_BACK, **hosts}],
        pace={"mode": "busy", "awake": True},
    ) as lab:
        first, second = lab.hosts
        for way, ends in (("there", (first, second)), ("back", (second, first))):
            figures = figures_between(*ends)
            median = find(figures, "one_way_delay_median_ns", "p001")
            uncertain = find(figures, "clock_uncertainty_ns", "p001")
            yield way, median, uncertain.value


@pytest.mark.timeout(120)
@pytest.mark.skipif(not ROOT, reason="keeping CPUs awake needs root")
@pytest.mark.parametrize(
    "clock",
    [pytest.param({}, marks=pytest.mark.soak), {"clock_offset": "-3s", "clock_drift_ppm": 80}],
    ids=["one clock", "two clocks"],
)
def test_either_direction_is_found(clock, attempts):
    """1 ms there and 5 ms back: half of the round trip would be 3 ms for both."""
    for attempt in attempts(2, of=3):
        found = list(delays(clock))
        for way, median, uncertain_ns in found:
            assert (uncertain_ns == 0) == (clock == {}), "the clocks were not told apart"
            # What is certain is never wrong, whatever the machine was busy with: it arrives late.
            assert median.low <= median.high
            assert median.high >= WANTED_NS[way], f"{way}: at most {median.high} ns"
        off_ns = {way: median.value - WANTED_NS[way] for way, median, _ in found}
        attempt.found(off_ns=off_ns)
        with attempt:
            assert max(map(abs, off_ns.values())) <= TOLERANCE_NS
