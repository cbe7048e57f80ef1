"""Whether bytes crossed an interface, judged from counters alone."""

from __future__ import annotations

from typing import Any

import pytest

from netsonde.launch.mpi import claims


def snapshot(phase: str, rank: int = 0, host: str = "a", **tx_bytes: int) -> dict[str, Any]:
    values = {f"interface.{device}.tx_bytes": count for device, count in tx_bytes.items()}
    values |= {"interface.lo.rx_bytes": 10**12, "cpu.all.user": 10**9}
    return {"record": "snapshot", "rank": rank, "host": host, "phase": phase, "values": values}


def round_trips(count: int) -> dict[str, Any]:
    return {"record": "series", "rank": 0, "host": "a", "name": "round_trip_ns", "count": count}


def test_bytes_that_crossed_the_interface_are_verified() -> None:
    check = claims([snapshot("before", lo=5_000), snapshot("after", lo=25_000)], 10_000)
    assert check == {
        "verified": True,
        "interface": "lo",
        "interface_bytes": 20_000,
        "payload_bytes": 10_000,
    }


def test_shared_memory_is_not_called_a_network() -> None:
    check = claims([snapshot("before", lo=5_000, v0=7), snapshot("after", lo=9_000, v0=7)], 10_000)
    assert check["verified"] is False
    assert check["interface_bytes"] == 4_000


@pytest.mark.parametrize(("grown", "verified"), [(9_999, False), (10_000, True)])
def test_the_payload_is_the_least(grown: int, verified: bool) -> None:
    check = claims([snapshot("before", lo=0), snapshot("after", lo=grown)], 10_000)
    assert check["verified"] is verified


def test_small_messages_need_a_header_each() -> None:
    records = [snapshot("before", lo=0), snapshot("after", lo=2_000), round_trips(100)]
    assert claims(records, 100)["verified"] is False
    records[1] = snapshot("after", lo=4_100)
    assert claims(records, 100)["verified"] is True


def test_nothing_sent_is_nothing_verified() -> None:
    records = [snapshot("before", lo=3), snapshot("after", lo=3)]
    assert claims(records, 0)["verified"] is False


def test_loopback_is_no_way_between_hosts() -> None:
    records = [
        snapshot("before", lo=0, v0=0),
        snapshot("after", lo=50_000, v0=100),
        snapshot("before", rank=1, host="b", v0=0),
        snapshot("after", rank=1, host="b", v0=90_000),
    ]
    check = claims(records, 10_000)
    assert (check["verified"], check["interface"]) == (False, "v0")


def test_other_ranks_and_other_phases_do_not_count() -> None:
    records = [
        snapshot("before", lo=0),
        snapshot("after", lo=10),
        snapshot("after", rank=1, lo=50_000),
        snapshot("now", lo=50_000),
    ]
    assert claims(records, 10_000)["verified"] is False


def test_without_counters_nothing_is_claimed() -> None:
    assert claims([], 10)["verified"] is None
