"""What the command sysmon does with its settings: on the screen, in files, in the background."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from netsonde.errors import InterruptedByUserError
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
from netsonde.hpcbench.monitor_options import MonitorSettings
from netsonde.hpcbench.summary import read_log, summary_text
from netsonde.hpcbench.summary_plot import write_plots

Say = Callable[[str], None]


def run_sysmon(settings: MonitorSettings, show: Say, warn: Say) -> None:
    """Watches this host. Raises UsageError, HostError; InterruptedByUserError after Ctrl-C, when
    everything is written. SIGTERM is an ordinary end."""
    if not settings.background:
        caught = _watch(settings, show, warn, lambda _: None)
        if caught == signal.SIGINT:
            raise InterruptedByUserError("interrupted; the samples until then are kept")
        return
    if settings.output is not None:
        settings = replace(settings, output=str(Path(settings.output).absolute()))
    record = PidFile()
    record.hold()

    def body(ready: Say) -> int:
        def begun(name: str) -> None:
            record.write(os.getpid())
            ready(name)

        _watch(settings, _ignore, _ignore, begun)
        return 0

    try:
        pid, name = start_in_background(body)
    finally:
        record.release()
    show(f'sysmon runs in the background (process {pid}), log "{name}"; sysmon -k ends it')


def end_sysmon(show: Say) -> None:
    """Ends the one in the background."""
    show(f"sysmon (process {PidFile().kill()}) has ended; its log is complete")


def summarise(logs: Sequence[str], day: date | None = None, plots: bool = False) -> str:
    """The table of all logs, of one day where given, and what stands out; with plots, files for
    gnuplot beside each log, named in lines that begin with ``#``. Raises UsageError, HostError."""
    found = [(log, read_log(log, day)) for log in logs]
    text = summary_text([one for _, traffic in found for one in traffic])
    for log, traffic in found if plots else ():
        written = write_plots(log, traffic)
        text += f"# {log}: no samples, no plot\n" if written is None else f"# plot: {written}\n"
    return text


def _watch(settings: MonitorSettings, show: Say, warn: Say, begun: Say) -> int | None:
    clock = system_clock()  # before the worker: its threads are to hold the signals back, too
    with Counters() as counters:
        interfaces = watched_interfaces(known_interfaces(counters.read), settings.interface)
        if not settings.writes:
            screen = Screen(interfaces, show)
            return watch(settings, counters.read, counters.devices, [screen], clock)
        name = log_name(settings, counters.host, datetime.now(UTC))
        logs = Logs(settings, name, counters.host, interfaces)
        if logs.moved is not None:
            warn(f"{name} was there; the earlier files are now {logs.moved}*")
        begun(name)
        caught = watch(settings, counters.read, counters.devices, [logs], clock)
        show(f'Log: "{name}"')
        return caught


def _ignore(_: str) -> None:
    """In the background nobody listens."""
