"""Algorithms of MPI libraries, told and seen: who sends whom how much, counted by the kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpi_needed import mpi_here
from netsonde.errors import HostError, UnsupportedError
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import find_mpi
from netsonde.launch.mpi_ways import library_ways
from netsonde.operations import operations
from netsonde.schedules.algorithms import LIBRARY, NATIVE
from netsonde.tuning.mpi.bench import Job
from netsonde.tuning.mpi.candidates import LIKE
from netsonde.tuning.mpi.patterns import Pattern, PatternJob, size_for, survey
from netsonde.tuning.mpi.prove import library_file, obeyed
from netsonde.tuning.mpi.rules import Rule

ROOT = Path(__file__).resolve().parents[3]
OPENMPI_5 = str(ROOT / ".venv" / "mpis" / "openmpi")
ALL = ("mpich", "mpich-debian", "openmpi-debian", OPENMPI_5)
RANKS = 8


def test_patterns_are_the_same_but_for_heads() -> None:
    sent = np.array([[0.0, 1.0], [2.0, 0.0]])
    pattern = Pattern(sent)
    assert pattern.is_same(Pattern(sent * 1.01))
    assert not pattern.is_same(Pattern(sent * 1.2))
    assert not pattern.is_same(Pattern(sent.T))
    assert (pattern.partners, pattern.sizes) == (1, 2.0)


def test_an_mpi_is_told_and_seen_to_obey() -> None:
    """Bruck's is not what the library takes for this size: 4 ranks send 2 partners 2 parts each."""
    operation = operations()["alltoall"]
    with PatternJob(mpi_here("mpich"), 4) as job:
        assert "brucks" in job.listed(operation)
        native = job.pattern(operation, 65_536)
        told = job.pattern(operation, 65_536, "library:brucks")
        ours = job.pattern(operation, 65_536, "bruck")
        again = job.pattern(operation, 65_536)
        with pytest.raises(HostError, match=r"no algorithm bruks for alltoall; it has .*brucks"):
            job.pattern(operation, 65_536, "library:bruks")
        with pytest.raises(UnsupportedError, match="does not do alltoall by"):
            job.pattern(operation, 65_536, "library:pairwise_sendrecv_replace")  # in place only
        (seen,) = survey(job, operation, 65_536, ["library:brucks"])  # in a job that was begun anew
    assert seen.pattern is not None
    assert seen.pattern.is_same(told)
    assert told.is_same(ours)
    assert not told.is_same(native)
    assert again.is_same(native)  # what was told is taken back
    assert native.partners == 3
    assert native.sizes == pytest.approx(3.0, rel=0.02)
    assert told.partners == 2
    assert told.sizes == pytest.approx(4.0, rel=0.02)


@pytest.mark.soak
@pytest.mark.timeout(600)  # builds sonde-mpi where no test before has
@pytest.mark.parametrize("name", ALL)
def test_each_mpi_does_what_its_algorithms_are_called(name: str) -> None:
    """Those that have our schedules' steps send as these do, for every operation that has any."""
    seen_same = 0
    with PatternJob(mpi_here(name), RANKS) as job:
        for operation in operations().values():
            likes = {
                LIBRARY + way: like.partition("/")[2]
                for family_way, like in LIKE.items()
                for family, _, way in [family_way.partition("/")]
                if family == operation.schedules and way in job.listed(operation)
            }
            if not operation.is_collective_call or operation.fixed_bytes is not None or not likes:
                continue
            ways = [NATIVE, *dict.fromkeys(likes.values()), *likes]
            found = {s.way: s for s in survey(job, operation, size_for(operation), ways)}
            for way, ours in likes.items():
                if operation.divides or (way == "library:binomial" and operation.rooted):
                    continue  # trees whose ranks are numbered otherwise
                one, other = found[way].pattern, found[ours].pattern
                assert one is not None, found[way]
                assert other is not None, found[ours]
                assert one.is_same(other), f"{operation.name}: {way} and {ours}"
                seen_same += 1
    assert seen_same >= 5


@pytest.mark.soak
@pytest.mark.parametrize("name", ["mpich", "mpich-debian"])
def test_numbers_of_mpichs_words_are_those_that_it_makes_of_them(name: str) -> None:
    """The list is read from descriptions; here each word goes through the environment, whose number
    the library says. It ends at its start for a word that it does not know."""
    mpi_here(name)
    for operation, words in library_ways(name).items():
        for number, word in enumerate(words, 1):
            variable = f"MPIR_CVAR_{operation.upper()}_INTRA_ALGORITHM"
            session = open_mpi(None, 1, mpi=f"{name}+{variable}={word}")
            try:
                facts = next(iter(session.facts().values()))
            finally:
                session.close()
            assert facts[f"mpi.in_effect.{variable}"] == str(number), (operation, word)


TAUGHT = {
    "mpich": {
        "alltoall": "brucks",
        "allgather": "ring",
        "allgatherv": "ring",
        "allreduce": "recursive_doubling",
        "bcast": "binomial",
        "reduce": "binomial",
        "reduce_scatter": "pairwise",
        "reduce_scatter_block": "pairwise",
    },
    "openmpi": {
        "alltoall": "modified_bruck",
        "allgather": "ring",
        "allreduce": "recursive_doubling",
        "bcast": "pipeline",
        "reduce": "rabenseifner",
        "reduce_scatter_block": "recursive_doubling",
        "scatter": "binomial",
        "gather": "linear_sync",
    },
}
"""Algorithms that send otherwise than the library's own choice for 32 KiB."""


@pytest.mark.soak
@pytest.mark.timeout(600)  # builds sonde-mpi where no test before has
@pytest.mark.parametrize("name", ALL)
def test_rules_are_obeyed_and_nothing_else_changes(name: str, tmp_path: Path) -> None:
    """At a size of each rule the library does as it is told; at twice the size as untuned."""
    family = find_mpi(mpi_here(name)).family
    rules = [
        Rule(operation, RANKS, None, 4096, 32_768, LIBRARY + way)
        for operation, way in TAUGHT[family].items()
    ]
    job = Job(name)
    written, _, tuned = library_file(rules, job, tmp_path)
    assert not written.unsaid
    found = obeyed(rules, job, tuned)
    assert {o.rule.operation: o.words for o in found if o.is_obeyed is not True} == {}


@pytest.mark.soak
def test_a_rule_that_is_not_in_the_file_is_not_called_obeyed(tmp_path: Path) -> None:
    """The file has another number of ranks: so nothing changes, and that is seen."""
    rule = Rule("alltoall", RANKS, None, 4096, 32_768, "library:brucks")
    job = Job(mpi_here("mpich"))
    _, _, tuned = library_file([replace(rule, ranks=RANKS + 1)], job, tmp_path)
    (found,) = obeyed([rule], job, tuned)
    assert found.is_obeyed is False
    assert "chooses as before" in found.words
