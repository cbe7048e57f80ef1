"""What the command sysmon does with its settings: on the screen, in files, in the background."""

from __future__ import annotations

import os
import signal
import syslog
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from pathlib import Path

from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.hpcbench.daemon import PidFile, start_in_background
from netsonde.hpcbench.monitor import (
    Counters,
    Logs,
    Screen,
    known_interfaces,
    log_name,
    system_clock,
    watch,
    watched_interfaces,
)
from netsonde.hpcbench.monitor_log import TIME_FORMAT
from netsonde.hpcbench.monitor_options import MonitorSettings
from netsonde.hpcbench.summary import Traffic, merged, read_log, summary_text, unread
from netsonde.hpcbench.summary_plot import write_plots

Say = Callable[[str], None]
COMPLETE = "its log is complete"


def run_sysmon(settings: MonitorSettings, show: Say, warn: Say) -> None:
    """Watches this host. Raises UsageError, HostError; InterruptedByUserError after Ctrl-C, when
    everything is written. SIGTERM is an ordinary end."""
    if not settings.background:
        caught, missed = _watch(settings, show, warn, lambda _: None)
        if missed is not None:
            raise HostError(missed)
        if caught == signal.SIGINT:
            kept = "; the samples until then are kept" if settings.writes else ""
            raise InterruptedByUserError(f"interrupted{kept}")
        return
    if settings.output is not None:
        settings = replace(settings, output=str(Path(settings.output).absolute()))
    record = PidFile()
    record.hold()

    def body(ready: Say) -> int:
        def begun(name: str) -> None:
            record.write(os.getpid())
            record.say(f"it writes {name}")
            ready(name)

        def trouble(sentence: str) -> None:
            """To the record, which sysmon -k reads, and the system's log: there is no terminal."""
            record.say(sentence)
            syslog.syslog(syslog.LOG_WARNING, f"netsonde sysmon: {sentence}")

        try:
            caught, missed = _watch(settings, _ignore, trouble, begun)
        except Exception as error:
            trouble(f"it ended {_now()}: {error}")
            raise
        if missed is not None:
            trouble(f"{missed}; it ended {_now()}")
        else:
            why = "as long as asked" if caught is None else signal.Signals(caught).name
            record.say(f"it ended {_now()} ({why}), {COMPLETE}")
        return 0 if missed is None else HostError.exit_code

    try:
        pid, name = start_in_background(body)
    finally:
        record.release()
    show(f'sysmon runs in the background (process {pid}), log "{name}"; sysmon -k ends it')


def end_sysmon(show: Say) -> None:
    """Ends the one in the background. Raises HostError where samples of it are missing."""
    pid, said = PidFile().kill()
    if not said.endswith(COMPLETE):
        raise HostError(f"sysmon (process {pid}) has ended; it said: {said}")
    show(f"sysmon (process {pid}) has ended; {COMPLETE}")


def summarise(
    logs: Sequence[str],
    day: date | None = None,
    plots: bool = False,
    zone: tzinfo | None = UTC,
    warn: Say = lambda _: None,
) -> str:
    """The table of all logs, of one day where given, and what stands out; with plots, files for
    gnuplot beside each log, named in lines that begin with ``#``.

    A log that cannot be read has a row of N/A and is named to warn. Raises UsageError where none
    can be read, HostError.
    """
    found: list[tuple[str, list[Traffic]]] = []
    unreadable: list[str] = []
    for log in logs:
        try:
            found.append((log, read_log(log, day, zone)))
        except UsageError as error:
            unreadable.append(str(error))
            found.append((log, [unread(log)]))
    if len(unreadable) == len(logs):
        raise UsageError("; ".join(unreadable))
    for sentence in unreadable:
        warn(f"{sentence}; its row has N/A")
    text = summary_text(merged(one for _, traffic in found for one in traffic))
    for log, traffic in found if plots else ():
        written = write_plots(log, traffic, zone)
        text += f"# {log}: no samples, no plot\n" if written is None else f"# plot: {written}\n"
    return text


def _watch(
    settings: MonitorSettings, show: Say, warn: Say, begun: Say
) -> tuple[int | None, str | None]:
    """The signal that ended it before, and what is missing in the files, if anything is."""
    with system_clock() as clock, Counters() as counters:
        interfaces = watched_interfaces(known_interfaces(counters.read), settings.interface)
        if not settings.writes:
            screen = Screen(settings.interface, show)
            return watch(settings, counters.read, counters.devices, [screen], clock), None
        name = log_name(settings, counters.host, datetime.now(UTC))
        logs = Logs(settings, name, counters.host, interfaces, warn)
        if logs.moved is not None:
            warn(f"{name} was there; the earlier files are now {logs.moved}*")
        begun(name)
        caught = watch(settings, counters.read, counters.devices, [logs], clock)
        show(f'Log: "{name}"')
        return caught, logs.missed


def _now() -> str:
    return datetime.now(UTC).strftime(TIME_FORMAT)


def _ignore(_: str) -> None:
    """In the background nobody listens."""
