"""The simulator's rows of the bench: known figures, and short real ones."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from bench import simulator, simulator_growth, simulator_peers
from bench.peers import Route
from bench.simulator import Played, QueuedBytes, one_switch, play, queued_bytes, spend
from bench.simulator_growth import Grown
from bench.simulator_peers import KINDS, SimulatorPeer, build, compared

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.local import LocalHost


def route() -> Route:
    host = LocalHost()
    return Route("loopback", host, host, 0, 0, "cubic")


@pytest.fixture
def sonde_sim() -> str:
    try:
        return str(find_worker("sonde-sim"))
    except HostError as error:
        pytest.skip(str(error))


def test_goals_are_met_or_missed() -> None:
    said = simulator.lines(
        [
            Played("quick", 12_000_000, 1, 2.0),
            Played("slow", 8_000_000, 1, 2.0),
            Played(simulator.EXCHANGE, 1_000_000, 1, 29.0),
            Played(simulator.BROADCAST, 1_000_000, 1, 11.0),
            QueuedBytes(1_000_000, 250.0),
        ]
    )
    assert [line.split()[-1] for line in said[1:6]] == ["met", "missed", "met", "missed", "missed"]
    assert all(len(line) <= 82 for line in said)


def test_the_exponent_of_growth() -> None:
    linear = [Grown("packets", 256, 10**n, 100.0) for n in (5, 6, 7)]
    assert simulator_growth.growth(linear) == pytest.approx(1.0)
    steeper = [Grown("hosts", 256, 10**n, 100.0 * 10 ** (0.5 * n)) for n in (5, 6, 7)]
    assert simulator_growth.growth(steeper) == pytest.approx(1.5)
    said = simulator_growth.lines([*linear, *steeper])
    assert said[4] == "more packets: the cost grows as events^1.00"
    assert said[8] == "more hosts: the cost grows as events^1.50"


def test_a_program_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="false failed"):
        spend(["false"])
    with pytest.raises(HostError, match="No such file"):
        spend([str(tmp_path / "nothing")])
    assert spend(["cat"], "some text").output == "some text"


@pytest.mark.soak
def test_memory_of_packets_that_wait(sonde_sim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer packets than the bench takes. A packet takes more than its own 40 bytes of content."""
    monkeypatch.setattr(simulator, "QUEUED", (150_000, 250_000))
    found = queued_bytes(sonde_sim)
    assert found.packets == 14 * 250_000 + 1
    assert 40 < found.bytes_per_packet < simulator.GOAL_PACKET_BYTES


def test_a_job_that_is_played(sonde_sim: str) -> None:
    job = {"kind": "many_to_one", "target": 0, "packets": 100}
    values, spent = play(sonde_sim, one_switch(4, {"architecture": "output"}, job))
    assert values["packet_hops"] == 600
    assert spent.cpu_s > 0
    with pytest.raises(HostError, match="no kind is called"):
        play(sonde_sim, one_switch(4, {"architecture": "output"}, {"kind": "nothing"}))


@pytest.mark.soak
def test_peers_that_can_be_built_play_the_same_job(
    sonde_sim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.access(sonde_sim, os.X_OK)
    monkeypatch.setattr(simulator_peers, "PACKETS", 300)
    monkeypatch.setattr(simulator_peers, "SAME_TIME", 1e-2)  # of so few packets
    found = simulator_peers.simulator_peers(route(), 0.01, random.Random(1))
    assert [one.peer for one in found] == list(KINDS)
    for one in found:
        assert (one.beside is None) == (one.skipped is not None)
    assert all(len(line) <= 80 for line in simulator_peers.lines(found))
    ns3 = found[0]
    if ns3.skipped is None:  # packet by packet it is the same to the nanosecond
        job = {"kind": "many_to_one", "target": 0, "packets": 300}
        values, _ = play(sonde_sim, one_switch(16, {"architecture": "output"}, job))
        assert ns3.simulated_ns == values["elapsed_ns"]


def test_a_peer_that_is_missing_or_plays_something_else(tmp_path: Path) -> None:
    kind = KINDS["ns-3"]
    absent = simulator_peers.Kind(kind.source, ("-lno-such-library",), "libns3-dev", (), "")
    with pytest.raises(HostError, match="package libns3-dev"):
        build(absent, tmp_path)
    skipped = SimulatorPeer("ns-3", kind.models, skipped="it cannot be built (package libns3-dev)")
    assert "skipped: it cannot be built" in simulator_peers.lines([skipped])[1]
    with pytest.raises(HostError, match="not the same job"):
        compared("ns-3", kind, [((1e9, 100_000.0), (1e9, 101_000.0))])
