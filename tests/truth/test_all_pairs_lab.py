"""All pairs of a cluster in which it is known what is wrong: exactly that is named, or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab_runs import Silent

from netsonde.explain.table import explain
from netsonde.figures.all_pairs_verdict import Verdict, verdict_of
from netsonde.figures.compute import figures_of
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec

LEAVES = 4
CLEAN_RUNS = 20
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


def judged(folder: Path, text: str, seed: int, **table) -> tuple[Verdict, Places]:
    """The verdict on a cluster and what it names; its findings say the same."""
    file = folder / "net.toml"
    file.write_text(text)
    spec = StudySpec.model_validate(
        {
            "seed": seed,
            "path": {"kind": "lab"},
            "lab": {"scenario": str(file)},
            "all_pairs": {"time": TIME, **table},
        }
    )
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    run = open_run(outcome.directory)
    verdict = verdict_of(run)
    assert verdict is not None
    found: Places = {(named.kind, named.place) for named in verdict.named}
    kinds = {f"{how}-{what}" for how in ("slow", "lossy") for what in ("host", "uplink", "pair")}
    told = {f.place for f in explain(run, figures_of(run)) if f.kind in kinds}
    assert told == {place for _, place in found}
    return verdict, found


@pytest.mark.timeout(120)
def test_three_faults_at_once_are_named_and_nothing_else(tmp_path):
    """In group testing, which measures a part of all pairs: less is seen, of a slower host."""
    text, truth = scenario(4, (SLOW_HOST, LOSSY_LINK, SLOW_UPLINK), seed=5, slow_down=8)
    _, found = judged(tmp_path, text, 5, mode="group-testing", rounds=4, follow_ups=2, time=SHORT)
    assert found == truth


@pytest.mark.timeout(120)
def test_nothing_is_named_where_nothing_is_wrong(tmp_path):
    text, _ = scenario(2, (), seed=6)
    verdict, found = judged(tmp_path, text, 6, rounds=4, time=SHORT)
    assert found == set()
    assert not verdict.dropped
    assert not verdict.failed_pairs


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
