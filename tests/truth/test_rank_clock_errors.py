"""The clocks of MPI ranks: what the method says against what is known.

Ranks that share a machine share its clock, so the truth is 0; hosts of a lab were given offsets and
drifts that are known to the ns.
"""

from __future__ import annotations

import numpy as np
import pytest
from lab_truth import scenario_lab

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.figures.clock_quality import clock_quality
from netsonde.lab import permission_problem
from netsonde.launch.mpi import open_mpi
from netsonde.ranks.clocks import rank_leads
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
needs_lab = pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")
LINK = {"rate": "1G", "delay": "50us"}
SHARED_MEMORY: dict[str, str] = {}
"""Nothing that keeps MPI on the network: ranks of one host then use what it likes best."""


@pytest.fixture(autouse=True, scope="module")
def mpi_here() -> None:
    require_mpi()


def compare(hosts, ranks, seconds, clocks, method="tree", environment=None):
    """One batch of test clock: a comparison every 250 ms."""
    count = int(4 * seconds) + 1
    fields = {
        "test": "clock",
        "message_bytes": 0,
        "count": count,
        "interval_ns": 250_000_000,
        "clocks": clocks,
        "clock": method,
    }
    with open_mpi(hosts, ranks, environment=environment) as session:
        return decode_batch(0, session.run(fields, seconds + 30))


def require_covered(batch, rank, off):
    """What is stated holds however busy the machine is: all of the comparisons, not most."""
    stated = rank_leads(batch)[rank].uncertainty_ns
    # Two programs that read one machine's clock differ by some ns.
    assert np.abs(off).max() <= stated + 500, f"off by {np.abs(off).max()} ns, {stated} are stated"


def median_and_p99(errors):
    return float(np.median(np.abs(errors))), float(np.quantile(np.abs(errors), 0.99))


def within(attempts, errors_of, median_ns, p99_ns):
    """At least two of three times both of these hold of what the comparisons were wrong by."""
    for attempt in attempts(2, of=3):
        median, p99 = median_and_p99(errors_of())
        attempt.found(median_ns=median, p99_ns=p99)
        with attempt:
            assert median <= median_ns
            assert p99 <= p99_ns


@pytest.mark.timeout(120)
def test_over_shared_memory_the_error_is_far_below_a_microsecond(attempts):
    def errors():
        batch = compare(None, 2, 2, "apart", environment=SHARED_MEMORY)
        quality = clock_quality(batch)
        assert len(quality.error_ns) == 7
        # The line goes through the first comparison and the last, each of which is certain to half
        # of its round trip; two programs' readings of one clock differ by some ns.
        ends = batch.ends[1].series["clock_round_trip_ns"][[0, -1]]
        assert np.abs(quality.error_ns).max() <= ends.max() / 2 + 500
        return quality.error_ns

    # From 8 to 165 ns by where the ranks run; a message takes 2.4 us.
    within(attempts, errors, 200, 500)


@needs_lab
@pytest.mark.soak
@pytest.mark.timeout(180)
def test_over_a_network_the_error_is_some_microseconds(attempts):
    """How unlike the two ways are, at best, which the switch's own CPU decides here."""
    with scenario_lab(hosts=2, link=LINK, pace={"mode": "busy"}) as lab:

        def errors():
            quality = clock_quality(compare(lab.hosts, 2, 3, "apart"))
            return quality.error_ns

        within(attempts, errors, 3000, 9000)


@pytest.mark.timeout(120)
def test_wtime_of_one_host_is_one_clock(attempts):
    """MPI_Wtime and the worker's own clock are two ways to read the same time."""

    def errors():
        quality = clock_quality(compare(None, 3, 2, "apart", "wtime", SHARED_MEMORY))
        assert len(quality.error_ns) == 2 * 9
        return quality.error_ns

    within(attempts, errors, 200, 1000)


def lead_errors(batch, rank, offset_ns, drift, method=None):
    """What a rank's lead over rank 0 is wrong by, at each instant that it was compared."""
    at = batch.ends[rank].series["clock_at_ns"]
    truth = at - (at - offset_ns) / (1 + drift)
    return rank_leads(batch, method)[rank].at(at) - truth


@needs_lab
@pytest.mark.timeout(180)
def test_offsets_and_drifts_are_taken_off(attempts):
    """1 s and 100 ppm away: after 2 s the clocks went 0.2 ms further apart."""
    offset_ns, drift = -1_000_000_000, 100e-6
    host = [{"name": "h2", "link": LINK, "clock_offset": "-1s", "clock_drift_ppm": 100}]
    with scenario_lab(hosts=2, link=LINK, host=host, pace={"mode": "busy"}) as lab:

        def errors():
            batch = compare(lab.hosts, 2, 2, "known")
            assert batch.ends[1].counters["clock_parent"] == 0
            require_covered(batch, 1, lead_errors(batch, 1, offset_ns, drift))
            for method in ("offset", "ends"):
                off = lead_errors(batch, 1, offset_ns, drift, method)
                if method == "offset":  # not taken off, from whichever instant: half at least
                    assert np.abs(off).max() > 100_000
            return off[1:-1]

        within(attempts, errors, 3000, 9000)


@needs_lab
@pytest.mark.soak
@pytest.mark.timeout(180)
def test_a_line_through_many_exchanges_takes_them_off_as_well(attempts):
    """By the method of Jones and Koenig, to the other side: 1 s ahead, losing 100 ppm. Between such
    hosts MPI_Wtime is no common clock."""
    offset_ns, drift = 1_000_000_000, -100e-6
    host = [{"name": "h2", "link": LINK, "clock_offset": "1s", "clock_drift_ppm": -100}]
    with scenario_lab(hosts=2, link=LINK, host=host, pace={"mode": "busy"}) as lab:

        def errors():
            batch = compare(lab.hosts, 2, 2, "known", "jones_koenig")
            off = lead_errors(batch, 1, offset_ns, drift)
            require_covered(batch, 1, off)
            return off

        within(attempts, errors, 3000, 9000)
        with pytest.raises(HostError, match=r"needs one MPI_Wtime for all ranks.*clock tree"):
            compare(lab.hosts, 2, 1, "known", "wtime")


@needs_lab
@pytest.mark.soak
@pytest.mark.timeout(300)
def test_leads_add_up_along_the_tree(attempts):
    """Four hosts with offsets and drifts of either sign; the last one's parent is not rank 0."""
    clocks = {1: (1_000_000_000, 100e-6), 2: (-1_000_000_000, -100e-6), 3: (500_000_000, -50e-6)}
    hosts = [
        {"name": f"h{rank + 1}", "link": LINK, "clock_offset": f"{offset_ns}ns",
         "clock_drift_ppm": round(drift * 1e6)}
        for rank, (offset_ns, drift) in clocks.items()
    ]  # fmt: skip
    with scenario_lab(hosts=4, link=LINK, host=hosts, pace={"mode": "busy"}) as lab:

        def errors():
            batch = compare(lab.hosts, 4, 10, "known")
            assert batch.ends[3].counters["clock_parent"] == 2
            off = []
            leads = rank_leads(batch, "ends")
            for rank, (offset_ns, drift) in clocks.items():
                at = batch.ends[rank].series["clock_at_ns"]
                truth = at - (at - offset_ns) / (1 + drift)
                off.append((leads[rank].at(at) - truth)[1:-1])
            return np.concatenate(off)

        within(attempts, errors, 2000, 6000)
