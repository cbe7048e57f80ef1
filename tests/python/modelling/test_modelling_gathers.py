"""Gathers of a made run beside the simulator's, and a lab's switches as it takes them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.errors import UsageError
from netsonde.lab.scenario import LAB, parse_scenario
from netsonde.lab.topology import complete_switches, particular_hosts, places_of, topology_of
from netsonde.modelling.gathers import gathered, host_of, round_trip_ns
from netsonde.modelling.gathers_shown import gathers_document, gathers_lines
from netsonde.modelling.lab_cluster import lab_cluster
from netsonde.records.data import Batch, EndData, Point, Run

RATE = 10_000_000
SLOT_NS = 1538 * 8e9 / RATE
ONE = '[link]\nrate = "10M"\n[[switch]]\nname = "s1"\narchitecture = "{}"\nbuffer = "{} packets"\n'
TREE = (
    '[link]\nrate = "10M"\n[[switch]]\nname = "a"\nhosts = "h[1-2]"\nuplink_buffer = "9 packets"\n'
    '[[switch]]\nname = "b"\nhosts = "h[3-4]"\n[[switch]]\nname = "top"\n'
    '[[uplink]]\nlower = "a"\nupper = "top"\nrate = "20M"\ndown = { rate = "15M" }\n'
    '[[uplink]]\nlower = "b"\nupper = "top"\n'
)


def topology(text: str, hosts: int | None = None) -> dict[str, Any]:
    tables = parse_scenario((f"hosts = {hosts}\n" if hosts else "") + text, "made")
    switches, uplinks = complete_switches(tables, LAB)
    places = places_of(tables, switches, LAB)
    own = particular_hosts(tables, len(places), LAB)
    return topology_of(tables, switches, uplinks, places, own)


def run_of(folder: Path, switch: str, each: int, slots: float, late_ns: int | None = None) -> Run:
    """Three senders of ``each`` packets to the fourth host, all there after so many slots."""
    ends: dict[int, EndData] = {}
    for flow in range(3):
        base = {"start_ns": 0, "sync_round_trip_ns": 450_000}
        sent = {"end_ns": round(slots * SLOT_NS), "messages_sent": each, **base}
        got = {**sent, "messages_received": each, "bytes_received": each * 1492}
        events = {"event_target": [0, 0], "event_kind": [0, 1], "event_count": [each, 2]}
        series = {name: np.asarray(values, np.int64) for name, values in events.items()}
        ends[2 * flow] = EndData(2 * flow, f"h{flow + 1}", series, sent)
        ends[2 * flow + 1] = EndData(2 * flow + 1, "h4", {}, got | {"packets_received": each})
    options = {"reliable": True, "window_packets": 8, "resend_after": 200_000_000}
    late = {"late_median_ns": 10_000, "late_p99_ns": late_ns}
    checks = {} if late_ns is None else {"lab": late}
    own = {"message_bytes": 1492, "options": options}
    point = Point("p1", "link", "gather", own, "finished", checks=checks, batches=[Batch(0, ends)])
    path = {"kind": "lab", "topology": topology(switch, 4)}
    return Run(folder, {"origin": "emulated", "hosts": {}, "path": path}, [point], True)


@pytest.mark.worker
def test_what_is_lost_nowhere_is_one_everywhere(tmp_path: Path) -> None:
    (one,) = gathered(run_of(tmp_path, ONE.format("output", 48), 100, 302), 1)
    assert (one.load.senders, one.load.window, one.load.packets) == (3, 8, 100)
    assert one.load.timeout_slots == pytest.approx(200e6 / SLOT_NS)
    assert (one.measured.median, one.model) == (pytest.approx(300 / 302), 1.0)
    assert one.simulated.median == pytest.approx(1.0, abs=0.02)
    assert (one.late_p99_ns, one.moved) == (None, 0.0)


@pytest.mark.worker
def test_inputs_that_overflow_are_simulated_and_by_formula(tmp_path: Path) -> None:
    run = run_of(tmp_path, ONE.format("input", 5), 100, 650)
    (one,) = gathered(run, 2)
    assert one.measured.median == pytest.approx(300 / 650)
    assert one.model is not None
    assert 0.3 < one.model < 0.5
    assert 0.3 < one.simulated.median < 0.5
    lines = gathers_lines([one])
    assert max(map(len, lines)) <= 80
    near = abs(one.apart) <= 0.05
    assert lines[-1].startswith(f"{near:d} of 1")
    assert gathers_document([one])["gathers"][0]["chances"]["c"] == pytest.approx(0.01)


def test_hosts_are_simulated_as_late_and_scattered_as_these_were(tmp_path: Path) -> None:
    """Timers by the mean of what was counted; an exponential's median and 99 % are ln 50 means
    apart, and at most half of all frames' lateness is taken for hosts'."""
    run = run_of(tmp_path, ONE.format("output", 48), 100, 302, 30_000)
    (point,) = run.points
    for end in point.batches[0].ends.values():
        end.counters.update(timers=4, timers_late_ns=4 * 50_000 + end.rank)
    host = host_of(point, run.manifest["path"]["topology"], point.checks["lab"])
    assert host["timer_late_ns"] == 50_000
    assert host["jitter"]["mean_ns"] == round(20_000 / math.log(50))
    late = {"late_median_ns": 10_000, "late_p99_ns": 900_000}
    host = host_of(point, run.manifest["path"]["topology"], late)
    assert host["jitter"]["mean_ns"] == 10_000
    assert host_of(point, run.manifest["path"]["topology"], {}).get("jitter") is None


@pytest.mark.worker
def test_a_point_that_lateness_decides_is_refused(tmp_path: Path) -> None:
    """A round trip that is longer by a whole window's time makes senders wait where nothing is
    lost; one that is later by a hundredth of a slot changes nothing."""
    switch = ONE.format("output", 48)
    for late_ns, decides in ((12_000, False), (30_000_000, True)):
        (one,) = gathered(run_of(tmp_path, switch, 100, 302, late_ns), 1)
        assert one.is_decided_by_lateness == decides
    assert "0 of 0" in gathers_lines([one])[-2]
    assert "not counted" in gathers_lines([one])[-1]


def test_a_round_trip_takes_each_line_once_each_way() -> None:
    """130 bytes at 10 Mbit/s are 104 µs; across, two lines of 20 and 15 Mbit/s and one of 10."""
    assert round_trip_ns(topology(ONE.format("output", 9), 4), "h1", "h2") == 4 * 104_000
    across = 4 * 104_000 + 52_000 + 130 * 8e9 / 15e6 + 2 * 104_000
    assert round_trip_ns(topology(TREE), "h1", "h3") == pytest.approx(across)
    assert round_trip_ns(topology(TREE), "h1", "h2") == 4 * 104_000


def test_a_run_without_gathers_is_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, {"origin": "real", "hosts": {}, "path": {}}, [], True)
    with pytest.raises(UsageError, match="has no gather over a lab's switch"):
        gathered(run)


def test_a_lab_of_two_levels_is_the_simulators_tree() -> None:
    plan = lab_cluster(topology(TREE), {}, later_ns=7)
    assert [one["name"] for one in plan["switches"]] == ["top", "a", "b"]
    assert plan["switches"][1]["parent"] == "top"
    assert plan["switch_kinds"]["a"]["uplink_buffer_packets"] == 9
    link = plan["link_kinds"]["link-a"]
    assert (link["rate_bit_per_s"], link["down_rate_bit_per_s"]) == (20_000_000, 15_000_000)
    assert link["propagation_ns"] == 7
    assert [one["switch"] for one in plan["hosts"]] == ["a", "a", "b", "b"]


def test_what_only_a_lab_has_is_refused() -> None:
    with pytest.raises(UsageError, match="jitter cannot be simulated"):
        lab_cluster(
            topology(
                'hosts = 2\n[link]\nrate = "10M"\n'
                'jitter = { distribution = "uniform", mean = "1ms" }\n'
            ),
            {},
        )


def test_switches_that_are_no_tree_are_refused() -> None:
    found = topology(TREE)
    found["links"][-1]["upper"] = "b"
    with pytest.raises(UsageError, match="a tree of switches"):
        lab_cluster(found, {})
