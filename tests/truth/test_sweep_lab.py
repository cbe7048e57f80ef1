"""A sweep over an emulated link finds its rate, and the cost of one more segment."""

from __future__ import annotations

import pytest
from lab_runs import run_over
from lab_truth import ROOT

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of, find
from netsonde.figures.sweeps import sweeps_of
from netsonde.lab import permission_problem
from netsonde.model.goodput import LINE, tcp_goodput_bit_per_s, tcp_segment_bytes

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.slow,
]

FAST_BIT_PER_S = 100_000_000
TOLERANCE = 0.01
# Slow, so that what a busy machine adds to a round trip is little beside a frame.
SLOW_BIT_PER_S = 10_000_000
# What one more segment must add, one way: the frame of a single byte. Hosts add their own time.
STEP_NS = 8e9 * LINE.frame_bytes(20 + 32 + 1) / SLOW_BIT_PER_S
STEP_MOST = 2


def sweep(folder, rate_bit_per_s, sizes, **fields):
    """A sweep over a switch of that rate, which comes before everything else on this machine."""
    pace = "[pace]\npriority = 10\nawake = true\n" if ROOT else ""
    link = f'[link]\nrate = {rate_bit_per_s}\ndelay = "0us"\n'
    options = {"placement": "apart", "congestion_control": "cubic"}
    block = {"transports": "tcp", "test": "latency", "sizes": sizes, "options": options, **fields}
    scenario = f'hosts = 2\nlinks = "switch"\n{link}{pace}'
    return run_over(folder, scenario, [block], interval=0.002, cap="1500ms")


@pytest.mark.timeout(200)
def test_the_asymptotic_bandwidth_is_what_the_link_leaves(tmp_path, attempts):
    allowed = tcp_goodput_bit_per_s(FAST_BIT_PER_S, framing=LINE)
    for attempt in attempts(2, of=3):
        run = sweep(tmp_path / str(attempt.number), FAST_BIT_PER_S, "16k..512k")
        found = find(figures_of(run), "asymptotic_bit_per_s", "tcp-latency")
        value = 0.0 if found is None else found.value
        attempt.found(asymptotic_bit_per_s=value, allowed=allowed)
        with attempt:
            assert value == pytest.approx(allowed, rel=TOLERANCE)


@pytest.mark.soak
@pytest.mark.timeout(200)
def test_a_byte_more_than_a_segment_costs_a_frame(tmp_path, attempts):
    """The boundary is not among the sizes that are asked for: refining adds it."""
    full = tcp_segment_bytes()
    for attempt in attempts(2, of=3):
        run = sweep(tmp_path / str(attempt.number), SLOW_BIT_PER_S, "128..8k", refine=6)
        with attempt:
            assert wrong_step(run, full) == []


def wrong_step(run, full):
    """What is wrong, in words, with the step from a full segment to one byte more."""
    figures = figures_of(run)
    (found,) = sweeps_of(run.points, figures)
    times = dict(zip(found.curve.sizes.tolist(), found.curve.times.tolist(), strict=True))
    assert {full, full + 1} <= times.keys()
    step = times[full + 1] - times[full]
    problems = []
    if not 0.9 * STEP_NS < step < STEP_MOST * STEP_NS:
        problems.append(f"a byte more costs {step:.0f} ns, a frame is {STEP_NS:.0f} ns")
    words = f"a byte more than a full segment of {full} bytes costs"
    said = [f for f in explain(run, figures) if words in f.claim]
    if not said:
        problems.append("no finding names the step")
    elif "1.00 and 2.00" not in said[0].evidence:
        problems.append(f"segments were not counted: {said[0].evidence}")
    return problems
