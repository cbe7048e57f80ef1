"""An MPI library is measured again before it is accused, on a path whose operations are played."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planned_points import planned_point
from sweep_fakes import FakeSession, FakeTestbed, KilledError, Silent

from netsonde.explain.data import Finding, Seen
from netsonde.explain.guidelines import violated_guidelines
from netsonde.figures.compute import figures_of
from netsonde.records.data import Run
from netsonde.records.decode import decode_batch
from netsonde.records.rundir import open_run
from netsonde.study import execute, run_point
from netsonde.study.accusations import MOST_POINTS, MOST_S, TIMES, accused_again
from netsonde.study.estimate import estimate
from netsonde.study.execute import resume_study, start_study
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.series import Ending
from netsonde.study.spec import StudySpec

RANKS, SAMPLES = 4, 200
SIZE = 4096
KEPT = {"allreduce": 19.0, "reduce": 10.0, "bcast": 11.0}


class Ranks(FakeSession):  # type: ignore[misc]
    transport = "mpi"
    opened: dict[int, dict[str, object]] = {}  # noqa: RUF012


class RanksTestbed(FakeTestbed):  # type: ignore[misc]
    def open(self, _point):
        return Ranks()


class Library:
    """Whose allreduce takes so many times as long when it is measured for the nth time."""

    def __init__(self, *slower: float) -> None:
        self._slower = slower
        self.measured: Counter[str] = Counter()
        self.kill_at: int | None = None

    def measure_point(self, _session, point, keep):
        name = point.spec.operation
        number = self.measured[name]
        self.measured[name] += 1
        factor = self._slower[min(number, len(self._slower) - 1)] if name == "allreduce" else 1.0
        random = np.random.default_rng([number, len(name)])
        times = (1000 * KEPT[name] * factor * random.lognormal(0.0, 0.02, SAMPLES)).astype("<i8")
        if self.kill_at is not None and sum(self.measured.values()) == self.kill_at:
            raise KilledError
        records = [r for rank in range(RANKS) for r in _records(rank, times)]
        keep(0, records)
        return Ending("interval", [decode_batch(0, records)])


def _records(rank, times):
    begins = np.arange(SAMPLES, dtype="<i8") * 10**6
    for name, values in (("duration_ns", times), ("begin_ns", begins)):
        told = {"record": "series", "rank": rank, "host": f"h{rank}", "name": name, "offset": 0}
        told |= {"count": SAMPLES, "total": SAMPLES}
        yield told | {"values": base64.b64encode(values.tobytes()).decode()}
    counters = {"start_ns": 10**9, "end_ns": 10**12}
    yield {"record": "counters", "rank": rank, "host": f"h{rank}", "values": counters}


class Told(Silent):  # type: ignore[misc]
    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text):
        self.notices.append(text)


def spec(**more: Any) -> StudySpec:
    block = {"transports": "mpi", "test": "collective", "operations": list(KEPT)}
    table = {"ranks": RANKS} | more.pop("mpi", {})
    measure = [{**block, "sizes": str(SIZE)}]
    return StudySpec.model_validate({"seed": 3, "measure": measure, "mpi": table, **more})


@pytest.fixture
def live_with(monkeypatch):
    def live(library: Library) -> Library:
        monkeypatch.setattr(execute, "Testbed", RanksTestbed)
        monkeypatch.setattr(run_point, "measure_point", library.measure_point)
        return library

    return live


def accused(run: Run) -> list[Finding]:
    found = list(violated_guidelines(Seen(run, figures_of(run))))
    return [f for f in found if "allreduce of 4k" in f.claim]


def test_what_holds_again_is_a_finding_and_says_how_often(tmp_path, live_with):
    library, told = live_with(Library(4.0)), Told()
    run = open_run(start_study(spec(), tmp_path, [], told).directory)
    assert library.measured == dict.fromkeys(KEPT, TIMES)
    (finding,) = accused(run)
    assert (finding.level, finding.confidence) == ("warning", "likely")
    assert f"each of {TIMES} times that it was measured, in one launch" in finding.evidence
    assert run.finished
    assert any("measured again before MPI is accused: allreduce" in words for words in told.notices)


@pytest.mark.parametrize(("slower", "times"), [((4.0, 1.0), 2), ((4.0, 4.0, 1.0), 3)])
def test_a_disturbance_accuses_nobody_and_is_measured_no_more_than_needed(
    tmp_path, live_with, slower, times
):
    library = live_with(Library(*slower))
    run = open_run(start_study(spec(), tmp_path, [], Silent()).directory)
    assert library.measured["allreduce"] == times
    assert accused(run) == []


def test_a_library_that_keeps_its_guidelines_is_measured_once(tmp_path, live_with):
    library, told = live_with(Library(1.0)), Told()
    start_study(spec(), tmp_path, [], told)
    assert library.measured == dict.fromkeys(KEPT, 1)
    assert not any("again" in words for words in told.notices)


def test_launches_have_measured_it_again_already(tmp_path, live_with):
    library = live_with(Library(4.0))
    own = {"mpi": ["mpich"], "launches": TIMES}
    run = open_run(start_study(spec(mpi=own), tmp_path, [], Silent()).directory)
    assert library.measured == dict.fromkeys(KEPT, TIMES)
    (finding,) = accused(run)
    assert (finding.level, finding.confidence) == ("warning", "certain")
    assert f"in {TIMES} launches" in finding.evidence


@pytest.mark.parametrize("times", [1, 2, TIMES])
def test_nothing_is_measured_again_beyond_the_budget(tmp_path, live_with, times):
    library = live_with(Library(4.0))
    time_s = 1 + estimate(spec(), times * plan_points(spec())).time_ns / 1e9
    budget = {"time": f"{time_s:.0f} s"}
    run = open_run(start_study(spec(budget=budget), tmp_path, [], Silent()).directory)
    assert library.measured["allreduce"] == times
    assert run.finished
    (finding,) = accused(run)
    assert finding.confidence == ("possible" if times == 1 else "likely")
    assert finding.level == ("note" if times == 1 else "warning")


@pytest.mark.parametrize("at", [4, 6, 8])
def test_a_run_that_is_killed_while_it_measures_again_goes_on(tmp_path, live_with, at):
    library = live_with(Library(4.0))
    library.kill_at = at
    with pytest.raises(KilledError):
        start_study(spec(), tmp_path, [], Silent())
    (directory,) = tmp_path.iterdir()
    library.kill_at = None
    resume_study(spec(), directory, Silent())
    run = open_run(directory)
    assert run.finished
    assert len([p for p in run.points if p.measured]) == TIMES * len(KEPT)
    before = Counter(library.measured)
    resume_study(spec(), directory, Silent())
    assert library.measured == before


def planned_of(run: Run) -> list[PlannedPoint]:
    return [PlannedPoint(p.id, p.transport, p.test, p.spec) for p in run.points]


def test_it_is_bounded_in_number_and_in_time(tmp_path, live_with):
    live_with(Library(4.0))
    directory = start_study(spec(), tmp_path, [], Silent()).directory
    run = open_run(directory)
    asked = [p for p in run.points if "refined" not in p.parameters]
    first = Run(directory, run.manifest, asked, True)
    planned, figures = planned_of(first), figures_of(first)
    assert len(accused_again(planned, first, figures)) == len(KEPT)
    for point in asked:
        point.started_utc = "2026-01-01T00:00:00+00:00"
        point.ended_utc = f"2026-01-01T00:{int(MOST_S) // 60:02d}:00+00:00"
    assert accused_again(planned, first, figures) == []
    others = [
        planned_point("mpi", "collective", {"message_bytes": n // 2, "operation": "scan"}, f"q{n}")
        for n in range(2 * MOST_POINTS)
    ]
    for point in asked:
        point.ended_utc = point.started_utc
    assert accused_again([*planned, *others], first, figures) == []


def test_no_point_of_a_made_run_is_lost(tmp_path, live_with):
    """Ids go on from those of the plan, so that none is given twice."""
    live_with(Library(4.0))
    run = open_run(start_study(spec(), tmp_path, [], Silent()).directory)
    assert isinstance(run.directory, Path)
    assert len({p.id for p in run.points}) == len(run.points) == TIMES * len(KEPT)
    assert {p.parameters.get("refined", 0) for p in run.points} == set(range(TIMES))
