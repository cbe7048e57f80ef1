"""Experiments find the one thing that limits a cluster that was made so."""

from __future__ import annotations

import pytest
from lab_runs import Silent, run_over

from netsonde.explain.probe import conclusion, effects_of
from netsonde.figures.compute import figures_of
from netsonde.lab import permission_problem
from netsonde.records.rundir import STUDY_NAME, open_run
from netsonde.study.execute import start_study
from netsonde.study.probe import choose_point, probe_study
from netsonde.study.spec import read_study

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]
CAP_NS = 300_000_000


def probed(folder, link, options):
    scenario = f'hosts = 2\nlinks = "switch"\n[link]\n{link}\n'
    block = {"transports": "tcp", "test": "stream", "sizes": "100k", "options": options}
    run = run_over(folder, scenario, [block], cap="400ms")
    study = read_study(run.directory / STUDY_NAME)
    spec = probe_study(run, study, choose_point(run, None), 6, cap_ns=CAP_NS)
    outcome = start_study(spec, folder, ["test"], Silent())
    again = open_run(outcome.directory)
    return {e.name: e for e in effects_of(again, figures_of(again))}


@pytest.mark.timeout(180)
@pytest.mark.soak
def test_small_buffers_on_a_long_way(tmp_path):
    """Four times the window is about four times as fast, and nothing else helps as much."""
    found = probed(
        tmp_path / "long",
        'rate = "1G"\ndelay = "725us"',
        {"buffer": "64k", "receive_buffer": "10k"},
    )
    assert found["larger_buffers"].verdict == "faster"
    assert 2.5 < found["larger_buffers"].ratio < 6
    # Smaller segments help a little: a window holds a whole number of them.
    others = [e.ratio for name, e in found.items() if name != "larger_buffers"]
    assert max(others) < 0.6 * found["larger_buffers"].ratio
    finding = conclusion(list(found.values()))
    assert "buffers x 4 helps most" in finding.claim


@pytest.mark.timeout(180)
@pytest.mark.soak
def test_a_slow_line_is_none_of_these(tmp_path):
    """Nothing that is changed makes 20 Mbit/s more, and half the segment loses its headers only."""
    found = probed(tmp_path / "slow", 'rate = "20M"\ndelay = "50us"', {"no_delay": False})
    assert not [name for name, e in found.items() if e.verdict == "faster"]
    assert found["smaller_segments"].ratio == pytest.approx(0.944, abs=0.02)
    assert found["busy_origin"].ratio == pytest.approx(1, abs=0.03)
    assert conclusion(list(found.values())).claim.startswith("Nothing that was changed")
