"""Launches between two hosts: each a run of its own, with fresh workers and connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsonde.catalogue.test import TESTS
from netsonde.catalogue.transport import names_with
from netsonde.errors import HostError
from netsonde.explain.data import Seen
from netsonde.explain.evidence import fills_the_link, tcp_streams
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.records.data import Run
from netsonde.records.rundir import open_run
from netsonde.study.execute import Progress, start_study
from netsonde.study.plan import PlannedPoint
from netsonde.study.spec import StudySpec
from netsonde.tables import checked
from netsonde.tuning.sockets.causes import CAUSES
from netsonde.tuning.sockets.data import Change, Goal, Known, Level, Look, Setup
from netsonde.tuning.sockets.ends import Ends
from netsonde.tuning.sockets.judged import Values
from netsonde.tuning.sockets.knobs import Knob
from netsonde.units import bytes_in_words

GOALS: Mapping[str, Goal] = {
    "rate": Goal("rate", "throughput", "stream", TESTS["stream"].main, more=True),
    "latency": Goal("latency", "round trip", "latency", TESTS["latency"].main, more=False),
}
"""What can become better, by name."""
IP_UDP_BYTES = 28
PROBES = 4
UNANSWERED = "unanswered_ratio"
PROBE_CAP = "1s"
FIRST_LAUNCH_S = 3.0
"""What a launch is taken to last until one was made."""
(TCP,) = names_with("has_connection")
(UDP,) = names_with("counts_datagrams")


class Bounds:
    """Of what is asked for: which levels may be turned, and whether hosts may be that are not of
    a lab."""

    def __init__(self, levels: Sequence[Level], *, other_hosts: bool) -> None:
        self.levels = tuple(levels)
        self.other_hosts = other_hosts


@dataclass(frozen=True)
class Asked:
    """What each launch measures. ``path`` is that table of a study; ``cap`` bounds each test of a
    launch; sizes are of messages; ``call`` is what the program gives to one call."""

    path: Mapping[str, Any]
    goals: Sequence[Goal]
    cap: str = "1s"
    sizes: Mapping[str, str] = field(default_factory=dict)
    call: str | None = None
    command: Sequence[str] = ()

    def study(self, name: str, setup: Setup) -> StudySpec:
        """Raises UsageError where options do not go together."""
        return checked(StudySpec, self.content(name, setup))

    def content(self, name: str, setup: Setup) -> dict[str, Any]:
        """The study of a launch, as a person writes it."""
        blocks = [self._block(goal, setup) for goal in self.goals]
        return {"name": name, "cap": self.cap, "path": dict(self.path), "measure": blocks}

    def probe(self, size_bytes: int) -> StudySpec:
        """Datagrams that fill one packet."""
        block = {"transports": [UDP], "test": "latency", "sizes": str(size_bytes), "count": PROBES}
        content = {"name": "probe", "cap": PROBE_CAP, "path": dict(self.path), "measure": [block]}
        return checked(StudySpec, content)

    def _block(self, goal: Goal, setup: Setup) -> dict[str, Any]:
        block: dict[str, Any] = {
            "transports": [TCP],
            "test": goal.test,
            "sizes": self.sizes[goal.name],
            "options": dict(setup.options),
        }
        return {**block, "call": self.call} if self.call else block


class Launches:
    """A bench for ``search``: hosts get the settings, a study of one launch is measured, and what
    it wrote is read."""

    def __init__(
        self,
        asked: Asked,
        ends: Ends,
        bounds: Bounds,
        folder: Path,
        budget_s: float,
        notice: Callable[[str], None],
    ) -> None:
        self.goals = tuple(asked.goals)
        self._asked = asked
        self._ends = ends
        self._bounds = bounds
        self._folder = folder
        self._notice = notice
        self._begun_s = time.monotonic()
        self._until_s = self._begun_s + budget_s
        self._made = 0
        self._controls = ends.ends[0].controls()

    @property
    def launches(self) -> int:
        return self._made

    def left_s(self) -> float:
        return self._until_s - time.monotonic()

    def launch_s(self) -> float:
        return (time.monotonic() - self._begun_s) / self._made if self._made else FIRST_LAUNCH_S

    def look(self, setup: Setup) -> Look:
        run, figures = self._launch(setup)
        seen = Seen(run, figures)
        findings = [f.kind for f in explain(run, figures) if f.level != "good"]
        streams = tcp_streams(run)
        full = bool(streams) and all(fills_the_link(seen, point) for point in streams)
        at_best = {"rate": "the line is full"} if full else {}
        return Look([f for f in findings if f in CAUSES], self._known(setup, figures), at_best)

    def pairs(self, before: Setup, after: Setup, count: int) -> Mapping[str, Values]:
        """In turns, the second pair in the other order: what drifts falls on both alike."""
        found: dict[str, list[tuple[float, float]]] = {goal.name: [] for goal in self.goals}
        for number in range(count):
            order = (before, after) if number % 2 == 0 else (after, before)
            values = [self._values(setup) for setup in order]
            if number % 2:
                values.reverse()
            for goal in self.goals:
                found[goal.name].append((values[0][goal.name], values[1][goal.name]))
        return found

    def refused(self, knob: Knob) -> str:
        if knob.level not in self._bounds.levels:
            return f"no {knob.level} setting was to be changed"
        if knob.level == "socket":
            return ""
        if not (self._ends.are_closed or self._bounds.other_hosts):
            return "hosts are changed in a lab only, or with --allow-host-changes"
        needed = knob.settings[0]
        if hosts := self._ends.refusing(needed):
            return f"{' and '.join(hosts)} may not change {needed}, or not apart from others"
        return ""

    def check(self, change: Change) -> None:
        """Whether packets of another MTU get through, without being cut."""
        if "mtu" not in change.host:
            return
        mtu_bytes = int(change.host["mtu"])
        self._ends.apply(change.host)
        spec = self._asked.probe(mtu_bytes - IP_UDP_BYTES)
        refused = HostError(f"the path takes no packets of {bytes_in_words(mtu_bytes)}")
        try:
            outcome = start_study(spec, self._folder, self._asked.command, _Silent(self._notice))
        except HostError as error:
            raise refused from error
        figures = figures_of(open_run(outcome.directory))
        if outcome.failures or any(f.name == UNANSWERED and f.value for f in figures):
            raise refused

    def _values(self, setup: Setup) -> dict[str, float]:
        run, figures = self._launch(setup)
        tests = {point.id: point.test for point in run.points}
        found = {}
        for goal in self.goals:
            own = [
                f.value for f in figures if f.name == goal.figure and tests[f.point] == goal.test
            ]
            if not own or own[0] <= 0:
                raise HostError(f"a launch has no {goal.title}")
            found[goal.name] = own[0]
        return found

    def _launch(self, setup: Setup) -> tuple[Run, list[Figure]]:
        self._ends.apply(setup.host)
        spec = self._asked.study(f"launch-{self._made + 1:03d}", setup)
        outcome = start_study(spec, self._folder, self._asked.command, _Silent(self._notice))
        self._made += 1
        if outcome.failures:
            raise HostError(next(iter(outcome.failures.values())))
        run = open_run(outcome.directory)
        return run, figures_of(run)

    def _known(self, setup: Setup, figures: Sequence[Figure]) -> Known:
        wanted = [f.value for f in figures if f.name == "recommended_buffer_bytes"]
        values = self._ends.values()
        controls = list(values.get("net.ipv4.tcp_congestion_control", {}).values())
        return Known(
            setup.options,
            values,
            self._controls,
            controls[0] if controls else "",
            int(wanted[0]) if wanted else None,
        )


class _Silent(Progress):
    """Of a launch only sentences are shown."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice

    def start(self, directory: Path, points: Sequence[PlannedPoint]) -> None: ...
    def point(self, point: PlannedPoint) -> None: ...
    def batch(self, point: PlannedPoint, records: Sequence[dict[str, Any]]) -> None: ...
    def done(self, point: PlannedPoint, error: str | None) -> None: ...

    def notice(self, text: str) -> None:
        self._notice(text)
