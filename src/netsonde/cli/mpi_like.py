"""``--like`` of ``netsonde mpi``: one tool's way, or several tools' beside netsonde's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netsonde.cli.like import measured_like_mpi
from netsonde.errors import UsageError
from netsonde.operations import operations
from netsonde.peers.mpi_techniques import MPI_TOOLS, mpi_technique, ring_of
from netsonde.units import parse_duration_ns

ALL_TOOLS = "all"
COMPARED = ("latency", "sweep")
"""Tests between two ranks that several tools can be compared by."""
PASSES = 6
"""The fewest of which a median has a 95 % interval."""
LEAST_PASS_NS = 100_000_000
TIME, PRECISION = "2s", "1%"
"""Usual values of ``--time`` and ``--relative-precision``."""


def tools_of(like: str | None, tests: Sequence[str]) -> list[str]:
    """``osu``, ``osu,imb`` or ``all``, which is every tool that measures one of the tests.

    Raises UsageError for a tool that is not known, is named twice, or is one of several and lacks
    one of the tests: nothing that was asked for is left out without a word.
    """
    if like is None:
        return []
    if like == ALL_TOOLS or "," in like:
        _require_comparable(like, tests)
    if like == ALL_TOOLS:
        for test in tests:
            if not _tools_with(test):
                raise UsageError(f"--like all: no tool that is followed measures {test}")
        return [tool for tool in MPI_TOOLS if any(measures(tool, test) for test in tests)]
    names = like.split(",")
    for name in names:
        if name not in MPI_TOOLS:
            raise UsageError(
                f"--like {name[:40]!r} is not known; choose from {', '.join(MPI_TOOLS)}, or all"
            )
        if names.count(name) > 1:
            raise UsageError(f"--like names {name} more than once")
        if len(names) > 1:
            _require_measured(name, tests)
    return names


def _require_measured(tool: str, tests: Sequence[str]) -> None:
    """Of one tool alone the study's own check says what it measures."""
    for test in tests:
        if not measures(tool, test):
            others = ", ".join(_tools_with(test)) or "no tool that is followed"
            raise UsageError(
                f"--like {tool} and {test} do not go together: {tool} does not measure it; "
                f"{others} {'does' if len(_tools_with(test)) < 2 else 'do'}"
            )


def _tools_with(test: str) -> list[str]:
    return [tool for tool in MPI_TOOLS if measures(tool, test)]


def _require_comparable(like: str, tests: Sequence[str]) -> None:
    for test in tests:
        if test not in (*COMPARED, *operations()):
            raise UsageError(
                f"--like {like[:40]} compares {', '.join(COMPARED)} and operations such as bcast, "
                f"not {test}; name one tool for that"
            )


def measures(tool: str, test: str) -> bool:
    """Whether a tool has a test or an operation."""
    is_operation = test in operations()
    name = "latency" if test == "sweep" else test
    known = mpi_technique(tool, "collective" if is_operation else name)
    return known is not None and (not is_operation or test in known.operations)


def refuse_beside_one_tool(like: str, time: str, precision: str) -> None:
    """Raises UsageError for options that netsonde's own way has and the tool's has not."""
    given = (("--time", time, TIME), ("--relative-precision", precision, PRECISION))
    for option, value, usual in given:
        if value != usual:
            raise UsageError(
                f"--like {like} and {option} do not go together: {like} measures a number of "
                "repetitions; give --count"
            )


def blocks_like(
    block: dict[str, Any], test: str, tools: Sequence[str], usual_sizes: bool, time: str
) -> list[dict[str, Any]]:
    """The block as it is measured: as it is, as one tool does, or as several do and netsonde too,
    each so often that there is an interval."""
    if not tools:
        return [block]
    if len(tools) == 1:
        return [measured_like_mpi(block, tools[0], usual_sizes)]
    has = [tool for tool in tools if measures(tool, test)]
    several = {**block, "passes": PASSES}
    ring = ring_of(test)
    several |= {} if ring is None else {"pattern": ring}  # the same partners for all
    own = {**several, "cap": max(parse_duration_ns(time) // PASSES, LEAST_PASS_NS), "count": None}
    # A tool's own way has its partners; they are no option that was asked for.
    plain = {name: value for name, value in several.items() if name != "pattern"}
    return [own, *(measured_like_mpi(plain, tool, usual_sizes=False) for tool in has)]


def partner_of(tools: Sequence[str], numbers: Sequence[int], launches: int | None) -> str | None:
    """The pair of ranks that a tool takes of more than two, as ``--rank-pair`` has it; None where
    it is ranks 0 and 1, as of several tools or numbers of ranks, whose pairs are to be the same."""
    if len(tools) != 1 or len(numbers) != 1 or numbers[0] <= 2:
        return None
    if tools[0] == "mpbench":
        return f"0,{numbers[0] - 1}"
    return "slowest" if tools[0] == "skampi" and (launches or 1) == 1 else None
