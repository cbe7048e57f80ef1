"""netsonde beside itself: pairs whose ratio is known, and real ones that are short."""

from __future__ import annotations

import os
import platform
import random
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench import authenticated, fabric_wait, installed, passed_on, tracing, waiting
from bench.__main__ import OWN, _arguments, _wanted
from bench.ours import open_session
from bench.peers import Route
from bench.schedules import pairs_in
from bench.turns import Beside, beside, in_turn, line

from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.launch.session import Session
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch


def found(ratio: float, scatter: float, pairs: int = 200) -> Beside:
    draw = np.random.default_rng(4)
    second = 5e4 * (1 + np.abs(draw.normal(0, 0.3, pairs)))  # batches differ, two of a pair hardly
    first = second * ratio * (1 + draw.normal(0, scatter, pairs))
    return beside("UDP 64 B median", "ns", first.tolist(), second.tolist(), 2e6)


def test_the_ratio_is_found_within_its_interval() -> None:
    one = found(0.93, 0.01)
    assert one.ratio.low is not None
    assert one.ratio.high is not None
    assert one.ratio.low < 0.93 < one.ratio.high < one.ratio.low + 0.05
    assert one.ratio.n == 200


@pytest.mark.parametrize(
    ("ratio", "scatter", "pairs", "met"),
    [
        (1.0, 0.001, 200, True),
        (1.05, 0.001, 200, False),
        (0.95, 0.001, 200, False),
        (1.01, 0.02, 200, None),
        (1.0, 0.001, 3, None),  # too few for an interval
    ],
)
def test_what_reading_counters_costs_is_judged_both_ways(
    ratio: float, scatter: float, pairs: int, met: bool | None
) -> None:
    one = found(ratio, scatter, pairs)
    assert one.lies(0.99, 1.01) is met
    said = tracing.lines([one])
    assert {True: "met", False: "missed", None: "not decided"}[met] in said[1]
    assert "2.0 ms" in said[-1]
    assert all(len(text) <= 80 for text in said)


@pytest.mark.parametrize(("ratio", "word"), [(0.93, "met"), (1.02, "missed"), (1.0, "not decided")])
def test_waiting_in_the_call_is_to_be_shorter(ratio: float, word: str) -> None:
    said = waiting.lines([found(ratio, 0.005)])
    assert said[1].endswith(word)
    assert all(len(text) <= 80 for text in said)


def test_what_an_installation_takes_is_held_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "WHEELS", tmp_path)
    with pytest.raises(HostError, match=r"there is no wheel for this machine in .*: make wheels"):
        installed.installed(ROUTE, 0.1, random.Random(1))
    wheel = tmp_path / f"netsonde-1-py3-none-linux_{platform.machine()}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("netsonde-1.data/scripts/sonde-worker", "#!/bin/sh\n")
        archive.writestr("netsonde-1.data/scripts/sonde-sim", b"0" * 5_000_001)
    said = installed.lines(installed.installed(ROUTE, 0.1, random.Random(1)))
    assert [line.rsplit(None, 1)[1] for line in said[1:]] == ["met", "met", "missed", "met"]
    assert all(len(text) <= 80 for text in said)


def test_ways_take_turns_in_a_drawn_order() -> None:
    made: list[str] = []
    ways = {"a": lambda: made.append("a"), "b": lambda: made.append("b")}
    assert len(in_turn(ways, 0.0, random.Random(1))) == 1
    rounds = len(in_turn(ways, 0.05, random.Random(1)))
    pairs = ["".join(made[i : i + 2]) for i in range(0, len(made), 2)]
    assert len(pairs) == rounds + 1
    assert set(pairs) == {"ab", "ba"}


def test_they_are_chosen_by_their_names() -> None:
    own = {"mpi-latency", "mpi-netpipe", "recording", "sampler", "tracing", "waiting"}
    own |= {
        "answer",
        "authenticated",
        "fabric-wait",
        "installed",
        "like",
        "link",
        "pages",
        "passed-on",
        "schedules",
        "simulator",
        "simulator-peers",
        "simulator-growth",
    }
    assert set(OWN) == own
    assert _wanted(["tracing", "waiting"], "loopback") == []


def test_they_are_asked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "--only", "tracing,waiting", "--only", "pages"])
    assert _arguments().only == ["tracing", "waiting", "pages"]


def test_rates_are_said_in_their_unit() -> None:
    one = beside("TCP stream 64k", "bit_per_s", [2e10] * 6, [2e10] * 6)
    assert "20000.00 20000.00 Mbit/s" in line(one, True)
    assert len(line(one, None)) <= 80


CPUS = sorted(os.sched_getaffinity(0))
# Ends that spin each want a CPU.
ROUTE = Route("loopback", LocalHost(), LocalHost(), CPUS[0], CPUS[-1], "cubic")


@pytest.mark.usefixtures("sonde_worker")
def test_counters_are_read_in_one_way_only(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[Batch] = []

    def keep(index: int, records: Iterable[Mapping[str, Any]]) -> Batch:
        batches.append(decode_batch(index, records))
        return batches[-1]

    monkeypatch.setattr(tracing, "decode_batch", keep)
    seen = tracing.tracing(ROUTE, 0.1, random.Random(1))
    assert [one.title for one in seen] == [test.title for test in tracing.TESTS]
    assert all(one.first > 0 and one.second > 0 and one.reading_ns for one in seen)
    snapshots = [batch.ends[0].before for batch in batches]
    read = [one is not None and "system.interrupts" in one.values for one in snapshots]
    assert sum(read) * 2 == len(read) >= 2 * len(tracing.TESTS)


@pytest.mark.usefixtures("sonde_worker")
def test_both_ways_of_waiting_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[object] = []

    def keep(route: Route, transport: str, options: Mapping[str, object]) -> Session:
        waits.append(options["wait"])
        return open_session(route, transport, options)

    monkeypatch.setattr(waiting, "open_session", keep)
    [one] = waiting.waiting(ROUTE, 0.1, random.Random(1))
    assert waits == ["block", "ready"]
    assert one.first > 0
    assert one.second > 0


def test_what_libfabric_adds_is_beside_its_calls_alone() -> None:
    """A plain socket's own round trips, then those with the provider's calls; asleep, spinning."""
    asleep, spinning = fabric_wait.control_in("40000 48000 10000 13000\n" * 9, "lab")
    assert asleep.ratio.ratio == pytest.approx(1.2)
    assert spinning.ratio.ratio == pytest.approx(1.3)
    said = fabric_wait.lines([asleep, spinning])
    assert [text.rsplit(None, 1)[1] for text in said[1:3]] == ["missed", "missed"]
    assert all(len(text) <= 80 for text in said)
    for wrong in ("", "1 2 3\n", "1 2 3 x\n"):
        with pytest.raises(HostError, match="the control wrote"):
            fabric_wait.control_in(wrong, "lab")


@pytest.mark.usefixtures("sonde_worker")
def test_what_tags_cost_is_measured_with_and_without() -> None:
    found = authenticated.authenticated(ROUTE, 0.1, random.Random(1))
    assert all(one.first > 0 and one.second > 0 for one in found)
    said = authenticated.lines(found)
    assert len(said) == 1 + len(authenticated.MEASURED) + 2
    assert all(len(text) <= 80 for text in said)


def test_what_passing_on_costs_is_the_median_of_differences() -> None:
    one = passed_on.summarised("rules of other sizes", [(130.0, 100.0)] * 5 + [(900.0, 100.0)])
    assert (one.native_ns, one.more_ns, one.pairs) == (100.0, 30.0, 6)
    far = passed_on.summarised("another operation's rules", [(12345.6, 10.0)] * 6)
    said = passed_on.lines([one, far, passed_on.summarised("few", [(1.0, 1.0)])])
    assert said[2].endswith("missed")
    assert said[3].endswith("not decided")
    assert all(len(text) <= 80 for text in said)


def test_schedules_are_compared_at_each_size() -> None:
    said = "[doctest] 3\n8 1010.0 1000.0\n8 1020.0 1000.0\n1024 2000.0 2000.0\n"
    found = pairs_in("loopback", said)
    assert [(one.title, one.ratio.n) for one in found] == [
        ("loopback 8 bytes", 2),
        ("loopback 1k bytes", 1),
    ]
    assert found[0].ratio.ratio == pytest.approx(1.015)
