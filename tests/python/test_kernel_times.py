"""The kernel's times of messages: what the workers record, what does not go together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from raw_worker import RawPair, RawWorker, S, counters, has_series, pair, series
from typer.testing import CliRunner

from netsonde.cli.main import app

pytestmark = pytest.mark.worker

STAGES = ("send_to_queue_ns", "queue_to_driver_ns", "driver_to_receive_ns")
BETWEEN = ("driver_to_driver_ns", "receive_to_send_ns")


def wholes(ends: RawPair, **fields: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Runs it; how many are stamped, and the least and largest of the stages' sum less the round
    trip of the same message."""
    origin, target = ends.run(**fields)
    for records, between in ((origin, BETWEEN[0]), (target, BETWEEN[1])):
        found = counters(records)
        stamped = len(series(records, "stamped_index"))
        assert found["stamped"] == stamped
        assert all(len(series(records, name)) == stamped for name in (*STAGES, between))
        assert 0 < found["clock_pairing_ns"] <= 2500
        if stamped < fields["count"]:
            assert found["unstamped"] == fields["count"] - stamped
            assert sum(v for k, v in found.items() if k.startswith("unstamped_")) > 0
    index = series(origin, "stamped_index")
    whole = sum(series(origin, name) for name in (*STAGES, BETWEEN[0]))
    return len(index), whole, series(origin, "round_trip_ns")[index]


@pytest.mark.parametrize("wait", ["block", "spin", "ready"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_stages_add_up_to_the_round_trip(sonde_worker: Path, transport: str, wait: str) -> None:
    options = {"kernel_times": True, "wait": wait}
    options |= {"no_delay": True} if transport == "tcp" else {}
    with pair(sonde_worker, transport, options=options) as ends:
        assert [end["values"]["kernel_times"] for end in ends.opened] == [True, True]
        for fields in (
            {"test": "latency", "message_bytes": 64, "count": 200},
            {"test": "latency", "message_bytes": 1000, "count": 200, "check_data": True},
            {"test": "pingpong", "message_bytes": 9000, "call_bytes": 3000, "count": 100},
        ):
            stamped, whole, round_trip = wholes(ends, **fields)
            # A tail that the kernel retransmitted early, as it may, is counted and left out.
            assert stamped > 0.8 * int(str(fields["count"]))
            # Between both there are only the errors of two pairings of the clocks.
            assert np.abs(whole - round_trip).max() <= 5000


def test_both_ends_count_the_same_messages(sonde_worker: Path) -> None:
    """The network is what is left of the way between the drivers; it takes no less than nothing."""
    with pair(sonde_worker, "udp", options={"kernel_times": True}) as ends:
        origin, target = ends.run(test="latency", message_bytes=64, count=300)
        common, here, there = np.intersect1d(
            series(origin, "stamped_index"), series(target, "stamped_index"), return_indices=True
        )
        assert len(common) > 200
        residence = sum(series(target, name) for name in (*STAGES, BETWEEN[1]))
        network = series(origin, BETWEEN[0])[here] - residence[there]
        assert network.min() > -5000


def test_without_the_option_nothing_is_stamped(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp") as ends:
        assert all("kernel_times" not in end["values"] for end in ends.opened)
        origin, target = ends.run(test="latency", message_bytes=64, count=20)
        for records in (origin, target):
            assert not has_series(records, "stamped_index")
            assert "stamped" not in counters(records)


def test_an_unanswered_datagram_is_no_round_trip(sonde_worker: Path) -> None:
    """A target that was not asked for stamps: the origin's own are there all the same."""
    with pair(sonde_worker, "udp", options={"kernel_times": True}) as ends:
        origin, _ = ends.run(test="latency", message_bytes=64, count=50)
        found = counters(origin)
        assert found["stamped"] + found["unstamped"] + found["unanswered"] == 50


@pytest.mark.parametrize(
    ("transport", "fields", "words"),
    [
        ("tcp", {"test": "stream", "message_bytes": 64, "count": 10}, "latency and pingpong"),
        ("tcp", {"test": "duplex", "message_bytes": 64, "count": 10}, "latency and pingpong"),
        ("tcp", {"test": "latency", "message_bytes": 64, "count": 1 << 21}, "at most 1048576"),
        ("udp", {"test": "latency", "message_bytes": 7, "count": 10}, "at least 8"),
    ],
)
def test_runs_without_stages(
    sonde_worker: Path, transport: str, fields: dict[str, Any], words: str
) -> None:
    with pair(sonde_worker, transport, options={"kernel_times": True}) as ends:
        for records in ends.run(**fields):
            assert records[-1]["record"] == "error"
            assert words in records[-1]["message"]
        origin, _ = ends.run(test="latency", message_bytes=64, count=10)  # nothing was closed
        assert origin[-1]["record"] == "done"


@pytest.mark.parametrize("other", [{"sending": "zerocopy"}, {"multipath": True}])
def test_other_ways_of_sending_are_refused(lone: RawWorker, other: dict[str, Any]) -> None:
    records = lone.ask(
        "listen",
        transport="tcp",
        family="ipv4",
        cookie="00" * 16,
        timeout_ns=S,
        options={"kernel_times": True, **other},
    )
    assert records[-1]["record"] == "error"
    assert "plain sending" in records[-1]["message"]


@pytest.mark.usefixtures("sonde_worker")
def test_from_the_command_line_to_the_report(tmp_path: Path) -> None:
    words = ["tcp", "local", "latency", "--kernel-times", "--count", "400"]
    result = CliRunner().invoke(app, [*words, "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    names = {figure["name"] for figure in document["figures"]}
    assert {"network_median_ns", "slow_target_receive_to_send_ns", "stamped_ratio"} <= names
    assert any("the network takes" in finding["claim"] for finding in document["findings"])
    (run,) = tmp_path.iterdir()
    made = CliRunner().invoke(app, ["report", str(run)])
    assert made.exit_code == 0, made.output
    assert "Where the time goes" in (run / "report.html").read_text()
    for form in ("csv", "png"):
        made = CliRunner().invoke(app, ["report", str(run), "--format", form])
        assert made.exit_code == 0, made.output
    assert len((run / "csv" / "where_the_time_goes.csv").read_text().splitlines()) == 1 + 8
    assert (run / "plots" / "where-the-time-goes.png").exists()
