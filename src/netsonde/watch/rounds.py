"""The rounds of a watch, from the first to its end."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from netsonde.endpoint import Endpoint
from netsonde.errors import HostError, UsageError
from netsonde.export.openmetrics import PREFIX, document_of, openmetrics
from netsonde.export.source import Source
from netsonde.records.rundir import write_atomically
from netsonde.study.execute import Outcome, start_study
from netsonde.study.plan import PlannedPoint
from netsonde.watch.request import WatchRequest
from netsonde.watch.told import Changes, round_lines

Say = Callable[[str], None]


class _Silent:
    """Nobody looks at the progress of a round; what is to be known of it is kept."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None: ...
    def point(self, point: PlannedPoint) -> None: ...
    def batch(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None: ...
    def done(self, point: PlannedPoint, error: str | None) -> None: ...
    def notice(self, text: str) -> None:
        self.notices.append(text)


@dataclass
class Watch:
    """What a watch has done so far. ``document`` is what Prometheus is given."""

    request: WatchRequest
    command: Sequence[str]
    say: Say
    rounds: int = 0
    failed: int = 0
    document: bytes = b"# EOF\n"
    _kept: list[Path] = field(default_factory=list)
    _changes: Changes | None = None

    def run(self) -> None:
        """Until its rounds or its time are over. Raises UsageError where nothing can be written;
        what a round could not measure is said, and the next one begins in its time."""
        asked = self.request
        with ExitStack() as stack:
            if asked.history is not None:
                self._changes = _changes_of(asked.history)
            if asked.listen is not None:
                endpoint = stack.enter_context(Endpoint(lambda: self.document, asked.listen))
                self.say(f"figures of the last round: {endpoint.url}")
            for _ in _beats(asked):
                self._round()

    def _round(self) -> None:
        progress = _Silent()
        begin = time.monotonic()
        self.rounds += 1
        try:
            outcome = start_study(
                self.request.spec, self.request.out, self.command, progress, self.request.pair
            )
        except HostError as error:
            self._tell([f"nothing was measured: {error}"])
            self.failed += 1
            self._publish(None, False, begin)
            return
        source = Source(outcome.directory)
        self.failed += bool(outcome.failures)
        self._tell([*round_lines(source), *_failures(outcome), *progress.notices])
        self._publish(source, not outcome.failures, begin)
        self._keep(outcome.directory)

    def _tell(self, lines: Sequence[str]) -> None:
        now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
        for line in lines:
            self.say(f"{now}  {line}")

    def _publish(self, source: Source | None, whole: bool, begin: float) -> None:
        own = list(self._own_metrics(whole, time.monotonic() - begin))
        self.document = document_of(own) if source is None else openmetrics(source, own)
        if self.request.metrics is not None:
            write_atomically(self.request.metrics, self.document.decode())

    def _own_metrics(self, whole: bool, took_s: float) -> Iterator[Metric]:
        yield CounterMetricFamily(f"{PREFIX}_watch_rounds", "rounds that began", self.rounds)
        yield CounterMetricFamily(
            f"{PREFIX}_watch_failures", "rounds in which something was not measured", self.failed
        )
        gauges = (
            ("whole", "1 where everything of the last round was measured", "", float(whole)),
            ("last_round_seconds", "when the last round ended, Unix time", "seconds", time.time()),
            ("round_duration_seconds", "how long the last round took", "seconds", took_s),
        )
        for name, words, unit, value in gauges:
            yield GaugeMetricFamily(f"{PREFIX}_watch_{name}", words, value, unit=unit)

    def _keep(self, directory: Path) -> None:
        """Notes the run in the history, and removes those that are too many of its own."""
        if self._changes is not None and self.request.history is not None:
            from netsonde.history.store import add_runs

            add_runs(self.request.history, [directory])
            self._tell(list(self._changes.lines()))
        self._kept.append(directory)
        while self.request.keep is not None and len(self._kept) > self.request.keep:
            shutil.rmtree(self._kept.pop(0), ignore_errors=True)


def _changes_of(file: Path) -> Changes:
    changes = Changes(file)
    if file.exists():
        list(changes.lines())  # what is known already is not told again
    return changes


def _failures(outcome: Outcome) -> Iterator[str]:
    for point, why in outcome.failures.items():
        yield f"{point} failed: {why}"


def _beats(asked: WatchRequest) -> Iterator[int]:
    """Comes back when a round is to begin, by a clock that does not drift; a beat that went by
    while a round was measured is left out."""
    begin_ns = time.monotonic_ns()
    number = beat = 0
    while asked.rounds is None or number < asked.rounds:
        yield number
        number += 1
        if asked.rounds is not None and number >= asked.rounds:
            return
        beat = max(beat + 1, -((begin_ns - time.monotonic_ns()) // asked.every_ns))
        if asked.time_ns is not None and beat * asked.every_ns >= asked.time_ns:
            return
        time.sleep(max(0, begin_ns + beat * asked.every_ns - time.monotonic_ns()) / 1e9)


def check_places(request: WatchRequest) -> None:
    """Raises UsageError where figures could not be written at the end of the first round."""
    for file in (request.metrics, request.history):
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(f"{file}: there is no folder {file.absolute().parent}")
