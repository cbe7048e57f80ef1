"""The tracer's files, read line by line: docs/reference/trace.md describes them.

A trace is a folder of files ``trace-000001.log`` and so on, each of which stands for itself. A file
that was cut off in the middle of a line is read up to there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from netsonde.errors import UsageError

FORMAT = 1
HEAD = "netsonde-trace"
LINE_LIMIT_CHARACTERS = 1 << 24
COUNTERS_LIMIT = 1 << 18
"""Of a whole trace: interfaces may come and go for years."""
PROBLEMS_KEPT = 20
UNIX_OFFSET = "trace.unix_offset_us"
Kind = Literal["c", "g", "u"]

_FILE = re.compile(r"^trace-(\d{6,12})\.log$")
_CHANGE = re.compile(r" (\d+)(?:([=+-])(-?\d+)|(!))")
_WORD_64 = 1 << 64
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Counter:
    """What a name stands for. kind: counted up (``c``), of the moment (``g``), or a driver's, which
    does not say (``u``). One that ``starts_at_zero`` is left out while it is zero."""

    name: str
    kind: Kind
    unit: str
    starts_at_zero: bool = False


@dataclass(frozen=True)
class Moment:
    """One sample. ``number`` is its place on the grid, None of one outside it, which has a
    ``label``; ``since_ns`` is from the grid's origin to the beginning of its reading, which took
    ``cost_ns``."""

    number: int | None
    label: str
    since_ns: int
    cost_ns: int


@dataclass(frozen=True)
class Ending:
    """How a trace ended by itself. lost: samples that could not be written."""

    samples: int
    missed: int
    lost: int
    reason: str


@dataclass
class TraceReader:
    """Takes lines, keeps the values of the moment.

    ``counters`` and ``values`` go together, by slots that stay the same through all files of the
    trace; a value is None where the counter is not there. ``changed`` holds the slots that the last
    sample changed. Counters that ``wanted`` refuses are not followed.
    """

    wanted: Callable[[str], bool] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    counters: list[Counter] = field(default_factory=list)
    values: list[int | None] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    ending: Ending | None = None
    _slots: dict[str, int] = field(default_factory=dict)
    _by_index: dict[str, int] = field(default_factory=dict)
    _left: set[int] = field(default_factory=set)

    def feed(self, line: str) -> Moment | None:
        """One whole line without its end. Raises ValueError where it is none of a trace."""
        kind, _, rest = line.partition(" ")
        if kind == "S":
            number, late_ns, cost_ns = (int(word) for word in rest.split(" ", 3)[:3])
            since_ns = number * int(self.about["interval_ns"]) + late_ns
            return self._sample(line, Moment(number, "", since_ns, cost_ns))
        if kind == "N":
            self._name(rest)
        elif kind == "B":
            label, since, cost = rest.split(" ", 3)[:3]
            return self._sample(line, Moment(None, label, int(since), int(cost)))
        elif kind == HEAD:
            self._begin(rest)
        elif kind == "M":
            part, _, why = rest.partition(" ")
            self.missing[part] = why
        elif kind == "E":
            samples, missed, lost, reason = rest.split(" ", 3)
            self.ending = Ending(int(samples), int(missed), int(lost), reason)
        else:
            raise ValueError("it begins with none of the words that lines begin with")
        return None

    def value(self, name: str) -> int | None:
        slot = self._slots.get(name)
        return None if slot is None else self.values[slot]

    def _begin(self, rest: str) -> None:
        version, _, about = rest.partition(" ")
        if version != str(FORMAT):
            raise ValueError(f"its format is {version[:20]}, and this version reads {FORMAT}")
        parsed = json.loads(about)
        if not isinstance(parsed, dict) or not all(
            isinstance(parsed.get(name), int) for name in ("interval_ns", "begin_ns")
        ):
            raise ValueError("its head lacks what a head has")
        self.about = parsed
        self._by_index = {}
        self._left = {slot for slot, value in enumerate(self.values) if value is not None}

    def _name(self, rest: str) -> None:
        index, kind, unit, name = rest.split(" ", 3)
        if self.wanted is not None and not self.wanted(name):
            return
        slot = self._slots.get(name)
        if slot is None:
            if len(self.counters) >= COUNTERS_LIMIT or kind[:1] not in ("c", "g", "u"):
                return
            slot = self._slots[name] = len(self.counters)
            letter: Kind = "c" if kind[0] == "c" else "g" if kind[0] == "g" else "u"
            self.counters.append(Counter(name, letter, unit, kind.endswith("0")))
            self.values.append(None)
        self._by_index[index] = slot

    def _sample(self, line: str, moment: Moment) -> Moment:
        changed, values, by_index = [], self.values, self._by_index
        for index, sign, amount, _gone in _CHANGE.findall(line):
            slot = by_index.get(index)
            if slot is None:
                continue
            if sign == "=":
                values[slot] = int(amount)
            elif sign:
                before = values[slot]
                if before is None:
                    raise ValueError(f"counter {index} changes and was not there")
                after = before + int(sign + amount)
                if not _LEAST <= after <= _MOST:
                    after = (after - _LEAST) % _WORD_64 + _LEAST
                values[slot] = after
            else:
                values[slot] = None
            changed.append(slot)
        if self._left:  # the first sample of a file says everything that is there
            for slot in self._left.difference(changed):
                values[slot] = None
                changed.append(slot)
            self._left = set()
        self.changed = changed
        return moment


def trace_files(folder: Path) -> list[Path]:
    """The files of a trace in their order. Raises UsageError where the folder holds none."""
    try:
        found = [(int(match[1]), path) for path in folder.iterdir() if (match := _of(path))]
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error
    if not found:
        raise UsageError(f"{folder} holds no trace: there is no trace-000001.log or a later one")
    return [path for _, path in sorted(found)]


def _of(path: Path) -> re.Match[str] | None:
    return _FILE.match(path.name)


def read_trace(
    folder: Path, reader: TraceReader, problems: list[str] | None = None
) -> Iterator[Moment]:
    """Feeds all files of a trace to a reader and gives each sample when the reader stands at it.

    What is damaged is left out, with a sentence in ``problems``. Raises UsageError where nothing of
    it is a trace.
    """
    files = trace_files(folder)
    said = [] if problems is None else problems
    first = _of(files[0])
    if first is not None and int(first[1]) > 1:
        said.append(f"{folder}: the oldest {int(first[1]) - 1} files were removed for their size")
    heads = 0
    for path in files:
        for item in _read_file(path, reader):
            if isinstance(item, str):
                if len(said) < PROBLEMS_KEPT:
                    said.append(item)
            elif item is None:
                heads += 1
            else:
                yield item
    if heads == 0:
        raise UsageError(f"{folder} holds no trace: {'; '.join(said) or 'its files are empty'}")


def _read_file(path: Path, reader: TraceReader) -> Iterator[Moment | str | None]:
    """Samples; None for the head; a sentence for what is wrong."""
    try:
        with path.open("rb") as file:
            for count, raw in enumerate(_lines(file), start=1):
                if not raw.endswith(b"\n"):
                    yield f"{path} was cut off in line {count}; what was before is used"
                    return
                line = raw[:-1].decode(errors="replace")
                if (count == 1) != line.startswith(HEAD):
                    yield f"{path} is damaged in line {count}; the rest of it is left out"
                    return
                try:
                    moment = reader.feed(line)
                except (ValueError, KeyError) as error:
                    yield f"{path} is damaged in line {count} ({error}); the rest is left out"
                    return
                if moment is not None:
                    yield moment
                elif count == 1:
                    yield None
    except OSError as error:
        yield f"cannot read {path}: {error.strerror}"


def _lines(file: Any) -> Iterator[bytes]:
    """Lines with their ends; one that is too long comes without."""
    while line := file.readline(LINE_LIMIT_CHARACTERS):
        yield line


class Follower:
    """Reads what a trace has grown by since it was last asked: for whoever shows the latest values.

    Constant memory; ``reader.values`` are those of the last whole sample.
    """

    def __init__(self, folder: Path, wanted: Callable[[str], bool] | None = None) -> None:
        self.reader = TraceReader(wanted)
        self.moment: Moment | None = None
        self._folder = folder
        self._path: Path | None = None
        self._place = 0

    def catch_up(self) -> Moment | None:
        """The last sample, None where there is none yet. Raises UsageError."""
        files = trace_files(self._folder)
        if self._path not in files:
            # Each file says everything, so the newest with a sample will do.
            self._path, self._place = files[-1], 0
            self._read(files[-1])
            if self.moment is None and len(files) > 1:
                self.reader = TraceReader(self.reader.wanted)
                self._path, self._place = files[-2], 0
        for path in files[files.index(self._path) :]:
            if path != self._path:
                self._path, self._place = path, 0
            self._read(path)
        return self.moment

    def _read(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                file.seek(self._place)
                for raw in _lines(file):
                    if not raw.endswith(b"\n"):
                        return
                    moment = self.reader.feed(raw[:-1].decode(errors="replace"))
                    self._place += len(raw)
                    self.moment = moment or self.moment
        except FileNotFoundError:
            return  # removed for its size meanwhile
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError) as error:
            raise UsageError(f"{path} is damaged: {error}") from error


def unix_ns(reader: TraceReader, moment: Moment) -> int:
    """The time of day of a sample, as the host had it then."""
    offset_us = reader.value(UNIX_OFFSET)
    if offset_us is None:
        return int(reader.about.get("begin_unix_ns", 0)) + moment.since_ns
    return int(reader.about["begin_ns"]) + moment.since_ns + 1000 * offset_us
