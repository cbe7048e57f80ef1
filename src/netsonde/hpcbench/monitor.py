"""sysmon: samples of this host's counters at times that do not drift, in constant memory."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, Self

from netsonde.errors import HostError, UsageError
from netsonde.hpcbench.files import check_place, move_earlier
from netsonde.hpcbench.monitor_log import (
    SCREEN_UNITS,
    Sample,
    each_heading,
    each_line,
    ending_line,
    log_heading,
    log_lines,
    screen_heading,
    screen_lines,
)
from netsonde.hpcbench.monitor_options import MonitorSettings
from netsonde.hpcbench.system import devices_of, interface_names, system_row
from netsonde.hpcbench.whole_file import WholeFile
from netsonde.launch.local import LocalHost
from netsonde.launch.worker import Worker, start_worker
from netsonde.records.data import Snapshot

ANSWER_S = 30.0
HEADING_EVERY = 20
LEAST_LAST_S = 0.05
"""A last period that is shorter than this is left out when sysmon is ended."""
MOST_INTERFACES = 1000
"""No more are followed: containers make new ones for ever."""
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Sink(Protocol):
    """Where samples go."""

    def add(self, sample: Sample) -> None: ...

    def end(self, samples: int, reason: str) -> None: ...


class Counters:
    """The counters of this host, by a worker of its own. A context manager."""

    def __init__(self) -> None:
        self._worker: Worker = start_worker(LocalHost())
        self.host = str(self._worker.hello["host"])
        self.devices: dict[str, str] = {}
        for record in self._worker.request("facts", ANSWER_S):
            if record["record"] == "facts":
                self.devices = devices_of(record["values"])

    def read(self) -> Snapshot:
        """Raises HostError where the worker is gone."""
        for record in self._worker.request("snapshot", ANSWER_S):
            if record["record"] == "snapshot":
                return Snapshot(
                    record["phase"], record["time_ns"], record["cost_ns"], record["values"]
                )
        raise HostError("the worker wrote no counters")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()


def watched_interfaces(known: Sequence[str], wanted: str | None) -> list[str]:
    """All that are known, or the one that was asked for. Raises UsageError with what there is."""
    if wanted is None:
        return list(known)
    if wanted not in known:
        raise UsageError(f"-i {wanted!r} is no interface of this host; it has {', '.join(known)}")
    return [wanted]


@dataclass(frozen=True)
class Clock:
    """Time as the monitor sees it. wait: sleeps so many seconds; the signal that ended it, or
    None."""

    now_s: Callable[[], float]
    wait: Callable[[float], int | None]


@contextlib.contextmanager
def system_clock() -> Iterator[Clock]:
    """While it is open the ending signals are noted, and looked at between two samples only: no
    line is torn.

    They are not held back instead: a thread of a library may let through what this one holds, and
    the kernel gives it to that one.
    """
    noted, noting = socket.socketpair()
    with noted, noting, contextlib.ExitStack() as before:
        noting.setblocking(False)
        before.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(noting.fileno()))
        for number in ENDING_SIGNALS:
            before.callback(signal.signal, number, signal.signal(number, _go_on))

        def wait(seconds: float) -> int | None:
            ready, _, _ = select.select([noted], [], [], max(0.0, seconds))
            return noted.recv(1)[0] if ready else None

        yield Clock(time.monotonic, wait)


def _go_on(*_: object) -> None:
    """Of a signal whose number is read where there is time for it."""


def watch(
    settings: MonitorSettings,
    read: Callable[[], Snapshot],
    devices: dict[str, str],
    sinks: Sequence[Sink],
    clock: Clock,
) -> int | None:
    """Takes the samples; returns the signal that ended it before, or None.

    Sample k is due k intervals after the start, however late those before it were. One that is
    more than an interval late is left out, with its number.
    """
    samples = 0
    reason = "a failure"
    try:
        before = read()
        start_s = clock.now_s()
        number = 0
        while number < settings.samples:
            number = max(number + 1, int((clock.now_s() - start_s) / settings.interval_s))
            number = min(number, settings.samples)
            caught = clock.wait(start_s + number * settings.interval_s - clock.now_s())
            after = read()
            row = system_row(before, after, devices)
            if caught is None or row.window_s >= LEAST_LAST_S:
                sample = Sample(number, datetime.now(UTC), row)
                for sink in sinks:
                    sink.add(sample)
                samples += 1
            if caught is not None:
                reason = signal.Signals(caught).name
                return caught
            before = after
        reason = "as long as asked"
        return None
    except HostError as error:
        reason = str(error)
        raise
    finally:
        for sink in sinks:
            sink.end(samples, reason)


class Screen:
    """Rates, a line for each interface; with None, of all that there are in each sample."""

    def __init__(self, interface: str | None, show: Callable[[str], None]) -> None:
        self._interface = interface
        self._show = show
        self._shown = 0

    def add(self, sample: Sample) -> None:
        if self._shown == 0:
            self._show(SCREEN_UNITS)
        if self._shown % HEADING_EVERY == 0:
            self._show(screen_heading().rstrip("\n"))
        self._shown += 1
        interfaces = list(sample.row.interfaces) if self._interface is None else [self._interface]
        self._show(screen_lines(sample, interfaces).rstrip("\n"))

    def end(self, samples: int, reason: str) -> None:
        pass


class Logs:
    """The overall log, and one for each interface where asked; every line is written at once.

    A disk that is full ends nothing: what does not fit is counted, said by ``warn`` when it begins,
    and noted in the log where it goes on.
    """

    def __init__(
        self,
        settings: MonitorSettings,
        name: str,
        host: str,
        interfaces: Sequence[str],
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._host = host
        self._warn = warn
        self._interfaces: list[str] = []
        self._each: dict[str, WholeFile] = {}
        suffixes = ["", *(f".{i}" for i in interfaces if settings.writes_each)]
        check_place(name, suffixes)
        self.moved = move_earlier(name, suffixes)
        begun = datetime.now(UTC)
        self._log = _begin(name, log_heading(host, begun, settings.interval_s, interfaces))
        try:
            self._follow(interfaces)
        except BaseException:
            self._close()
            raise

    @property
    def missed(self) -> str | None:
        """What was sampled and is in no file, as a sentence; None where nothing is missing."""
        files = (self._log, *self._each.values())
        return "; ".join(text for text in map(_missing_in, files) if text is not None) or None

    def add(self, sample: Sample) -> None:
        came = self._came(sample)
        self._write(self._log, came + log_lines(sample, self._interfaces))
        for interface, file in self._each.items():
            self._write(file, each_line(sample, interface))

    def end(self, samples: int, reason: str) -> None:
        for file in (self._log, *self._each.values()):
            file.end(ending_line(datetime.now(UTC), samples, reason))

    def _came(self, sample: Sample) -> str:
        """Follows interfaces that were not there before, unless one was asked for by name."""
        known = self._interfaces
        if self._settings.interface is not None:
            return ""
        new = [name for name in sample.row.interfaces if name not in known][
            : MOST_INTERFACES - len(known)
        ]
        try:
            self._follow(new)
        except (HostError, UsageError) as error:
            self._warn(str(error))
        return "".join(f"# interface {name} came\n" for name in new)

    def _follow(self, interfaces: Sequence[str]) -> None:
        self._interfaces += interfaces
        for interface in interfaces if self._settings.writes_each else ():
            name = f"{self.name}.{interface}"
            check_place(name, [""])
            move_earlier(name, [""])
            self._each[interface] = _begin(
                name, each_heading(self._host, datetime.now(UTC), interface)
            )

    def _write(self, file: WholeFile, text: str) -> None:
        if not file.write(text) and file.missing == 1:
            self._warn(f"cannot write {file.name}: {file.reason}; sysmon tries again")

    def _close(self) -> None:
        for file in (self._log, *self._each.values()):
            file.close()


def _missing_in(file: WholeFile) -> str | None:
    if file.missed:
        return f"{file.missed} samples are not in {file.name}: {file.reason}"
    return None if file.whole else f"the last line of {file.name} is missing: {file.reason}"


def _begin(name: str, heading: str) -> WholeFile:
    file = WholeFile(name)
    if not file.write(heading):
        file.discard()
        raise HostError(f"cannot write {name}: {file.reason}")
    return file


def log_name(settings: MonitorSettings, host: str, begun: datetime) -> str:
    """The name that was given, or HOST-STARTTIME.log."""
    return settings.output or f"{host}-{begun.astimezone().strftime('%Y%m%d-%H%M%S')}.log"


def known_interfaces(read: Callable[[], Snapshot]) -> list[str]:
    return interface_names(read().values)
