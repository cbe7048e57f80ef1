"""A test from its settings to its files: what udptest and tcptest do."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from netsonde.catalogue.launcher import HERE
from netsonde.errors import HostError, InterruptedByUserError, UsageError
from netsonde.hpcbench.ends import Session, open_session
from netsonde.hpcbench.files import OutputFiles
from netsonde.hpcbench.iterations import LEAST_ITERATIONS, estimate_iterations
from netsonde.hpcbench.options import MOST_ITERATIONS, Settings
from netsonde.hpcbench.plot import plot_text
from netsonde.hpcbench.requests import changed_buffers, run_fields
from netsonde.hpcbench.result_file import (
    Setting,
    asked_lines,
    describe,
    heading,
    obtained_lines,
    row,
)
from netsonde.hpcbench.results import Repetition, columns_of, lasted_s, screen_line
from netsonde.hpcbench.spread import spread_lines, spreads_of
from netsonde.hpcbench.syslog import LogHead, busy_words, system_log
from netsonde.hpcbench.trace import Trace
from netsonde.hpcbench.twins import Outcome, csv_text, json_text
from netsonde.launch.copies import refuse_copies
from netsonde.launch.worker import WorkerError
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

PATIENCE_S = 10.0
"""How much longer than expected a run may last before it counts as hung."""
SLOWEST_BIT_PER_S = 1e6
SLOWEST_MESSAGE_S = 0.2  # the time for which the worker waits for the answer to a datagram
MOST_PATIENCE_S = 80_000.0
AMOUNT_OVERRUN = 1.05
OVERRUN = 1.5
"""A repetition that lasts so much longer than asked is named."""

SCREEN_COLUMNS = 79

Say = Callable[[str], None]


def run_client(settings: Settings, command: str, show: Say, warn: Say) -> None:
    """Measures, showing a line for each repetition; warn gets what the user should know.

    command: what was typed, for the result file. Raises UsageError, HostError. What was measured
    until then is in the files.
    """
    refuse_copies()
    for notice in settings.notices:
        warn(notice)
    if settings.file is not None:
        _check_file(settings)
    with contextlib.ExitStack() as stack:
        files = None
        if settings.output is not None:
            files = stack.enter_context(OutputFiles(settings.output))
        session = stack.enter_context(open_session(settings))
        if settings.carrier.has_ranks:
            _warn_of_one_host(session, warn)
        _Client(settings, session, files, show, warn).run(command)


def _warn_of_one_host(session: Session, warn: Say) -> None:
    """Two ranks of one host pass messages within it, at rates that no network has; so they do where
    no host is named."""
    if len(set(session.host_names)) == 1:
        name = session.host_names[0]
        place = "this host" if name == HERE.word else name
        warn(
            f"both ranks are on {place}: what is measured is inside of one host, not the network; "
            "name two hosts with --hosts"
        )


def _check_file(settings: Settings) -> None:
    path = Path(settings.file or "")
    try:
        size_bytes = path.stat().st_size if path.is_file() else -1
    except OSError:
        size_bytes = -1
    if size_bytes < max(settings.sizes):
        raise UsageError(
            f"-f {path} is not a file of at least {max(settings.sizes)} bytes, "
            "the size of a message"
        )


@dataclass
class _Extent:
    """How much a run moves: a number of messages, or as many as a time has and no fewer than least.
    expected_s is how long that takes at most."""

    count: int | None
    expected_s: float
    time_s: float = 0.0
    least: int = 0

    def fields(self) -> dict[str, Any]:
        if self.count is not None:
            return {"count": self.count}
        fields = {"duration_ns": round(self.time_s * 1e9)}
        return {**fields, "least_count": self.least} if self.least else fields


class _Client:
    """One call of a client over an open session."""

    def __init__(
        self, settings: Settings, session: Session, files: OutputFiles | None, show: Say, warn: Say
    ) -> None:
        self._settings = settings
        self._session = session
        self._files = files
        self._show = show
        self._warn = warn
        self._columns = columns_of(settings)
        self._trace: Trace | None = None
        self._complete = False
        self._amount_named = False
        self._seed = 0
        self._repeated: list[Repetition] = []
        self._cut_short: list[str] = []

    def run(self, command: str) -> None:
        facts = self._session.facts()
        names = [str(facts[name].get("host.name", name)) for name in self._session.host_names]
        hosts = (names[0], names[1] if len(names) > 1 else self._settings.host)
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._announce(hosts)
        for sentence in changed_buffers(self._settings, self._session.opened):
            self._warn(sentence)
        setting = Setting(started, command, hosts, self._session.opened)
        self._begin_files(setting)
        try:
            if self._settings.log_system:
                self._trace = Trace(self._session)
                self._trace.watch_idle()
            for repetition in self._repetitions():
                self._keep(repetition)
            if self._trace is not None:
                self._trace.watch_idle()
            self._complete = True
        except InterruptedByUserError as interrupted:
            raise self._interruption(interrupted) from interrupted
        finally:
            self._write_logs(hosts, started)
            self._write_twins(setting)
        self._show_spread()
        self._show("Test done.")
        self._name_files()

    def _announce(self, hosts: tuple[str, str]) -> None:
        settings = self._settings
        other = "target" if settings.mode == "generator" else "server"
        self._show(f"{hosts[0]} (client) to {hosts[1]} ({other})")
        self._show(describe(settings))
        if settings.verbose:
            for text in (*asked_lines(settings), *obtained_lines(self._session.opened)):
                self._show(
                    textwrap.fill(text, SCREEN_COLUMNS, initial_indent=" ", subsequent_indent="   ")
                )

    def _begin_files(self, setting: Setting) -> None:
        if self._files is None:
            return
        moved = self._files.begin()
        if moved is not None:
            self._warn(f"{self._files.output} was there; the earlier files are now {moved}*")
        self._files.append(heading(self._settings, setting, self._columns))
        for sentence in changed_buffers(self._settings, setting.opened):
            self._files.append(f"# {sentence}\n")
        if self._settings.plot:
            text = plot_text(self._settings, self._columns, self._files.output)
            self._files.write(".plot", text)

    def _repetitions(self) -> Iterator[Repetition]:
        number = 0
        for size_bytes in self._settings.sizes:
            extent = self._extent(size_bytes)
            for _ in range(self._settings.repetitions):
                number += 1
                try:
                    repetition = Repetition(number, size_bytes, self._run(size_bytes, extent))
                except InterruptedByUserError as interrupted:
                    self._keep_cut_short(number, size_bytes, interrupted)
                    raise
                self._note_overrun(extent, repetition)
                if self._settings.verbose:
                    self._show(f" lasted {lasted_s(self._settings, repetition):.3f} s")
                yield repetition

    def _extent(self, size_bytes: int) -> _Extent:
        """How much each repetition of this size moves."""
        settings = self._settings
        if settings.carrier.counts_datagrams and settings.mode != "round_trip":
            return self._amount_and_time(size_bytes)
        if settings.iterations is not None:
            return _Extent(settings.iterations, _slowest_s(settings.iterations, size_bytes))
        count = estimate_iterations(lambda n: self._trial_s(size_bytes, n), settings.test_s)
        if settings.verbose:
            self._show(f" {count} iterations of {size_bytes} bytes")
        if count == MOST_ITERATIONS:
            self._warn(
                f"{size_bytes} bytes: a repetition has at most {count} iterations, so it is "
                f"shorter than {settings.test_s:g} s"
            )
        return _Extent(count, settings.test_s)

    def _trial_s(self, size_bytes: int, count: int) -> float:
        batch = self._run(size_bytes, _Extent(count, _slowest_s(count, size_bytes)))
        return lasted_s(self._settings, Repetition(0, size_bytes, batch))

    def _amount_and_time(self, size_bytes: int) -> _Extent:
        """A stream of datagrams goes on until both the time and the amount are reached."""
        settings = self._settings
        if settings.mode == "generator":
            return _Extent(None, settings.test_s, settings.test_s)
        slowest_bit_per_s = settings.rate_bit_per_s or SLOWEST_BIT_PER_S
        amount_s = 8 * settings.amount_bytes / slowest_bit_per_s
        expected_s = max(settings.test_s, min(amount_s, MOST_PATIENCE_S / 4))
        least = math.ceil(settings.amount_bytes / size_bytes)
        return _Extent(None, expected_s, settings.test_s, least)

    def _note_overrun(self, extent: _Extent, repetition: Repetition) -> None:
        settings = self._settings
        if (
            extent.least
            and not self._amount_named
            and (lasted_s(settings, repetition) > AMOUNT_OVERRUN * settings.test_s)
        ):
            self._amount_named = True
            self._warn(
                f"{settings.amount_bytes} bytes take longer than {settings.test_s:g} s; "
                "a repetition goes on until all are sent"
            )
        fewest = extent.count == LEAST_ITERATIONS and settings.iterations is None
        if fewest and lasted_s(settings, repetition) > OVERRUN * settings.test_s:
            self._warn(
                f"repetition {repetition.number} lasted "
                f"{lasted_s(settings, repetition):.1f} s and not {settings.test_s:g} s: "
                f"{LEAST_ITERATIONS} iterations are the fewest"
            )

    def _run(self, size_bytes: int, extent: _Extent) -> Batch:
        self._seed += 1
        patience_s = min(4 * extent.expected_s + PATIENCE_S, MOST_PATIENCE_S)
        if self._settings.carrier.counts_datagrams and extent.count is not None:
            patience_s += min(extent.count * SLOWEST_MESSAGE_S, MOST_PATIENCE_S / 100)
        request = {
            **run_fields(self._settings, size_bytes),
            **extent.fields(),
            "seed": self._seed,
            "timeout_ns": round(patience_s * 1e9),
        }
        try:
            records = self._session.run(request, patience_s)
        except WorkerError as error:
            raise self._explained(error, patience_s) from error
        batch = decode_batch(self._seed, records)
        trips = batch.ends[0].series.get("round_trip_ns")
        if trips is not None and not len(trips):
            raise HostError(
                f"none of {extent.count} messages was answered; is a firewall in between?"
            )
        return batch

    def _explained(self, error: WorkerError, patience_s: float) -> HostError:
        """In the user's words where nothing came for too long, else as it is."""
        if error.code not in ("timeout", "silent"):
            return error
        return HostError(
            f"{error.host}: no repetition came to its end in {patience_s:.0f} s; does the way "
            f"to {self._settings.host} still carry traffic, and does its netsonde still run? "
            f"{self._kept()}"
        )

    def _keep(self, repetition: Repetition) -> None:
        if self._trace is not None:
            self._trace.add(repetition.batch)
        # The screen first: a full disk is no reason to lose what was measured.
        self._show(screen_line(self._settings, repetition))
        self._repeated.append(repetition)
        if self._files is not None:
            self._files.append(row(self._columns, repetition))

    def _keep_cut_short(
        self, number: int, size_bytes: int, interrupted: InterruptedByUserError
    ) -> None:
        """What a repetition had done when it was interrupted, where it says so."""
        if not interrupted.records:
            return
        batch = decode_batch(self._seed, interrupted.records)
        repetition = Repetition(number, size_bytes, batch)
        if repetition.client.counters.get("messages_sent", 0) > 0:
            self._keep(repetition)
            self._remark(
                f"repetition {number} was cut short after "
                f"{lasted_s(self._settings, repetition):.1f} s"
            )

    def _interruption(self, interrupted: InterruptedByUserError) -> InterruptedByUserError:
        """The same, with what is kept in its sentence."""
        told = InterruptedByUserError("; ".join(["interrupted", *self._cut_short, self._kept()]))
        told.signal = interrupted.signal
        return told

    def _kept(self) -> str:
        """Where what was measured until now is."""
        number = len(self._repeated)
        if number == 0:
            return "nothing was measured by then"
        what = "repetition is" if number == 1 else "repetitions are"
        where = f"in {self._files.output}" if self._files else "shown above, and in no file"
        return f"{number} {what} {where}"

    def _remark(self, sentence: str) -> None:
        """For the result file; it is said on the screen at the end."""
        self._cut_short.append(sentence)
        if self._files is not None:
            self._files.append(f"# {sentence}\n")

    def _show_spread(self) -> None:
        spreads = spreads_of(self._settings, self._columns, self._repeated)
        for text in spread_lines(spreads):
            self._show(f" {text}")
            if self._files is not None:
                self._files.append(f"# {text}\n")

    def _write_twins(self, setting: Setting) -> None:
        settings, files = self._settings, self._files
        if files is None or not (settings.json or settings.csv):
            return
        outcome = Outcome(
            settings,
            setting,
            self._columns,
            self._repeated,
            self._complete,
            [*changed_buffers(settings, setting.opened), *self._cut_short],
            [] if self._trace is None else self._trace.rows,
        )
        if settings.json:
            files.write(".json", json_text(outcome))
        if settings.csv:
            files.write(".csv", csv_text(outcome))

    def _write_logs(self, hosts: tuple[str, str], started: str) -> None:
        """After the tests, so that no disk is busy meanwhile; also where a test broke off."""
        if self._trace is None or self._files is None:
            return
        for end, rows in enumerate(self._trace.rows):
            if rows:
                head = LogHead(
                    ("client", "server")[end],
                    hosts[end],
                    started,
                    describe(self._settings),
                    self._complete,
                )
                self._files.write((".c_log", ".s_log")[end], system_log(head, rows))
                for sentence in busy_words(head, rows):
                    self._warn(f"{sentence}.")

    def _name_files(self) -> None:
        if self._files is None:
            return
        settings = self._settings
        for wanted, what, suffix in (
            (True, "Result file", ""),
            (self._trace is not None, "Log of the client", ".c_log"),
            (self._trace and len(self._trace.rows) > 1, "Log of the server", ".s_log"),
            (settings.plot, "For gnuplot", ".plot"),
            (settings.json, "For programs", ".json"),
            (settings.csv, "For programs", ".csv"),
        ):
            if wanted:
                self._show(f'{what}: "{self._files.beside(suffix)}"')


def _slowest_s(count: int, size_bytes: int) -> float:
    """The most that so many messages may take over a path that is still worth measuring."""
    return min(count * (SLOWEST_MESSAGE_S + 8 * size_bytes / SLOWEST_BIT_PER_S), MOST_PATIENCE_S)
