"""What MPI benchmarks can do, beside each other: the page docs/reference/mpi-tools.md.

Rows on start, root, repetitions and operations are made of the techniques that netsonde follows, so
the page cannot say other than what is done. The others are as the descriptions have it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from netsonde.catalogue.test import test_row
from netsonde.operations import operations
from netsonde.peers.mpi_techniques import MPI_TECHNIQUES, MpiTechnique, MpiTool, mpi_technique
from netsonde.published import markdown

# MPIBench has a column of its own.
TOOLS: tuple[MpiTool, ...] = ("mpptest", "pmb", "mpbench", "skampi", "osu", "imb", "reprompi")
DESCRIBED, OURS = "MPIBench", "netsonde"
NAMES = {
    **{"mpptest": "mpptest", "pmb": "PMB", "mpbench": "MPBench", "skampi": "SKaMPI", "osu": "OSU"},
    **{"imb": "IMB", "reprompi": "ReproMPI"},
}
NONE = "–"
SIZES_SHOWN = (8, 1 << 20)

FEATURES = Path(__file__).with_suffix(".toml")


def page() -> str:
    """docs/reference/mpi-tools.md."""
    columns = ("", *(NAMES[tool] for tool in TOOLS), DESCRIBED, OURS)
    features = tomllib.loads(FEATURES.read_text(encoding="utf-8"))["feature"]
    said = [[found.get(key, "") for key in ("name", *TOOLS, DESCRIBED, OURS)] for found in features]
    return (
        "\n\n".join(
            [
                _HEADING,
                markdown(columns, said),
                "## How each measures a collective",
                "What `netsonde mpi OPERATION --like TOOL` does, made of the same table. Of "
                "MPIBench see [the page for its users](mpibench.md).",
                markdown(columns[:-2], [(name, *map(make, TOOLS)) for name, make in _WAYS.items()]),
                "## Operations that a technique is followed for",
                "Tests between two ranks: "
                + "; ".join(f"{NAMES[tool]}: {_tests(tool)}" for tool in TOOLS)
                + ".",
                markdown(columns[:-2], _operation_rows()),
                f"netsonde itself has {len(operations())} operations (`netsonde mpi --list`).",
                "## Sources",
                "As for the [techniques](../methods/other-tools.md#sources). MPIBench, mpptest, "
                "PMB, MPBench and SKaMPI as N. A. W. Abdul Hamid 2008 compares them, sections 3.3 "
                "to 3.12.",
            ]
        )
        + "\n"
    )


_HEADING = """<!-- Made by scripts/reference.py from src/netsonde/peers; do not edit. -->

# MPI benchmarks beside each other

What each tool has and how it measures. [Whether they agree](../methods/agreement.md) is measured by
`netsonde mpi OPERATION --like all`."""


def _collective(tool: MpiTool) -> MpiTechnique:
    known = mpi_technique(tool, "collective")
    if known is None:
        raise ValueError(f"{tool} has no collectives")
    return known


def _start(tool: MpiTool) -> str:
    starts = {"barrier": "a barrier", "window": "an agreed instant", "none": "nothing between"}
    return starts[_collective(tool).start]


def _root(tool: MpiTool) -> str:
    return "rotates" if _collective(tool).rotates_root else "fixed"


def _counts(tool: MpiTool) -> str:
    found = [_collective(tool).counts(size) for size in SIZES_SHOWN]
    words = [f"{warm_up}, {count}" for warm_up, count in found]
    return words[0] if words[0] == words[1] else f"{words[0]}; of 1 MiB {words[1]}"


def _cache(tool: MpiTool) -> str:
    return "written anew" if _collective(tool).cache == "fresh" else "left as it is"


_WAYS: Mapping[str, Callable[[MpiTool], str]] = {
    "ranks begin by": _start,
    "root": _root,
    "warm-up, repetitions": _counts,
    "data before a repetition": _cache,
}


def _tests(tool: MpiTool) -> str:
    found = [
        test for name, test in MPI_TECHNIQUES if name == tool and not test_row(test).is_operation
    ]
    return ", ".join(found) or "none"


def _operation_rows() -> list[tuple[str, ...]]:
    every = [name for name in operations() if any(name in _collective(t).operations for t in TOOLS)]
    return [
        (f"`{name}`", *("yes" if name in _collective(t).operations else NONE for t in TOOLS))
        for name in every
    ]
