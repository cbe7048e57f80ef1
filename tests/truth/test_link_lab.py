"""Frames of our own over links that are known: what is on the wire, what a lossy link loses and
Go-Back-N sends again, and what is left of a driver whose process was killed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_truth import COUNTING, ROOT, scenario_lab

from link_needed import require_frames
from netsonde.errors import HostError
from netsonde.lab import Lab, permission_problem
from netsonde.launch.pair import open_pair
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
    pytest.mark.timeout(120),
]
HEADERS = 22
ENGINE_TESTS = Path(__file__).resolve().parents[2] / "build/wheel/tests/engine/engine-tests"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with scenario_lab(hosts=2, link={"rate": "1G"}, pace=COUNTING) as made:
        yield made


def measured(lab: Lab, options: dict[str, Any], **fields: Any) -> Batch:
    with open_pair(lab.hosts[0], lab.hosts[1], "link", options=options) as session:
        return decode_batch(0, session.run({"check_data": True, **fields}, 60))


def grown(batch: Batch, rank: int, name: str) -> int:
    """Of the end's interface."""
    end = batch.ends[rank]
    assert end.before is not None
    assert end.after is not None
    (key,) = (
        key
        for key in end.after.values
        if key.startswith("interface.") and key.endswith(name) and ".lo." not in key
    )
    return end.after.values[key] - end.before.values[key]


@pytest.mark.parametrize("driver", ["packet", "ring", "xdp"])
@pytest.mark.parametrize(("size", "frames"), [(64, 1), (1492, 1), (1493, 2), (10_000, 7)])
def test_each_frame_has_a_payload_and_22_bytes(
    lab: Lab, driver: str, size: int, frames: int
) -> None:
    try:
        asked = {"test": "latency", "message_bytes": size, "count": 100, "system_counters": True}
        batch = measured(lab, {"driver": driver}, **asked)
    except HostError as error:
        if driver == "xdp" and "driver xdp" in str(error):
            pytest.skip(str(error))
        raise
    assert batch.ends[0].counters["frames_sent"] == 100 * frames
    assert batch.ends[0].counters["unanswered"] == 0
    own = batch.ends[0].difference("connection.control.segs_out") or 0
    moved = batch.ends[0].difference("connection.control.bytes_sent") or 0
    others = grown(batch, 0, ".tx_packets") - (100 * frames + own)
    assert 0 <= others <= 2  # that ask who has an address, now and then
    control_bytes = moved + own * (14 + 20 + 32)
    beyond = grown(batch, 0, ".tx_bytes") - (100 * (size + HEADERS * frames) + control_bytes)
    assert 42 * others <= beyond <= 90 * others


@pytest.mark.parametrize("way", ["immediate", "delayed", "piggyback"])
def test_all_of_it_comes_over_a_lossy_link(way: str) -> None:
    """Every 40th frame of each line is lost, Packs and Nacks among them."""
    link = {"rate": "1G", "loss_every": 40}
    with scenario_lab(hosts=2, link=link, pace=COUNTING) as lab:
        options = {"reliable": True, "acknowledge": way, "timeout_ns": 20_000_000}
        batch = measured(lab, options, test="stream", message_bytes=3000, count=300)
        raw = measured(
            lab, {}, test="stream", message_bytes=1000, count=500, rate_bit_per_s=2 * 10**7
        )
    origin, target = batch.ends[0].counters, batch.ends[1].counters
    assert (target["messages_received"], target["corrupt"]) == (300, 0)
    assert origin["packets_sent"] == 900
    assert origin["packets_resent"] > 0
    assert origin["events_nack"] + origin["events_time_out"] > 0
    runs = list(batch.ends[0].series["event_count"])
    assert sum(runs) == sum(origin[f"events_{e}"] for e in ("pack", "nack", "time_out"))
    # Two lines, each of which loses every 40th frame: what is not sent again stays lost.
    assert 20 <= raw.ends[1].counters["lost"] <= 32


@pytest.mark.skipif(not ROOT, reason="an XDP program needs root")
def test_nothing_is_left_of_a_driver_that_was_killed(lab: Lab) -> None:
    def attached() -> bool:
        words = lab.hosts[0].command(["ip", "-j", "link", "show", "v0"])
        (link,) = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        return "xdp" in link

    try:
        session = open_pair(lab.hosts[0], lab.hosts[1], "link", options={"driver": "xdp"})
    except HostError as error:
        pytest.skip(str(error))
    with session:
        assert attached()
        # The process is known by the lab's own numbers.
        words = lab.hosts[0].command(["kill", "-9", str(session.workers[0].hello["pid"])])
        subprocess.run(words, check=True, timeout=10)
        end = time.monotonic() + 5
        while attached() and time.monotonic() < end:
            time.sleep(0.05)
        assert not attached()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_ten_million_packets_of_each_kind_of_loss_come_once_and_in_order() -> None:
    """On frames over a wire in memory: at random, in bursts, at the tail of a full queue."""
    require_frames()
    if not ENGINE_TESTS.exists():
        pytest.skip("the engine's tests are not built; make lint builds them")
    words = [str(ENGINE_TESTS), "--test-suite=link", "--test-case=all of it*"]
    asked = os.environ | {"NETSONDE_LINK_PACKETS": "10000000"}
    done = subprocess.run(
        words, env=asked, capture_output=True, text=True, timeout=590, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
