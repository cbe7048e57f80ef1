"""What ``netsonde mpi`` can be asked for, and the blocks of a study that it comes to."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from netsonde.catalogue.test import TESTS, names_of
from netsonde.catalogue.transport import first_with
from netsonde.cli.mpi_choices import CLOCK_METHODS
from netsonde.cli.socket_tests import SWEEP, SWEPT
from netsonde.errors import UsageError
from netsonde.operations import GROUPS, default_sizes, nearest, operations
from netsonde.patterns import OF_MANY

CARRIER = first_with("has_ranks")
_OF_TWO = [TESTS[name] for name in CARRIER.tests if not TESTS[name].has_common_clock]
POINT_TO_POINT = {
    **{row.name: row.sizes_of(CARRIER) for row in _OF_TWO if not row.has_threads},
    SWEEP: CARRIER.sweep_sizes,
    **{row.name: row.sizes_of(CARRIER) for row in _OF_TWO if row.has_threads},
}
"""Tests between two ranks, and the sizes that are usual."""
(CLOCK,) = names_of("compares_clocks")
(COLLECTIVE,) = names_of("is_operation")
GUIDELINES = "guidelines"
LIST_COLUMNS = 80
COMPARED_SIZES = "128,256k"
"""Of the messages that both timers measure: a small and a large one, as MPIBench's author took."""


def listing() -> str:
    """Every test and operation by group, in lines of at most 80 columns."""
    groups = {
        "Tests between two ranks": [name for name in POINT_TO_POINT if name not in OF_MANY],
        "All pairs of ranks": [name for name in POINT_TO_POINT if name in OF_MANY],
        "The clocks": [CLOCK],
        "Operations that are to be no slower than others, together": [GUIDELINES],
    }
    for group, title in GROUPS.items():
        groups[title] = [name for name, found in operations().items() if found.group == group]
    paragraphs = [
        textwrap.fill(
            " ".join(names),
            LIST_COLUMNS,
            initial_indent="  ",
            subsequent_indent="  ",
            break_long_words=False,
        )
        for names in groups.values()
    ]
    return "\n\n".join(f"{title}\n{text}" for title, text in zip(groups, paragraphs, strict=True))


def with_guidelines(
    tests: Sequence[str], sizes: str | None, ranks: Sequence[int]
) -> list[tuple[str, str | None]]:
    """Each test with its sizes; ``guidelines`` as the operations that they are about, with those
    that go together for parts of ``sizes``."""
    asked: list[tuple[str, str | None]] = []
    for test in tests:
        if test != GUIDELINES:
            asked.append((test, sizes))
            continue
        found = _guidelines(sizes, ranks)
        asked += [(name, ",".join(map(str, own))) for name, own in found.items()]
    return asked


def _guidelines(sizes: str | None, ranks: Sequence[int]) -> Mapping[str, Sequence[int]]:
    """The operations that are compared, each with its sizes."""
    # Late, as in study_of.
    from netsonde.figures.guidelines import PARTS_BYTES, guideline_sizes
    from netsonde.study.values import expand_sizes

    if len(ranks) > 1:
        raise UsageError(
            f"guidelines go with one number of ranks: their sizes depend on it; give -n {ranks[-1]}"
        )
    if ranks[0] < 2:
        raise UsageError("guidelines compare what several ranks do; give -n 2 or more")
    try:
        parts = PARTS_BYTES if sizes is None else expand_sizes(sizes)
    except ValueError as error:
        raise UsageError(f"--sizes: {error}") from error
    parts = [part for part in parts if part]
    if not parts:
        raise UsageError("guidelines are about operations that move something; give larger --sizes")
    return guideline_sizes(parts, ranks[0])


def block_of(test: str, sizes: str | None, count: int | None) -> dict[str, Any]:
    block: dict[str, Any] = {"transports": [CARRIER.name], "count": count}
    if test in POINT_TO_POINT:
        name = SWEPT if test == SWEEP else test
        return {**block, "test": name, "sizes": sizes or POINT_TO_POINT[test]}
    if test == CLOCK:
        return {**block, "test": CLOCK, "sizes": "0"}
    operation = operations().get(test)
    if operation is not None:
        sizes = sizes or default_sizes(operation)
        return {**block, "test": COLLECTIVE, "operations": [test], "sizes": sizes}
    known = [*POINT_TO_POINT, CLOCK, GUIDELINES, *operations()]
    raise UsageError(f"{test!r} is no MPI test{nearest(test, known)}; --list shows all")


def compared_block(sizes: str | None, count: int | None) -> dict[str, Any]:
    """Round trips of messages that both timers measure, in place of the test clock."""
    return {**block_of("send", sizes or COMPARED_SIZES, count), "both_timers": True}


def clock_blocks(
    block: dict[str, Any], method: str | None, clocks: str | None, hosts: str | None
) -> list[dict[str, Any]]:
    """The test clock by one method, or by all, each with its name as label.

    MPI_Wtime is left out between hosts unless it was named: most MPIs have it global on one host
    only. On one host ranks compare their one clock, so that the truth is known.
    """
    how = clocks or ("known" if hosts else "apart")
    names = [n for n in CLOCK_METHODS if n != "wtime" or not hosts] if method is None else [method]
    return [
        {
            **block,
            "compare_clocks": how,
            "clock_method": name.replace("-", "_"),
            "label": name.replace("_", "-"),
        }
        for name in names
    ]
