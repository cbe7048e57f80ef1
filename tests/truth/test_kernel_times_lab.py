"""Over links and hosts that are known: a delay of the link is the network's, and a slow host is
that host's."""

from __future__ import annotations

import numpy as np
import pytest
from lab_truth import ROOT, scenario_lab

from netsonde.figures.stages import stages_of
from netsonde.lab import permission_problem
from netsonde.launch.pair import open_pair
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(not ROOT, reason="keeping CPUs awake needs root"),
]

TOLERANCE_NS = 40_000
HOST_SHARE = 0.01
"""Of what the network grows by. A host that sleeps for longer also wakes more slowly."""
NEAR_US = 50
MESSAGES = 200
SLOW_MESSAGES = 100
"""Over a slow host: half of them wait some ten milliseconds each."""


def cluster(delay_us, **tables):
    return scenario_lab(
        link={"rate": "1G", "delay": f"{delay_us}us"}, pace={"awake": True}, **tables
    )


def stages(origin, target, transport, count=MESSAGES):
    """Of round trips over two links."""
    options = {"kernel_times": True}
    options |= {"no_delay": True} if transport == "tcp" else {}
    with open_pair(origin, target, transport, options=options) as session:
        fields = {"test": "latency", "message_bytes": 64, "count": count}
        batches = [decode_batch(i, session.run(fields, 60)) for i in range(2)]
    point = Point("p001", transport, "latency", {"message_bytes": 64}, batches=batches[1:])
    return stages_of(point)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["tcp", pytest.param("udp", marks=pytest.mark.soak)])
@pytest.mark.parametrize("delay_us", [500, pytest.param(2500, marks=pytest.mark.soak)])
def test_a_delay_of_the_link_is_the_networks(transport, delay_us, attempts):
    """The network grows by four times the delay of a direction, the hosts' parts hardly."""
    wanted_ns = 4000 * (delay_us - NEAR_US)
    far_link = {"rate": "1G", "delay": f"{delay_us}us"}
    far_hosts = [{"name": name, "link": far_link} for name in ("h3", "h4")]
    for attempt in attempts(2, of=3):  # each with a lab, and so a calibration, of its own
        with cluster(NEAR_US, hosts=4, host=far_hosts) as lab:
            near = stages(lab.hosts[0], lab.hosts[1], transport)
            far = stages(lab.hosts[2], lab.hosts[3], transport)
        for found in (near, far):
            assert len(found.whole_ns) > 0.9 * MESSAGES
        grown_ns = {
            "network": np.median(far.parts["network"]) - np.median(near.parts["network"]),
            **{
                end: np.median(far.host_ns(end)) - np.median(near.host_ns(end))
                for end in ("origin", "target")
            },
        }
        attempt.found(**grown_ns, wanted=wanted_ns)
        with attempt:
            assert abs(grown_ns.pop("network") - wanted_ns) <= TOLERANCE_NS
            host_most_ns = max(TOLERANCE_NS, HOST_SHARE * wanted_ns)
            assert max(map(abs, grown_ns.values())) <= host_most_ns


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("host", "end", "other"), [("h2", "target", "origin")])
def test_a_slow_host_is_not_the_network(host, end, other, attempts):
    """A host that is stopped for 15 of each 20 ms: some messages wait for it, none on the link."""
    for attempt in attempts(2, of=3):
        with cluster(500, hosts=2, host=[{"name": host, "slow_down": 4}]) as lab:
            found = stages(lab.hosts[0], lab.hosts[1], "udp", SLOW_MESSAGES)
        assert len(found.whole_ns) > 0.9 * SLOW_MESSAGES
        waited = found.host_ns(end)
        late = waited > 5_000_000
        attempt.found(late_share=late.mean())
        with attempt:
            assert 0.05 <= late.mean() <= 0.95
            # The round trip over the link takes 2 ms of the 7 and more that these take.
            assert waited[late].sum() / found.whole_ns[late].sum() >= 0.7
            network = found.parts["network"]
            assert abs(np.median(network[late]) - np.median(network[~late])) <= TOLERANCE_NS
            assert np.median(found.host_ns(other)[late]) <= 1_000_000
