"""TCP's collapse when many send to one through a small buffer, and what prevents it."""

from __future__ import annotations

import subprocess

import pytest
from lab_truth import COUNTING, scenario_lab

from netsonde.catalogue.point import Pattern
from netsonde.explain.data import Seen
from netsonde.explain.patterns import LEAST_HIT, incast_collapse
from netsonde.figures.compute import figures_of_point
from netsonde.lab import permission_problem
from netsonde.launch.flows import open_flows
from netsonde.model.goodput import LINE, shaped_goodput_bit_per_s
from netsonde.patterns import flows_of
from netsonde.records.data import Point, Run
from netsonde.study.measure import measure_point
from netsonde.study.plan import PlannedPoint

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

SENDERS = 8
BLOCK_BYTES = 16 * 1024
RATE_BIT_PER_S = 100_000_000
CAP_NS = 25 * 10**8
# What a stack of 2008 had not: probes for lost tails, and loss found by time.
OLD_STACK = "echo 0 > {0}/tcp_early_retrans; echo 0 > {0}/tcp_recovery".format("/proc/sys/net/ipv4")


def incast(buffer, old_stack):
    """Figures by name, and findings, of blocks from eight hosts to the ninth."""
    with scenario_lab(
        hosts=SENDERS + 1,
        pace=COUNTING,
        link={"rate": "100M"},
        switch=[{"name": "s1", "architecture": "output", "buffer": buffer}],
    ) as lab:
        for host in lab.hosts if old_stack else ():
            subprocess.run(host.command(["sh", "-c", OLD_STACK]), check=True, timeout=20)
        asked = Pattern(message_bytes=BLOCK_BYTES, interval=0.01, cap_ns=CAP_NS)
        planned = PlannedPoint("p001", "tcp", "incast", asked)
        ends = [(lab.hosts[a], lab.hosts[b]) for a, b in flows_of("incast", len(lab.hosts))]
        with open_flows(ends, "tcp", options={"congestion_control": "cubic"}) as session:
            ending = measure_point(session, planned, lambda *_: None)
    point = Point("p001", "tcp", "incast", planned.parameters, "finished", batches=ending.batches)
    for batch in point.batches:
        arrived = [end.counters["bytes_received"] for end in batch.ends.values() if end.rank % 2]
        assert arrived == [BLOCK_BYTES * batch.ends[0].counters["rounds"]] * SENDERS
    run = Run.__new__(Run)
    run.__dict__.update(points=[point], manifest={"path": {"rate_bit_per_s": RATE_BIT_PER_S}})
    figures = figures_of_point(point)
    findings = incast_collapse(Seen(run, figures))
    return {figure.name: figure for figure in figures}, findings


@pytest.mark.counts
@pytest.mark.timeout(120)
def test_a_small_buffer_collapses_and_is_named():
    """128 kB arrive at once before a buffer of 64 kB. Whole windows are lost, and without probes
    only a timer finds that out: after 200 ms, when all others are long done."""
    allowed = shaped_goodput_bit_per_s("tcp", RATE_BIT_PER_S, BLOCK_BYTES, framing=LINE)
    figures, findings = incast("64k", old_stack=True)
    values = {name: figure.value for name, figure in figures.items()}
    assert values["throughput_bit_per_s"] / allowed < 0.8
    assert "throughput collapsed" in findings[0].claim
    assert "TCPTimeouts" in findings[0].evidence
    assert values["round_max_ns"] > 200e6 > 4 * values["round_min_ns"]


@pytest.mark.counts
@pytest.mark.timeout(120)
def test_a_buffer_for_all_that_arrives_prevents_it():
    figures, findings = incast("1M", old_stack=True)
    assert figures["timed_out_rounds_ratio"].value == 0
    assert figures["retransmitted_segments"].value == 0
    assert findings == []


@pytest.mark.timeout(120)
def test_a_stack_that_probes_for_what_it_lost_prevents_it(attempts):
    for attempt in attempts(2, of=3):
        figures, findings = incast("64k", old_stack=False)
        timed_out = figures["timed_out_rounds_ratio"]
        hits = round(timed_out.value * timed_out.samples)
        again = figures["retransmitted_segments"].value
        attempt.found(timed_out=hits, rounds=timed_out.samples, sent_again=again)
        if hits < LEAST_HIT:
            assert findings == []
        with attempt:
            assert hits < LEAST_HIT
