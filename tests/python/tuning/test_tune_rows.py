"""Rows of knobs, settings and causes fit each other and what they name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import netsonde
from netsonde.explain.table import RULES
from netsonde.tuning.sockets.causes import CAUSES, order
from netsonde.tuning.sockets.data import Known
from netsonde.tuning.sockets.knobs import KERNEL_NAMES, KNOBS, PROGRAM_OPTIONS
from netsonde.tuning.sockets.settings import SETTINGS, Place, Setting

PLACE = Place("eth1", "10.0.0.2", ("ethtool",))
EXPLAIN = Path(netsonde.__file__).parent / "explain"
ETHTOOL = """Features for eth1:
rx-checksumming: on
tcp-segmentation-offload: off
	tx-tcp-segmentation: off
generic-segmentation-offload: on
generic-receive-offload: off [fixed]
"""
ROUTES = """default via 10.0.0.1 dev eth1 proto dhcp metric 100
10.0.0.0/24 dev eth1 proto kernel scope link src 10.0.0.1 mtu lock 600 rto_min lock 5ms
10.0.0.0/16 dev eth2 proto kernel scope link src 10.0.1.1
"""
HOSTS = {
    "net.ipv4.tcp_rmem": {"a": "4096 131072 262144", "b": "4096 131072 524288"},
    "net.ipv4.tcp_wmem": {"a": "4096 16384 262144", "b": "4096 16384 262144"},
}


def test_causes_name_findings_and_knobs_that_are_there():
    kinds = {rule.name for rule in RULES}
    kinds |= {
        k for p in EXPLAIN.glob("*.py") for k in re.findall(r'kind="([a-z-]+)"', p.read_text())
    }
    assert CAUSES.keys() - kinds == set()
    assert {knob for knobs in CAUSES.values() for knob in knobs} - KNOBS.keys() == set()


def test_knobs_of_hosts_have_settings_and_others_options():
    for name, knob in KNOBS.items():
        assert knob.name == name
        assert bool(knob.settings) == (knob.level == "host"), name
        assert set(knob.settings) <= SETTINGS.keys(), name
        assert not knob.same_as or knob.same_as in KNOBS
    assert KERNEL_NAMES.keys() == PROGRAM_OPTIONS.keys()


def test_findings_order_the_knobs():
    found = order(["processor-bound", "window-limited"], tuple(KNOBS))
    assert [knob for knob, _ in found[:4]] == ["offloads", "mtu", "segment", "system-buffers"]
    assert found[0][1] == "processor-bound"
    assert sorted(knob for knob, _ in found) == sorted(KNOBS)
    assert found[-1][1] == ""


@pytest.mark.parametrize(
    ("name", "said", "value"),
    [
        ("net.ipv4.tcp_rmem", "4096\t131072\t6291456\n", "4096 131072 6291456"),
        ("mtu", "2: eth1: <UP> mtu 1500 qdisc fq state UP", "1500"),
        ("route.mtu", ROUTES, "600"),
        ("route.rto_min", ROUTES, "5ms"),
        ("route.window", ROUTES, ""),
        ("offloads", ETHTOOL, "tso=off gso=on"),
        ("rx-usecs", "Coalesce:\nrx-usecs: 50\nrx-frames: 1\n", "50"),
    ],
)
def test_what_was_read_is_put_back_as_it_was(name, said, value):
    setting: Setting = SETTINGS[name]
    state = setting.state_of(said, PLACE)
    assert state is not None
    assert setting.value_of(state) == value
    assert setting.is_as(value, state)
    undo = " ".join(setting.put_back(PLACE, state))
    assert state in undo or dict(p.split("=") for p in state.split()).items()


def test_a_route_is_replaced_but_for_one_attribute():
    setting = SETTINGS["route.mtu"]
    state = setting.state_of(ROUTES, PLACE)
    assert state is not None
    assert state.startswith("10.0.0.0/24")
    kept = "10.0.0.0/24 dev eth1 proto kernel scope link src 10.0.0.1"
    assert " ".join(setting.change(PLACE, "", state)) == f"ip route replace {kept} rto_min lock 5ms"
    assert " ".join(setting.change(PLACE, "900", state)).endswith("rto_min lock 5ms mtu 900")
    assert " ".join(setting.put_back(PLACE, state)) == f"ip route replace {state}"


def test_offloads_that_are_fixed_are_not_asked_for():
    setting = SETTINGS["offloads"]
    state = setting.state_of(ETHTOOL, PLACE)
    assert state is not None
    asked = setting.change(PLACE, "tso=on gso=on gro=on", state)
    assert asked == ["ethtool", "-K", "eth1", "tso", "on", "gso", "on"]
    assert setting.is_as("tso=on gso=on gro=on", "tso=on gso=on")
    assert not setting.is_as("tso=on gso=on gro=on", state)


@pytest.mark.parametrize("name", ["mtu", "offloads", "rx-usecs", "route.mtu"])
def test_a_host_without_it_has_no_state(name):
    assert SETTINGS[name].state_of("no such thing", PLACE) is None
    assert SETTINGS[name].read(Place("", "")) == []


def test_buffers_are_sized_by_what_the_path_holds():
    known = Known({}, HOSTS, recommended_buffer_bytes=1_000_000)
    (first, second) = KNOBS["system-buffers"].candidates(known)
    size = int(first.host["net.ipv4.tcp_rmem"].split()[2])
    assert size >= 2_000_000, "half of it becomes window, twice what the path holds is advised"
    assert first.host["net.ipv4.tcp_wmem"].startswith("4096 16384 ")
    assert int(second.host["net.ipv4.tcp_rmem"].split()[2]) > size
    enough = Known({}, HOSTS, recommended_buffer_bytes=100_000)
    assert list(KNOBS["system-buffers"].candidates(enough)) == []
    assert list(KNOBS["program-buffers"].candidates(enough)) == []


def test_a_program_that_asks_for_little_is_offered_more_or_none():
    known = Known({"buffer": 10_000}, HOSTS, recommended_buffer_bytes=100_000)
    changes = list(KNOBS["program-buffers"].candidates(known))
    assert [change.options["buffer"] for change in changes] == [None, 100_000, 400_000]


def test_what_a_program_sets_well_is_left_alone():
    known = Known({}, {}, ("cubic",), "cubic")
    offered = {name for name, knob in KNOBS.items() if list(knob.candidates(known))}
    assert offered == {"busy-poll"}
    slow = Known({"no_delay": False, "max_segment": 500, "window_clamp": 9000, "pacing": 10**6})
    offered = {name for name, knob in KNOBS.items() if list(knob.candidates(slow))}
    assert offered == {"nagle", "segment", "window-clamp", "pacing", "busy-poll"}
