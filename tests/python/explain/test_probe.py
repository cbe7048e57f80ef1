"""Experiments with a point: what is planned, and that made effects come out as they were made."""

from pathlib import Path

import numpy as np
import pytest

from netsonde.errors import UsageError
from netsonde.experiments import BASE_LABEL, EXPERIMENTS, experiment_called
from netsonde.explain.probe import conclusion, effects_of
from netsonde.figures.data import Figure
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.probe import choose_point, probe_study
from netsonde.study.spec import StudySpec


def made(test, effects, repetitions=8, noise=0.005, seed=5):
    """A run in which each change makes the point so many times as fast."""
    name = "round_trip_median_ns" if test == "latency" else "throughput_bit_per_s"
    points: list[Point] = []
    figures: list[Figure] = []
    chance = np.random.default_rng(seed)
    for label, times in {BASE_LABEL: 1.0, **effects}.items():
        for _ in range(repetitions):
            point = Point(
                f"p{len(points) + 1:03d}",
                "tcp",
                test,
                {"message_bytes": 1, "label": label, "options": {}},
            )
            points.append(point)
            if times is None:
                point.error = "h2: not here"
                continue
            speed = times * (1 + noise * chance.standard_normal())
            value = 1e5 / speed if test == "latency" else 1e9 * speed
            figures.append(
                Figure(point.id, "tcp", test, None, 64, name, value, None, None, 1, None, "")
            )
    return Run(Path("made"), {}, points, True), figures


@pytest.mark.parametrize("test", ["latency", "stream"])
def test_made_effects_come_out(test):
    truth = {"buffers x 4": 3.8, "spinning": 1.0, "target busy": 0.5, "half the segment": 0.92}
    effects = {e.label: e for e in effects_of(*made(test, truth))}
    verdicts = {label: effect.verdict for label, effect in effects.items()}
    assert verdicts == {
        "buffers x 4": "faster",
        "spinning": "equal",
        "target busy": "slower",
        "half the segment": "slower",
    }
    for label, times in truth.items():
        assert effects[label].low <= times <= effects[label].high
        assert effects[label].ratio == pytest.approx(times, rel=0.02)
    assert next(iter(effects)) == "buffers x 4"
    finding = conclusion(list(effects.values()))
    assert finding.claim.startswith("Of what was changed, buffers x 4 helps most: 3.")
    assert "slower with: half the segment 0.9" in finding.evidence
    assert finding.advice == EXPERIMENTS["larger_buffers"].if_faster


def test_little_difference_in_much_noise_is_not_decided():
    effects = effects_of(*made("stream", {"spinning": 1.05}, noise=0.3))
    assert [e.verdict for e in effects] == ["undecided"]
    assert "--repeat" in conclusion(effects).advice
    few = effects_of(*made("stream", {"spinning": 2.0}, repetitions=4))
    assert [(e.verdict, e.low) for e in few] == [("undecided", None)]


def test_the_intervals_hold_all_together():
    """Changes without an effect are called one in hardly more than 5 % of probes."""
    labels = [e.label for e in EXPERIMENTS.values() if "{}" not in e.label]
    wrong = 0
    for seed in range(40):
        effects = effects_of(*made("stream", dict.fromkeys(labels, 1.0), noise=0.02, seed=seed))
        wrong += any(e.verdict in ("faster", "slower") for e in effects)
    assert wrong <= 6


def test_what_could_not_be_measured_says_why():
    effects = effects_of(*made("stream", {"spinning": None, "no delay": 1.0}))
    failed = next(e for e in effects if e.label == "spinning")
    assert (failed.ratio, failed.verdict, failed.failed) == (None, "undecided", "h2: not here")
    assert effects_of(Run(Path(), {}, [], True), []) == []


def test_labels_lead_back_to_their_experiment():
    for name, experiment in EXPERIMENTS.items():
        label = experiment.label.replace("{}", "bbr2")
        assert experiment_called(label) == (experiment, "bbr2" if label != experiment.label else "")
        assert experiment.name == name
    assert experiment_called(BASE_LABEL) is None


def run_of(spec, kind="loopback"):
    """A run of the study in which everything was measured."""
    points = []
    for planned in plan_points(spec):
        batches = [Batch(0, {0: EndData(0, "h1"), 1: EndData(1, "h2")})]
        points.append(
            Point(
                planned.id,
                planned.transport,
                planned.test,
                planned.parameters,
                "finished",
                batches=batches,
            )
        )
    return Run(Path("made"), {"path": {"kind": kind}}, points, True)


def labels_of(spec, run, point, **options):
    planned = plan_points(probe_study(run, spec, point, 8, **options))
    found: dict[str, list[PlannedPoint]] = {}
    for one in planned:
        found.setdefault(one.parameters["label"], []).append(one)
    assert {len(members) for members in found.values()} == {8}
    return found


def test_a_study_of_several_launches_is_probed_once():
    """What its figures had to be does not hold for a change of it, and is not required."""
    block = {"transports": ["tcp"], "test": "latency", "sizes": "64"}
    spec = StudySpec.model_validate(
        {
            "path": {"kind": "loopback"},
            "launches": 6,
            "measure": [block],
            "require": [{"figure": "round_trip_p99_ns", "at_most": 1}],
        }
    )
    run = run_of(spec)
    labels_of(spec, run, run.points[0])  # which has as many of each as there are repetitions
    assert probe_study(run, spec, run.points[0], 8).require == []


def test_one_thing_is_changed_at_a_time():
    block = {"transports": ["tcp"], "test": "stream", "sizes": "64k,128k"}
    block |= {"options": {"buffer": "10k", "no_delay": False}, "streams": 2}
    spec = StudySpec.model_validate({"path": {"kind": "loopback"}, "measure": [block]})
    run = run_of(spec)
    found = labels_of(spec, run, run.points[1])
    base = found.pop(BASE_LABEL)[0].parameters
    assert base["message_bytes"] == 128 << 10
    assert base["streams"] == 2
    assert base["options"]["buffer"] == 10 << 10
    assert found["buffers x 4"][0].parameters["options"]["buffer"] == 40 << 10
    assert found["half the segment"][0].parameters["options"]["max_segment"] == 730
    assert found["no delay"][0].parameters["options"]["no_delay"] is True
    assert found["origin busy"][0].parameters["options"]["busy"] == "origin=100%"
    for members in found.values():
        options = members[0].parameters["options"]
        changed = {
            k
            for k in options.keys() | base["options"].keys()
            if options.get(k) != base["options"].get(k)
        }
        assert len(changed - {"target_cpu"}) == 1, changed
    assert not {"origin busy", "target busy"} & set(
        labels_of(spec, run, run.points[1], other_work=False)
    )


UDP, TCP = {"transports": ["udp"]}, {"transports": ["tcp"], "test": "latency"}
BATCHES, BUFFERS = "16 datagrams a call", "buffers of 1M"


@pytest.mark.parametrize(
    ("block", "there", "missing"),
    [
        ({**UDP, "test": "stream"}, {BATCHES, "spinning", BUFFERS}, {"no delay"}),
        ({**UDP, "test": "latency"}, {"spinning"}, {BATCHES, BUFFERS}),
        ({"transports": ["icmp"], "test": "latency"}, {"spinning", "target busy"}, {BUFFERS}),
        ({"transports": ["mpi"], "test": "latency"}, {"origin busy"}, {"spinning"}),
        ({**TCP, "options": {"wait": "spin"}}, set(), {"spinning", "no delay"}),
        ({**TCP, "background_load": "target=50%"}, {"spinning"}, {"origin busy"}),
    ],
)
def test_what_a_point_cannot_have_is_not_tried(block, there, missing):
    spec = StudySpec.model_validate({"measure": [{"sizes": "64", **block}]})
    run = run_of(spec)
    labels = set(labels_of(spec, run, run.points[0]))
    assert there <= labels
    assert not missing & labels


def test_the_point_is_chosen():
    blocks = [
        {"transports": ["udp"], "test": "generate", "sizes": "64", "rate": "1M"},
        {"transports": ["tcp"], "test": "latency", "sizes": "1,2,4"},
        {"transports": ["tcp"], "test": "stream", "sizes": "1k"},
    ]
    run = run_of(StudySpec.model_validate({"measure": blocks}))
    assert choose_point(run, None).id == "p002"
    assert choose_point(run, None, ("p001", "p005")).id == "p005"
    assert choose_point(run, "p004").message_bytes == 4
    with pytest.raises(UsageError, match="p001 is test generate; what can be probed is stream"):
        choose_point(run, "p001")
    with pytest.raises(UsageError, match="has no point p9; it has p001 to p005"):
        choose_point(run, "p9")
