"""Whether bytes crossed an interface, judged from counters alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netsonde.records.data import Batch, EndData, Point, Snapshot
from netsonde.study.checks import transport_check


def check(
    sent: dict[str, int], payload: int, round_trips: int = 0, other_host: str | None = None
) -> dict[str, Any]:
    """The check of one batch in which rank 0's interfaces sent so many bytes."""
    end = EndData(0, "a", counters={"bytes_sent": payload})
    end.series["round_trip_ns"] = np.ones(round_trips, dtype=np.int64)
    names = {f"interface.{device}.tx_bytes": grown for device, grown in sent.items()}
    end.before = Snapshot("before", 0, 0, {**dict.fromkeys(names, 5), "interface.lo.rx_bytes": 0})
    after = {name: 5 + grown for name, grown in names.items()}
    end.after = Snapshot("after", 1, 0, {**after, "interface.lo.rx_bytes": 10**12})
    other = EndData(1, other_host or "a")
    other.before = Snapshot("before", 0, 0, {"interface.v0.tx_bytes": 0})
    other.after = Snapshot("after", 1, 0, {"interface.v0.tx_bytes": 10**9})
    return transport_check(
        Point(
            "p001", "mpi", "latency", {"message_bytes": 1}, batches=[Batch(0, {0: end, 1: other})]
        )
    )


def test_bytes_that_crossed_the_interface_are_verified() -> None:
    assert check({"lo": 20_000}, 10_000) == {
        "verified": True,
        "interface": "lo",
        "interface_bytes": 20_000,
        "payload_bytes": 10_000,
    }


def test_shared_memory_is_not_called_a_network() -> None:
    found = check({"lo": 4_000, "v0": 0}, 10_000)
    assert found["verified"] is False
    assert found["interface_bytes"] == 4_000


@pytest.mark.parametrize(("grown", "verified"), [(9_999, False), (10_000, True)])
def test_the_payload_is_the_least(grown: int, verified: bool) -> None:
    assert check({"lo": grown}, 10_000)["verified"] is verified


@pytest.mark.parametrize(("grown", "verified"), [(4_099, False), (4_100, True)])
def test_small_messages_need_a_header_each(grown: int, verified: bool) -> None:
    assert check({"lo": grown}, 100, round_trips=100)["verified"] is verified


def test_nothing_sent_is_nothing_verified() -> None:
    assert check({"lo": 0}, 0)["verified"] is False


def test_loopback_is_no_way_between_hosts() -> None:
    found = check({"lo": 50_000, "v0": 100}, 10_000, other_host="b")
    assert (found["verified"], found["interface"]) == (False, "v0")


def test_a_port_of_a_fabric_is_a_network_too() -> None:
    end = EndData(0, "a", counters={"bytes_sent": 10_000})
    end.before = Snapshot("before", 0, 0, {"infiniband.mlx5_0.1.tx_bytes": 8})
    end.after = Snapshot("after", 1, 0, {"infiniband.mlx5_0.1.tx_bytes": 12_008})
    batches = [Batch(0, {0: end})]
    found = transport_check(Point("p1", "mpi", "latency", {"message_bytes": 1}, batches=batches))
    assert (found["verified"], found["interface"]) == (True, "mlx5_0.1")


@pytest.mark.parametrize(
    ("counters", "crossed", "verified"),
    [
        ({"lost": 850}, 150, True),  # a queue before the interface took most of them
        ({"unanswered": 850}, 150, True),
        ({"lost": 0}, 150, False),
        ({"lost": 850}, 100, False),
    ],
)
def test_what_was_lost_need_not_have_crossed(counters, crossed, verified) -> None:
    end = EndData(0, "a", counters={"bytes_sent": 1_000_000})
    end.before = Snapshot("before", 0, 0, {"interface.v0.tx_bytes": 0})
    end.after = Snapshot("after", 1, 0, {"interface.v0.tx_bytes": crossed * 1000})
    batches = [Batch(0, {0: end, 1: EndData(1, "b", counters=counters)})]
    found = transport_check(Point("p1", "udp", "stream", {"message_bytes": 1000}, batches=batches))
    assert found["verified"] is verified


def test_what_the_own_queue_refused_need_not_have_crossed() -> None:
    """A generator has no other end that counts."""
    end = EndData(0, "a", counters={"bytes_sent": 1_000_000})
    names = ("interface.v0.tx_bytes", "snmp.Udp.SndbufErrors")
    end.before = Snapshot("before", 0, 0, dict.fromkeys(names, 0))
    end.after = Snapshot("after", 1, 0, dict(zip(names, (150_000, 850), strict=True)))
    point = Point("p1", "udp", "generate", {"message_bytes": 1000}, batches=[Batch(0, {0: end})])
    assert transport_check(point)["verified"] is True


def test_without_counters_nothing_is_claimed() -> None:
    assert check({}, 10)["verified"] is None
