"""libfabric over links that are known: what is on the wire, what a lossy link does, and what is in
the way."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lab_truth import COUNTING, ROOT, scenario_lab

from fabric_needed import require_fabric
from netsonde.errors import HostError
from netsonde.lab import Lab, permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.pair import open_pair
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
    pytest.mark.timeout(120),
]
MESSAGES, SIZE = 200, 10_000
HEADER_MOST_BYTES = 64
"""What a provider over TCP puts before a message, with what it exchanges before the first."""


@pytest.fixture(autouse=True)
def _fabric() -> None:
    require_fabric()


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with scenario_lab(hosts=2, link={"rate": "1G"}, pace=COUNTING) as made:
        yield made


def measured(lab: Lab, transport: str, options: dict[str, Any], **fields: Any) -> Batch:
    asked = {"test": "stream", "message_bytes": SIZE, "count": MESSAGES, "check_data": True}
    with open_pair(lab.hosts[0], lab.hosts[1], transport, options=options) as session:
        return decode_batch(0, session.run({**asked, **fields}, 60))


def sent_bytes(batch: Batch) -> int:
    """By the origin's interface."""
    end = batch.ends[0]
    assert end.before is not None
    assert end.after is not None
    (name,) = (
        key
        for key in end.after.values
        if key.startswith("interface.") and key.endswith(".tx_bytes") and ".lo." not in key
    )
    return end.after.values[name] - end.before.values[name]


@pytest.mark.parametrize("endpoint", ["msg", "rdm"])
def test_over_tcp_it_has_the_bytes_of_tcp_and_a_header_for_each_message(
    lab: Lab, endpoint: str
) -> None:
    plain = sent_bytes(measured(lab, "tcp", {"no_delay": True}))
    asked = {"provider": "tcp", "endpoint": endpoint}
    batch = measured(lab, "fabric", asked)
    assert batch.ends[1].counters["messages_received"] == MESSAGES
    more = sent_bytes(batch) - plain
    assert 0 < more < 0.02 * plain + MESSAGES * HEADER_MOST_BYTES


def test_memory_of_a_host_does_not_reach_another(lab: Lab) -> None:
    with pytest.raises(HostError, match="cannot reach the other end from here") as caught:
        measured(lab, "fabric", {"provider": "shm", "wait": "spin"})
    assert "\n" not in str(caught.value)


def ports(link: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in link.values() if isinstance(value, dict) and "lost_every" in value]


def lossy(every: int) -> dict[str, Any]:
    return {"rate": "1G", "loss_every": every}


def test_reliable_datagrams_come_once_and_in_order_over_a_lossy_link() -> None:
    """Every 40th frame of each line is lost: what comes is whole, or the run ends and says so."""
    with scenario_lab(hosts=2, link=lossy(40), pace=COUNTING) as lab:
        batch = measured(lab, "fabric", {"provider": "udp;ofi_rxd"}, message_bytes=1000)
        lost = sum(
            port["lost_every"] for link in switch_stats(lab)["links"] for port in ports(link)
        )
    target = batch.ends[1].counters
    assert lost > 0
    assert (target["messages_received"], target["corrupt"]) == (MESSAGES, 0)


def test_datagrams_that_are_lost_are_counted() -> None:
    with scenario_lab(hosts=2, link=lossy(50), pace=COUNTING) as lab:
        asked = {"provider": "udp", "endpoint": "dgram"}
        rate = {"rate_bit_per_s": 20_000_000}
        batch = measured(lab, "fabric", asked, message_bytes=1000, count=1000, **rate)
    target = batch.ends[1].counters
    # Two lines, each of which loses every 50th frame; others of the session go there, too.
    assert 30 <= target["lost"] <= 45
    assert target["messages_received"] + target["lost"] == 1000
    assert target["corrupt"] == 0


# What is for this host is looked up first, before any rule; so that comes behind one of ours.
RULES = (
    "rule add pref 10 lookup local",
    "rule add pref 5 iif v0 ipproto udp blackhole",
    "rule del pref 0",
)
RULES_BACK = ("rule add pref 0 lookup local", "rule del pref 5", "rule del pref 10")


def in_network(lab: Lab, *commands: str) -> subprocess.CompletedProcess[str]:
    """Commands of ip in h2; the last one's end, or that of the first that failed."""
    for command in commands:
        words = lab.hosts[1].command(["ip", *command.split()])
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
        if done.returncode != 0:
            break
    return done


@pytest.mark.skipif(not ROOT, reason="a rule of the routes needs root")
def test_a_firewall_is_told_of(lab: Lab) -> None:
    """Datagrams that h2 would take are thrown away; the cookie's connection is let in."""
    added = in_network(lab, *RULES)
    if added.returncode != 0:
        in_network(lab, *RULES_BACK)
        pytest.skip(f"no rules by protocol here: {added.stderr.strip()}")
    try:
        began = time.monotonic()
        asked = {"provider": "udp", "endpoint": "dgram"}
        with pytest.raises(HostError, match="was not reached through the fabric") as caught:
            open_pair(lab.hosts[0], lab.hosts[1], "fabric", options=asked, timeout_s=3).close()
        assert "firewall" in str(caught.value)
        assert time.monotonic() - began < 10
    finally:
        in_network(lab, *RULES_BACK)
