"""Options of ``netsonde mpi`` about clocks, processors and what is kept, and those of the
catalogue's rows that it has."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from netsonde.catalogue.options.commands import BLOCK, REQUIRE, SEED, STOPPING
from netsonde.cli.row_options import option_of
from netsonde.errors import UsageError

SizesOption = Annotated[str | None, option_of(BLOCK["sizes"], "mpi")]
PerturbOption = Annotated[str | None, option_of(BLOCK["perturb"], "mpi")]
RefineOption = Annotated[bool, option_of(BLOCK["refine"], "mpi")]
CountOption = Annotated[int | None, option_of(BLOCK["count"], "mpi")]
BusyOption = Annotated[str | None, option_of(BLOCK["busy"], "mpi")]
CheckOption = Annotated[bool, option_of(BLOCK["check_data"], "mpi")]
TimeOption = Annotated[str, option_of(STOPPING["cap"], "mpi")]
IntervalOption = Annotated[str, option_of(STOPPING["interval"], "mpi")]
AtLeastOption = Annotated[list[str] | None, option_of(REQUIRE["at_least"], "mpi")]
AtMostOption = Annotated[list[str] | None, option_of(REQUIRE["at_most"], "mpi")]
SeedOption = Annotated[int | None, option_of(SEED["seed"], "mpi")]

CLOCK_METHODS = ("tree", "offset", "wtime", "jones-koenig")
PINS = ("none", "all", "not-zero")

START_HELP = (
    "How ranks begin an operation: barrier, window or none. window:late=2us,count=8 sets bounds of "
    "windows: late (1us), late-most (100us), count (32), growth (16), slack (100us)."
)
ClockOption = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="METHOD",
        help="How ranks are put on one clock: tree, offset, wtime or jones-koenig; the test clock "
        "measures all of them unless one is named. wtime also times latency, pingpong, stream and "
        "duplex.",
        show_default="tree",
    ),
]
ClocksOption = Annotated[
    str | None,
    typer.Option(
        "--clocks",
        metavar="HOW",
        help="Compare clocks of different hosts (known), or of all ranks (apart).",
        show_default="known; of the test clock on one host apart",
    ),
]
KeepOption = Annotated[
    int | None,
    typer.Option(
        "--keep",
        min=0,
        metavar="SAMPLES",
        help="Repetitions of all ranks together that a batch keeps one by one; a batch of more is "
        "summarised by the ranks.",
        show_default="4194304",
    ),
]
PinOption = Annotated[
    str,
    typer.Option(
        "--pin",
        metavar="HOW",
        help="Bind each rank to a processor: all; not-zero, which leaves out processor 0; or "
        "processors in the order of a host's ranks, such as 0,2 or 4-7.",
    ),
]
CompareTimersOption = Annotated[
    bool,
    typer.Option(
        "--compare-timers",
        help="Read MPI_Wtime beside the clock, around the same calls; the test clock then measures "
        "messages of 128 bytes and 256 KiB so.",
    ),
]
WithoutOverheadOption = Annotated[
    bool,
    typer.Option(
        "--without-timer-overhead",
        help="Take what a reading of the timer takes off the times of operations and round trips.",
    ),
]
ShareOption = Annotated[
    bool,
    typer.Option("--share", help="With --pin: also where a host has fewer processors than ranks."),
]


def clock_method(name: str | None) -> str | None:
    """As a study has it. Raises UsageError."""
    if name is not None and name not in CLOCK_METHODS:
        raise UsageError(f"--clock {name} is unknown; choose from {', '.join(CLOCK_METHODS)}")
    return None if name is None else name.replace("-", "_")


def binding(pin: str, share: bool) -> dict[str, Any]:
    """The keys of a study's table ``mpi``. Raises UsageError."""
    if pin not in PINS and not pin[:1].isdecimal():
        raise UsageError(
            f"--pin {pin[:80]} is unknown; choose from {', '.join(PINS)}, or name processors: 0,1"
        )
    if share and pin == "none":
        raise UsageError("--share says that ranks may share processors: give --pin as well")
    return {"pin": pin.replace("-", "_") if pin in PINS else pin, "share": share}


COMPARED_SIZES = "128,256k"
"""Of the messages that both timers measure: a small and a large one, as MPIBench's author took."""


def compared_block(sizes: str | None, count: int | None) -> dict[str, Any]:
    """Round trips of messages that both timers measure, in place of the test clock."""
    return {
        "transports": ["mpi"],
        "test": "collective",
        "operations": ["send"],
        "sizes": sizes or COMPARED_SIZES,
        "count": count,
        "both_timers": True,
    }


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
        {**block, "clocks": how, "clock": name.replace("-", "_"), "label": name.replace("_", "-")}
        for name in names
    ]
