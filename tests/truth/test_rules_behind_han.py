"""Rules of Open MPI 5's own algorithms on a communicator of several hosts: its component HAN stands
before the one that reads them, and leaves them their sizes only by a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuned_labs import lab_of, target_of

from netsonde.errors import HostError
from netsonde.hosts import split_hosts
from netsonde.lab import permission_problem
from netsonde.launch.mpi_found import find_mpi
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.prove import library_file, obeyed
from netsonde.tuning.mpi.rules import Rule

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]
OPENMPI_5 = str(Path(__file__).resolve().parents[2] / ".venv" / "mpis" / "openmpi")
TAUGHT = {
    "bcast": "pipeline",
    "allreduce": "ring",
    "allgather": "ring",
    "reduce": "rabenseifner",
    "gather": "linear_sync",
    "scatter": "basic_linear",
}
"""Algorithms that send otherwise than HAN for 32 KiB."""


@pytest.mark.soak
@pytest.mark.timeout(1800)  # the first one compiles sonde-mpi
def test_han_leaves_rules_to_tuned(tmp_path: Path) -> None:
    try:
        find_mpi(OPENMPI_5)
    except HostError as error:
        pytest.skip(str(error))
    rules = [
        Rule(operation, 4, 2, 4096, 32_768, f"library:{way}") for operation, way in TAUGHT.items()
    ]
    with lab_of() as lab:
        job = Job(OPENMPI_5, tuple(split_hosts(target_of(lab))))
        written, _, with_han = library_file(rules, job, tmp_path)
        assert not written.unsaid
        without_han = with_han.partition("+OMPI_MCA_coll_han")[0]
        found = {o.rule.operation: o.is_obeyed for o in obeyed(rules, job, with_han)}
        before = {o.rule.operation: o.is_obeyed for o in obeyed(rules, job, without_han)}
    assert found == dict.fromkeys(TAUGHT, True)
    assert before == dict.fromkeys(TAUGHT, False)
