"""A cluster whose every line is full loses nothing, and the switch keeps time.

``NETSONDE_LOAD_SECONDS=60`` fills it for so long; without it for two seconds.
"""

from __future__ import annotations

import os

import pytest
from lab_truth import ROOT

from netsonde.lab import permission_problem
from netsonde.lab.capacity import fill

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

SECONDS = float(os.environ.get("NETSONDE_LOAD_SECONDS", "2"))
PRIORITY = 20 if ROOT else 0


@pytest.mark.timeout(60 + 3 * (SECONDS + 40))
@pytest.mark.parametrize(
    ("hosts", "rate"),
    [
        (4, 10**8),
        pytest.param(16, 10**8, marks=pytest.mark.soak),
        pytest.param(2, 10**9, marks=pytest.mark.soak),
    ],
)
def test_full_lines(hosts, rate, attempts):
    for attempt in attempts(2, of=3):
        filled = fill(hosts, rate, SECONDS, PRIORITY)
        assert filled.lost_frames == 0, filled
        sent = filled.sent_frames_per_s / filled.asked_frames_per_s
        attempt.found(sent_share=sent, late_share=filled.late_share)
        with attempt:
            assert filled.kept_up, filled
