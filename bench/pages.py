"""What a reader waits for: the size of pages, and the CPU time in which a command answers that
measures nothing."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.installed import Taken, beside_limits
from bench.large_run import Shape, write_large_run
from bench.peers import Route
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run
from netsonde.report.page import write_report

NAME = "pages"
QUESTIONS = {
    "--version": ("--version",),
    "--help": ("--help",),
    "TAB, a command": ("netsonde t",),
    "TAB, an option": ("netsonde tcp --si",),
}
STARTS = 9
MOST_START_S = 0.25
PAGES = (
    ("page, 60 points", Shape(60, 8, 400), 1.5),
    ("page, 10000 points", Shape(10_000, 1, 60), 3),
)
"""A title, a run, and the most megabytes that its page may have."""


def pages(route: Route, seconds: float, draw: random.Random) -> list[Taken]:  # noqa: ARG001
    """The pages of made runs, and the median CPU time of some starts each."""
    starts = [Taken(name, _start_s(words), "s", MOST_START_S) for name, words in QUESTIONS.items()]
    return [*(Taken(title, _page_mb(shape), "MB", most) for title, shape, most in PAGES), *starts]


def _page_mb(shape: Shape) -> float:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "run")
        write_large_run(directory, shape)
        run = open_run(directory)
        figures = figures_of(run)
        path = write_report(run, figures, explain(run, figures), directory)
        return path.stat().st_size / 1e6


def _start_s(words: Sequence[str]) -> float:
    """Words with a space in them are a line that bash asks to complete."""
    program = Path(sys.executable).with_name("netsonde")
    line = words[0] if " " in words[0] else ""
    asked = {
        "_NETSONDE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    took = []
    for _ in range(STARTS):
        begun = _children_s()
        subprocess.run(
            [program, *([] if line else words)],
            env=asked if line else None,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        took.append(_children_s() - begun)
    return median(took)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(found: Sequence[Taken]) -> list[str]:
    """For the terminal: each beside its limit."""
    return beside_limits(
        "pages, and commands that measure nothing, and the most they may take", found
    )
