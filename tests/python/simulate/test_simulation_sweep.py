"""Sweeps: their values, their keys, and what becomes of a scenario."""

from __future__ import annotations

import pytest
from simulation_fakes import SMALL

from netsonde.errors import UsageError
from netsonde.simulate.plan import plan_sweep
from netsonde.simulate.scenario import SimulationScenario
from netsonde.simulate.sweep import combinations, parse_sweep
from netsonde.tables import load_toml


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("window=8..96:8", tuple(range(8, 97, 8))),
        ("packets=1..4", (1, 2, 3, 4)),
        ("block=1..1024:x4", (1, 4, 16, 64, 256, 1024)),
        ("window=8, 16..20:2,64", (8, 16, 18, 20, 64)),
        ("rate=100M,1G", ("100M", "1G")),
        ("loss=0.01,0.5%", (0.01, "0.5%")),
        ("remap=true,false", (True, False)),
        ("simulation.host.transmit_ring=1..3", (1, 2, 3)),
    ],
)
def test_values(text: str, values: tuple[object, ...]) -> None:
    assert parse_sweep(text).rows == tuple((value,) for value in values)


def test_a_key_is_left_out_and_keys_change_together() -> None:
    assert parse_sweep("permutation=").rows == ((None,),)
    assert parse_sweep("global_window=none,4").rows == ((None,), (4,))
    quoted = parse_sweep('simulation.host.jitter.distribution="none"')
    assert quoted.rows == (("none",),)
    coupled = parse_sweep("window+senders=24+2, 12+none")
    assert coupled.choices() == [
        {"window": 24, "senders": 2},
        {"window": 12, "senders": None},
    ]
    read = SimulationScenario("file", SMALL, load_toml(SMALL, "file"))
    first, second = plan_sweep(read, [coupled], None)
    assert first.plan["transport"]["window_packets"] == 24
    assert first.plan["workload"]["senders"] == [1, 2]
    assert second.plan["transport"]["window_packets"] == 12
    assert "senders" not in second.plan["workload"]
    assert second.spec.label == "window 12, senders none"
    assert second.spec.swept == {"window": 12, "senders": "none"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("window", "is no sweep; write it like window=8..96:8"),
        ("window+senders=8", "has not a value for each of 2 keys"),
        ("window+senders=8+7,9", "'9' has not a value for each of 2 keys"),
        ("window+wndow=8+7", "no key is called 'wndow'"),
        ("wndow=8", "no key is called 'wndow' in a sweep; there are hosts, seed"),
        ("window=8..x", "is no range"),
        ("window=9..8", "has no value in its range"),
        ("window=1..8:0", "has no value in its range"),
        ("window=1..8:x1", "has no value in its range"),
        ("window=0..8:x2", "has no value in its range"),
        ("window=1..100000", "more than 1000 values"),
    ],
)
def test_what_is_no_sweep(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_sweep(text)
    assert words in str(refused.value)


def test_combinations_are_bounded_and_every_key_is_swept_once() -> None:
    found = combinations([parse_sweep("window=1,2"), parse_sweep("senders=3,4")])
    assert found == [
        {"window": 1, "senders": 3},
        {"window": 1, "senders": 4},
        {"window": 2, "senders": 3},
        {"window": 2, "senders": 4},
    ]
    with pytest.raises(UsageError, match="2500 points; 1000 at once"):
        combinations([parse_sweep("window=1..50"), parse_sweep("senders=1..50")])
    with pytest.raises(UsageError, match="names a key twice"):
        combinations([parse_sweep("window=1"), parse_sweep("simulation.transport.window=2")])


def test_a_swept_key_changes_the_scenario_and_nothing_else() -> None:
    read = SimulationScenario("file", SMALL, load_toml(SMALL, "file"))
    plain = plan_sweep(read, [], None)[0].plan
    first, second = plan_sweep(read, [parse_sweep("window=8,16")], None)
    assert first.plan["transport"] == {**plain["transport"], "window_packets": 8}
    assert second.plan["transport"]["window_packets"] == 16
    assert {**first.plan, "transport": None} == {**plain, "transport": None}
    assert second.spec.label == "window 16"
    assert read.tables == load_toml(SMALL, "file")


def test_an_entry_of_a_list_can_be_swept() -> None:
    text = SMALL.replace("hosts = 4", "").replace(
        '[[switch]]\nname = "s1"\npreset = "ibm-8275-416"',
        "[tree]\nfan = [2, 2]\nswitches = ['ibm-8275-416', 'powerrail-2200']",
    )
    read = SimulationScenario("file", text, load_toml(text, "file"))
    (point,) = plan_sweep(read, [parse_sweep("tree.switches.0=ibm-8275-326")], None)
    assert {k["architecture"] for k in point.plan["switch_kinds"].values()} == {"input", "shared"}


def test_a_key_takes_the_place_of_its_other_form() -> None:
    read = SimulationScenario("file", SMALL, load_toml(SMALL, "file"))
    (point,) = plan_sweep(read, [parse_sweep("timeout=5ms")], None)
    assert point.plan["transport"]["timeout_ns"] == 5_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("switch.4.buffer=1", "there is no 4 in a list of 1"),
        ("name.x=1", "leads to no table"),
        ("window=0", "(with window = 0)"),
        ("window=none", "needs a window, in packets (with window = none)"),
        ("switch.0=none", "is an entry of a list, and cannot be left out"),
        ("simulation.workload.colour=red", "unknown key simulation.workload.colour"),
    ],
)
def test_what_a_sweep_cannot_change(text: str, words: str) -> None:
    read = SimulationScenario("file", SMALL, load_toml(SMALL, "file"))
    with pytest.raises(UsageError) as refused:
        plan_sweep(read, [parse_sweep(text)], None)
    assert words in str(refused.value)
