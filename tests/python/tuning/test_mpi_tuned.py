"""A tuning of real launches: a default that was made bad on purpose is found, wherever the ranks
are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.hosts import split_hosts
from netsonde.lab import LabSpec, permission_problem
from netsonde.lab.registry import start_named, take_down
from netsonde.launch.mpi_found import find_mpi
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.page import write_page
from netsonde.tuning.mpi.rules import read_rules
from netsonde.tuning.mpi.run import RULES_NAME, Asked, tune
from netsonde.tuning.mpi.text import tuned_lines

SIZE = 65_536
# A broadcast: a thousand messages of 64 bytes along a chain or a tree, in place of one. In shared
# memory MPICH has a way of that device, which stands before them.
PLANTED = {
    "openmpi-debian": (
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1+OMPI_MCA_coll_tuned_bcast_algorithm=3"
        "+OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize=64"
    ),
    "mpich": (
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE=0+MPIR_CVAR_BCAST_INTRA_ALGORITHM=pipelined_tree"
        "+MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE=64"
    ),
}


@dataclass(frozen=True)
class Place:
    ranks: int
    within: str = "memory"
    is_lab: bool = False


PLACES = {
    "loopback": Place(8, "loopback"),
    "memory": Place(2),
    "lab": Place(4, is_lab=True),
}


@contextmanager
def hosts_of(place: Place) -> Iterator[tuple[str, ...]]:
    """Of a lab of a host for each rank, or none."""
    if not place.is_lab:
        yield ()
        return
    problem = permission_problem()
    if problem is not None:
        pytest.skip(f"no lab here: {problem}")
    lab = start_named(LabSpec(name="planted", hosts=place.ranks, rate_bit_per_s=10**8))
    try:
        yield tuple(split_hosts(f"lab:planted/h[1-{place.ranks}]"))
    finally:
        take_down(lab)


@pytest.mark.soak
@pytest.mark.timeout(600)  # builds sonde-mpi where no test before has
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("seed", range(10))
def test_a_planted_bad_default_is_found(name: str, where: str, seed: int, tmp_path: Path) -> None:
    try:
        find_mpi(name)
    except HostError as error:
        pytest.skip(str(error))
    place = PLACES[where]
    with hosts_of(place) as hosts:
        job = Job(f"{name}+{PLANTED[name]}", hosts, place.within)
        sizes, ranks = (SIZE,), (place.ranks,)
        ways = "native,all,library:all"
        asked = Asked(job, ("bcast",), sizes, ranks, (1,), 60 * 10**9, 0.03, ways, seed)
        tuned = tune(asked, tmp_path, ["test"], lambda _: None)
    (rule,) = tuned.rules.rules
    assert rule.holds(SIZE)
    (verdict,) = tuned.found.verdicts.values()
    assert verdict.is_faster
    assert read_rules(tuned.directory / RULES_NAME).rules == (rule,)
    has_hosts = place.is_lab
    assert write_page(tuned, has_hosts=has_hosts).stat().st_size > 10_000
    assert all(len(line) <= 80 or "/" in line for line in tuned_lines(tuned, has_hosts=has_hosts))
