"""Each host with each over links that are known: what a slow link adds, alone and all at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lab_runs import run_over

from attempts import Attempts
from fabric_needed import require_fabric
from mpi_needed import require_mpi
from netsonde.catalogue.point import EveryPair
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.figures.compute import figures_of
from netsonde.figures.every_pair import PairTimes, pair_times
from netsonde.lab import permission_problem
from netsonde.model.meetings import COMPANIES, Company
from netsonde.records.data import Run
from pvm_needed import require_pvm

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

HOSTS, SLOW = 4, 2
DELAY_NS, MORE_NS = 200_000, 3_000_000
RATE_BIT_PER_S = 20_000_000
LARGE_BYTES, COUNT = 8_000, 3
SCENARIO = f"""
hosts = {HOSTS}
links = "switch"
[pace]
calibrate = false
[link]
rate = "{RATE_BIT_PER_S}"
delay = "{DELAY_NS}ns"
[[host]]
name = "h{SLOW + 1}"
[host.link]
delay = "{DELAY_NS + MORE_NS}ns"
"""
USUAL = ("tcp", "mpi")
"""A transport of pairs and one of ranks; the others go the way of the first."""
OTHERS = tuple(
    name for name, row in TRANSPORTS.items() if "all-pairs" in row.tests and name not in USUAL
)
NEEDED: dict[str, Callable[[], object]] = {
    "mpi": require_mpi,
    "pvm": require_pvm,
    "fabric": require_fabric,
}


def extra_ns(a: int, b: int) -> int:
    """What the slow link adds to a round trip: it is crossed twice, unless nobody leaves a host."""
    return 2 * MORE_NS if SLOW in (a, b) and a != b else 0


def serialised_ns(size: int) -> float:
    """A message's bytes on one link, once."""
    return 8e9 * size / RATE_BIT_PER_S


@pytest.mark.tolerant
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "transports", [USUAL, pytest.param(OTHERS, marks=pytest.mark.soak)], ids="+".join
)
def test_a_slow_link_is_in_its_pairs_alone(
    tmp_path: Path, attempts: Attempts, transports: tuple[str, ...]
) -> None:
    for name in set(transports) & NEEDED.keys():
        NEEDED[name]()
    block = {
        "transports": list(transports),
        "test": "all-pairs",
        "sizes": f"0,{LARGE_BYTES}",
        "count": COUNT,
        "check_data": True,
    }
    for attempt in attempts(2, of=3):
        folder = tmp_path / str(attempt.number)
        run = run_over(folder, SCENARIO, [block], mpi={"ranks": HOSTS})
        check_always(run, len(transports))
        sets = {
            name: [times_of(run, name, company) for company in COMPANIES] for name in transports
        }
        added = {name: added_ns(alone[min(alone)]) for name, (alone, _) in sets.items()}
        ratios = {
            name: loaded[LARGE_BYTES].reduced.mean / alone[LARGE_BYTES].reduced.mean
            for name, (alone, loaded) in sets.items()
        }
        attempt.found(**{f"{name}_added_ms": value / 1e6 for name, value in added.items()})
        attempt.found(**{f"{name}_ratio": value for name, value in ratios.items()})
        with attempt:
            assert added == {n: pytest.approx(2 * MORE_NS, rel=0.1) for n in transports}
            for alone, _ in sets.values():
                # There and back over two links each, of which the switch forwards by packet.
                assert np.median(alone[LARGE_BYTES].reduced.kept) > 2 * serialised_ns(LARGE_BYTES)
            # A host's link carries what all others ask and answer, not one message at a time.
            assert all(1.2 < ratio < 2 * HOSTS for ratio in ratios.values())


def times_of(run: Run, transport: str, company: Company) -> dict[int, PairTimes]:
    points = [point for point in run.points if point.transport == transport]
    return {point.message_bytes: pair_times(point)[company] for point in points}


def check_always(run: Run, transports: int) -> None:
    """What no busy machine excuses: all pairs are there, none is faster than its links, and the
    content is right."""
    assert len(run.points) == 2 * transports
    for point in run.points:
        assert point.spec.of(EveryPair).hosts == HOSTS
        assert point.checks["data"]["intact"]
        assert point.checks.get("transport", {"verified": True})["verified"]  # PVM's says more
        for times in pair_times(point).values():
            assert times.hosts == ("h1", "h2", "h3", "h4")
            assert len(times.times_ns) == HOSTS**2
            for (a, b), own in times.times_ns.items():
                assert len(own) == COUNT
                assert a == b or own.min() >= extra_ns(a, b) + 4 * DELAY_NS
    corrupt = [f.value for f in figures_of(run) if f.name == "corrupt_messages"]
    assert corrupt == [0.0] * len(run.points)


def added_ns(times: PairTimes) -> float:
    """By how much the fastest round trip of the slow host's pairs is longer than the others'."""
    fastest = times.table(np.min)
    slow = [fastest[a, b] for a, b in times.times_ns if extra_ns(a, b)]
    others = [fastest[a, b] for a, b in times.times_ns if a != b and not extra_ns(a, b)]
    return float(min(slow) - min(others))
