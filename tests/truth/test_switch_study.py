"""A study over a scenario: the report's own words about the emulated network are true."""

from __future__ import annotations

import pytest
from lab_runs import Silent

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of, find
from netsonde.lab import permission_problem
from netsonde.model.goodput import LINE, shaped_goodput_bit_per_s
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

SCENARIO = """
hosts = 2
links = "switch"
[link]
rate = "50M"
delay = "200us"
[pace]
late_limit = "{limit}"
"""


def study(folder, limit):
    folder.mkdir(exist_ok=True)
    (folder / "net.toml").write_text(SCENARIO.format(limit=limit))
    measure = [
        {"transports": ["tcp", "udp"], "test": "latency", "sizes": "64", "cap": "300ms"},
        {
            "transports": "tcp",
            "test": "stream",
            "sizes": "128k",
            "cap": "1500ms",
            "options": {"congestion_control": "cubic"},
        },
    ]
    spec = StudySpec.model_validate(
        {
            "seed": 1,
            "path": {"kind": "lab"},
            "lab": {"scenario": str(folder / "net.toml")},
            "measure": measure,
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    return run, figures_of(run)


@pytest.mark.tolerant
@pytest.mark.timeout(60)
def test_a_study_over_a_scenario(tmp_path, attempts):
    for attempt in attempts(2, of=3):
        run, figures = study(tmp_path / str(attempt.number), "20ms")
        check_counts(run)
        stream = next(point for point in run.points if point.test == "stream")
        throughput = find(figures, "throughput_bit_per_s", stream.id).value
        allowed = shaped_goodput_bit_per_s("tcp", 50e6, stream.message_bytes, framing=LINE)
        attempt.found(bit_per_s=throughput, allowed=allowed)
        with attempt:
            assert throughput == pytest.approx(allowed, rel=0.005)
            claims = [finding.claim for finding in explain(run, figures)]
            assert "The emulated switch kept time." in claims
            share = next(claim for claim in claims if claim.startswith("TCP carries"))
            assert "100.0%" in share or "99." in share


def check_counts(run):
    assert run.manifest["origin"] == "emulated"
    assert run.manifest["path"]["topology"]["links"][0]["up"]["delay_ns"] == 200_000
    for point in run.points:
        assert point.checks["lab"]["frames"] > 0
        assert point.checks["samples"]["equal"]
        assert point.checks["transport"]["verified"]
        assert point.checks["counters"]["exact"], str(point.checks["counters"])


@pytest.mark.counts
@pytest.mark.timeout(60)
def test_a_run_that_was_too_late_is_called_invalid(tmp_path):
    """With a limit that nothing can keep."""
    run, figures = study(tmp_path, "1ns")
    assert not any(point.checks["lab"]["valid"] for point in run.points)
    worst = next(f for f in explain(run, figures) if "too late" in f.claim)
    assert worst.level == "bad"
    assert "pace.priority" in worst.advice
