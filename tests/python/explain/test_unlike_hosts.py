"""Hosts that differ are told apart, and nothing is said of what every host has to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netsonde.explain.data import Seen
from netsonde.explain.unlike_hosts import difference_in_words, differences, unlike_hosts
from netsonde.records.data import Run

FACTS: dict[str, Any] = {
    "os.kernel": "6.1.0",
    "memory.total_bytes": 64_000_000_000,
    "interface.eth0.mtu": 1500,
    "interface.eth0.driver": "ice",
    "sysctl.net.ipv4.tcp_rmem": "4096 131072 6291456",
    "sysctl.net.ipv4.tcp_sack": 1,
}


def hosts_of(count: int, **changed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"h{i}": {
            **FACTS,
            "host.name": f"h{i}",
            "interface.eth0.mac": f"02:00:00:00:00:0{i}",
            "interface.eth0.address.0": f"192.0.2.{i}",
            "interface.eth0.device": f"0000:0{i}:00.0",
            **changed.get(f"h{i}", {}),
        }
        for i in range(1, count + 1)
    }


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_what_netsonde_itself_bound_makes_no_host_unlike(ranks: int):
    """Rank numbers and CPUs of ranks are netsonde's own; what else differs is still said."""
    bound: dict[str, dict[str, Any]] = {
        f"h{i}": {"mpi.binding": f"rank {i - 1} on {i % 2}", "cpu.allowed": str(i % 2)}
        for i in range(1, ranks + 1)
    }
    assert found_of(hosts_of(ranks, **bound)) == []
    bound["h1"]["interface.eth0.mtu"] = 9000
    (found,) = found_of(hosts_of(ranks, **bound))
    assert "mtu" in found.claim
    assert "binding" not in found.evidence
    assert "cpu.allowed" not in found.evidence


def test_processors_that_somebody_else_took_away_are_a_difference():
    (found,) = found_of(hosts_of(2, h1={"cpu.allowed": "0"}, h2={"cpu.allowed": "0-1"}))
    assert "cpu.allowed" in found.claim


def found_of(hosts: dict[str, dict[str, Any]]):
    return list(unlike_hosts(Seen(Run(Path("x"), {"hosts": hosts}, [], finished=True), [])))


@pytest.mark.parametrize("count", [0, 1, 2, 8])
def test_hosts_that_are_alike_are_not_told(count):
    assert found_of(hosts_of(count)) == []


def test_the_one_of_eight_with_another_mtu_is_named():
    (finding,) = found_of(hosts_of(8, h3={"interface.eth0.mtu": 9000}))
    assert finding.level == "warning"
    assert finding.claim == (
        "The hosts are not alike: interface.eth0.mtu is 9000 on h3, and 1500 on the other 7."
    )


def test_of_two_hosts_both_values_are_given_and_what_matters_most_comes_first():
    changed = {"sysctl.net.ipv4.tcp_sack": 0, "interface.eth0.driver": "i40e"}
    (finding,) = found_of(hosts_of(2, h2=changed))
    assert "interface.eth0.driver is ice on h1 and i40e on h2, and 1 more" in finding.claim
    assert "sysctl.net.ipv4.tcp_sack is 1 on h1 and 0 on h2" in finding.evidence


def test_one_setting_that_decides_nothing_by_itself_is_a_note():
    (finding,) = found_of(hosts_of(3, h1={"sysctl.net.ipv4.tcp_sack": 0}))
    assert finding.level == "note"
    assert "0 on h1, and 1 on the other 2" in finding.claim


@pytest.mark.parametrize(
    "changed",
    [
        {"memory.total_bytes": 63_500_000_000},
        {"sysctl.net.ipv4.tcp_mem": "1 2 3"},
        {"sysctl.only.here": 1},
    ],
)
def test_what_differs_by_itself_is_no_difference(changed):
    assert differences(hosts_of(2, h1=changed)) == []


def test_many_differences_and_many_hosts_stay_readable():
    changed = {f"h{i}": {f"sysctl.x{n}": n for n in range(20)} for i in range(1, 9)}
    for i in range(1, 6):
        changed[f"h{i}"] |= {f"sysctl.x{n}": -i for n in range(20)}
    (finding,) = found_of(hosts_of(8, **changed))
    assert "and 19 more differences" in finding.claim
    assert finding.evidence.endswith("; and 14 more.")
    (wide,) = differences(hosts_of(8, h1={"os.kernel": "5"}))
    assert wide.is_decisive


def test_what_was_measured_on_each_host_differs_by_more_than_its_noise():
    hosts = {"h1": {"clock_cost_ns": 10.0149}, "h2": {"clock_cost_ns": 10.0150}}
    assert differences(hosts) == []
    hosts["h2"]["clock_cost_ns"] = 31.0
    (found,) = differences(hosts)
    assert found.name == "clock_cost_ns"
    hosts |= {f"h{n}": {"clock_cost_ns": 10.0 + n / 1000} for n in range(3, 9)}
    (found,) = differences(hosts)
    assert difference_in_words(found) == "clock_cost_ns is 31 on h2, and 10 on the other 7"
