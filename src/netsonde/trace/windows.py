"""A trace between its samples: shares, rates and losses that tables and plots are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from netsonde.errors import UsageError
from netsonde.records.interrupts import names_of_interface
from netsonde.trace.journal import Ending
from netsonde.trace.names import IDLE_KINDS, PROCESSOR_KINDS, is_loss, split_interface
from netsonde.trace.place import is_table
from netsonde.trace.series import Amounts, Times, Trace, load_pieces

SAMPLES_IN_A_PIECE = 4096
GAP = 1.5
"""Two samples that are so many intervals apart have a gap between them."""
ANOMALIES_KEPT = 100
MOVED = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
_SYSTEM = ("system.interrupts", "system.context_switches")
_MEMORY = ("memory.total_bytes", "memory.available_bytes")
_OWN = ("trace.cpu_us", "trace.missed")


@dataclass(frozen=True)
class Anomaly:
    """Something about the trace itself, at a time of day."""

    unix_ns: int
    words: str


@dataclass
class Windows:
    """What happened between each sample and the next, of one host.

    ``end_unix_ns`` and ``window_s`` say when and how long. ``columns``: ``busy`` (share of all
    CPUs), ``busiest`` (share of the busiest one), a share for each kind of CPU time,
    ``memory`` (share in use at the end), amounts of counters by their name, and
    ``interrupts:INTERFACE``. NaN where something is not known.
    """

    source: str
    host: str
    interval_s: float
    end_unix_ns: Times
    window_s: Amounts
    columns: dict[str, Amounts]
    processor_busy_s: dict[int, float] = field(default_factory=dict)
    speeds_bit_per_s: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    anomalies_left_out: int = 0
    missed: int = 0
    ending: Ending | None = None

    def __len__(self) -> int:
        return len(self.window_s)

    @property
    def interfaces(self) -> list[str]:
        found = (split_interface(name) for name in self.columns)
        return sorted({place[0] for place in found if place is not None})

    def column(self, name: str) -> Amounts:
        found = self.columns.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def part(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Windows:
        """Those windows only; what is of the whole trace stays as it is."""
        return Windows(
            self.source,
            self.host,
            self.interval_s,
            self.end_unix_ns[chosen],
            self.window_s[chosen],
            {name: column[chosen] for name, column in self.columns.items()},
            speeds_bit_per_s=self.speeds_bit_per_s,
        )


def wanted(name: str) -> bool:
    """The counters that windows are made of."""
    place = split_interface(name)
    if place is not None:
        return place[1] in (*MOVED, "index") or is_loss(name)
    if name.startswith("cpu."):
        return name.startswith("cpu.all.") or name.endswith((".idle", ".iowait"))
    named = (*_SYSTEM, *_MEMORY, *_OWN)
    return name in named or name.startswith("interrupt.") or is_loss(name)


def load_windows(path: Path, only: Sequence[str] = ()) -> Windows:
    """From the folder of a trace or the Parquet file made of one; only: these interfaces. Raises
    UsageError."""

    seen: set[str] = set()

    def of_interest(name: str) -> bool:
        place = split_interface(name)
        if place is not None:
            seen.add(place[0])
        return wanted(name) and (not only or place is None or place[0] in only)

    whole = joined(_derived(piece) for piece in _pieces(path, of_interest))
    for name in only:
        if name not in seen:
            known = ", ".join(sorted(seen)) or "none"
            raise UsageError(f"{path} has no interface {name}; it has {known}")
    return whole


def _pieces(path: Path, of_interest: Callable[[str], bool]) -> Iterator[Trace]:
    if not is_table(path):
        return load_pieces(path, of_interest, SAMPLES_IN_A_PIECE)
    from netsonde.trace.convert import load_table  # the library of tables takes a moment to load

    return iter([load_table(path, of_interest)])


def _derived(trace: Trace) -> Windows:
    windows = trace.windows_s
    found = Windows(
        trace.source,
        trace.host,
        trace.interval_s,
        trace.unix_ns[1:],
        windows,
        {},
        missing=trace.missing,
        problems=trace.problems,
        ending=trace.ending,
        missed=trace.missed,
        speeds_bit_per_s=_speeds(trace),
    )
    if len(windows):
        _add_processors(trace, found)
        _add_memory(trace, found)
        _add_amounts(trace, found)
        _add_gaps(trace, found)
    return found


def _add_processors(trace: Trace, found: Windows) -> None:
    spent = {kind: _amounts(trace, f"cpu.all.{kind}") for kind in PROCESSOR_KINDS}
    if spent["idle"] is None:
        return
    total = np.nansum([one for one in spent.values() if one is not None], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        for kind, one in spent.items():
            if one is not None:
                found.columns[f"share:{kind}"] = np.where(total > 0, one / total, np.nan)
    idle = [found.columns[f"share:{kind}"] for kind in IDLE_KINDS if spent[kind] is not None]
    found.columns["busy"] = 1 - np.sum(idle, axis=0)
    jiffies = trace.windows_s * float(trace.about.get("jiffies_per_s", 100))
    busiest = np.full(len(found), np.nan)
    for name in trace.names("cpu."):
        number = name.split(".")[1]
        if not number.isdigit() or not name.endswith(".idle"):
            continue
        idle_of = [_amounts(trace, f"cpu.{number}.{kind}") for kind in IDLE_KINDS]
        rest = np.sum([one for one in idle_of if one is not None], axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip(1 - rest / jiffies, 0.0, 1.0)
        busiest = np.fmax(busiest, share)
        found.processor_busy_s[int(number)] = float(np.nansum(share * trace.windows_s))
    found.columns["busiest"] = busiest


def _add_memory(trace: Trace, found: Windows) -> None:
    total, available = (trace.columns.get(name) for name in _MEMORY)
    if total is not None and available is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 1 - available.values[1:] / total.values[1:]
        found.columns["memory"] = np.where(total.present[1:] & available.present[1:], share, np.nan)


def _add_amounts(trace: Trace, found: Windows) -> None:
    interrupts = {}
    for name, column in trace.columns.items():
        if column.counter.kind != "c":
            continue
        increments = trace.increments(name)
        if increments is None:
            continue
        if name.startswith("interrupt."):
            interrupts[name.removeprefix("interrupt.")] = increments.amounts
            continue
        if not name.startswith("cpu."):
            found.columns[name] = increments.amounts
        for happened, words in (
            (increments.went_back, "went back: set anew, or another device of that name"),
            (increments.wrapped, "was full at 32 bits and began at 0"),
        ):
            for place in np.flatnonzero(happened):
                _note(found, int(trace.unix_ns[place + 1]), f"{name} {words}")
    for interface in found.interfaces:
        device = trace.about.get("facts", {}).get(f"interface.{interface}.device")
        pattern = names_of_interface(interface, device)
        own = [amounts for name, amounts in interrupts.items() if pattern.search(name)]
        if own:
            found.columns[f"interrupts:{interface}"] = np.sum(own, axis=0)


def _add_gaps(trace: Trace, found: Windows) -> None:
    for place in np.flatnonzero(trace.windows_s > GAP * trace.interval_s):
        window_s = trace.windows_s[place]
        words = f"a gap of {window_s:.3g} s between two samples, {trace.interval_s:g} s apart"
        _note(found, int(trace.unix_ns[place + 1]), words)


def _note(found: Windows, unix_ns: int, words: str) -> None:
    if len(found.anomalies) < ANOMALIES_KEPT:
        found.anomalies.append(Anomaly(unix_ns, words))
    else:
        found.anomalies_left_out += 1


def _amounts(trace: Trace, name: str) -> Amounts | None:
    increments = trace.increments(name)
    return None if increments is None else increments.amounts


def _speeds(trace: Trace) -> dict[str, float]:
    suffix = ".speed_mbit"
    return {
        name.removeprefix("interface.").removesuffix(suffix): float(value) * 1e6
        for name, value in trace.about.get("facts", {}).items()
        if name.endswith(suffix)
    }


def joined(pieces: Iterable[Windows]) -> Windows:
    """Pieces of one trace that follow each other, as one."""
    parts = list(pieces)
    last = parts[-1]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    whole = Windows(
        last.source,
        last.host,
        last.interval_s,
        np.concatenate([part.end_unix_ns for part in parts]),
        np.concatenate([part.window_s for part in parts]),
        {name: np.concatenate([part.column(name) for part in parts]) for name in names},
        speeds_bit_per_s=last.speeds_bit_per_s,
        missing=last.missing,
        problems=last.problems,
        ending=last.ending,
        missed=sum(part.missed for part in parts),
    )
    for part in parts:
        for cpu, busy_s in part.processor_busy_s.items():
            whole.processor_busy_s[cpu] = whole.processor_busy_s.get(cpu, 0.0) + busy_s
        for anomaly in part.anomalies:
            _note(whole, anomaly.unix_ns, anomaly.words)
        whole.anomalies_left_out += part.anomalies_left_out
    return whole
