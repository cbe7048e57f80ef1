"""Scenario files that are to be simulated: what sonde-sim gets, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulation_fakes import SMALL

from netsonde.errors import UsageError
from netsonde.lab.scenario import lab_spec, parse_scenario
from netsonde.simulate.plan import plan_point, plan_sweep
from netsonde.simulate.resolve import resolve
from netsonde.simulate.scenario import (
    SimulationScenario,
    parse,
    read_simulation,
    simulation_presets,
)
from netsonde.tables import load_toml

ROOT = Path(__file__).resolve().parents[3]


def scenario(text: str) -> SimulationScenario:
    return SimulationScenario("file", text, load_toml(text, "file"))


def plan(text: str) -> dict[str, Any]:
    return resolve(parse(load_toml(text, "file"), "file"))


TWO_LEVELS = """
seed = 7
[link]
rate = "100M"
delay = "100ns"
[[switch]]
name = "leaf0"
preset = "ibm-8275-326"
hosts = "h[1-8]"
latency = "10us"
[[switch]]
name = "leaf1"
preset = "ibm-8275-326"
hosts = "h[9-16]"
latency = "10us"
[[switch]]
name = "root"
preset = "powerrail-2200"
port_cap = "400 packets"
latency = "5us"
[[uplink]]
lower = "leaf0"
upper = "root"
rate = "1G"
down = { rate = "824M" }
[[uplink]]
lower = "leaf1"
upper = "root"
rate = "1G"
down = { rate = "824M" }
[simulation.host]
send_overhead = { base = "5us", per_byte_ns = 5.0 }
receive_overhead = { base = "8us", per_byte_ns = 8.0 }
user_receive_overhead = "7us"
send_gap = { base = "2960ns", per_byte_ns = 80.0 }
receive_gap = { base = "2960ns", per_byte_ns = 80.0 }
copy = { base = 500, per_byte_ns = 2.5 }
transmit_ring = 64
receive_pool = 512
jitter = { distribution = "exponential", mean = "500ns" }
[simulation.transport]
kind = "go-back-n"
window = 12
timeout = "20ms"
acknowledge = "immediate"
header = 8
control = 46
[simulation.workload]
kind = "many-to-one"
target = "h16"
packets = 500
[simulation.output]
events = true
queues = [{ switch = "leaf1", port = "up" }]
"""


def test_the_example_of_the_format_can_be_written_as_a_scenario() -> None:
    """The same cluster as schema/examples/simulation.json, but for the names of kinds."""
    wanted = json.loads((ROOT / "schema" / "examples" / "simulation.json").read_text())
    found = plan(TWO_LEVELS)
    assert set(found) == set(wanted)
    for key in ("simulation", "seed", "transport", "workload", "record"):
        assert found[key] == wanted[key], key
    assert _plain(found) == _plain(wanted)


def _plain(plan: dict[str, Any]) -> Any:
    """Switches and hosts with what their kinds say, defaults filled in."""
    usual = {"cut_through": False}
    switches = [
        {
            **{k: v for k, v in switch.items() if k in ("name", "parent")},
            "kind": {**usual, **plan["switch_kinds"][switch["kind"]]},
            "link": plan["link_kinds"].get(switch.get("link")),
        }
        for switch in plan["switches"]
    ]
    hosts = [
        {
            "switch": group["switch"],
            "count": group["count"],
            "link": plan["link_kinds"][group["link"]],
            "kind": {
                name: {"per_byte_ns": 0.0, **value}
                if name != "jitter" and isinstance(value, dict)
                else value
                for name, value in plan["host_kinds"][group["kind"]].items()
            },
        }
        for group in plan["hosts"]
    ]
    return switches, hosts


@pytest.mark.parametrize("name", sorted(simulation_presets()))
def test_presets_can_be_simulated_and_emulated(name: str) -> None:
    read = read_simulation(name)
    assert read.tables["about"]
    (point,) = plan_sweep(read, [], None)
    assert point.plan["simulation"] == 1
    # The same file brings up a lab.
    spec = lab_spec(parse_scenario(read.text, name))
    assert spec.hosts == sum(group["count"] for group in point.plan["hosts"])


def test_every_switch_and_cluster_of_the_literature_is_there() -> None:
    """Tam, table A.1 and section 7.1 of the digest: clusters with each of their switches."""
    text = "\n".join(simulation_presets().values())
    switches = ("ibm-8275-326", "ibm-8275-416", "cisco-2980g", "powerrail-2200")
    assert all(f'"{switch}"' in text for switch in switches)
    names = {re.sub(r"-.*", "", name) for name in simulation_presets()}
    assert names == {"fedp", "gedp", "gather", "exchange"}
    assert {n for n in simulation_presets() if n.startswith("exchange")} == {
        f"exchange-{shape}" for shape in ("16x1", "8x2", "8x3", "6x4", "8x4")
    }


def test_host_costs_are_those_of_table_5_2() -> None:
    kinds = plan_sweep(read_simulation("fedp-416"), [], None)[0].plan["host_kinds"]
    (costs,) = kinds.values()

    def of_full_packet(name: str) -> float:
        return float(costs[name]["base_ns"] + 1500 * costs[name]["per_byte_ns"])

    expected = {"send_overhead": 12.5, "receive_overhead": 20.0, "user_receive_overhead": 7.0}
    expected |= {"send_gap": 122.0, "receive_gap": 123.0}
    for name, micros in expected.items():
        assert of_full_packet(name) / 1000 == pytest.approx(micros, abs=0.01), name


def test_a_tree_of_switches() -> None:
    found = plan(
        """
        [link]
        rate = "100M"
        [tree]
        fan = [4, 3, 2]
        switches = ["ibm-8275-326", "powerrail-2200", "powerrail-2200"]
        uplinks = [{ rate = "1G" }, { rate = "10G" }]
        [simulation.uplinks]
        both_ways = "1200M"
        [simulation.workload]
        kind = "uniform"
        packets = 1
        """
    )
    names = [switch["name"] for switch in found["switches"]]
    assert names == ["root", "level2-1", "level2-2", *(f"leaf{i}" for i in range(1, 7))]
    parents = {switch["name"]: switch.get("parent") for switch in found["switches"]}
    assert parents["leaf3"] == "level2-1"
    assert parents["leaf4"] == "level2-2"
    rates = {
        s["name"]: found["link_kinds"][s["link"]]["rate_bit_per_s"]
        for s in found["switches"]
        if "link" in s
    }
    assert rates["leaf1"] == 10**9
    assert rates["level2-1"] == 10**10
    assert [(g["switch"], g["count"]) for g in found["hosts"]] == [
        (f"leaf{i}", 4) for i in range(1, 7)
    ]
    assert all(
        kind.get("both_ways_bit_per_s") in (None, 1_200_000_000)
        for kind in found["link_kinds"].values()
    )


def test_switches_of_a_tree_may_be_described_or_named() -> None:
    found = plan(
        """
        [tree]
        fan = [2, 2]
        switches = [
            { architecture = "output", buffer = "64k" },
            { preset = "powerrail-2200", buffer = "10 packets" },
        ]
        [simulation.workload]
        kind = "uniform"
        packets = 1
        """
    )
    kinds = {s["name"]: found["switch_kinds"][s["kind"]] for s in found["switches"]}
    assert kinds["leaf1"] == kinds["leaf2"]
    assert kinds["leaf1"]["buffer_bytes"] == 65536
    assert kinds["root"]["buffer_packets"] == 10
    assert kinds["root"]["cut_through"] is False


def test_hosts_that_differ_are_groups_of_their_own() -> None:
    found = plan(
        SMALL
        + """
[simulation.host]
preset = "piii-450"
[[simulation.particular]]
hosts = "h2"
receive_pool = 8
[[host]]
name = "h4"
slow_down = 2.0
link = { rate = "10M" }
"""
    )
    assert [group["count"] for group in found["hosts"]] == [1, 1, 1, 1]
    usual, pool, same, slow = (found["host_kinds"][g["kind"]] for g in found["hosts"])
    assert same == usual
    assert pool == {**usual, "receive_pool_packets": 8}
    assert slow["send_overhead"]["base_ns"] == 2 * usual["send_overhead"]["base_ns"]
    assert slow["send_gap"] == usual["send_gap"]  # that of the card, not of the CPU
    assert found["link_kinds"][found["hosts"][3]["link"]]["rate_bit_per_s"] == 10**7


def test_time_outs_in_slots() -> None:
    """A slot is a full packet on a host's line: 1492 + 8 + 38 bytes at 100 Mbit/s."""
    assert plan(SMALL)["transport"]["timeout_ns"] == 400 * 123_040


def test_senders_pairs_and_remapping() -> None:
    read = scenario(SMALL)
    for given, wanted in ((2, [1, 2]), ("h[3-4]", [2, 3])):
        point = plan_point("p", read, {"senders": given}, None)
        assert point.plan["workload"]["senders"] == wanted
    tree = read_simulation("exchange-8x3")
    assert plan_point("p", tree, {}, None).plan["workload"]["hierarchy"] == [8, 3]
    assert "hierarchy" not in plan_point("p", tree, {"remap": False}, None).plan["workload"]


def test_a_trace_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("at_ns,source,target,bytes\n0,h1,h2,100\n50,h2,h4,9\n")
    path = tmp_path / "scenario.toml"
    head = SMALL.split("[simulation.workload]")[0]
    path.write_text(head + '[simulation.workload]\nkind = "trace"\nfile = "trace.csv"\n')
    (point,) = plan_sweep(read_simulation(str(path)), [], None)
    assert point.plan["workload"]["messages"] == [[0, 0, 1, 100], [50, 1, 3, 9]]
    (tmp_path / "trace.csv").write_text("0,h1,h2,100\nnow,h1,h2,1\n")
    with pytest.raises(UsageError, match=r"line 2 of .*trace\.csv is no message"):
        plan_sweep(read_simulation(str(path)), [], None)


def test_runs_have_seeds_of_their_own() -> None:
    read = scenario(SMALL + "[simulation]\nruns = 3\n")
    assert plan_sweep(read, [], 9)[0].seeds == (9, 10, 11)
    assert plan_sweep(read, [], None)[0].seeds == (5, 6, 7)


WORKLOAD = "[simulation.workload]\nkind = 'uniform'\npackets = 1\n"
REFUSED = [
    ("hosts = 4", "file has no [simulation] table"),
    ("simulation = 3", "simulation is a table"),
    (
        "hosts = 1000000000\n" + WORKLOAD,
        "a simulation of 1000000000 hosts cannot be; give 1 to 1048576",
    ),
    (
        "[[switch]]\nname='a'\nhosts='h[1-1000000000]'\n" + WORKLOAD,
        "names more hosts than a simulation",
    ),
    ("[[switch]]\nname='a'\nhosts='h[1-99999999999999]'\n" + WORKLOAD, "names more hosts"),
    ("[[switch]]\nname='a'\nhosts='h[1-1000][1-9999]'\n" + WORKLOAD, "names more hosts"),
    ("[[switch]]\nname='a'\nhosts='@all'\n" + WORKLOAD, "names no hosts"),
    ("[tree]\nfan=[1024,1024,1024]\n" + WORKLOAD, "a simulation of 1073741824 hosts"),
    ("[tree]\nfan=[1,100000]\n" + WORKLOAD, "a simulation of 100001 switches"),
    ("[tree]\nfan=[2,2]\nuplinks=[{},{},{}]\n" + WORKLOAD, "uplinks has 3 entries; give one"),
    ("hosts = 1\n" + WORKLOAD, "1 host has nobody to send to"),
    ("hosts = 0\n" + WORKLOAD, "a simulation of 0 hosts cannot be"),
    ("[link]\nrate = 0\n" + WORKLOAD, "link.rate: must be at least 1000"),
    ("[link]\nrate = '0'\n" + WORKLOAD, "link.rate: must be at least"),
    ("[link]\nrate = '" + "9" * 400 + "'\n" + WORKLOAD, "beyond all measure"),
    (
        "[link]\njitter = { distribution = 'uniform', mean = '1ms' }\n" + WORKLOAD,
        "jitter cannot be simulated",
    ),
    ("[link]\nloss_every = 5\n" + WORKLOAD, "loss_every cannot be simulated"),
    ("[link]\nup = { loss = '1%' }\n" + WORKLOAD, "one loss for both directions"),
    ("[simulation]\nnonsense = 1\n" + WORKLOAD, "unknown key simulation.nonsense"),
    (WORKLOAD + "colour = 'red'", "unknown key simulation.workload.colour"),
    (WORKLOAD + "target = 'h1'", "kind = 'uniform' takes no target"),
    ("[simulation.workload]\nkind = 'uniform'", "kind = 'uniform' needs packets"),
    (
        "[simulation.workload]\nkind = 'hurry'\npackets = 1",
        "simulation.workload.kind: must be",
    ),
    (
        "[simulation.workload]\nkind='schedule'\nalgorithm='alltoall/shift'",
        "needs one of block, block_packets and sizes",
    ),
    (
        "[simulation.workload]\nkind='one-way'\npackets=1\ntarget='h9'",
        "there is no host h9; there are 2",
    ),
    ("[simulation.workload]\nkind='one-way'\npackets=1\ntarget='h1'", "the same host"),
    (
        "[simulation.workload]\nkind='many-to-one'\npackets=1\nsenders=2",
        "2 of 2 hosts cannot all send to one; 1 can",
    ),
    (
        "[simulation.workload]\nkind='many-to-one'\npackets=1\nsenders='h[1-2]'",
        "the target is among the senders",
    ),
    (
        "[simulation.workload]\nkind='pairs'\npackets=1\npairs={source='h1',target='h[1-2]'}",
        "1 sources and 2 targets",
    ),
    (
        "[simulation.workload]\nkind='trace'\nmessages=[[5,'h1','h2',1],[4,'h1','h2',1]]",
        "not in the order",
    ),
    ("[simulation.workload]\nkind='trace'\nmessages=[[5,'h1','h1',1]]", "a host sends to itself"),
    (
        "[simulation.workload]\nkind='uniform'\npackets=1\npayload=60000",
        "has 60008 bytes with its header, and the links' mtu is 1500",
    ),
    ("[simulation.transport]\nkind='go-back-n'\n" + WORKLOAD, "kind = 'go-back-n' needs a window"),
    (
        "[simulation.transport]\nkind='go-back-n'\nwindow=0\ntimeout=1\n" + WORKLOAD,
        "transport.window: must be",
    ),
    (
        "[simulation.transport]\nkind='go-back-n'\nwindow=4\n" + WORKLOAD,
        "needs one of timeout and timeout_slots",
    ),
    ("[simulation.transport]\nkind='tcp'\nwindow=4\n" + WORKLOAD, "kind = 'tcp' takes no window"),
    ("[simulation.transport]\nkind='tcp'\n" + WORKLOAD, "workload uniform is for datagrams"),
    ("[simulation.host]\npreset = 'cray'\n" + WORKLOAD, "no host is called 'cray'"),
    ("[simulation.host]\nsend_gap = '-1us'\n" + WORKLOAD, "is not a duration"),
    ("[simulation.host]\nsend_gap = { per_byte_ns = nan }\n" + WORKLOAD, "per_byte_ns"),
    ("[[simulation.particular]]\nhosts = 'h7'\n" + WORKLOAD, "there is no host h7 of 2"),
    (
        "[simulation.output]\nqueues = [{switch='x', port='up'}]\n" + WORKLOAD,
        "no switch is called 'x'",
    ),
    ("[simulation.output]\nevents = true\n" + WORKLOAD, "transport is datagram"),
    (
        "[simulation.workload]\nkind='schedule'\nalgorithm='alltoall/shift'\nblock=1\nremap=true",
        "remap needs two switches",
    ),
    (
        "[[switch]]\nname='a'\nhosts='h1'\n[[switch]]\nname='b'\nhosts='h2'\n" + WORKLOAD,
        "one switch without an uplink; here there are 2: a, b",
    ),
    (
        "[[switch]]\nname='a'\nhosts='h[1-2]'\n[[switch]]\nname='b'\n[[switch]]\nname='c'\n"
        "[[uplink]]\nlower='b'\nupper='c'\n[[uplink]]\nlower='c'\nupper='b'\n" + WORKLOAD,
        "uplinks close a loop at switch b",
    ),
    ("x = " + "[" * 5000, "is not TOML"),
    ("hosts = " + "9" * 5000, "is not TOML"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan_sweep(scenario(text), [], None)
    assert words in str(refused.value)
    assert str(refused.value).startswith("file")
    assert "\n" not in str(refused.value)


def test_a_lab_takes_no_notice_of_the_simulation() -> None:
    spec = lab_spec(parse_scenario(TWO_LEVELS, "file"))
    assert spec.hosts == 16
    assert lab_spec(parse_scenario(TWO_LEVELS.split("[simulation.host]")[0], "file")) == spec


def test_keys_of_switches_go_to_those_that_have_them() -> None:
    extra = "[simulation.switches]\nservice = 'fixed'\ncontrol_first = true\n"
    kinds = plan(TWO_LEVELS + extra)["switch_kinds"].values()
    found = {k["architecture"]: (k.get("service"), k.get("control_first")) for k in kinds}
    assert found == {"input": ("fixed", None), "shared": (None, True)}
    with pytest.raises(UsageError, match="service is for switches with input buffers"):
        plan(SMALL + extra)


def test_a_stage_is_of_input_buffers_and_what_a_window_counts_of_a_window() -> None:
    stage = "[simulation.switches]\noutput_stage = 3\n"
    kinds = plan(TWO_LEVELS + stage)["switch_kinds"].values()
    found = {kind["architecture"]: kind.get("output_stage_packets") for kind in kinds}
    assert found == {"input": 3, "shared": None}
    with pytest.raises(UsageError, match="output_stage is for switches with input buffers"):
        plan(SMALL + stage)
    preset = read_simulation("exchange-8x2")
    transport = plan_sweep(preset, [], None)[0].plan["transport"]
    assert transport["global_window_counts"] == "received"
    text = preset.text.replace("global_window = 5\n", "")
    with pytest.raises(UsageError, match="global_window_counts goes with global_window only"):
        plan(text)


def test_losses_in_bursts_are_those_of_the_lab() -> None:
    text = "[link]\nburst = { enter = '1%', leave = '25%' }\n[[host]]\nname = 'h2'\n"
    text += "[host.link]\nburst = { enter = '2%', leave = '50%' }\n"
    text += "[simulation.workload]\nkind = 'uniform'\npackets = 1\n"
    links = plan("hosts = 3\n" + text)["link_kinds"].values()
    found = [link["burst"] for link in links]
    assert [(burst["enter_ratio"], burst["leave_ratio"]) for burst in found] == [
        (0.01, 0.25),
        (0.02, 0.5),
    ]


def test_blocks_of_unequal_sizes() -> None:
    text = "hosts = 3\n[simulation.workload]\nkind = 'schedule'\nalgorithm = 'alltoall/shift'\n"
    text += "sizes = [0, '1k', 0, 5, 0, 0, 0, 7, 0]\n"
    assert plan(text)["workload"]["sizes"] == [0, 1024, 0, 5, 0, 0, 0, 7, 0]


def test_a_hundred_thousand_hosts_are_one_group() -> None:
    found = plan("hosts = 100000\n" + WORKLOAD)
    assert [group["count"] for group in found["hosts"]] == [100_000]
    assert len(json.dumps(found)) < 2000
