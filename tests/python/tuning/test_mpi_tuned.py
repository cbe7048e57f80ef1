"""A tuning of real launches: a default that was made bad on purpose is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from netsonde.errors import HostError
from netsonde.launch.mpi_found import find_mpi
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.page import write_page
from netsonde.tuning.mpi.rules import read_rules
from netsonde.tuning.mpi.run import RULES_NAME, Asked, tune
from netsonde.tuning.mpi.text import tuned_lines

SIZE = 65_536
PLANTED = {
    # A thousand messages of 64 bytes along a chain or a tree, in place of one.
    "openmpi-debian": (
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1+OMPI_MCA_coll_tuned_bcast_algorithm=3"
        "+OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize=64",
        "bcast",
    ),
    "mpich": (
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM=pipelined_tree"
        "+MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE=64",
        "bcast",
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("seed", range(10))
def test_a_planted_bad_default_is_found(name: str, seed: int, tmp_path: Path) -> None:
    try:
        find_mpi(name)
    except HostError as error:
        pytest.skip(str(error))
    setting, operation = PLANTED[name]
    job = Job(f"{name}+{setting}", within="loopback")
    asked = Asked(
        job, (operation,), (SIZE,), (8,), (1,), 60 * 10**9, 0.03, "native,all,library:all", seed
    )
    tuned = tune(asked, tmp_path, ["test"], lambda _: None)
    (rule,) = tuned.rules.rules
    assert rule.holds(SIZE)
    (verdict,) = tuned.found.verdicts.values()
    assert verdict.is_faster
    assert read_rules(tuned.directory / RULES_NAME).rules == (rule,)
    assert write_page(tuned, has_hosts=False).stat().st_size > 10_000
    assert all(len(line) <= 80 or "/" in line for line in tuned_lines(tuned, has_hosts=False))
