"""Faults that are put in are what ``netsonde explain`` says first, and clean runs have none."""

from __future__ import annotations

import pytest
from faults_harness import run_table, whole_table
from faults_table import CLEAN, FAULTS

from netsonde.lab import permission_problem

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

FEW = (
    "receive buffer of 10 KB on 2.9 ms",
    "core burnt by a nice process",
    "dropped at the sender's queue",
    "MTU of 576 on one side",
    "Nagle with delayed acknowledgements",
    "shaped rate",
)
FEW_CLEAN = ("clean TCP stream, cubic", "clean UDP stream, paced")
LEAST = 0.95
CLEAN_TIMES = 2


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "case", [c for c in (*FAULTS, *CLEAN) if c.name in (*FEW, *FEW_CLEAN)], ids=lambda c: c.name
)
def test_what_is_said_first(case, tmp_path):
    table = run_table([case], tmp_path)
    if table.not_judged:
        pytest.skip(f"others use this machine's processors all the time: {table.words([case])}")
    assert (table.precision, table.recall) == (1, 1), table.words([case])


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_precision_and_recall(tmp_path, capsys):
    """Every fault, and twenty clean runs."""
    table, cases = whole_table(tmp_path, 1, CLEAN_TIMES)
    with capsys.disabled():
        print("\n" + table.words(cases))
    assert len({case.kind for case in FAULTS}) >= 12
    assert table.faults + len(table.not_judged) == len(FAULTS)
    assert table.clean >= 20
    assert table.precision >= LEAST
    assert table.recall >= LEAST
