"""What the command sysmon does with its settings: on the screen, in files, in the background."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
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
