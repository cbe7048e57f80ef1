"""The order in which the simulator puts algorithms is the measured one: schedules over
frames of a lab's switch, beside the same schedules played with what `netsonde model measure` found
of that lab before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_runs import Silent, named_lab, run_over

from link_needed import require_frames
from mpi_needed import require_mpi
from netsonde.hosts import split_hosts
from netsonde.lab import permission_problem
from netsonde.model.platform import Platform
from netsonde.modelling.algorithms import SIMULATOR, Beside, algorithms_beside, order_by
from netsonde.modelling.measure import measure
from netsonde.modelling.plan import plan_of
from netsonde.modelling.ranking import order_in_words

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

RANKS = (8, 6, 4)
SIZES = (64, 512, 2048, 8192)
WAYS = {
    "alltoall": ("pairwise", "bruck", "staggered", "uncoordinated", "group-shuffle:3"),
    "allreduce": ("recursive-doubling", "rabenseifner", "ring"),
    "bcast": ("linear", "binomial", "chain", "scatter-ring", "scatter-recursive-doubling"),
}
# Of 36 cells some have no two algorithms that are apart.
LEAST_CELLS = 30
ALIKE = 0.9
SCENARIO = 'hosts = {hosts}\nlinks = "switch"\n[link]\nrate = "10M"\n[pace]\ncalibrate = false\n'


def blocks() -> list[dict[str, Any]]:
    usual = {"transports": "mpi", "test": "collective", "count": 20, "cap": "5s"}
    return [
        {
            **usual,
            "operations": operation,
            "algorithm": f"{way}:over=link:timeout=1s:wait=block",
            "sizes": ",".join(map(str, SIZES)),
        }
        for operation, ways in WAYS.items()
        for way in ways
    ]


def platform_of_frames(folder: Path) -> Platform:
    with named_lab("order", max(RANKS)) as names:
        plan = plan_of("link", split_hosts(names), None)
        found, _ = measure(plan, folder, ["test"], Silent(), rate_bit_per_s=10e6, name="lab")
    return found.platform


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_the_simulator_has_the_measured_order(tmp_path: Path, record_property: Any) -> None:
    """In nine of ten cells of operation, size and ranks, all algorithms that are more than 5 %
    apart come in the simulator's order. The cells are all that were asked for."""
    require_mpi()
    require_frames()
    platform = platform_of_frames(tmp_path)
    found: list[Beside] = []
    for ranks in RANKS:
        run = run_over(
            tmp_path / str(ranks), SCENARIO.format(hosts=ranks), blocks(), mpi={"ranks": ranks}
        )
        assert all(batch.ends for point in run.points for batch in point.batches)
        sent = [
            end.counters["packets_sent"]
            for point in run.points
            for batch in point.batches
            for end in batch.ends.values()
        ]
        assert sum(sent) > 0
        found += algorithms_beside(platform, run)
    assert all(SIMULATOR in one.foretold for one in found)
    order = order_by(SIMULATOR, found)
    record_property("order", order_in_words(order))
    print(order_in_words(order), *order.misplaced, sep="\n")
    assert order.cells >= LEAST_CELLS
    assert order.cells_alike >= ALIKE * order.cells, order.misplaced
