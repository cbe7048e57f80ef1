"""Counters over time as arrays, and how much each counted between two samples."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netsonde.errors import UsageError
from netsonde.trace.journal import UNIX_OFFSET, Counter, Ending, Moment, TraceReader, read_trace

Times = npt.NDArray[np.int64]
Amounts = npt.NDArray[np.float64]
WORD_32 = float(1 << 32)
MOST_AFTER_WRAP = float(1 << 30)
"""A counter that fell counts as one of 32 bits that wrapped only where it counted less than this
since: a quarter of its range. Otherwise it began anew."""
_SUMS_OF_32_BITS = ("interrupt.", "softirq.", "softnet.")


@dataclass(frozen=True)
class Column:
    """A counter's values at each sample: int64, and whether it was there."""

    counter: Counter
    values: Times
    present: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Increments:
    """What a counter counted between each sample and the next, shape (samples - 1,); NaN where that
    is not known. ``went_back`` and ``wrapped`` say where it was set anew and where it was full."""

    amounts: Amounts
    went_back: npt.NDArray[np.bool_]
    wrapped: npt.NDArray[np.bool_]


@dataclass
class Trace:
    """Chosen counters of one host over time.

    ``since_ns`` and ``unix_ns`` are when each sample's reading began: from the beginning of the
    trace, and by the time of day as the host had it then. ``numbers`` are the places on the grid,
    -1 of samples outside it.
    """

    source: str
    host: str
    about: dict[str, Any]
    since_ns: Times
    unix_ns: Times
    numbers: Times
    cost_ns: Times
    columns: dict[str, Column]
    missing: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    ending: Ending | None = None

    @property
    def windows_s(self) -> Amounts:
        """From each sample to the next, in seconds."""
        return np.diff(self.since_ns) / 1e9

    @property
    def interval_s(self) -> float:
        return float(self.about["interval_ns"]) / 1e9

    @property
    def missed(self) -> int:
        """Samples of the grid that were not taken, between the first and the last that were."""
        grid = self.numbers[self.numbers >= 0]
        return int(grid[-1] - grid[0] + 1 - len(grid)) if len(grid) else 0

    def names(self, prefix: str = "") -> list[str]:
        return [name for name in self.columns if name.startswith(prefix)]

    def increments(self, name: str) -> Increments | None:
        column = self.columns.get(name)
        if column is None:
            return None
        found = increments(column)
        return _without_new_devices(self, name, found)

    def rates(self, name: str) -> Amounts | None:
        """By second, between each sample and the next."""
        found = self.increments(name)
        if found is None:
            return None
        return by_second(found.amounts, self.windows_s)


def by_second(amounts: Amounts, windows_s: Amounts) -> Amounts:
    """Rates; NaN of windows without length."""
    rates = np.full(len(windows_s), np.nan)
    np.divide(amounts, windows_s, out=rates, where=windows_s > 0)
    return rates


def increments(column: Column) -> Increments:
    """Differences modulo 2^64 of consecutive values; a fall by 32 bits is a counter that was full.

    A counter that ``starts_at_zero`` counted its first value since the sample before, if there was
    one.
    """
    values, present = column.values, column.present
    difference = np.diff(values.astype(np.uint64)).astype(np.int64).astype(np.float64)
    known = present[1:] & present[:-1]
    fell = known & (difference < 0)
    may_wrap = (values[:-1] >= 0) & (values[:-1] < WORD_32) & (values[1:] >= 0)
    if column.counter.name.startswith(_SUMS_OF_32_BITS):
        may_wrap[:] = True
    after_wrap = difference + WORD_32
    wrapped = fell & may_wrap & (after_wrap >= 0) & (after_wrap < MOST_AFTER_WRAP)
    if column.counter.kind != "c":
        wrapped[:] = False
    amounts = np.where(known, difference, np.nan)
    amounts[wrapped] = after_wrap[wrapped]
    went_back = fell & ~wrapped
    amounts[went_back] = np.nan
    if column.counter.starts_at_zero:
        appeared = present[1:] & ~present[:-1]
        amounts[appeared] = values[1:][appeared]
    return Increments(amounts, went_back, wrapped)


def _without_new_devices(trace: Trace, name: str, found: Increments) -> Increments:
    """An interface with another number is another one of that name."""
    if not name.startswith("interface."):
        return found
    index = trace.columns.get(f"interface.{name.split('.', 1)[1].rpartition('.')[0]}.index")
    if index is None:
        return found
    another = index.present[1:] & index.present[:-1] & (np.diff(index.values) != 0)
    if not another.any():
        return found
    amounts = np.where(another, np.nan, found.amounts)
    return Increments(amounts, found.went_back | another, found.wrapped & ~another)


def load_trace(folder: Path, wanted: Callable[[str], bool] | None = None) -> Trace:
    """Reads a trace, or of it the counters that are wanted, whole. Raises UsageError."""
    for piece in load_pieces(folder, wanted, None):
        return piece
    raise UsageError(f"{folder} holds no sample yet")


def load_pieces(
    folder: Path, wanted: Callable[[str], bool] | None, samples: int | None
) -> Iterator[Trace]:
    """A trace in pieces of so many samples; each begins with the last sample of the one before.

    Memory grows with the changes within a piece. What was wrong stands in the last piece. Raises
    UsageError.
    """
    reader = TraceReader(_also(wanted))
    problems: list[str] = []
    piece = _Piece()
    for moment in read_trace(folder, reader, problems):
        piece.add(moment, reader)
        if samples is not None and len(piece.times) > samples:
            yield piece.trace(folder, reader, [])
            piece = _Piece((moment, reader.values))
    if piece.times:
        yield piece.trace(folder, reader, problems)


class _Piece:
    """Samples that follow each other; with ``before``, that of the piece before stands first."""

    def __init__(self, before: tuple[Moment, list[int | None]] | None = None) -> None:
        self.times, self._costs, self._numbers = array("q"), array("q"), array("q")
        self._changes: list[tuple[array[int], array[int], array[int]]] = []
        if before is not None:
            moment, values = before
            for slot, value in enumerate(values):
                self._change(slot, value)
            self._count(moment)

    def add(self, moment: Moment, reader: TraceReader) -> None:
        for slot in reader.changed:
            self._change(slot, reader.values[slot])
        self._count(moment)

    def trace(self, folder: Path, reader: TraceReader, problems: list[str]) -> Trace:
        columns = {
            counter.name: _column(counter, *lists, len(self.times))
            for counter, lists in zip(reader.counters, self._changes, strict=False)
        }
        since_ns = np.frombuffer(self.times, np.int64)
        return Trace(
            str(folder),
            str(reader.about.get("host", folder.name)),
            dict(reader.about),
            since_ns,
            _unix_ns(reader.about, since_ns, columns.get(UNIX_OFFSET)),
            np.frombuffer(self._numbers, np.int64),
            np.frombuffer(self._costs, np.int64),
            columns,
            reader.missing,
            problems,
            reader.ending,
        )

    def _change(self, slot: int, value: int | None) -> None:
        while len(self._changes) <= slot:
            self._changes.append((array("q"), array("q"), array("b")))
        places, values, present = self._changes[slot]
        places.append(len(self.times))
        values.append(0 if value is None else value)
        present.append(value is not None)

    def _count(self, moment: Moment) -> None:
        self.times.append(moment.since_ns)
        self._costs.append(moment.cost_ns)
        self._numbers.append(-1 if moment.number is None else moment.number)


def _also(wanted: Callable[[str], bool] | None) -> Callable[[str], bool] | None:
    if wanted is None:
        return None
    return lambda name: name == UNIX_OFFSET or wanted(name)


def _column(
    counter: Counter, places: array[int], values: array[int], present: array[int], count: int
) -> Column:
    """From its changes the value at each sample."""
    ends = np.append(np.frombuffer(places, np.int64), count) if places else np.array([count])
    lengths = np.diff(np.concatenate(([0], ends)))
    filled = np.concatenate(([0], np.frombuffer(values, np.int64) if values else []))
    there = np.concatenate(([0], np.frombuffer(present, np.int8) if present else []))
    return Column(
        counter,
        np.repeat(filled.astype(np.int64), lengths),
        np.repeat(there.astype(np.bool_), lengths),
    )


def _unix_ns(about: dict[str, Any] | Any, since_ns: Times, offset: Column | None) -> Times:
    if offset is not None and offset.present.all():
        begin_ns = int(about.get("begin_ns", 0))
        return since_ns + begin_ns + offset.values * 1000
    return since_ns + int(about.get("begin_unix_ns", 0))
