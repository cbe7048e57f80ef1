"""Sweeps: sizes beside each other as NetPIPE's, and further sizes where the curve breaks."""

from itertools import count, islice, pairwise

import pytest
from pydantic import ValidationError
from sweep_fakes import KilledError, Silent, World, jump_at, live_in, sweep_spec

from netsonde.figures.compute import figures_of, find
from netsonde.figures.sweeps import sweeps_of, uneven_sizes
from netsonde.records.rundir import open_run
from netsonde.stats.sweeps import find_dips
from netsonde.study.execute import resume_study, start_study
from netsonde.study.plan import perturbed, plan_points
from netsonde.study.refine import CLOSE, ROUND_POINTS, ROUNDS, further_points
from netsonde.study.spec import StudySpec, parse_study, to_toml
from netsonde.study.values import expand_sizes

MOST = 1 << 32


def netpipes_sizes():
    """NetPIPE's order: the increment doubles every second step; from increments above 4 on, each
    size is tried 3 bytes below, at, and above."""
    size, increment = 1, 1
    for step in count():
        yield from ((size - 3, size, size + 3) if increment > 4 else (size,))
        size += increment
        if size > 3 and step % 2 == 0:
            increment *= 2


def test_the_sizes_and_their_order_are_netpipes():
    sizes = expand_sizes("1..8M:1.5")
    found = [size for size, _ in perturbed(sizes, 3, 1, MOST)]
    assert sizes[:10] == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
    assert found[:12] == [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24]
    assert found[:60] == list(islice(netpipes_sizes(), 60))


def test_perturbed_sizes_stay_within_limits_and_come_once():
    assert perturbed([64, 67, 128], 3, 1, MOST) == [
        *((64, 0), (67, 0), (70, 3), (125, -3), (128, 0), (131, 3)),
    ]
    assert perturbed([65507], 3, 1, 65507) == [(65504, -3), (65507, 0)]
    assert perturbed([2], 3, 1, MOST) == [(2, 0), (5, 3)]
    assert perturbed([64, 128], 0, 1, MOST) == [(64, 0), (128, 0)]


def test_a_plan_marks_what_was_asked_for_and_what_is_beside():
    points = plan_points(sweep_spec(sizes="64,128", perturb=3, refine=0))
    shifts = {p.parameters["message_bytes"]: p.parameters.get("perturbed_bytes") for p in points}
    assert shifts == {61: -3, 64: None, 67: 3, 125: -3, 128: None, 131: 3}
    assert "refine" not in points[0].parameters


def test_perturbed_datagrams_keep_the_room_of_what_they_carry():
    tagged = {"transports": ["udp", "tcp"], "options": {"authenticated": True}}
    points = plan_points(sweep_spec(**tagged, sizes="25", perturb=3, refine=0))
    found = {(p.transport, p.parameters["message_bytes"]) for p in points}
    assert found == {("udp", 25), ("udp", 28), ("tcp", 22), ("tcp", 25), ("tcp", 28)}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"test": "stream"}, "refine looks at round trips and operations"),
        ({"perturb": 5000}, "perturb"),
        ({"refine": 1000}, "refine"),
        ({"test": "generate", "transports": "udp", "rate": "1M", "perturb": 3}, "perturb"),
    ],
)
def test_sweeps_that_are_none(block, words):
    with pytest.raises(ValidationError, match=words):
        sweep_spec(**block)


def test_a_study_with_a_sweep_reads_back_equal():
    spec = sweep_spec(perturb=3)
    assert parse_study(to_toml(spec), "study.toml") == spec


def run_of(folder, spec=None):
    outcome = start_study(spec or sweep_spec(), folder, ["test"], Silent())
    assert not outcome.failures
    return open_run(outcome.directory)


def added(run):
    return [p for p in run.points if "refined" in p.parameters]


def sweep_of(run):
    (sweep,) = sweeps_of(run.points, figures_of(run))
    return sweep


@pytest.mark.parametrize("place", [40_000, 70_000, 131_072, 200_001])
def test_sizes_are_added_around_a_break_until_it_is_known(tmp_path, monkeypatch, place):
    live_in(monkeypatch, World(jump_at(place)))
    run = run_of(tmp_path)
    sizes = sorted({p.message_bytes for p in run.points})
    low, high = next((a, b) for a, b in pairwise(sizes) if a < place <= b)
    assert high / low <= CLOSE**2
    near = [p for p in added(run) if place / 2 <= p.message_bytes <= 2 * place]
    assert len(near) >= 0.5 * len(added(run))
    assert len(added(run)) <= 24
    (dip,) = [d for d in find_dips(sweep_of(run).curve) if d.first > 1500]
    assert (dip.before, dip.first) == (low, high)


def test_a_straight_curve_gets_only_the_segments_boundary(tmp_path, monkeypatch):
    live_in(monkeypatch, World(lambda size: 20_000.0 + size, noise=0.0005))
    sizes = [p.message_bytes for p in added(run_of(tmp_path))]
    assert {1448, 1449} <= set(sizes)
    assert len(sizes) <= 8


def test_without_being_asked_for_nothing_is_added(tmp_path, monkeypatch):
    live_in(monkeypatch, World(jump_at(70_000)))
    assert added(run_of(tmp_path, sweep_spec(refine=0))) == []


def test_the_number_of_sizes_and_of_rounds_is_bounded(tmp_path, monkeypatch):
    """A curve that is nothing but breaks."""
    wild = World(lambda size: (20_000.0 + size) * (1 + (size * 2654435761 % 97) / 50))
    live_in(monkeypatch, wild)
    run = run_of(tmp_path)
    assert 0 < len(added(run)) <= 24
    rounds = [p.parameters["refined"] for p in added(run)]
    assert max(rounds) <= ROUNDS
    assert max(rounds.count(number) for number in rounds) <= ROUND_POINTS


def test_a_disturbed_size_is_measured_again_and_nothing_is_put_beside_it(tmp_path, monkeypatch):
    class Disturbed(World):  # type: ignore[misc]
        """The first time that 64 KiB are measured, something else runs."""

        def measure_point(self, _session, point, keep):
            first = point.spec.message_bytes == 65536 and point.spec.refined is None
            self._curve = lambda size: (20_000.0 + size) * (1.5 if first else 1.0)
            return super().measure_point(_session, point, keep)

    live_in(monkeypatch, Disturbed(jump_at(1)))
    run = run_of(tmp_path)
    assert sum(p.message_bytes == 65536 for p in run.points) == 3
    assert not [p for p in added(run) if 32768 < p.message_bytes < 131072 != 65536][2:]
    assert find_dips(sweep_of(run).curve) == []
    assert find(figures_of(run), "peak_bit_per_s", "tcp-latency").value > 7.7e9


def test_of_three_sizes_the_odd_one_is_measured_again(tmp_path, monkeypatch):
    class Disturbed(World):  # type: ignore[misc]
        """The first time that 3 bytes more than 4 KiB are measured, something else runs."""

        def measure_point(self, _session, point, keep):
            first = point.spec.message_bytes == 4099 and point.spec.refined is None
            self._curve = lambda size: (20_000.0 + size) * (1.5 if first else 1.0)
            return super().measure_point(_session, point, keep)

    live_in(monkeypatch, Disturbed(jump_at(1)))
    run = run_of(tmp_path, sweep_spec(perturb=3))
    again = [p for p in added(run) if p.message_bytes == 4099]
    assert [p.parameters["perturbed_bytes"] for p in again] == [3, 3]
    assert uneven_sizes(sweep_of(run)) == []


def test_the_next_round_is_a_pure_function(tmp_path, monkeypatch):
    live_in(monkeypatch, World(jump_at(70_000)))
    run = run_of(tmp_path)
    planned = plan_points(sweep_spec())
    points = [p for p in run.points if "refined" not in p.parameters]
    sweeps = sweeps_of(points, figures_of(run))
    first = further_points(planned, sweeps)
    assert first == further_points(planned, sweeps)
    assert [p.id for p in first] == [f"p{len(planned) + i + 1:03d}" for i in range(len(first))]
    recorded = [p for p in added(run) if p.parameters["refined"] == 1]
    assert [(p.id, p.parameters) for p in recorded] == [(p.id, p.parameters) for p in first]


def test_a_run_that_is_killed_anywhere_goes_on_to_the_same_points(tmp_path, monkeypatch):
    world = World(jump_at(70_000))
    live_in(monkeypatch, world)
    whole = run_of(tmp_path / "whole")
    expected = [(p.id, p.parameters) for p in whole.points]
    for kill_at in range(1, len(world.measured) + 1, 5):
        killed = World(jump_at(70_000))
        killed.kill_at = kill_at
        live_in(monkeypatch, killed)
        folder = tmp_path / str(kill_at)
        with pytest.raises(KilledError):
            start_study(sweep_spec(), folder, ["test"], Silent())
        (directory,) = folder.iterdir()
        outcome = resume_study(sweep_spec(), directory, Silent())
        run = open_run(outcome.directory)
        assert [(p.id, p.parameters) for p in run.points] == expected
        assert {p.status for p in run.points} == {"finished"}
        assert len(killed.measured) == len(expected) + 1  # the one in flight, again
    before = len(killed.measured)
    resume_study(sweep_spec(), directory, Silent())
    assert len(killed.measured) == before


def test_rounds_come_after_each_other_each_in_random_order(tmp_path, monkeypatch):
    world = World(jump_at(70_000))
    live_in(monkeypatch, world)
    run_of(tmp_path)
    rounds = [number for _, number in world.measured]
    assert rounds == sorted(rounds)
    sizes = [int(size) for size, number in world.measured if number == 0]
    assert sizes != sorted(sizes)


def test_two_sweeps_of_a_study_are_refined_each_on_its_own(tmp_path, monkeypatch):
    live_in(monkeypatch, World(jump_at(70_000)))
    block = {"transports": "tcp", "test": "latency", "sizes": "1..1M", "refine": 12}
    options = [{"label": f"buffer {b}", "options": {"buffer": b}} for b in ("64k", "1M")]
    spec = StudySpec.model_validate({"seed": 1, "measure": [{**block, **o} for o in options]})
    run = run_of(tmp_path, spec)
    sweeps = sweeps_of(run.points, figures_of(run))
    assert [s.name for s in sweeps] == ["tcp-latency buffer 64k", "tcp-latency buffer 1M"]
    labels = [p.label for p in added(run)]
    assert 0 < labels.count("buffer 64k") <= 12
    assert 0 < labels.count("buffer 1M") <= 12
