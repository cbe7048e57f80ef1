"""``netsonde mpi --like``: what is named is measured, or refused."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from netsonde.cli.mpi_like import ALL_TOOLS, COMPARED, blocks_like, measures, tools_of
from netsonde.cli.mpi_tests import block_of
from netsonde.errors import UsageError
from netsonde.operations import operations
from netsonde.peers.mpi_techniques import MPI_TOOLS

TESTS = (*COMPARED, *operations())


@pytest.mark.parametrize("test", TESTS)
def test_every_tool_of_several_is_measured_or_refused_by_its_name(test: str) -> None:
    """Every two tools with every test: none of them is left out without a word."""
    for named in combinations(MPI_TOOLS, 2):
        like = ",".join(named)
        without = [tool for tool in named if not measures(tool, test)]
        if without:
            with pytest.raises(UsageError, match=f"--like {without[0]} and {test} "):
                tools_of(like, [test])
            continue
        tools = tools_of(like, [test])
        blocks = blocks_like(block_of(test, "64", None), test, tools, False, "2s")
        assert [block.get("like") for block in blocks] == [None, *named]


def test_all_tools_measure_every_test_or_it_is_refused() -> None:
    with_some = [test for test in TESTS if any(measures(tool, test) for tool in MPI_TOOLS)]
    without = [test for test in TESTS if test not in with_some]
    assert with_some
    assert without
    for test in with_some:
        assert tools_of(ALL_TOOLS, [test]) == [t for t in MPI_TOOLS if measures(t, test)]
    for first, second in product(with_some[:2], without[:2]):
        with pytest.raises(UsageError, match=f"no tool that is followed measures {second}"):
            tools_of(ALL_TOOLS, [first, second])
