"""A sweep over an emulated link finds its rate, and the cost of one more segment."""

from __future__ import annotations

import pytest
from lab_truth import ROOT, Silent

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

FAST_BIT_PER_S = 100_000_000
TOLERANCE = 0.01
# Slow, so that what a busy machine adds to a round trip is little beside a frame.
SLOW_BIT_PER_S = 10_000_000
# What one more segment must add, one way: the frame of a single byte. Hosts add their own time.
STEP_NS = 8e9 * LINE.frame_bytes(20 + 32 + 1) / SLOW_BIT_PER_S
STEP_MOST = 2
ATTEMPTS = 3


def sweep(folder, rate_bit_per_s, sizes, **fields):
    """A sweep over a switch of that rate, which comes before everything else on this machine."""
    folder.mkdir()
    pace = "[pace]\npriority = 10\nawake = true\n" if ROOT else ""
    link = f'[link]\nrate = {rate_bit_per_s}\ndelay = "0us"\n'
    (folder / "net.toml").write_text(f'hosts = 2\nlinks = "switch"\n{link}{pace}')
    block = {"transports": "tcp", "test": "latency", "sizes": sizes, **fields}
    options = {"placement": "apart", "congestion_control": "cubic"}
    spec = StudySpec.model_validate(
        {
            "seed": 1,
            "interval": 0.002,
            "cap": "1500ms",
            "path": {"kind": "lab"},
            "lab": {"scenario": str(folder / "net.toml")},
            "measure": [{**block, "options": options}],
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    return open_run(outcome.directory)


def attempts(folder, measure):
    """measure gives a run and what is wrong with it, in words: again where something is; skipped
    where the switch was late each time."""
    honest: list[str] = []
    for attempt in range(ATTEMPTS):
        run, problems = measure(folder / str(attempt))
        if not problems:
            return
        checks = [point.checks["lab"] for point in run.points]
        honest += problems if all(check["valid"] for check in checks) else []
    if honest:
        pytest.fail("; ".join(honest))
    late = max(check["late_share"] for check in checks)
    pytest.skip(f"this machine cannot play the scenario: {late:.1%} of the frames were late")


@pytest.mark.timeout(200)
def test_the_asymptotic_bandwidth_is_what_the_link_leaves(tmp_path):
    allowed = tcp_goodput_bit_per_s(FAST_BIT_PER_S, framing=LINE)

    def measure(folder):
        run = sweep(folder, FAST_BIT_PER_S, "16k..512k")
        found = find(figures_of(run), "asymptotic_bit_per_s", "tcp-latency")
        value = 0.0 if found is None else found.value
        is_right = value == pytest.approx(allowed, rel=TOLERANCE)
        words = f"r_inf is {value:.0f} bit/s, the link leaves {allowed:.0f} bit/s"
        return run, [] if is_right else [words]

    attempts(tmp_path, measure)


@pytest.mark.soak
@pytest.mark.timeout(200)
def test_a_byte_more_than_a_segment_costs_a_frame(tmp_path):
    """The boundary is not among the sizes that are asked for: refining adds it."""
    full = tcp_segment_bytes()

    def measure(folder):
        run = sweep(folder, SLOW_BIT_PER_S, "128..8k", refine=6)
        return run, wrong_step(run, full)

    attempts(tmp_path, measure)


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
