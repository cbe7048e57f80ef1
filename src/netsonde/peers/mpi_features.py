"""What MPI benchmarks can do, beside each other: the page docs/reference/mpi-tools.md.

Rows on start, root, repetitions and operations are made of the techniques that netsonde follows, so
the page cannot say other than what is done. The others are as the descriptions have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netsonde.catalogue.test import test_row
from netsonde.operations import operations
from netsonde.peers.mpi_techniques import MPI_TECHNIQUES, MpiTechnique, MpiTool, mpi_technique

# MPIBench has a column of its own.
TOOLS: tuple[MpiTool, ...] = ("mpptest", "pmb", "mpbench", "skampi", "osu", "imb", "reprompi")
DESCRIBED, OURS = "MPIBench", "netsonde"
NAMES = {
    **{"mpptest": "mpptest", "pmb": "PMB", "mpbench": "MPBench", "skampi": "SKaMPI", "osu": "OSU"},
    **{"imb": "IMB", "reprompi": "ReproMPI"},
}
NONE = "–"
SIZES_SHOWN = (8, 1 << 20)

SAID: Sequence[tuple[str, Mapping[str, str]]] = (
    (
        "timer",
        {
            **{"mpptest": "`MPI_Wtime`", "pmb": "`MPI_Wtime`", "mpbench": "`gettimeofday`"},
            **{"skampi": "`MPI_Wtime`, own global clock", "osu": "`MPI_Wtime`"},
            **{"imb": "`MPI_Wtime`", "reprompi": "`MPI_Wtime` or cycles, own global clock"},
            DESCRIBED: "cycle counter, own global clock, or `MPI_Wtime`",
            OURS: "cycle counter, own global clock, or `MPI_Wtime`",
        },
    ),
    (
        "partners of a message",
        {
            **{"mpptest": "0 and 1", "pmb": "0 and 1", "mpbench": "first and last"},
            **{"skampi": "0 and the slowest", "osu": "0 and 1", "imb": "0 and 1"},
            **{"reprompi": "0 and 1"},
            DESCRIBED: "all: p and p + n/2",
            OURS: "any pair, each, all or the slowest; all at once in five patterns or by a file",
        },
    ),
    (
        "value of a message",
        {
            **{"mpptest": "half a round trip, least of means", "pmb": "half a round trip"},
            **{"mpbench": "half a round trip", "skampi": "round trip", "osu": "half a round trip"},
            **{"imb": "half a round trip", "reprompi": "round trip"},
            DESCRIBED: "one way, each message",
            OURS: "round trip, or one way, each message",
        },
    ),
    (
        "value of a collective",
        {
            **{"mpptest": "mean of the loop", "pmb": "means of ranks"},
            **{"mpbench": "until all have told the root", "skampi": "slowest rank"},
            **{"osu": "means of ranks", "imb": "means of ranks", "reprompi": "slowest rank"},
            DESCRIBED: "slowest rank (before 2008 the mean of all)",
            OURS: "slowest rank",
        },
    ),
    (
        "outliers and errors",
        {
            **{"mpptest": "least of means", "pmb": "none", "mpbench": "none"},
            **{"skampi": "a quarter left out at either end, until the error is small"},
            **{"osu": "none", "imb": "none", "reprompi": "all samples on request"},
            DESCRIBED: "beyond a factor times the mean left out and listed",
            OURS: "nothing is left out but the warm-up; until the interval is narrow",
        },
    ),
    (
        "distributions",
        {
            **dict.fromkeys(("mpptest", "pmb", "mpbench", "skampi", "imb", "reprompi"), "no"),
            **{"osu": "quantiles on request"},
            DESCRIBED: "histograms",
            OURS: "every sample; histograms of very many",
        },
    ),
    (
        "results of each rank",
        {
            **dict.fromkeys(("mpptest", "pmb", "mpbench"), "no"),
            **{"skampi": "means", "osu": "least, largest", "imb": "least, largest"},
            **{"reprompi": "on request"},
            DESCRIBED: "yes",
            OURS: "yes",
        },
    ),
    (
        "bandwidth",
        {
            **{"mpptest": "yes", "pmb": "of messages", "mpbench": "yes", "skampi": "two sizes"},
            **{"osu": "own programs", "imb": "of messages", "reprompi": "no"},
            DESCRIBED: "no",
            OURS: "yes",
        },
    ),
    (
        "plots",
        {
            **{"mpptest": "gnuplot file", "pmb": "none", "mpbench": "postscript"},
            **{"skampi": "postscript script", "osu": "gnuplot on request", "imb": "none"},
            **{"reprompi": "none"},
            DESCRIBED: "gnuplot file",
            OURS: "report, images, gnuplot file",
        },
    ),
    (
        "parameters",
        {
            **{"mpptest": "command line", "pmb": "file, new build", "mpbench": "command line"},
            **{"skampi": "file", "osu": "command line", "imb": "command line"},
            **{"reprompi": "command line"},
            DESCRIBED: "command line",
            OURS: "command line or file",
        },
    ),
    (
        "sizes",
        {
            **{"mpptest": "range, log, adaptive", "pmb": "powers of 2", "mpbench": "powers of 2"},
            **{"skampi": "range, adaptive", "osu": "powers of 2", "imb": "powers of 2, list"},
            **{"reprompi": "list"},
            DESCRIBED: "range, by a factor",
            OURS: "range, list, by a factor, adaptive",
        },
    ),
    (
        "data in the cache",
        {
            **{"mpptest": "warm; cleared for each size on request", "pmb": "warm"},
            **{"mpbench": "warm; cleared for each size on request"},
            **{"skampi": "written anew for each repetition"},
            **{"osu": "warm", "imb": "warm; off on request", "reprompi": "warm"},
            DESCRIBED: "warm; a walk through memory on request",
            OURS: "warm; flushed, by turns or written anew on request",
        },
    ),
)
"""By feature, what each tool has."""


def page() -> str:
    """docs/reference/mpi-tools.md."""
    columns = ("", *(NAMES[tool] for tool in TOOLS), DESCRIBED, OURS)
    said = [(name, *(found.get(t, "") for t in (*TOOLS, DESCRIBED, OURS))) for name, found in SAID]
    return (
        "\n\n".join(
            [
                _HEADING,
                _table(columns, said),
                "## How each measures a collective",
                "What `netsonde mpi OPERATION --like TOOL` does, made of the same table. Of "
                "MPIBench see [the page for its users](mpibench.md).",
                _table(columns[:-2], [(name, *map(make, TOOLS)) for name, make in _WAYS.items()]),
                "## Operations that a technique is followed for",
                "Tests between two ranks: "
                + "; ".join(f"{NAMES[tool]}: {_tests(tool)}" for tool in TOOLS)
                + ".",
                _table(columns[:-2], _operation_rows()),
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


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
