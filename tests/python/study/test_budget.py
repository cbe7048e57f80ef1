"""Estimates of time and traffic, and what becomes of a study that has a budget."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sweep_fakes import KilledError, Silent, World, live_in
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.records.rundir import open_run
from netsonde.study import budget
from netsonde.study.budget import left_out
from netsonde.study.estimate import estimate, estimate_of
from netsonde.study.execute import resume_study, start_study
from netsonde.study.plan import in_order, plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml

STREAM = {"transports": "tcp", "test": "stream", "sizes": "128k", "cap": "2s"}
LATENCY = {"transports": "tcp", "test": "latency", "sizes": "64..4k", "cap": "1s"}


def spec(*blocks: dict[str, Any], **top: Any) -> StudySpec:
    return StudySpec.model_validate({"path": {"kind": "lab"}, "seed": 2, **top, "measure": blocks})


def test_a_stream_is_taken_to_fill_the_link() -> None:
    study = spec(STREAM, lab={"rate": "100M"})
    one = estimate_of(study, plan_points(study)[0])
    drained_s = 8 * 2**20 / 12.5e6
    assert 2.2e9 < one.time_ns - drained_s * 1e9 < 2.5e9
    # And a part of the time the ends exchange frames, both ways.
    filled_bytes = (2.2 + drained_s) * 12.5e6
    assert 0.98 * filled_bytes < one.traffic_bytes < 1.3 * filled_bytes
    other = spec(STREAM, budget={"rate": "200M"}, lab={"rate": "100M"})
    assert estimate_of(other, plan_points(other)[0]).traffic_bytes > 1.5 * one.traffic_bytes


def test_points_at_once_take_their_share_of_the_time() -> None:
    pairs = {"kind": "lab", "between": ["h1,h2", "h3,h4"], "concurrent": 2}
    lab = {"hosts": 4}
    together, apart = (
        estimate(study, plan_points(study))
        for study in (
            spec(STREAM, path=pairs, lab=lab),
            spec(STREAM, path={**pairs, "concurrent": 1}, lab=lab),
        )
    )
    assert together.traffic_bytes == apart.traffic_bytes
    assert together.time_ns < apart.time_ns


def test_a_program_sends_what_it_likes() -> None:
    study = spec(LATENCY, program=[{"command": ["true"], "timeout": "2s"}])
    assert not estimate(study, plan_points(study)).is_bounded


def test_a_study_that_does_not_fit_is_refused_before_anything_is_made(tmp_path) -> None:
    study = spec(STREAM, budget={"time": "3s"})
    with pytest.raises(UsageError, match=r"takes up to 5 s and 2\d\d\.\d MB, its budget is 3 s"):
        start_study(study, tmp_path, ["netsonde"], Silent())
    assert not list(tmp_path.iterdir())


def test_points_are_dropped_from_the_end_of_the_order_until_it_fits() -> None:
    study = spec(LATENCY, launches=4, budget={"time": "20s", "over": "drop"})
    order = in_order(plan_points(study), 2)
    out = left_out(study, order)
    assert 0 < len(out) < len(order)
    assert out == order[-len(out) :]
    kept = order[: -len(out)]
    assert estimate(study, kept).time_ns <= 20e9 < estimate(study, order).time_ns
    assert {p.parameters["launch"] for p in kept} != {1, 2, 3, 4}
    tight = spec(LATENCY, budget={"traffic": "1k", "over": "drop"})
    with pytest.raises(UsageError, match=r"not one point fits the budget of 1.024 kB"):
        left_out(tight, plan_points(tight))


class Clock:
    """Time that passes when a point is measured, and not otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, world: World, each_s: float) -> None:
        self.now_ns = 10**12
        real = world.measure_point

        def slow(*arguments):
            self.now_ns += int(each_s * 1e9)
            return real(*arguments)

        world.measure_point = slow
        monkeypatch.setattr(budget, "monotonic_ns", lambda: self.now_ns)


@pytest.mark.parametrize("over", ["refuse", "drop"])
def test_a_study_that_takes_longer_than_estimated_stops_within_its_budget(
    tmp_path, monkeypatch, over
) -> None:
    world = World(lambda size: 20_000 + size)
    Clock(monkeypatch, world, 4.0)
    live_in(monkeypatch, world)
    study = spec(LATENCY, budget={"time": "14s", "over": over})
    outcome = start_study(study, tmp_path, ["netsonde"], Silent())
    run = open_run(outcome.directory)
    measured = [p for p in run.points if p.status == "finished"]
    assert len(measured) == 4  # after 12 s a fifth might not be done in time
    if over == "refuse":
        assert "3 of 7 points are not measured: 16 s" in str(outcome.unmeasured)
        assert "study resume" in str(outcome.unmeasured)
        assert not run.finished
        monkeypatch.setattr(budget, "_in_journal", lambda *_: (0, 0.0))  # as with a larger one
        assert resume_study(study, outcome.directory, Silent()).unmeasured is None
        assert all(p.status == "finished" for p in open_run(outcome.directory).points)
    else:
        assert outcome.unmeasured is None
        assert run.finished
        assert len(run.manifest["left_out"]) == 3
        before = len(world.measured)
        resume_study(study, outcome.directory, Silent())
        assert len(world.measured) == before


def test_what_was_spent_before_a_kill_counts(tmp_path, monkeypatch) -> None:
    world = World(lambda size: 20_000 + size)
    world.kill_at = 3
    live_in(monkeypatch, world)
    study = spec(LATENCY, budget={"traffic": "500G"})
    with pytest.raises(KilledError):
        start_study(study, tmp_path, ["netsonde"], Silent())
    [directory] = tmp_path.iterdir()
    points = plan_points(study)
    spent = budget.Spent(study, directory, points)
    sent = sum(200 * int(size) for size, _ in world.measured)
    assert sent < spent.so_far.traffic_bytes < sent * 1.1 + 200 * 66 * 3


def test_a_budget_reads_back() -> None:
    study = spec(STREAM, budget={"time": "2h", "traffic": "10GB", "over": "drop", "rate": "1G"})
    assert study.budget.traffic == 10**10
    assert parse_study(to_toml(study), "x") == study
    with pytest.raises(UsageError, match="over goes with time or traffic"):
        parse_study(f"{to_toml(spec(STREAM))}\n".replace('over = "refuse"', 'over = "drop"'), "x")


def test_the_plan_is_shown_and_is_a_document(tmp_path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(to_toml(spec(LATENCY, STREAM, budget={"time": "9s", "over": "drop"})))
    shown = CliRunner().invoke(app, ["study", "plan", str(path)]).output
    assert "8 points, at most" in shown
    assert "points would be left out to keep within 9 s" in shown
    assert max(map(len, shown.splitlines())) <= 80
    document = json.loads(CliRunner().invoke(app, ["study", "plan", str(path), "--json"]).output)
    assert len(document["points"]) == 8
    assert document["traffic_most_bytes"] == sum(
        p["traffic_most_bytes"] for p in document["points"]
    )
