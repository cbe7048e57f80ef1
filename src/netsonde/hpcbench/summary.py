"""A summary of sysmon's logs: load and traffic of each host and interface, over all or one day.

The table is that of Hpcbench's appendix B. There the totals are headed GB and are MiB; here they
are called what they are. A node whose log is missing has a row of N/A, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from netsonde.errors import UsageError
from netsonde.hpcbench.monitor_log import LogReader, TrafficSample
from netsonde.hpcbench.table import Cell, table
from netsonde.stats.quantiles import quantile

MIB = 1 << 20
LINE_LIMIT_CHARACTERS = 4096
MEMORY_FULL_PERCENT = 95.0
ABOVE_NORMAL = 3.0  # times the mean rate
BURST = 10.0  # times the median rate
LOPSIDED = 2.0  # one direction over the other
UNITS = "# Kbps: 1000 bit/s, MiB: 2^20 bytes, of frames as each host's interface counts"
HEADING = (
    *("#Node", "Load%", "min", "max"),
    *("RecvMiB", "Kbps", "min", "max", "SentMiB", "Kbps", "min", "max"),
)


@dataclass
class Rates:
    """One direction of an interface: kbit/s of each sample, and all bytes."""

    total_bytes: float = 0.0
    kbit_per_s: list[float] = field(default_factory=list)

    def add(self, moved_bytes: float, window_s: float) -> None:
        self.total_bytes += moved_bytes
        self.kbit_per_s.append(moved_bytes * 8e-3 / window_s)

    def together_with(self, later: Rates) -> Rates:
        return Rates(self.total_bytes + later.total_bytes, self.kbit_per_s + later.kbit_per_s)


@dataclass(frozen=True)
class LoadSample:
    """The load of the processors in a period, and when it ended."""

    ended: datetime
    load_percent: float


@dataclass
class Traffic:
    """All samples of one interface of one host; ``samples`` and both rates go together."""

    host: str
    interface: str
    period_s: float = 0.0
    load_s: float = 0.0  # per cent times seconds
    least_load: float = 100.0
    most_load: float = 0.0
    received: Rates = field(default_factory=Rates)
    sent: Rates = field(default_factory=Rates)
    samples: list[LoadSample] = field(default_factory=list)
    full_memory: list[tuple[str, float]] = field(default_factory=list)  # when, kbit/s

    def is_apart_from(self, other: Traffic) -> bool:
        """Whether none of its samples is of the time of the other's."""
        if not self.samples or not other.samples:
            return True
        ours, theirs = (self.samples[0], self.samples[-1]), (other.samples[0], other.samples[-1])
        return ours[1].ended < theirs[0].ended or theirs[1].ended < ours[0].ended

    def together_with(self, other: Traffic) -> Traffic:
        """Both, the earlier one first."""
        first, last = self, other
        if first.samples and last.samples and last.samples[0].ended < first.samples[0].ended:
            first, last = last, first
        return Traffic(
            first.host,
            first.interface,
            first.period_s + last.period_s,
            first.load_s + last.load_s,
            min(first.least_load, last.least_load),
            max(first.most_load, last.most_load),
            first.received.together_with(last.received),
            first.sent.together_with(last.sent),
            first.samples + last.samples,
            first.full_memory + last.full_memory,
        )

    def add(self, sample: TrafficSample) -> None:
        if sample.window_s <= 0 or sample.received_bytes != sample.received_bytes:
            return  # an interface that was not there
        self.period_s += sample.window_s
        self.load_s += sample.load_percent * sample.window_s
        self.least_load = min(self.least_load, sample.load_percent)
        self.most_load = max(self.most_load, sample.load_percent)
        self.received.add(sample.received_bytes, sample.window_s)
        self.sent.add(sample.sent_bytes, sample.window_s)
        self.samples.append(LoadSample(sample.ended, sample.load_percent))
        if sample.memory_percent > MEMORY_FULL_PERCENT and sample.swapped_pages > 0:
            both = self.received.kbit_per_s[-1] + self.sent.kbit_per_s[-1]
            self.full_memory.append((sample.ended.strftime("%Y-%m-%d %H:%M UTC"), both))


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
    if not one.received.kbit_per_s:
        return [name, *["N/A"] * (len(HEADING) - 1)]
    return [
        name,
        *(f"{v:.1f}" for v in (one.load_s / one.period_s, one.least_load, one.most_load)),
        *_rate_cells(one.received, one.period_s),
        *_rate_cells(one.sent, one.period_s),
    ]


def _rate_cells(rates: Rates, period_s: float) -> list[Cell]:
    mean = rates.total_bytes * 8e-3 / period_s
    return [
        str(int(rates.total_bytes / MIB)),
        *(f"{v:.2f}" for v in (mean, min(rates.kbit_per_s), max(rates.kbit_per_s))),
    ]


def remarks(one: Traffic) -> list[str]:
    """What stands out, as Hpcbench's appendix B reads its tables."""
    if not one.received.kbit_per_s:
        return []
    name = f"{one.host}-{one.interface}"
    found = []
    both = [r + s for r, s in zip(one.received.kbit_per_s, one.sent.kbit_per_s, strict=True)]
    mean = sum(both) / len(both)
    swapping = [when for when, rate in one.full_memory if rate > ABOVE_NORMAL * mean]
    if swapping:
        found.append(
            f"{name}: memory over {MEMORY_FULL_PERCENT:.0f} %, swapping, and more traffic than "
            f"usual in {len(swapping)} samples, first at {swapping[0]}: swapping over the network?"
        )
    median = quantile(both, 0.5)
    bursts = sum(rate > BURST * median for rate in both) if median > 0 else 0
    if bursts:
        found.append(f"{name}: {bursts} bursts of more than {BURST:.0f} times the median rate")
    sent, received = one.sent.total_bytes, one.received.total_bytes
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
