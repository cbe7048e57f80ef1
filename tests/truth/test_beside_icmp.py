"""netsonde's round trips beside those of ICMP, over a link whose delay is known.

Both cross the same link; a process that answers must be woken, the kernel that answers an echo need
not. So UDP is longer by what two hosts take, some tens of microseconds on a quiet machine, and the
delay is large beside it.
"""

from __future__ import annotations

import numpy as np
import pytest
from lab_truth import PING, ROOT, attempts, in_host, scenario_lab

from netsonde.lab import permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch
from netsonde.stats.quantiles import quantile

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(not ROOT, reason="an echo of our own needs a raw socket"),
]

COUNT = 60
TOLERANCE = 0.1
"""Of the delay; stated for medians on a machine that does other work as well."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("delay_ms", [1, 5])
def test_medians_agree(delay_ms):
    """4 and 20 ms, four times the delay of a link's direction."""
    set_ns = 4 * delay_ms * 1_000_000
    with scenario_lab(hosts=2, link={"rate": "1G", "delay": f"{delay_ms}ms"}) as lab:

        def measure():
            switch_stats(lab, forget=True)
            echo_ns = in_host(lab.hosts[0], PING, lab.hosts[1].address("ipv4"), str(COUNT))
            found = {"ICMP": echo_ns}
            for transport in ("udp", "tcp"):
                with open_pair(lab.hosts[0], lab.hosts[1], transport) as session:
                    fields = {"test": "latency", "message_bytes": 56, "count": COUNT}
                    records = session.run({**fields, "timeout_ns": 10**10}, 15)
                batch = decode_batch(0, records)
                samples = np.asarray(batch.ends[0].series["round_trip_ns"])
                found[transport.upper()] = quantile(samples, 0.5)
            problems = [
                f"{name} takes {value / 1e6:.3f} ms, set are {set_ns / 1e6:.0f}"
                for name, value in found.items()
                if value != pytest.approx(set_ns, rel=TOLERANCE)
            ]
            problems += [
                f"{name} differs from ICMP by {(value - echo_ns) / 1e6:.3f} ms"
                for name, value in found.items()
                if abs(value - echo_ns) > TOLERANCE * set_ns
            ]
            return problems, switch_stats(lab)

        attempts(measure)
