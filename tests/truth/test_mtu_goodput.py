"""The MTU as a factor of a study: each one's goodput is what its headers leave of the line."""

from __future__ import annotations

import pytest
from lab_runs import run_over

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of, find
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

# A frame of 9000 bytes, twice on a line, before the first arrival: 0.37 % of a batch of 400 ms.
RATE_BIT_PER_S = 100_000_000
MTUS = (1500, 9000)
ALL_MTUS = (576, *MTUS)
BUFFER = "512k"
HEADERS_BYTES = 52  # IPv4 20, TCP 20, time stamps 12
AROUND_BYTES = 38  # header 14, check sequence 4, preamble 8, gap 12
TOLERANCE = 0.015
"""A header of 12 bytes more or less makes 0.8 % at 1500 and a wrong MTU 5 %; beyond the first
arrival a busy machine's switch is late by up to 1 %."""
SCENARIO = f"""
hosts = 2
links = "switch"
[link]
rate = {RATE_BIT_PER_S}
mtu = {max(MTUS)}
[[switch]]
name = "s1"
buffer = "1M"
[pace]
late_limit = "20ms"
calibrate = false
"""


def measured(folder, mtus):
    """A run over every MTU, and how much of what the headers leave was found."""
    options = {"buffer": BUFFER, "congestion_control": "cubic"}
    block = {"transports": "tcp", "test": "stream", "sizes": "64k", "mtu": list(mtus)}
    run = run_over(folder, SCENARIO, [{**block, "options": options}], cap="1600ms")
    figures, found = figures_of(run), {}
    for point in run.points:
        mtu = point.parameters["options"]["mtu"]
        allowed = RATE_BIT_PER_S * (mtu - HEADERS_BYTES) / (mtu + AROUND_BYTES)
        found[point.label] = find(figures, "throughput_bit_per_s", point.id).value / allowed
    return run, found


@pytest.mark.tolerant
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mtus", [MTUS, pytest.param(ALL_MTUS, marks=pytest.mark.soak)])
def test_goodput_of_each_mtu(tmp_path, attempts, mtus):
    for attempt in attempts(2, of=3):
        run, found = measured(tmp_path / str(attempt.number), mtus)
        check_counts(run, mtus)
        attempt.found(**found)
        with attempt:
            assert found == {label: pytest.approx(1, rel=TOLERANCE) for label in found}
            share = next(
                f.claim for f in explain(run, figures_of(run)) if f.claim.startswith("TCP carries")
            )
            assert any(f": {percent}" in share for percent in ("100.0%", "99.", "98."))


def check_counts(run, mtus):
    assert len(run.points) == len(mtus)
    for point in run.points:
        mtu = point.parameters["options"]["mtu"]
        assert point.opened[0]["max_segment_bytes"] == mtu - HEADERS_BYTES
        for found in point.checks["counters"]["differences"]:
            # A frame of the control connection may wait in the card while the counters are read.
            assert abs(found["packets_expected"] - found["packets_counted"]) <= 1, str(found)
    assert not any("interface.v0.mtu" in facts for facts in run.manifest["hosts"].values())
    assert [point.label for point in run.points] == [f"MTU {mtu}" for mtu in mtus]
