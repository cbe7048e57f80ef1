"""Over links and hosts that are known: a delay of the link is the network's, and a slow host is
that host's."""

from __future__ import annotations

import numpy as np
import pytest
from lab_truth import ROOT, attempts, scenario_lab

from netsonde.figures.stages import stages_of
from netsonde.lab import permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.pair import open_pair
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(not ROOT, reason="keeping processors awake needs root"),
]

TOLERANCE_NS = 40_000
HOST_SHARE = 0.01
"""Of what the network grows by. A host that sleeps for longer also wakes more slowly."""
ATTEMPTS = 4  # each with labs, and so calibrations of the switch, of its own
MESSAGES = 200


def stages(transport, delay_us, **tables):
    """Of round trips over two links, each with the delay each way; and the switch's stats."""
    options = {"kernel_times": True}
    options |= {"no_delay": True} if transport == "tcp" else {}
    with (
        scenario_lab(
            hosts=2, link={"rate": "1G", "delay": f"{delay_us}us"}, pace={"awake": True}, **tables
        ) as lab,
        open_pair(lab.hosts[0], lab.hosts[1], transport, options=options) as session,
    ):
        fields = {"test": "latency", "message_bytes": 64, "count": MESSAGES}
        batches = [decode_batch(i, session.run(fields, 60)) for i in range(2)]
        stats = switch_stats(lab)
    point = Point("p001", transport, "latency", {"message_bytes": 64}, batches=batches[1:])
    return stages_of(point), stats


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("delay_us", [500, pytest.param(2500, marks=pytest.mark.soak)])
def test_a_delay_of_the_link_is_the_networks(transport, delay_us):
    """The network grows by four times the delay of a direction, the hosts' parts hardly."""

    def measure():
        near, before = stages(transport, 50)
        far, after = stages(transport, delay_us)
        problems = []
        for found in (near, far):
            assert len(found.whole_ns) > 0.9 * MESSAGES
        grown = np.median(far.parts["network"]) - np.median(near.parts["network"])
        wanted = 4000 * (delay_us - 50)
        if abs(grown - wanted) > TOLERANCE_NS:
            problems.append(f"the network's part grew by {grown:.0f} ns, not {wanted}")
        for end in ("origin", "target"):
            grown = np.median(far.host_ns(end)) - np.median(near.host_ns(end))
            if abs(grown) > max(TOLERANCE_NS, HOST_SHARE * wanted):
                problems.append(f"the {end}'s part grew by {grown:.0f} ns")
        return problems, after if before["honest"]["valid"] else before

    attempts(measure, ATTEMPTS)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("host", "end", "other"), [("h2", "target", "origin")])
def test_a_slow_host_is_not_the_network(host, end, other):
    """A host that is stopped for 15 of each 20 ms: some messages wait for it, none on the link."""

    def measure():
        found, stats = stages("udp", 500, host=[{"name": host, "slow_down": 4}])
        assert len(found.whole_ns) > 0.9 * MESSAGES
        waited = found.host_ns(end)
        late = waited > 5_000_000
        problems = []
        if not 0.05 <= late.mean() <= 0.95:
            problems.append(f"{late.sum()} of {len(late)} messages waited for the slow host")
        else:
            shares = {
                name: values[late].sum() / found.whole_ns[late].sum()
                for name, values in (("slow", waited), ("network", found.parts["network"]))
            }
            # The round trip over the link takes 2 ms of the 7 and more that these take.
            if shares["slow"] < 0.7:
                problems.append(
                    f"the slow host's share of slow round trips is {shares['slow']:.2f}"
                )
            network = found.parts["network"]
            grown = np.median(network[late]) - np.median(network[~late])
            if abs(grown) > TOLERANCE_NS:
                problems.append(f"the network's part of slow round trips is {grown:.0f} ns more")
            if np.median(found.host_ns(other)[late]) > 1_000_000:
                problems.append(f"the {other} is held for slow, too")
        return problems, stats

    attempts(measure)
