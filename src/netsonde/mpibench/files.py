"""The files of a routine: NAME.summary, .subsamples, .histograms, .outliers, .processes and .gnu.

Times are microseconds, rates megabytes (10^6) per second. Of several sizes each has a block of its
own, with two empty lines between, so that gnuplot's ``index`` finds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from netsonde.errors import HostError
from netsonde.hpcbench.files import cannot_write, check_place, move_earlier
from netsonde.hpcbench.table import Cell, table
from netsonde.mpibench.measured import SUMMARY, Measured, histogram, process_rows, summary_row
from netsonde.mpibench.options import Summing
from netsonde.mpibench.plot import plot_text
from netsonde.ranks.times import is_message

SUFFIXES = (".summary", ".subsamples", ".histograms", ".outliers", ".processes", ".gnu")
BLOCKS = "\n\n"


@dataclass(frozen=True)
class Written:
    """One routine's sizes, and how they were summed up. ``head`` is comment lines. ``lost`` says of
    sizes that have no value why: they are named in every file, and no file is lost with them."""

    operation: str
    sizes: Sequence[Measured]
    summing: Summing
    head: str
    lost: Sequence[str] = ()

    @property
    def what(self) -> str:
        """What one value is."""
        if is_message(self.operation):
            return "the time of each message, of all chosen processes"
        return "the slowest of the chosen processes in each repetition"


def check_names(names: Sequence[str]) -> None:
    """Before anything starts. Raises UsageError."""
    for name in names:
        check_place(name, SUFFIXES)


def write_files(name: str, written: Written) -> str | None:
    """All files of a routine. Files that were there are moved out of the way, as a set; returns
    where to. Raises HostError."""
    moved = move_earlier(name, SUFFIXES)
    lost = "".join(f"# no value: {sentence}\n" for sentence in written.lost)
    sizes = [found.message_bytes for found in written.sizes]
    script = (
        plot_text(name, written.operation, sizes, written.summing.log_bins)
        if sizes
        else "# Nothing to draw: no size has a value.\n"
    )
    texts = {suffix: written.head + lost + make(written) for suffix, make in _CONTENTS.items()}
    for suffix, text in (texts | {".gnu": lost + script}).items():
        try:
            Path(name + suffix).write_text(text)
        except OSError as error:
            raise HostError(cannot_write(name + suffix, error)) from error
    return moved


def _us(ns: float) -> str:
    return "n/a" if math.isnan(ns) else f"{ns / 1e3:.3f}"


def _summary(written: Written) -> str:
    heading = (f"#{SUMMARY[0]}", *SUMMARY[1:])
    cells: list[list[Cell]] = []
    for found in written.sizes:
        row = summary_row(found, written.summing.parts)
        size, values, outliers, *times_ns, rate = astuple(row)
        times = (None if ns is None else _us(ns) for ns in times_ns)
        cells.append([size, values, outliers, *times, f"{rate:.3f}"])
    explained = [
        f"a value is {written.what}",
        "TrimMean: without the lowest and the highest quarter; MinMean: the least mean of "
        f"{written.summing.parts} consecutive parts",
        "AllMean: of every process and repetition, outliers too; MB/s: the size over the mean",
        "nan: a quantile of too few values: P90 needs 10, P95 20, P99 100",
        *_clock_lines(written),
    ]
    return "".join(f"# {line}\n" for line in explained) + table(heading, cells)


def _clock_lines(written: Written) -> list[str]:
    lines = []
    worst = max((found.times.uncertainty_ns for found in written.sizes), default=0.0)
    if worst:
        lines.append(f"the processes' clocks: a time is wrong by {_us(worst)} at most")
    late = sum(found.times.late for found in written.sizes)
    if late:
        lines.append(f"left out because a process was late for its window: {late} repetitions")
    return lines


def _subsamples(written: Written) -> str:
    every = written.summing.every
    blocks = []
    for found in written.sizes:
        heading = ["#Repetition", *(f"Process{rank}" for rank in found.times.ranks)]
        chosen = found.times.repetition % every == 0
        columns = found.times.times_ns[:, chosen].T
        rows: list[list[Cell]] = [
            [int(number), *(None if np.isnan(t) else _us(t) for t in times)]
            for number, times in zip(found.times.repetition[chosen], columns, strict=True)
        ]
        what = f"# size {found.message_bytes}: every repetition divisible by {every}\n"
        blocks.append(what + table(heading, rows))
    return BLOCKS.join(blocks)


def _histograms(written: Written) -> str:
    blocks = []
    for found in written.sizes:
        bins = histogram(found, written.summing)
        edges = bins.edges
        rows: list[list[Cell]] = [
            [_us(low), _us(high), _us((low + high) / 2), int(count), f"{count / bins.total:.6f}"]
            for low, high, count in zip(edges[:-1], edges[1:], bins.counts, strict=True)
        ]
        what = (
            f"# size {found.message_bytes}: {bins.total} values, {bins.below} below the bins, "
            f"{bins.above} above, {int(found.outlier.sum())} outliers not among them\n"
        )
        blocks.append(what + table(("#From", "To", "Middle", "Count", "Share"), rows))
    return BLOCKS.join(blocks)


def _outliers(written: Written) -> str:
    rows: list[list[Cell]] = []
    for found in written.sizes:
        mean = float(found.values_ns.mean())
        for place in np.flatnonzero(found.outlier):
            rows.append(
                [
                    found.message_bytes,
                    int(found.value_rank[place]),
                    int(found.value_repetition[place]),
                    _us(float(found.values_ns[place])),
                    f"{found.values_ns[place] / mean:.2f}",
                ]
            )
    return table(("#Size", "Process", "Repetition", "Time", "TimesMean"), rows)


def _processes(written: Written) -> str:
    blocks = []
    for found in written.sizes:
        rows: list[list[Cell]] = [
            [rank, count, _us(least), _us(mean), _us(largest)]
            for rank, count, least, mean, largest in process_rows(found)
        ]
        what = f"# size {found.message_bytes}: each process's own times\n"
        blocks.append(what + table(("#Process", "Times", "Min", "Mean", "Max"), rows))
    return BLOCKS.join(blocks)


_CONTENTS: Mapping[str, Callable[[Written], str]] = {
    ".summary": _summary,
    ".subsamples": _subsamples,
    ".histograms": _histograms,
    ".outliers": _outliers,
    ".processes": _processes,
}
