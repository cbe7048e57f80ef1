"""Somebody else's work beside a test is seen in the CPUs' time, and the test's own is not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from lab_runs import Silent

from netsonde.explain.setting_rules import OTHERS_IDLE, others_use
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec


def others(folder):
    """At least and at most so many CPUs."""
    spec = StudySpec.model_validate(
        {
            "cap": "1500ms",
            "interval": 0.0001,
            "path": {"kind": "loopback"},
            "measure": [
                {
                    "transports": "udp",
                    "test": "stream",
                    "sizes": "1000",
                    "rate": "10M",
                    "options": {"wait": "spin"},
                }
            ],
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    (use,) = others_use(open_run(outcome.directory)).values()
    return use


@pytest.mark.timeout(60)
def test_a_busy_process_is_seen_and_the_spinning_test_is_not(tmp_path):
    quiet = others(tmp_path / "quiet")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        loud = others(tmp_path / "loud")
    finally:
        busy.kill()
        busy.wait()
    # Three spin where there may be two CPUs; who else works here adds to both.
    assert loud.least > OTHERS_IDLE
    assert loud.least <= loud.most
    assert quiet.least <= quiet.most
