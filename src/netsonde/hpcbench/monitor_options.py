"""What sysmon was asked for: defaults filled in, impossible requests refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netsonde.catalogue.given import flags_in, given_by, rows_of, typed
from netsonde.catalogue.option import Count
from netsonde.errors import UsageError
from netsonde.hpcbench.amounts import parse_time

SAMPLES = 10
INTERVAL_S = 2.0
LEAST_INTERVAL_S = 0.1
MOST_INTERVAL_S = 86400.0
MOST_MINUTES = 10 * 366 * 24 * 60.0
MOST_SAMPLES = 1 << 31
_letter = partial(typed, of=("sysmon",))


@dataclass(frozen=True)
class GivenMonitor:
    """The options as they were written."""

    background: bool = given_by(_letter("-b", "Go to the background; with -w, -W or -o."))
    kill: bool = given_by(_letter("-k", "End the one in the background."))
    write: bool = given_by(_letter("-w", "Write a log, HOST-STARTTIME.log, not to the screen."))
    write_each: bool = given_by(_letter("-W", "Besides, a log for each interface: LOG.INTERFACE."))
    output: str | None = given_by(_letter("-o", "The log's name; implies -w.", "FILE"))
    interface: str | None = given_by(_letter("-i", "Watch one interface, not all.", "NAME"))
    samples: int | None = given_by(
        _letter("-r", "Samples; 10 by default.", "N", Count(1, MOST_SAMPLES))
    )
    interval: str | None = given_by(_letter("-t", "Time between samples; 2 by default.", "SECONDS"))
    minutes: str | None = given_by(
        _letter("-T", "How long to watch; with -w, -W or -o.", "MINUTES")
    )


@dataclass(frozen=True)
class GivenSummary:
    """The options that make a summary of logs."""

    summary: Sequence[str] | None = given_by(
        _letter("--summary", "Summarise a log; give it for each host.", "LOG", repeated=True)
    )
    day: str | None = given_by(_letter("--day", "With --summary: this day only.", "DATE"))
    zone: str | None = given_by(
        _letter(
            "--zone",
            "With --summary: the time zone of days and plots: utc (usual), local, or a name.",
            "ZONE",
        )
    )
    plot: bool = given_by(
        _letter("--plot", "With --summary: write LOG.plot for gnuplot beside each log.")
    )


LETTERS = rows_of(GivenMonitor)
SUMMARY_LETTERS = rows_of(GivenSummary)


@dataclass(frozen=True)
class MonitorSettings:
    """One call of sysmon. output None: HOST-STARTTIME.log."""

    writes: bool
    writes_each: bool
    background: bool
    output: str | None
    interface: str | None
    samples: int
    interval_s: float


def monitor_settings_of(given: GivenMonitor) -> MonitorSettings:
    """Raises UsageError, naming the options, where they do not go together."""
    writes = given.write or given.write_each or given.output is not None
    for option, wanted in (("-b", given.background), ("-T", given.minutes is not None)):
        if wanted and not writes:
            raise UsageError(f"{option} needs a file to write to: add -w, -W or -o FILE")
    if given.minutes is not None and given.samples is not None:
        raise UsageError("-T and -r do not go together: each says how long sysmon watches")
    interval_s = (
        INTERVAL_S
        if given.interval is None
        else parse_time(given.interval, "-t", LEAST_INTERVAL_S, MOST_INTERVAL_S)
    )
    samples = given.samples or SAMPLES
    if given.minutes is not None:
        minutes = parse_time(given.minutes, "-T", 0.001, MOST_MINUTES, "minutes")
        samples = math.ceil(round(60 * minutes / interval_s, 6))
        if 60 * minutes < interval_s:
            raise UsageError(
                f"-T {given.minutes} and -t {interval_s:g} do not go together: "
                f"{given.minutes} minutes are shorter than one interval"
            )
    return MonitorSettings(
        writes=writes,
        writes_each=given.write_each,
        background=given.background,
        output=given.output,
        interface=given.interface,
        samples=samples,
        interval_s=interval_s,
    )


def refuse_beside_kill(given: GivenMonitor) -> None:
    """-k ends a sysmon and starts none. Raises UsageError."""
    for option in flags_in(given):
        if option != "-k":
            raise UsageError(f"-k and {option} do not go together: -k ends the running sysmon")
