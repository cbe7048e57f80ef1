"""The load of hosts in tests of many hosts, by counters that are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.figures.host_load import host_load_ratio, loads_of_hosts
from netsonde.figures.patterns import shared_host
from netsonde.patterns import PATTERNS, STREAM_PATTERNS, WITH_ONE_IN_ALL, flows_of
from netsonde.records.data import Batch, EndData, Snapshot

TICKS = st.integers(0, 10_000)


def end(rank: int, host: str, spent: dict[str, tuple[int, int]]) -> EndData:
    before = Snapshot("before", 0, 0, {name: first for name, (first, _) in spent.items()})
    after = Snapshot("after", 1, 0, {name: first + grown for name, (first, grown) in spent.items()})
    return EndData(rank, host, before=before, after=after)


@given(busy=st.lists(TICKS, min_size=1, max_size=4), idle=st.lists(TICKS, min_size=4, max_size=4))
def test_what_was_not_idle_is_load(busy: list[int], idle: list[int]) -> None:
    kinds = ("user", "system", "softirq", "steal")
    spent = {f"cpu.{n}.{kinds[n]}": (7, ticks) for n, ticks in enumerate(busy)}
    spent |= {f"cpu.{n}.idle": (9, ticks) for n, ticks in enumerate(idle)}
    spent |= {"cpu.0.guest": (0, 5000), "cpu.all.user": (0, 99_999), "cpu.0.iowait": (0, 0)}
    total = sum(busy) + sum(idle)
    found = host_load_ratio(end(0, "a", spent))
    assert found == (pytest.approx(sum(busy) / total) if total else None)


def test_of_several_workers_on_a_host_one_counts() -> None:
    ends = {
        0: end(0, "a", {"cpu.0.user": (0, 25), "cpu.0.idle": (0, 75)}),
        1: end(1, "z", {"cpu.0.user": (0, 50), "cpu.0.idle": (0, 50)}),
        2: end(2, "b", {"cpu.0.user": (0, 10), "cpu.0.idle": (0, 90)}),
        3: end(3, "z", {"cpu.0.user": (0, 60), "cpu.0.idle": (0, 40)}),
    }
    batch = Batch(1, ends)
    assert loads_of_hosts(batch) == pytest.approx({"a": 0.25, "z": 0.5, "b": 0.1})
    assert shared_host(batch) == "z"
    ends[3] = end(3, "c", {})
    assert shared_host(batch) == ""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_who_is_in_every_flow(pattern: str) -> None:
    flows = flows_of(pattern, 4)
    in_all = set.intersection(*(set(flow) for flow in flows))
    assert (in_all == {3}) == (pattern in (*WITH_ONE_IN_ALL, "victim", "bursts"))
    if pattern in STREAM_PATTERNS:
        assert len(set(flows)) == len(flows)
