"""netsonde's round trips, its own echoes among them, beside those of ICMP by a program of the test,
over a link whose delay is known.

All cross the same link; a process that answers must be woken, the kernel that answers an echo need
not. So UDP is longer by what two hosts take, some tens of microseconds on a quiet machine, and the
delay is large beside it.
"""

from __future__ import annotations

import numpy as np
import pytest
from lab_runs import Silent
from lab_truth import PING, ROOT, in_host, links_of, scenario_lab, settle
from scipy.stats import binom

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of, find
from netsonde.lab import permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.alone import open_alone
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch
from netsonde.records.rundir import open_run
from netsonde.stats.quantiles import quantile
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.skipif(not ROOT, reason="an echo of our own needs a raw socket"),
]

COUNT = 60
TOLERANCE = 0.1
"""Of the delay; stated for medians on a machine that does other work as well."""


def median_ns(session):
    fields = {"test": "latency", "message_bytes": 56, "count": COUNT}
    batch = decode_batch(0, session.run({**fields, "timeout_ns": 10**10}, 15))
    return quantile(np.asarray(batch.ends[0].series["round_trip_ns"]), 0.5)


@pytest.mark.tolerant
@pytest.mark.timeout(120)
@pytest.mark.parametrize("delay_ms", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_medians_agree(delay_ms, attempts):
    """4 and 20 ms, four times the delay of a link's direction."""
    set_ns = 4 * delay_ms * 1_000_000
    with scenario_lab(hosts=2, link={"rate": "1G", "delay": f"{delay_ms}ms"}) as lab:
        for attempt in attempts(2, of=3):
            echo_ns = in_host(lab.hosts[0], PING, lab.hosts[1].address("ipv4"), str(COUNT))
            found = {"an echo": echo_ns}
            with open_alone(lab.hosts[0], lab.hosts[1], "icmp") as session:
                found["ICMP"] = median_ns(session)
            for transport in ("udp", "tcp"):
                with open_pair(lab.hosts[0], lab.hosts[1], transport) as session:
                    found[transport.upper()] = median_ns(session)
            attempt.found(**found, set=set_ns)
            with attempt:
                assert found == {name: pytest.approx(set_ns, rel=TOLERANCE) for name in found}
                off = {name: value - echo_ns for name, value in found.items()}
                assert max(map(abs, off.values())) <= TOLERANCE * set_ns, off


LOSS = 0.1
LOSSY_COUNT = 150
FAR_OUT = 1e-6
"""So rarely does a right count lie outside of what is allowed."""


@pytest.mark.counts
@pytest.mark.timeout(60)
@pytest.mark.parametrize("family", ["ipv4", pytest.param("ipv6", marks=pytest.mark.soak)])
def test_lost_echoes_are_those_that_the_switch_lost(family):
    """Requests are lost on the way there, answers on the way back; repeated ones are no losses."""
    chance = {"loss": f"{LOSS:.0%}"}
    with scenario_lab(
        hosts=2,
        seed=5,
        link={"rate": "1G", "delay": "50us"},
        host=[
            {"name": "h1", "link": {"down": {"duplicates": "20%"}}},
            {"name": "h2", "link": {"up": chance, "down": chance}},
        ],
    ) as lab:
        before = links_of(switch_stats(lab))
        with open_alone(lab.hosts[0], lab.hosts[1], "icmp", family=family) as session:
            fields = {"test": "latency", "message_bytes": 56, "count": LOSSY_COUNT}
            records = session.run({**fields, "check_data": True}, 50)
        after = links_of(settle(lab, lambda seen: seen["loop"]["frames_inside"] == 0))
    (end,) = decode_batch(0, records).ends.values()
    found = end.counters
    lost, repeated = (
        sum(after[host][way][counter] - before[host][way][counter] for host, way in places)
        for counter, places in (
            ("lost_random", [("h2", "up"), ("h2", "down")]),
            ("duplicated", [("h1", "down")]),
        )
    )
    assert found["unanswered"] == len(end.series["unanswered_index"]) == lost
    assert found["messages_received"] == len(end.series["round_trip_ns"]) == LOSSY_COUNT - lost
    # A copy of the last answer has nobody behind it who would meet it.
    assert 0 <= repeated - found["duplicates"] <= 1
    assert found["late_answers"] == found["foreign_packets"] == found["corrupt"] == 0
    least, most = binom.interval(1 - FAR_OUT, LOSSY_COUNT, 1 - (1 - LOSS) ** 2)
    assert least <= lost <= most


@pytest.mark.timeout(60)
def test_a_study_lays_icmp_under_the_others(tmp_path):
    measure = {"transports": ["tcp", "udp", "icmp"], "test": "latency", "sizes": "64,4000"}
    spec = StudySpec.model_validate(
        {"seed": 1, "cap": "300ms", "path": {"kind": "lab"}, "measure": [measure]}
    )
    outcome = start_study(spec, tmp_path, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    assert set(run.manifest["hosts"]) == {"h1", "h2"}
    figures = figures_of(run)
    for point in run.select("icmp"):
        assert point.checks["samples"]["equal"]
        assert point.checks["transport"]["verified"]
        assert point.checks["counters"]["compared"] > 0
        assert point.checks["counters"]["exact"], str(point.checks["counters"])
        assert find(figures, "round_trip_median_ns", point.id).value > 0
        assert find(figures, "unanswered_ratio", point.id).value == 0
    layers = [f for f in explain(run, figures) if f.claim.startswith("Round trip of 64 bytes")]
    assert len(layers) == 1
    assert (
        layers[0].claim.index("ICMP") < layers[0].claim.index("UDP") < layers[0].claim.index("TCP")
    )
    assert "The target's kernel answers ICMP itself" in layers[0].evidence
