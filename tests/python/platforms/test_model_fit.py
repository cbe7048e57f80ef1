"""``netsonde model fit``: runs of a cluster whose parameters are known, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.platforms import observed, reduction
from netsonde.platforms.read import read_platform
from netsonde.records.data import Batch, EndData, Point, Run

CLUSTER = """
name = "known"
hosts = 12
[link]
rate = "100M"
delay = "2us"
[[switch]]
name = "s1"
architecture = "output"
buffer = "60 packets"
latency = "6us"
[simulation.host]
send_overhead = { base = "7800ns", per_byte_ns = 3.0 }
receive_overhead = { base = "8us", per_byte_ns = 8.0 }
user_receive_overhead = { base = "2us", per_byte_ns = 3.0 }
send_gap = { base = "2us", per_byte_ns = 84.0 }
receive_gap = { base = "5us", per_byte_ns = 86.0 }
jitter = { distribution = "uniform", mean = "100ns" }
[simulation.transport]
kind = "datagram"
[simulation.output]
packets = true
"""
HEADER = 8
JITTER_NS = 100.0
"""Of each piece of the process's work: O_s and U_r are longer by it in the mean."""


def command(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def simulated(folder: Path, workload: str, sweep: str, cluster: str = CLUSTER) -> Path:
    """The run directory of a workload on the known cluster."""
    folder.mkdir()
    (folder / "s.toml").write_text(f"{cluster}[simulation.workload]\n{workload}")
    command("simulate", str(folder / "s.toml"), "-q", "--sweep", sweep, "--out", str(folder / "r"))
    (found,) = (folder / "r").iterdir()
    return found


def truth(base_ns: float, per_byte_ns: float, payload: int) -> float:
    return base_ns + per_byte_ns * (payload + HEADER)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    try:
        find_worker("sonde-sim")
    except HostError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("known")
    sizes = "payload=64,128,256,512,1000,1492"
    small = "payload=40,64,96,128,160,192"
    ends = 'source = "h1"\ntarget = "h2"\npackets = 300\n'
    bursts = 'kind = "burst"\npackets = 500\npayload = 1492\n'
    every = [
        simulated(folder / "1", f'kind = "one-way"\n{ends}', sizes),
        simulated(folder / "2", f'kind = "one-way"\n{ends}', small),
        simulated(folder / "3", f'kind = "two-way"\n{ends}', small),
        simulated(folder / "4", 'kind = "many-to-one"\ntarget = "h1"\npackets = 200\n', sizes),
    ]
    for sources, sinks in ((4, 1), (6, 2), (9, 3)):
        who = f'sources = "h[1-{sources}]"\nsinks = "h[{sources + 1}-{sources + sinks}]"\n'
        every.append(simulated(folder / f"b{sources}", bursts + who, "packets=1000,1500,2500,5000"))
    return [str(run) for run in every]


@pytest.mark.worker
def test_a_known_cluster_is_found(runs: list[str], tmp_path: Path) -> None:
    """Each parameter within 2 % of its truth or 0.2 us; the buffer within 5 %."""
    out = tmp_path / "found.json"
    said = command("model", "fit", *runs, "--name", "found", "--out", str(out))
    assert max(map(len, said.splitlines())) <= 80 + len(str(out))
    platform = read_platform(out)
    wire = platform.wire_ns
    for payload in (64, 500, 1492):
        expected = {
            "send_overhead": truth(7800 + JITTER_NS, 3.0, payload),
            "receive_overhead": truth(10_000 + JITTER_NS, 11.0, payload),
            # Both links, the switch, and a packet twice on the wire.
            "latency": 4000 + 6000 + 2 * wire(payload),
        }
        if payload > 64:  # there the CPU limits, and not the card
            expected["send_gap"] = max(truth(2000, 84.0, payload), wire(payload))
            expected["receive_gap"] = max(truth(5000, 86.0, payload), wire(payload))
        for name, value in expected.items():
            found = platform.at(name, payload)
            assert found == pytest.approx(value, rel=0.02, abs=200.0), (name, payload)
    assert platform.buffer is not None
    assert platform.buffer.architecture == "output"
    assert platform.buffer.packets == pytest.approx(60, rel=0.05)
    assert platform.ranks == 12
    assert platform.serialisations == 2
    assert "T_w" in command("model", "predict", "alltoall/shift", "--platform", str(out), "-p", "8")
    assert "Hockney" in command("model", "show", str(out))


@pytest.mark.worker
def test_one_run_alone_says_what_is_missing(runs: list[str]) -> None:
    document = json.loads(command("model", "fit", runs[0], "--json"))
    assert document["platform"]["parameters"]["receive_overhead"]["start_ns"] == 0.0
    assert any("within L" in note for note in document["notes"])
    assert any("g_r is not known" in note for note in document["notes"])


def measured_run(directory: Path, sizes: tuple[int, ...]) -> Run:
    """Round trips of messages whose parts the kernel's times say: O_s 1500 + 0.2 m, O_r 2500 +
    0.3 m, L 9000 + 8 m."""
    points = []
    draw = np.random.default_rng(3)
    for number, size in enumerate(sizes):
        n = 200
        send, work, network = (
            base + slope * size + draw.normal(0, 20, n)
            for base, slope in ((1500, 0.2), (2500, 0.3), (9000, 8.0))
        )
        series = {
            "stamped_index": np.arange(n),
            "send_to_queue_ns": send * 0.7,
            "queue_to_driver_ns": send * 0.3,
            "driver_to_receive_ns": work,
        }
        there = {**series, "receive_to_send_ns": np.full(n, 400.0)}
        away = 2 * network + work + 400.0 + send
        here = {**series, "driver_to_driver_ns": away, "round_trip_ns": away + send + work}
        ends = {
            rank: EndData(rank, f"h{rank}", {k: np.rint(v).astype(np.int64) for k, v in of.items()})
            for rank, of in enumerate((here, there))
        }
        parameters = {"message_bytes": size}
        points.append(
            Point(f"p{number}", "udp", "latency", parameters, "finished", batches=[Batch(0, ends)])
        )
    return Run(directory, {"origin": "real", "hosts": {}}, points, True)


def test_measured_round_trips_are_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = measured_run(tmp_path, (16, 64, 256, 700, 1400, 30_000))
    for module in (observed, reduction):
        monkeypatch.setattr(module, "open_run", lambda _: run)
    document: dict[str, Any] = json.loads(
        command("model", "fit", str(tmp_path), "--rate", "1G", "--json")
    )
    platform = document["platform"]
    assert platform["packet_bytes"] == 1500 - 28
    for name, base, slope in (
        ("send_overhead", 1500, 0.2),
        ("receive_overhead", 2500, 0.3),
        ("latency", 9000, 8.0),
    ):
        cost = platform["parameters"][name]
        assert cost["start_ns"] == pytest.approx(base, abs=10)
        assert cost["per_byte_ns"] == pytest.approx(slope, abs=0.01)
        assert cost["origin"]["kind"] == "measured"
        assert cost["origin"]["source"].startswith("kernel's times")
    assert platform["messages"]["beta_ns"] == pytest.approx(8.5, rel=0.01)  # of whole messages


def refused(*words: str) -> str:
    result = CliRunner().invoke(app, ["model", "fit", *words])
    assert isinstance(result.exception, UsageError), (result.exception, result.output)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_what_cannot_be_fitted_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "manifest.json" in refused(str(tmp_path))
    run = measured_run(tmp_path, (16, 64))
    monkeypatch.setattr(observed, "open_run", lambda _: run)
    assert "--rate" in refused(str(tmp_path))
    assert "--rate 0: expected 1" in refused(str(tmp_path), "--rate", "0")
    assert "--packet 0: expected 1" in refused(str(tmp_path), "--packet", "0")
    assert "no parameter can be fitted" in refused(str(tmp_path), "--rate", "1G")
    run.manifest["origin"] = "imported"
    assert "runs of one kind" in refused(str(tmp_path), "--rate", "1G")


def test_a_stream_that_was_held_back_says_nothing_of_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gaps are those of the rate that was asked for."""
    times = {"start_ns": 0, "end_ns": 1_000_000, "drained_ns": 1_000_000, "sync_round_trip_ns": 0}
    ends = {
        0: EndData(0, "h1", counters={**times, "bytes_sent": 100_000}),
        1: EndData(1, "h2", counters={**times, "bytes_received": 100_000, "lost": 0}),
    }
    asked: tuple[dict[str, int], ...] = ({}, {"rate_bit_per_s": 800_000_000})
    points = [
        Point("p1", "udp", "stream", {"message_bytes": 1000, **own}, batches=[Batch(0, ends)])
        for own in asked
    ]
    run = Run(tmp_path, {"origin": "real", "hosts": {}}, points, True)
    monkeypatch.setattr(observed, "open_run", lambda _: run)
    found = observed.observe([tmp_path], 1e9, None, "made").observations
    assert [(one.kind, one.time_ns) for one in found] == [
        ("send_gap", 10_000.0),
        ("receive_gap", 10_000.0),
    ]
