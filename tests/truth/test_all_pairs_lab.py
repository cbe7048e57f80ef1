"""All pairs of a cluster in which it is known what is wrong: exactly that is named, or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab_runs import Silent
from lab_truth import ROOT

from netsonde.explain.all_pairs import NAMED_KINDS
from netsonde.explain.table import explain
from netsonde.figures.all_pairs_verdict import Verdict, verdict_of
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

LEAVES = 4
CLEAN_RUNS = 20
SLOW_WAY_DELAY = "2ms"
TIME = "100ms"
SHORT = "60ms"
SLOW_HOST, LOSSY_LINK, SLOW_UPLINK, SLOW_LINK = (
    "slow host",
    "lossy link",
    "slow uplink",
    "slow link",
)


Places = set[tuple[str, str]]


def scenario(
    hosts_per_leaf: int, faults: tuple[str, ...], seed: int, slow_down: int = 4
) -> tuple[str, Places]:
    """A tree of four switches below a fifth, with faults at places that the seed decides; the text
    of the scenario and what is to be named: (kind, place)."""
    chance = np.random.default_rng(seed)
    hosts = [f"h{number}" for number in range(1, LEAVES * hosts_per_leaf + 1)]
    lines = ['[link]\nrate = "20M"\ndelay = "250us"']
    slow_leaf = int(chance.integers(LEAVES))
    for leaf in range(LEAVES):
        below = f"h[{leaf * hosts_per_leaf + 1}-{(leaf + 1) * hosts_per_leaf}]"
        lines.append(f'[[switch]]\nname = "leaf{leaf + 1}"\nhosts = "{below}"\nbuffer = "64k"')
    lines.append('[[switch]]\nname = "root"\nbuffer = "64k"')
    for leaf in range(LEAVES):
        slow = SLOW_UPLINK in faults and leaf == slow_leaf
        rate = "10M" if slow else "100M"
        lines.append(f'[[uplink]]\nlower = "leaf{leaf + 1}"\nupper = "root"\nrate = "{rate}"')
    places = [str(host) for host in chance.permutation(hosts)]
    truth: Places = {("uplink", f"leaf{slow_leaf + 1}")}
    truth = truth if SLOW_UPLINK in faults else set()
    settings = {
        SLOW_HOST: f"slow_down = {slow_down}",
        LOSSY_LINK: '[host.link]\nloss = "2%"',
        SLOW_LINK: '[host.link]\nrate = "5M"',
    }
    for fault, setting in settings.items():
        if fault in faults:
            place = places.pop()
            truth.add(("host", place))
            lines.append(f'[[host]]\nname = "{place}"\n{setting}')
    return "\n\n".join(lines) + "\n", truth


def with_clocks(text: str, hosts: int, slow_way: tuple[str, str] | None) -> str:
    """A scenario in which every host has a clock of its own, and one of them, perhaps, more delay
    in one direction of its link: (host, ``up`` or ``down``)."""
    for number in range(1, hosts + 1):
        name = f"h{number}"
        clock = f'clock_offset = "{number * 700}ms"\nclock_drift_ppm = {20 * (number % 5 - 2)}'
        text += f'\n[[host]]\nname = "{name}"\n{clock}\n'
        if slow_way is not None and slow_way[0] == name:
            text += f'[host.link.{slow_way[1]}]\ndelay = "{SLOW_WAY_DELAY}"\n'
    return text


def judged(folder: Path, text: str, seed: int, **table) -> tuple[Verdict, Places]:
    """The verdict on a cluster and what it names; its findings say the same."""
    folder.mkdir(exist_ok=True)
    file = folder / "net.toml"
    file.write_text(text)
    spec = StudySpec.model_validate(
        {
            "seed": seed,
            "path": {"kind": "lab"},
            "lab": {"scenario": str(file)},
            "tournament": {"time": TIME, **table},
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    verdict = verdict_of(run)
    assert verdict is not None
    found: Places = {(named.kind, named.place) for named in verdict.named}
    told = {f.place for f in explain(run, figures_of(run)) if f.kind in NAMED_KINDS}
    assert told == {place for _, place in found}
    return verdict, found


@pytest.mark.soak
@pytest.mark.timeout(120)
def test_three_faults_at_once_are_named_and_nothing_else(tmp_path, attempts):
    """In group testing, which measures a part of all pairs: less is seen, of a slower host."""
    text, truth = scenario(4, (SLOW_HOST, LOSSY_LINK, SLOW_UPLINK), seed=5, slow_down=8)
    few = {"mode": "group-testing", "rounds": 4, "follow_ups": 2, "time": SHORT}
    for attempt in attempts(2, of=3):
        _, found = judged(tmp_path / str(attempt.number), text, 5, **few)
        with attempt:
            assert found == truth


@pytest.mark.tolerant
@pytest.mark.soak
@pytest.mark.timeout(120)
def test_nothing_is_named_where_nothing_is_wrong(tmp_path, attempts):
    text, _ = scenario(2, (), seed=6)
    for attempt in attempts(2, of=3):
        few = {"mode": "group-testing", "rounds": 3, "time": SHORT}
        verdict, found = judged(tmp_path / str(attempt.number), text, 6, **few)
        assert not verdict.dropped
        assert not verdict.failed_pairs
        with attempt:
            assert found == set()


@pytest.mark.tolerant
@pytest.mark.timeout(120)
@pytest.mark.skipif(not ROOT, reason="clocks of their own need root")
def test_a_slow_direction_of_a_link_is_named_with_it(tmp_path, attempts):
    """By clocks that differ by seconds and drift. Round trips show that something is slow, and
    delays of both ways which of them."""
    text = with_clocks(scenario(2, (), seed=7)[0], 8, ("h4", "up"))
    both = {"measures": "latency,one-way", "follow_ups": 1, "time": SHORT}
    for attempt in attempts(2, of=3):
        verdict, found = judged(tmp_path / str(attempt.number), text, 7, **both)
        with attempt:
            assert found == {("host", "h4")}
            delay = next(s for s in verdict.named[0].symptoms if s.name == "one_way_min_ns")
            assert delay.way == "sends"
            assert delay.value - delay.usual == pytest.approx(1.75e6, rel=0.3)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not ROOT, reason="clocks of their own need root")
@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_either_direction_of_a_link_of_sixteen_hosts(tmp_path, way, seed):
    host = f"h{1 + int(np.random.default_rng(seed).integers(16))}"
    text = with_clocks(scenario(4, (), seed)[0], 16, (host, way))
    verdict, found = judged(tmp_path, text, seed)
    assert found == {("host", host)}
    ways = {symptom.name: symptom.way for symptom in verdict.named[0].symptoms}
    assert ways["one_way_min_ns"] == {"up": "sends", "down": "receives"}[way]


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "faults",
    [
        (SLOW_HOST,),
        (SLOW_UPLINK,),
        (SLOW_LINK,),
        (LOSSY_LINK,),
        (SLOW_HOST, SLOW_UPLINK, LOSSY_LINK),
    ],
    ids="+".join,
)
@pytest.mark.parametrize("seed", [1, 2])
def test_each_fault_of_sixteen_hosts_alone_and_all_together(tmp_path, faults, seed):
    text, truth = scenario(4, faults, seed)
    verdict, found = judged(tmp_path, text, seed)
    assert found == truth
    manners = {named.place: named.manner for named in verdict.named}
    assert ("loses" in manners.values()) == (LOSSY_LINK in faults)
    assert ("late" in manners.values()) == (SLOW_HOST in faults)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(CLEAN_RUNS))
def test_sixteen_sound_hosts_raise_no_alarm(tmp_path, seed):
    text, _ = scenario(4, (), seed)
    assert judged(tmp_path, text, seed)[1] == set()
