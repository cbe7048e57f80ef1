"""Scenario files: what they mean for the switch, and what is refused with which words."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netsonde.errors import UsageError
from netsonde.lab.capacity import Filled, known_capacity, note_capacity, require_capacity
from netsonde.lab.scenario import (
    lab_spec,
    line_plan,
    parse_scenario,
    read_scenario,
    scenario_of,
    scenario_presets,
)
from netsonde.lab.tables import switch_presets
from netsonde.study.spec import parse_study

TWO_LEVELS = """
name = "two-levels"
seed = 7
[link]
rate = "100M"
delay = "5us"
up = { loss = "1%" }
[[switch]]
name = "leaf"
preset = "ibm-8275-326"
hosts = "h[1-3]"
[[switch]]
name = "root"
architecture = "shared"
buffer = "64k"
port_cap = "10 packets"
latency = "2us"
pause = { high = 20, low = 10 }
[[uplink]]
lower = "leaf"
upper = "root"
rate = "1G"
[[host]]
name = "h[2-3]"
clock_offset = "-3ms"
[host.link]
delay = "1ms"
[host.link.down]
duplicates = 0.01
jitter = { distribution = "normal", mean = "1ms" }
"""


def test_a_scenario_becomes_a_topology() -> None:
    spec = lab_spec(parse_scenario(TWO_LEVELS, "file"))
    assert spec.hosts == 3
    assert spec.fabric is not None
    topology = spec.fabric["topology"]
    leaf, root = topology["switches"]
    assert leaf == {
        "name": "leaf",
        "architecture": "input",
        "cut_through": True,
        "latency_ns": 0,
        "capacity_packets": 43,
    }
    assert root["capacity_bytes"] == 65536
    assert root["port_cap_packets"] == 10
    assert root["pause"] == {"high_packets": 20, "low_packets": 10}
    first, second, _, uplink = topology["links"]
    assert first["up"] == {
        "rate_bit_per_s": 10**8,
        "delay_ns": 5000,
        "mtu_bytes": 1500,
        "loss_ratio": 0.01,
    }
    assert "loss_ratio" not in first["down"]
    assert second["up"]["delay_ns"] == second["down"]["delay_ns"] == 10**6
    assert second["up"]["loss_ratio"] == 0.01  # of every link's way up
    assert second["down"]["duplicate_ratio"] == 0.01
    assert second["down"]["jitter"]["mean_ns"] == 10**6
    assert (uplink["name"], uplink["lower_capacity_packets"]) == ("leaf-root", 45)
    assert uplink["up"]["rate_bit_per_s"] == 10**9
    assert spec.host_settings["h2"]["clock_offset_ns"] == -3_000_000
    assert "h1" not in spec.host_settings


@pytest.mark.parametrize(
    ("tables", "needs_switch"),
    [
        ({}, False),
        ({"hosts": 4, "link": {"rate": "100M"}}, False),
        ({"switch": [{"name": "s1", "buffer": "64k"}]}, False),
        ({"switch": [{"name": "s1", "buffer": "64 packets"}]}, True),
        ({"switch": [{"name": "s1", "architecture": "input"}]}, True),
        ({"link": {"delay": "1ms"}}, True),
        ({"link": {"up": {"rate": "10M"}}}, True),
        ({"host": [{"name": "h2", "link": {"rate": "10M"}}]}, True),
        ({"host": [{"name": "h2", "slow_down": 2}]}, False),
        ({"links": "switch"}, True),
        ({"arp": True}, True),
        ({"pace": {"mode": "busy"}}, True),
    ],
)
def test_the_bridge_is_taken_where_it_will_do(tables: dict[str, Any], needs_switch: bool) -> None:
    assert (lab_spec(scenario_of(tables)).fabric is not None) == needs_switch


@pytest.mark.parametrize("name", sorted(scenario_presets()))
def test_presets_can_be_used(name: str) -> None:
    scenario = read_scenario(name)
    assert scenario.about
    assert lab_spec(scenario).hosts >= 2


def test_switch_presets_are_those_of_the_literature() -> None:
    """Tam, table A.1; the uplinks of two of them have buffers of their own."""
    found = {
        name: (kind.architecture, kind.buffer.packets if kind.buffer else None)
        for name, kind in switch_presets().items()
    }
    assert found == {
        "ibm-8275-326": ("input", 43),
        "ibm-8275-416": ("output", 95),
        "intel-510t": ("shared", 1990),
        "cisco-2980g": ("output", 128),
        "cisco-3524": ("shared", 650),
        "powerrail-2200": ("shared", 820),
    }
    uplinks = {n: k.uplink_buffer.packets for n, k in switch_presets().items() if k.uplink_buffer}
    assert uplinks == {"ibm-8275-326": 45, "intel-510t": 510}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hosts = 65", "a lab of 65 hosts cannot be; give 1 to 64"),
        ("hosts = 0", "a lab of 0 hosts cannot be"),
        ("host = 2", "host: must be a list"),
        ("[link]\nrate = 'fast'", "link.rate: rate 'fast' is not a rate"),
        ("[link]\nloss = '150%'", "link.loss: must be at most 1"),
        ("[link]\nlos = '1%'", "unknown key link.los"),
        ("[link]\nmtu = 600", "link.mtu: must be at least 1280"),
        ("[[switch]]\nname = 's1'\nbuffer = 'many'", "'many' is no buffer"),
        ("[[switch]]\nname = 's1'\npreset = 'nortel'", "no switch is called 'nortel'"),
        ("[[switch]]\nname = 's1'\npause = { high = 3, low = 3 }", "the low mark must lie below"),
        ("[[switch]]\nname = 'a'\n[[switch]]\nname = 'b'", "say which hosts are at which switch"),
        ("[[switch]]\nname = 'a'\nhosts = 'h1,h3'", "must be h1 to h2 without a gap"),
        ("[[switch]]\nname = 'a'\nhosts = 'n1'", "'n1' is no host"),
        ("[[host]]\nname = 'h9'", "there is no host h9; there are 2"),
        ("links = 'bridge'\n[link]\ndelay = '1ms'", "links = 'bridge' cannot do delay"),
        (
            "[[switch]]\nname = 'a'\nhosts = 'h1,h2'\n[[uplink]]\nlower = 'a'\nupper = 'b'",
            "no switch is called 'b'",
        ),
        (
            "[[switch]]\nname = 's1'\narchitecture = 'output'\nbuffer = '256'",
            "a buffer of 256 bytes holds no frame of 1514 bytes",
        ),
        (
            "[link]\nmtu = 9000\n[[switch]]\nname = 's1'\nport_cap = '8k'",
            "a buffer of 8192 bytes holds no frame of 9014 bytes",
        ),
        (
            "[[switch]]\nname = 'a'\nhosts = 'h1'\n[[switch]]\nname = 'b'\nhosts = 'h2'\n"
            "[[uplink]]\nlower = 'a'\nupper = 'b'\nupper_buffer = '1k'",
            "switch b: a buffer of 1024 bytes holds no frame",
        ),
        ("name = 'A b'", "cannot name a lab"),
        ("x = [", "is not TOML"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_scenario(text, "file.toml")
    assert words in str(refused.value)
    assert str(refused.value).startswith("file.toml")


def test_a_change_while_it_runs_is_read_like_a_link() -> None:
    assert line_plan({"loss": "0.1%", "delay": "5ms", "mtu": "1400"}) == {
        "loss_ratio": 0.001,
        "delay_ns": 5_000_000,
        "mtu_bytes": 1400,
    }
    with pytest.raises(UsageError, match="unknown key los"):
        line_plan({"los": "1%"})


def test_a_file_that_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a scenario file nor one of"):
        read_scenario("no-such-preset")
    with pytest.raises(UsageError, match="cannot read"):
        read_scenario(str(tmp_path / "none.toml"))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no UTF-8"):
        read_scenario(str(path))
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(UsageError, match="longer than 1 MiB"):
        read_scenario(str(path))


def test_what_is_beyond_the_machine_is_refused_with_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables = {"hosts": 16, "links": "switch", "link": {"rate": "1G"}}
    fabric = lab_spec(scenario_of(tables)).fabric
    require_capacity(fabric)  # nothing is known yet
    (tmp_path / "netsonde").mkdir()
    note = {"cpus": os.cpu_count(), "frames_per_s": 126_000.0}
    (tmp_path / "netsonde/capacity.json").write_text(json.dumps(note))
    with pytest.raises(UsageError, match="this machine emulates 126000"):
        require_capacity(fabric)
    require_capacity(lab_spec(scenario_of({**tables, "link": {"rate": "90M"}})).fabric)
    beyond = {**tables, "pace": {"beyond_capacity": True}}
    require_capacity(lab_spec(scenario_of(beyond)).fabric)


def test_a_machine_that_kept_up_with_nothing_is_not_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was busy; each lab would be refused from then on."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sent = Filled(2, 10**8, "switch", 15765.0, 9e3, 9000, 0, 10**9, 0.9, 1, 1, 1, 1, 1, True)
    late = replace(sent, kept_up=False)
    assert note_capacity([late]) is None
    assert known_capacity() is None
    note_capacity([late, sent, replace(late, asked_frames_per_s=31530.0)])
    assert known_capacity() == 15765.0


def test_a_study_takes_a_scenario_or_a_plain_lab() -> None:
    text = (
        '[lab]\nscenario = "wan"\n{}[[measure]]\ntransports = "tcp"\ntest = "latency"\nsizes = 64\n'
    )
    assert parse_study(text.format(""), "s").lab.scenario == "wan"
    with pytest.raises(UsageError, match="hosts and a scenario do not go together"):
        parse_study(text.format("hosts = 3\n"), "s")
