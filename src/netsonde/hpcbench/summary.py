"""A summary of sysmon's logs: load and traffic of each host and interface, over all or one day.

The table is that of Hpcbench's appendix B. There the totals are headed GB and are MiB; here they
are called what they are. A node whose log is missing has a row of N/A, as there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from netsonde.errors import UsageError
from netsonde.hpcbench.monitor_log import MEMORY_FULL_PERCENT, LogReader, TrafficSample, Way
from netsonde.hpcbench.table import Cell, table
from netsonde.stats.quantiles import quantile

MIB = 1 << 20
LINE_LIMIT_CHARACTERS = 4096
ABOVE_NORMAL = 3.0  # times the mean rate
BURST = 10.0  # times the median rate
LOPSIDED = 2.0  # one direction over the other
UNITS = "# Kbps: 1000 bit/s, MiB: 2^20 bytes, of frames as each host's interface counts"
HEADING = (
    *("#Node", "Load%", "min", "max"),
    *("RecvMiB", "Kbps", "min", "max", "SentMiB", "Kbps", "min", "max"),
)


@dataclass
class Traffic:
    """All samples of one interface of one host, in the order of their times."""

    host: str
    interface: str
    samples: list[TrafficSample] = field(default_factory=list)

    @property
    def period_s(self) -> float:
        return sum(sample.window_s for sample in self.samples)

    def is_apart_from(self, other: Traffic) -> bool:
        """Whether none of its samples is of the time of the other's."""
        if not self.samples or not other.samples:
            return True
        return (
            self.samples[-1].ended < other.samples[0].ended
            or other.samples[-1].ended < self.samples[0].ended
        )

    def together_with(self, other: Traffic) -> Traffic:
        """Both, the earlier one first."""
        both = sorted(self.samples + other.samples, key=lambda sample: sample.ended)
        return Traffic(self.host, self.interface, both)

    def add(self, sample: TrafficSample) -> None:
        if sample.window_s > 0 and not math.isnan(sample.received_bytes):
            self.samples.append(sample)  # else an interface that was not there


def read_traffic(
    name: str, lines: Iterable[str], day: date | None = None, zone: tzinfo | None = UTC
) -> list[Traffic]:
    """The interfaces of one overall log, the loopback left out; of one day where given, in that
    time zone (None: that of this host). A last line that was cut off is left out.

    Raises UsageError where it is no such log.
    """
    reader = LogReader(name)
    found: dict[str, Traffic] = {}
    for text in lines:
        if len(text) > LINE_LIMIT_CHARACTERS:
            raise UsageError(f"{name} is no log of sysmon: it has a line that is too long")
        if not text.endswith("\n"):
            break  # the host went down while it was written
        read = reader.add(text)
        if read is None or read[0] == "lo":
            continue
        interface, sample = read
        if day is None or sample.ended.astimezone(zone).date() == day:
            traffic = found.setdefault(interface, Traffic(reader.host or name, interface))
            traffic.add(sample)
    if reader.host is None:
        raise UsageError(f"{name} is no overall log of sysmon")
    return list(found.values()) or [Traffic(reader.host, "")]


def read_log(name: str, day: date | None = None, zone: tzinfo | None = UTC) -> list[Traffic]:
    """What read_traffic() finds in a file. Raises UsageError where it cannot be read, too."""
    try:
        with Path(name).open(errors="replace") as file:
            return read_traffic(name, file, day, zone)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error


def unread(name: str) -> Traffic:
    """What stands for a log that cannot be read: a node without samples, by the log's name."""
    return Traffic(Path(name).name.removesuffix(".log") or name, "")


def merged(traffic: Iterable[Traffic]) -> list[Traffic]:
    """One for each host and interface, in the order of their first appearance: a monitor that was
    started again left several logs.

    Logs of the same time are not added up: of those the later named one stays apart.
    """
    found: dict[tuple[str, str], list[Traffic]] = {}
    for one in traffic:
        known = found.setdefault((one.host, one.interface), [])
        beside = next((other for other in known if other.is_apart_from(one)), None)
        if beside is None:
            known.append(one)
        else:
            known[known.index(beside)] = beside.together_with(one)
    hosts = {host for (host, interface) in found if interface}
    return [
        one
        for (host, interface), known in found.items()
        for one in known
        if interface or host not in hosts
    ]


def summary_text(traffic: Sequence[Traffic]) -> str:
    """Totals in MiB, rates in kbit/s (1000 bit/s); N/A where nothing was sampled."""
    text = table(HEADING, [cells_of(one) for one in traffic])
    text += f"{UNITS}\n"
    notes = [note for one in traffic for note in remarks(one)]
    return text + "".join(f"# {note}\n" for note in notes)


def cells_of(one: Traffic) -> list[Cell]:
    name = f"{one.host}-{one.interface}" if one.interface else one.host
    if not one.samples:
        return [name, *["N/A"] * (len(HEADING) - 1)]
    loads = [sample.load_percent for sample in one.samples]
    mean_load = sum(s.load_percent * s.window_s for s in one.samples) / one.period_s
    return [
        name,
        *(f"{v:.1f}" for v in (mean_load, min(loads), max(loads))),
        *_rate_cells(one, "received"),
        *_rate_cells(one, "sent"),
    ]


def _rate_cells(one: Traffic, way: Way) -> list[Cell]:
    total_bytes = _total_bytes(one, way)
    rates = [sample.kbit_per_s(way) for sample in one.samples]
    mean = total_bytes * 8e-3 / one.period_s
    return [
        str(int(total_bytes / MIB)),
        *(f"{v:.2f}" for v in (mean, min(rates), max(rates))),
    ]


def _total_bytes(one: Traffic, way: Way) -> float:
    return sum(sample.moved_bytes(way) for sample in one.samples)


def remarks(one: Traffic) -> list[str]:
    """What stands out, as Hpcbench's appendix B reads its tables."""
    if not one.samples:
        return []
    name = f"{one.host}-{one.interface}"
    found = []
    both = [sample.kbit_per_s("received") + sample.kbit_per_s("sent") for sample in one.samples]
    mean = sum(both) / len(both)
    swapping = [
        sample.ended.strftime("%Y-%m-%d %H:%M UTC")
        for sample, rate in zip(one.samples, both, strict=True)
        if sample.swaps_with_full_memory and rate > ABOVE_NORMAL * mean
    ]
    if swapping:
        found.append(
            f"{name}: memory over {MEMORY_FULL_PERCENT:.0f} %, swapping, and more traffic than "
            f"usual in {len(swapping)} samples, first at {swapping[0]}: swapping over the network?"
        )
    median = quantile(both, 0.5)
    bursts = sum(rate > BURST * median for rate in both) if median > 0 else 0
    if bursts:
        found.append(f"{name}: {bursts} bursts of more than {BURST:.0f} times the median rate")
    sent, received = _total_bytes(one, "sent"), _total_bytes(one, "received")
    if sent > LOPSIDED * received:
        found.append(f"{name}: sends {_times(sent, received)} what it receives, as a master does")
    elif received > LOPSIDED * sent:
        found.append(f"{name}: receives {_times(received, sent)} what it sends, as a slave does")
    return found


def _times(more: float, less: float) -> str:
    return f"{more / less:.1f} times" if less > 0 else "many times"


def parse_zone(text: str) -> tzinfo | None:
    """``utc``, ``local`` (None: that of this host), or a name such as ``Europe/Berlin``. Raises
    UsageError."""
    if text.lower() in ("utc", "local"):
        return UTC if text.lower() == "utc" else None
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"--zone {text!r} is no time zone of this host; write utc, local, or a name such as "
            "Europe/Berlin"
        ) from error


def parse_day(text: str) -> date:
    """``2026-07-30``. Raises UsageError."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--day {text!r} is not a day; write it like 2026-07-30") from error
