"""A test from its settings to its files: what udptest and tcptest do."""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.hpcbench.ends import Session, open_session
from netsonde.hpcbench.files import OutputFiles
from netsonde.hpcbench.iterations import LEAST_ITERATIONS, estimate_iterations
from netsonde.hpcbench.options import MOST_ITERATIONS, Settings
from netsonde.hpcbench.plot import plot_text
from netsonde.hpcbench.requests import cut_buffers, run_fields
from netsonde.hpcbench.result_file import (
    Setting,
    asked_lines,
    describe,
    heading,
    obtained_lines,
    row,
)
from netsonde.hpcbench.results import Repetition, columns_of, lasted_s, screen_line
from netsonde.hpcbench.syslog import LogHead, system_log
from netsonde.hpcbench.trace import Trace
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

PATIENCE_S = 10.0
"""How much longer than expected a run may last before it counts as hung."""
SLOWEST_BIT_PER_S = 1e6
SLOWEST_MESSAGE_S = 0.2  # the time for which the worker waits for the answer to a datagram
MOST_PATIENCE_S = 80_000.0
OVERRUN = 1.5
"""A repetition that lasts so much longer than asked is named."""

SCREEN_COLUMNS = 79

Say = Callable[[str], None]


def run_client(settings: Settings, command: str, show: Say, warn: Say) -> None:
    """Measures, showing a line for each repetition; warn gets what the user should know.

    command: what was typed, for the result file. Raises UsageError, HostError. What was measured
    until then is in the files.
    """
    for notice in settings.notices:
        warn(notice)
    if settings.file is not None:
        _check_file(settings)
    with contextlib.ExitStack() as stack:
        files = None
        if settings.output is not None:
            files = stack.enter_context(OutputFiles(settings.output))
        session = stack.enter_context(open_session(settings))
        _Client(settings, session, files, show, warn).run(command)


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
    """How much a run moves: a number of messages, or as many as a time has."""

    count: int | None
    expected_s: float

    def fields(self) -> dict[str, Any]:
        if self.count is not None:
            return {"count": self.count}
        return {"duration_ns": round(self.expected_s * 1e9)}


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

    def run(self, command: str) -> None:
        facts = self._session.facts()
        names = [str(facts[name].get("host.name", name)) for name in self._session.host_names]
        hosts = (names[0], names[1] if len(names) > 1 else self._settings.host)
        started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._announce(hosts)
        for sentence in cut_buffers(self._settings, self._session.opened):
            self._warn(sentence)
        self._begin_files(Setting(started, command, hosts, self._session.opened))
        try:
            if self._settings.log_system:
                self._trace = Trace(self._session)
                self._trace.watch_idle()
            for repetition in self._repetitions():
                self._keep(repetition)
            if self._trace is not None:
                self._trace.watch_idle()
            self._complete = True
        finally:
            self._write_logs(hosts, started)
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
        for sentence in cut_buffers(self._settings, setting.opened):
            self._files.append(f"# {sentence}\n")
        if self._settings.plot:
            text = plot_text(self._settings, self._columns, self._files.output)
            self._files.write(self._files.plot, text)

    def _repetitions(self) -> Iterator[Repetition]:
        number = 0
        for size_bytes in self._settings.sizes:
            extent = self._extent(size_bytes)
            for _ in range(self._settings.repetitions):
                number += 1
                repetition = Repetition(number, size_bytes, self._run(size_bytes, extent))
                extent, repetition = self._with_amount(extent, repetition)
                if self._settings.verbose:
                    self._show(f" lasted {lasted_s(self._settings, repetition):.3f} s")
                yield repetition

    def _extent(self, size_bytes: int) -> _Extent:
        """How much each repetition of this size moves."""
        settings = self._settings
        if settings.transport == "udp" and settings.mode != "round_trip":
            return _Extent(None, settings.test_s)
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

    def _with_amount(self, extent: _Extent, repetition: Repetition) -> tuple[_Extent, Repetition]:
        """A stream of datagrams goes on until both the time and the amount are reached: where the
        time was too short for the amount, it is made again, by number."""
        settings = self._settings
        self._note_overrun(extent, repetition)
        sent_bytes = repetition.client.counters["bytes_sent"]
        if extent.count is not None or settings.mode == "generator":
            return extent, repetition
        if sent_bytes >= settings.amount_bytes:
            return extent, repetition
        count = math.ceil(settings.amount_bytes / repetition.size_bytes)
        expected_s = settings.test_s * settings.amount_bytes / max(sent_bytes, 1)
        if not self._amount_named:
            self._amount_named = True
            self._warn(
                f"{settings.amount_bytes} bytes take longer than {settings.test_s:g} s; "
                "a repetition goes on until all are sent"
            )
        longer = _Extent(count, expected_s)
        return longer, replace(repetition, batch=self._run(repetition.size_bytes, longer))

    def _note_overrun(self, extent: _Extent, repetition: Repetition) -> None:
        settings = self._settings
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
        if self._settings.transport == "udp" and extent.count is not None:
            patience_s += min(extent.count * SLOWEST_MESSAGE_S, MOST_PATIENCE_S / 100)
        request = {
            **run_fields(self._settings, size_bytes),
            **extent.fields(),
            "seed": self._seed,
            "timeout_ns": round(patience_s * 1e9),
        }
        batch = decode_batch(self._seed, self._session.run(request, patience_s))
        trips = batch.ends[0].series.get("round_trip_ns")
        if trips is not None and not len(trips):
            raise HostError(
                f"none of {extent.count} messages was answered; is a firewall in between?"
            )
        return batch

    def _keep(self, repetition: Repetition) -> None:
        if self._trace is not None:
            self._trace.add(repetition.batch)
        # The screen first: a full disk is no reason to lose what was measured.
        self._show(screen_line(self._settings, repetition))
        if self._files is not None:
            self._files.append(row(self._columns, repetition))

    def _write_logs(self, hosts: tuple[str, str], started: str) -> None:
        """After the tests, so that no disk is busy meanwhile; also where a test broke off."""
        if self._trace is None or self._files is None:
            return
        names = (self._files.client_log, self._files.server_log)
        for end, rows in enumerate(self._trace.rows):
            if rows:
                head = LogHead(
                    ("client", "server")[end],
                    hosts[end],
                    started,
                    describe(self._settings),
                    self._complete,
                )
                self._files.write(names[end], system_log(head, rows))

    def _name_files(self) -> None:
        if self._files is None:
            return
        self._show(f'Result file: "{self._files.output}"')
        if self._trace is not None:
            self._show(f'Log of the client: "{self._files.client_log}"')
            if len(self._trace.rows) > 1:
                self._show(f'Log of the server: "{self._files.server_log}"')
        if self._settings.plot:
            self._show(f'For gnuplot: "{self._files.plot}"')


def _slowest_s(count: int, size_bytes: int) -> float:
    """The most that so many messages may take over a path that is still worth measuring."""
    return min(count * (SLOWEST_MESSAGE_S + 8 * size_bytes / SLOWEST_BIT_PER_S), MOST_PATIENCE_S)
