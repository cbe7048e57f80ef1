"""A sweep over an emulated link finds its rate, and the cost of one more segment."""

from __future__ import annotations

import pytest
from lab_truth import Silent

from netsonde.explain.rules import explain
from netsonde.figures.compute import figures_of, find
from netsonde.figures.sweeps import sweeps_of
from netsonde.lab import permission_problem
from netsonde.model.goodput import LINE, tcp_goodput_bit_per_s, tcp_segment_bytes
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.slow,
]

RATE_BIT_PER_S = 100_000_000
SCENARIO = 'hosts = 2\nlinks = "switch"\n[link]\nrate = "100M"\ndelay = "0us"\n'
TOLERANCE = 0.01
# A frame of one byte of payload, and the byte: what one more segment must add, one way. The rest
# is what the two hosts need for another packet.
STEP_NS = 8e9 * (LINE.frame_bytes(20 + 32 + 1)) / RATE_BIT_PER_S
STEP_MOST = 6
ATTEMPTS = 3


def sweep(folder, sizes, **fields):
    folder.mkdir()
    (folder / "net.toml").write_text(SCENARIO)
    block = {"transports": "tcp", "test": "latency", "sizes": sizes, **fields}
    spec = StudySpec.model_validate(
        {
            "seed": 1,
            "interval": 0.002,
            "cap": "1s",
            "path": {"kind": "lab"},
            "lab": {"scenario": str(folder / "net.toml")},
            "measure": [{**block, "options": {"placement": "apart"}}],
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    return open_run(outcome.directory)


def attempts(folder, measure):
    """Again where a figure is wrong; skipped where the switch says each time that it was late."""
    honest, late = [], []
    for attempt in range(ATTEMPTS):
        run, problems = measure(folder / str(attempt))
        if not problems:
            return
        shares = [point.checks["lab"] for point in run.points]
        late.append(max(check["late_share"] for check in shares))
        if all(check["valid"] for check in shares):
            honest += problems
    if honest:
        pytest.fail("; ".join(honest))
    pytest.skip(f"this machine cannot play the scenario: {min(late):.1%} of the frames were late")


@pytest.mark.timeout(200)
def test_the_asymptotic_bandwidth_is_what_the_link_leaves(tmp_path):
    allowed = tcp_goodput_bit_per_s(RATE_BIT_PER_S, framing=LINE)

    def measure(folder):
        run = sweep(folder, "1k..1M")
        found = find(figures_of(run), "asymptotic_bit_per_s", "tcp-latency")
        if found is not None and found.value == pytest.approx(allowed, rel=TOLERANCE):
            return run, []
        return run, [f"r_inf is {found}, the link leaves {allowed:.0f} bit/s"]

    attempts(tmp_path, measure)


@pytest.mark.timeout(200)
def test_a_byte_more_than_a_segment_costs_a_frame(tmp_path):
    """The boundary is not among the sizes that are asked for: refining adds it."""
    full = tcp_segment_bytes()

    def measure(folder):
        run = sweep(folder, "256..8k", refine=6)
        figures = figures_of(run)
        (found,) = sweeps_of(run.points, figures)
        times = dict(zip(found.curve.sizes.tolist(), found.curve.times.tolist(), strict=True))
        assert {full, full + 1} <= times.keys()
        step = times[full + 1] - times[full]
        problems = []
        if not 0.9 * STEP_NS < step < STEP_MOST * STEP_NS:
            problems.append(f"a byte more costs {step:.0f} ns, a frame is {STEP_NS:.0f} ns")
        words = f"a byte more than a full segment of {full} bytes"
        said = [f for f in explain(run, figures) if words in f.claim or "TCP segment" in f.claim]
        if not said:
            problems.append("no finding names the step")
        elif "1.00 and 2.00" not in said[0].evidence:
            problems.append(f"segments were not counted: {said[0].evidence}")
        return run, problems

    attempts(tmp_path, measure)
