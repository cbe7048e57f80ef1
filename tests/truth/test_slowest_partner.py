"""The slowest partner of a cluster of which one host is further away, by real ranks."""

from __future__ import annotations

import pytest
from lab_runs import run_over

from mpi_needed import require_mpi
from netsonde.explain.data import Seen
from netsonde.explain.partners import slowest_partner, uplinks_limit
from netsonde.figures.compute import figures_of, find
from netsonde.figures.levels import levels_of
from netsonde.figures.partners import pairs_of_run
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]
SCENARIO = """
links = "switch"
[pace]
calibrate = false
[link]
rate = "1G"
delay = "200us"
[[switch]]
name = "s1"
hosts = "h[1-3]"
[[host]]
name = "h2"
[host.link]
delay = "3ms"
"""
TWO_SWITCHES = """
links = "switch"
[pace]
calibrate = false
[link]
rate = "1G"
delay = "500us"
[[switch]]
name = "s1"
hosts = "h[1-2]"
[[switch]]
name = "s2"
hosts = "h3"
[[uplink]]
lower = "s1"
upper = "s2"
rate = "1G"
delay = "3ms"
"""

SLOW_UPLINK = """
links = "switch"
[pace]
calibrate = false
[link]
rate = "1G"
[[switch]]
name = "s1"
hosts = "h[1-2]"
[[switch]]
name = "s2"
hosts = "h[3-4]"
[[uplink]]
lower = "s1"
upper = "s2"
rate = "50M"
"""


@pytest.fixture(scope="module", autouse=True)
def mpi_here():
    require_mpi()


def pairs_over(folder, scenario, **block):
    measure = [{"transports": "mpi", "test": "latency", "cap": "300ms", **block}]
    return run_over(folder, scenario, measure, mpi={"ranks": 3})


@pytest.mark.tolerant
@pytest.mark.timeout(180)
def test_the_host_behind_a_longer_line_is_the_slowest_partner(tmp_path, attempts):
    """It is not the last one, which a guess would take; 5.6 ms more there and back."""
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        run = pairs_over(folder, SCENARIO, sizes="8,1k", pair="slowest")
        figures = figures_of(run)
        found = [p.parameters["pair"] for p in run.points if "sought" in p.parameters]
        claims = [finding.claim for finding in slowest_partner(Seen(run, figures))]
        with attempt:
            assert found == [[0, 1], [0, 1]]
            assert any("rank 0 on h1 with rank 1 on h2" in claim for claim in claims), claims


@pytest.mark.tolerant
@pytest.mark.timeout(180)
def test_pairs_across_two_switches_are_a_level_of_their_own(tmp_path, attempts):
    """1 and 4 ms one way: a round trip across the uplink takes 6 ms more."""
    for attempt in attempts(2, of=3):
        run = pairs_over(tmp_path / str(attempt.number), TWO_SWITCHES, sizes="8", pair="all")
        figures = figures_of(run)
        (pairs,) = pairs_of_run(run, figures)
        near, far = levels_of(run, pairs)
        assert (near.name, far.name) == ("one switch", "2 switches")
        assert (len(near.pairs), len(far.pairs)) == (1, 2)
        more_ms = (far.median_ns - near.median_ns) / 1e6
        attempt.found(across_the_uplink_more_ms=float(more_ms))
        with attempt:
            assert 5.9 < more_ms < 8
            assert pairs.common_rank == 2


@pytest.mark.tolerant
@pytest.mark.timeout(180)
def test_an_exchange_over_a_slow_uplink_takes_what_the_uplink_needs(tmp_path, attempts):
    """Two pairs of 64 KiB across 50 Mbit/s: 20.97 ms in each direction, without headers. It cannot
    be faster, and little else takes time."""
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        block = {"transports": "mpi", "test": "collective", "operations": "sendrecv"}
        block |= {"sizes": "64k", "cap": "1s"}
        run = run_over(folder, SLOW_UPLINK, [block], mpi={"ranks": 4})
        figures = figures_of(run)
        (point,) = run.points
        least = find(figures, "uplink_least_ns", point.id).value
        share = find(figures, "uplink_ratio", point.id).value
        assert least == pytest.approx(2 * 65536 * 8 / 50e6 * 1e9)
        attempt.found(share_of_the_uplink=share)
        with attempt:
            assert 0.75 < share <= 1.0
            assert uplinks_limit(Seen(run, figures))
