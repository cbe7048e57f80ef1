"""Faults that are put in are what ``netsonde explain`` says first, and clean runs have none."""

from __future__ import annotations

import pytest
from faults_harness import run_case, whole_table
from faults_table import CLEAN, FAULTS

from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

ALONE = ("core burnt by a nice process",)
"""Another's work on the CPUs would be the greater fault."""
FEW = (
    "dropped at the sender's queue",
    "MTU of 576 on one side",
    "Nagle with delayed acknowledgements",
    "shaped rate",
    "shaper of the sender's own",
)
FEW_CLEAN = ("clean TCP stream, cubic", "clean UDP stream, paced")
LEAST = 0.95
CLEAN_TIMES = 2


def cases(*names):
    chosen = [case for case in (*FAULTS, *CLEAN) if case.name in names]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


@pytest.mark.timeout(180)
@cases(*ALONE)
def test_what_is_said_first(case, tmp_path, attempts):
    for attempt in attempts(2, of=3):
        said = run_case(case, tmp_path / str(attempt.number))
        attempt.found(said=[str(statement) for statement in said.statements])
        with attempt:
            assert said.is_right(case), said


@pytest.mark.counts
@pytest.mark.timeout(180)
@cases(*FEW, *FEW_CLEAN)
def test_what_is_said_first_however_busy_the_machine_is(case, tmp_path):
    said = run_case(case, tmp_path / "1")
    assert said.is_right(case), said


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_precision_and_recall(tmp_path, capsys):
    """Every fault, and twenty clean runs."""
    table, cases = whole_table(tmp_path, 1, CLEAN_TIMES)
    with capsys.disabled():
        print("\n" + table.words(cases))
    assert len({case.kind for case in FAULTS}) >= 12
    assert table.faults == len(FAULTS)
    assert table.score.runs - table.faults >= 20
    assert table.score.precision >= LEAST
    assert table.recall >= LEAST
