"""What another tool would have said of records whose truth is known."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from netsonde.cli.like import measured_like
from netsonde.cli.main import app
from netsonde.cli.sockets import sweep_keys
from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.peers.read import read_output
from netsonde.peers.said import Told
from netsonde.peers.techniques import TECHNIQUES, TOOLS, netpipe_sizes
from netsonde.peers.told import best_trial_mean, interval_rates_bit_per_s, nearest_rank, told
from netsonde.records.data import Batch, EndData, Point
from netsonde.study.measure_table import MeasureTable
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml

OUTPUTS = Path(__file__).parent / "outputs"
SECOND = 1_000_000_000


def point(
    tool: str, transport: str, test: str, ends: list[EndData], size: int = 1000, **more: Any
) -> Point:
    batch = Batch(0, {end.rank: end for end in ends})
    parameters = {"message_bytes": size, "like": tool, **more}
    return Point("p001", transport, test, parameters, "finished", batches=[batch])


def by_name(measured: Point) -> dict[str, Told]:
    return {each.name: each for each in told(measured)}


def stream_ends() -> list[EndData]:
    """1000 messages of 1000 bytes, one a ms, over 1 s; all arrived after 1.25 s, and the notice of
    it, held for 10 ms, came back after 1.3 s."""
    start = 7 * SECOND
    origin = EndData(0, "h1")
    origin.counters = {
        "start_ns": start,
        "last_send_ns": start + SECOND,
        "end_ns": start + 1_300_000_000,
        "notice_held_ns": 10_000_000,
        "sync_round_trip_ns": 20_000_000,
        "messages_sent": 1000,
        "bytes_sent": 1_000_000,
    }
    origin.series["sent_ns"] = np.arange(1, 1001, dtype=np.int64) * 1_000_000
    target = EndData(1, "h2")
    target.counters = {
        "start_ns": 90 * SECOND,
        "end_ns": 90 * SECOND + 1_250_000_000,
        "sync_round_trip_ns": 20_000_000,
        "messages_received": 1000,
        "bytes_received": 1_000_000,
    }
    return [origin, target]


def test_iperf3_sender_and_receiver() -> None:
    found = by_name(point("iperf3", "tcp", "stream", stream_ends()))
    assert found["iperf3_sender_bit_per_s"].value == pytest.approx(8e6)
    assert found["iperf3_sender_bit_per_s"].words == "8.00 Mbits/sec sender"
    assert found["iperf3_receiver_bit_per_s"].value == pytest.approx(8e6 / 1.25)
    assert found["iperf3_receiver_bit_per_s"].words == "6.40 Mbits/sec receiver"
    assert found["iperf3_receiver_bit_per_s"].beside == "throughput_bit_per_s"


def test_iperf3_leaves_out_the_first_part() -> None:
    ends = stream_ends()
    # In its first half second twice as much is sent as in the second.
    ends[0].series["sent_ns"] = np.concatenate(
        [np.arange(1, 667) * 750_750, SECOND // 2 + np.arange(1, 335) * 1_497_000]
    ).astype(np.int64)
    found = by_name(point("iperf3", "tcp", "stream", ends, omit_ns=SECOND // 2))
    assert found["iperf3_sender_bit_per_s"].value == pytest.approx(8 * 334_000 / 0.5, rel=1e-3)
    assert "iperf3_receiver_bit_per_s" not in found


def test_iperf3_adds_the_flows() -> None:
    ends = stream_ends()
    for end in stream_ends():
        end.rank += 2
        ends.append(end)
    found = by_name(point("iperf3", "tcp", "stream", ends, streams=2))
    assert found["iperf3_sender_bit_per_s"].value == pytest.approx(16e6)
    assert found["iperf3_receiver_bit_per_s"].value == pytest.approx(16e6 / 1.25)


def test_what_iperf3_says_of_its_seconds_is_beside_the_origins_rate() -> None:
    ends = stream_ends()
    ends[0].series["sent_ns"] *= 3
    found = by_name(point("iperf3", "tcp", "stream", ends))
    for word in ("slowest", "fastest"):
        said = found[f"iperf3_{word}_second_bit_per_s"]
        assert said.beside == "throughput_origin_bit_per_s"
        assert "in one second" in said.why
        assert "{" not in said.why


def test_iperf3_seconds() -> None:
    # 100, 300 and 50 messages of 128 KiB in three seconds, and some in a fourth that is not whole.
    counts = [100, 300, 50, 20]
    times = np.concatenate(
        [i * SECOND + np.linspace(1, 0.5 * SECOND, n) for i, n in enumerate(counts)]
    ).astype(np.int64)
    rates = interval_rates_bit_per_s(times, 131072)
    assert rates == pytest.approx([n * 131072 * 8 for n in counts[:3]])
    assert len(interval_rates_bit_per_s(np.empty(0, np.int64), 1)) == 0
    # More than fits 64 bits when multiplied out in integers.
    many = np.sort(np.tile(np.arange(1, 50_001) * 40_000, 5))
    assert interval_rates_bit_per_s(many, 1 << 20)[0] == pytest.approx(
        125_000 * 8 * 2**20, rel=1e-3
    )


def test_iperf3_udp_counts_gaps_and_misses_the_end() -> None:
    ends = stream_ends()
    # Of 1000, numbers 10 to 19 and the last 100 are lost.
    arrived = np.array([n for n in range(900) if not 10 <= n < 20], np.int64)
    ends[1].series["sequence"] = arrived
    ends[1].series["received_ns"] = ends[0].series["sent_ns"][arrived] + 5_000
    ends[1].counters |= {"lost": 110, "messages_received": len(arrived)}
    measured = point("iperf3", "udp", "stream", ends)
    found = by_name(measured)
    assert found["iperf3_lost_ratio"].value == pytest.approx(10 / 1000)
    assert found["iperf3_lost_ratio"].words == "10/1000 (1%) lost"
    assert found["iperf3_jitter_ns"].value == 0
    ours = {f.name: f.value for f in figures_of_point(measured)}
    assert ours["lost_ratio"] == pytest.approx(110 / 1000)


def test_iperf3_jitter_by_hand() -> None:
    ends = stream_ends()
    ends[1].series["sequence"] = np.arange(3, dtype=np.int64)
    ends[1].series["received_ns"] = ends[0].series["sent_ns"][:3] + np.array([0, 1600, 1600])
    found = by_name(point("iperf3", "udp", "stream", ends))
    # J = 1600/16, then 100 - 100/16.
    assert found["iperf3_jitter_ns"].value == pytest.approx(100 * 15 / 16)


@pytest.mark.parametrize(
    ("bit_per_s", "words"),
    [
        (992, "992 bits/sec"),
        (1_048_576, "1.05 Mbits/sec"),
        (41_700_000_000, "41.7 Gbits/sec"),
        (956_400_000, "956 Mbits/sec"),
        (9_996_000, "10.0 Mbits/sec"),
    ],
)
def test_iperf3_prints_three_digits(bit_per_s: int, words: str) -> None:
    ends = stream_ends()
    ends[0].counters["bytes_sent"] = bit_per_s // 8
    sender = by_name(point("iperf3", "tcp", "stream", ends))["iperf3_sender_bit_per_s"]
    assert sender.words == f"{words} sender"


def test_netperf_stream_ends_with_the_closing() -> None:
    found = by_name(point("netperf", "tcp", "stream", stream_ends()))
    assert found["netperf_throughput_bit_per_s"].value == pytest.approx(8e6 / 1.29)
    assert found["netperf_throughput_bit_per_s"].words == "6.20 10^6bits/sec"


def test_netperf_udp_divides_by_the_senders_time() -> None:
    ends = stream_ends()
    ends[1].counters["bytes_received"] = 600_000
    found = by_name(point("netperf", "udp", "stream", ends))
    assert found["netperf_sender_bit_per_s"].value == pytest.approx(8e6)
    assert found["netperf_receiver_bit_per_s"].value == pytest.approx(4.8e6)


def round_trips(tool: str, samples: Any, size: int = 64, test: str = "latency") -> dict[str, Told]:
    end = EndData(0, "h1", {"round_trip_ns": np.asarray(samples, np.int64)})
    return by_name(point(tool, "tcp", test, [end], size))


def test_netperf_transactions_are_one_over_the_mean() -> None:
    # A median of 10 us; one late answer in ten makes the mean 20 us.
    found = round_trips("netperf", [10_000] * 9 + [110_000])
    assert found["netperf_transactions_per_s"].value == pytest.approx(50_000)
    assert found["netperf_transactions_per_s"].words == "50000.00 Trans/s"
    assert found["netperf_round_trip_mean_ns"].value == pytest.approx(20_000)


def test_netpipe_is_the_best_of_seven_halved() -> None:
    means = [30_000, 24_000, 26_000, 90_000, 25_000, 28_000, 27_000]
    samples = np.concatenate([[m - 1000, m, m + 1000] * 10 for m in means])
    found = round_trips("netpipe", samples, 1 << 20, "pingpong")
    assert found["netpipe_one_way_best_ns"].value == pytest.approx(12_000)
    assert found["netpipe_one_way_best_ns"].words == "12.00 usec"
    rate = found["netpipe_best_bit_per_s"]
    assert rate.value == pytest.approx(8 * 2**20 / 12e-6)
    assert rate.words == f"{8 / 12e-6:.2f} Mbps"  # of 2^20: 8 of them in 12 us
    assert best_trial_mean(samples, 1) == pytest.approx(np.mean(means))
    assert round_trips("netpipe", [1] * 6) == {}


def test_sockperf_halves_and_leaves_out_both_ends() -> None:
    # 400 ms of 40 us, then 500 ms of 20 us with one of 1 ms, then 50 ms of 80 us.
    middle = [20_000] * 24_950 + [1_000_000]
    found = round_trips("sockperf", [40_000] * 10_000 + middle + [80_000] * 625, 14)
    mean = found["sockperf_latency_mean_ns"]
    assert mean.samples == len(middle)
    assert mean.value == pytest.approx(np.mean(middle) / 2)
    assert mean.words == f"Latency is {np.mean(middle) / 2e3:.3f} usec"
    assert found["sockperf_latency_median_ns"].value == 10_000
    assert found["sockperf_latency_p999_ns"].value == 10_000
    assert round_trips("sockperf", [1000] * 100) == {}  # shorter than what it leaves out


def test_percentiles_are_those_that_sockperf_printed() -> None:
    read = read_output((OUTPUTS / "sockperf-log.csv").read_text()).points[0]
    printed = {f.name: f.value for f in read.figures}
    assert read.round_trips_ns is not None
    ordered = np.sort(read.round_trips_ns)
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        expected = printed[f"sockperf_latency_{name}_ns"]
        assert nearest_rank(ordered, share) / 2 == pytest.approx(expected, abs=1.01)


def test_a_plain_point_says_nothing_of_other_tools() -> None:
    measured = point("iperf3", "tcp", "stream", stream_ends())
    plain = replace(measured, parameters=measured.spec.but_for("like"))
    assert told(plain) == []
    assert all("iperf3" not in f.name for f in figures_of_point(plain))


def test_they_are_figures_with_a_method_and_without_an_interval() -> None:
    found = figures_of_point(point("iperf3", "tcp", "stream", stream_ends()))
    sender = next(f for f in found if f.name == "iperf3_sender_bit_per_s")
    assert (sender.method, sender.low, sender.unit) == ("other-tools#iperf3", None, "bit_per_s")


def test_netpipes_schedule_is_the_one_of_its_own_file() -> None:
    words = [line.split() for line in (OUTPUTS / "netpipe-3.out").read_text().splitlines()]
    theirs = [int(row[0]) for row in words]
    assert [size for size, _ in netpipes("latency")][: len(theirs)] == theirs


def netpipes(test: str, **asked: Any) -> list[tuple[int, int]]:
    """Sizes as ``--like netpipe`` measures them, each with how far it is beside another."""
    made = measured_like(block(test) | asked, "netpipe", None, None)
    spec = StudySpec.model_validate({"measure": [made], "path": {"kind": "loopback"}})
    planned = [p.parameters for p in plan_points(spec)]
    return sorted((p["message_bytes"], p.get("perturbed_bytes", 0)) for p in planned)


@pytest.mark.parametrize("keys", [{}, sweep_keys(True, None, False), sweep_keys(True, "3", True)])
@pytest.mark.parametrize("test", ["latency", "pingpong"])
def test_netpipe_measures_each_size_once_and_knows_the_neighbours(
    test: str, keys: dict[str, Any]
) -> None:
    found = netpipes(test, **keys)
    assert len(found) == len({size for size, _ in found}) == 106
    assert [size for size, beside in found if not beside] == netpipe_sizes(1, 1 << 20)
    assert all(size - beside in netpipe_sizes(1, 1 << 20) for size, beside in found)


def test_netpipes_neighbours_of_stated_sizes() -> None:
    assert netpipes("latency", sizes="64") == [(61, -3), (64, 0), (67, 3)]
    assert netpipes("latency", sizes="8") == [(8, 0)]
    assert netpipes("latency", sizes="64", perturb="0") == [(64, 0)]
    assert netpipes("latency", sizes="64", **sweep_keys(True, "5", False)) == [
        (59, -5),
        (64, 0),
        (69, 5),
    ]


def block(test: str = "stream", transport: str = "tcp", **more: Any) -> dict[str, Any]:
    given = {"transports": [transport], "test": test, "sizes": None, "cap": None}
    return {**given, "options": {}, **more}


@pytest.mark.parametrize(("tool", "transport", "test"), TECHNIQUES)
def test_every_technique_is_a_study(tool: str, transport: str, test: str) -> None:
    made = measured_like(block(test, transport), tool, None, None)
    points = plan_points(
        StudySpec.model_validate({"measure": [made], "path": {"kind": "loopback"}})
    )
    assert points
    for planned in points:
        assert planned.parameters["like"] == tool
        assert planned.parameters["call_bytes"] == planned.parameters["message_bytes"]


def test_a_study_keeps_the_tool_for_a_later_day() -> None:
    made = measured_like(block(), "iperf3", "1s", None)
    spec = StudySpec.model_validate({"measure": [made]})
    assert parse_study(to_toml(spec), "study.toml") == spec
    assert plan_points(spec)[0].parameters["omit_ns"] == SECOND


def test_what_was_asked_for_comes_before_the_tools_defaults() -> None:
    asked = block(sizes="64k", cap="3s", options={"no_delay": True, "buffer": None})
    made = measured_like(asked, "iperf3", "1s", None)
    assert (made["sizes"], made["cap"], made["omit"]) == ("64k", "3s", "1s")
    assert made["options"] == {"no_delay": True}
    usual = measured_like(block(), "iperf3", None, None)
    assert (usual["sizes"], usual["cap"], usual["options"]) == ("128k", "10s", {"no_delay": False})
    datagrams = measured_like(block(transport="udp"), "iperf3", None, None)
    assert (datagrams["sizes"], datagrams["rate"]) == ("1448", "1048576")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("tcp local stream --like nuttcp", ("--like", "nuttcp")),
        ("tcp local latency --like iperf3", ("like iperf3", "tcp latency")),
        ("tcp local duplex --like iperf3", ("like iperf3", "tcp duplex")),
        ("udp local latency --like netpipe", ("like netpipe", "udp latency")),
        ("tcp local stream --like sockperf", ("like sockperf", "tcp stream")),
        ("tcp local stream --like iperf3 --count 5", ("like iperf3", "count")),
        ("tcp local stream --like iperf3 --call 1k", ("like iperf3", "call")),
        ("tcp local stream --like iperf3 --check-data", ("like iperf3", "--check-data")),
        (
            "tcp local stream --like iperf3 --relative-precision 2%",
            ("--like iperf3", "--relative-precision"),
        ),
        ("tcp local latency --like netperf --load 50%", ("like netperf", "load")),
        ("tcp local stream --like netperf --streams 2", ("like netperf", "streams")),
        ("tcp local stream --like netperf --omit 1s", ("--like netperf", "--omit")),
        ("tcp local stream --omit 1s", ("--omit", "--like")),
        ("udp local stream --like netperf --rate 5M", ("like netperf", "rate")),
        ("udp local stream --like iperf3 --batch 16", ("like iperf3", "--batch")),
        ("udp local generate --rate 1M --like iperf3", ("--like iperf3", "generate")),
        ("tcp local latency --like sockperf --time 400ms", ("like sockperf", "400 ms")),
        ("tcp local pingpong --like netpipe --sizes few", ("few",)),
    ],
)
def test_what_does_not_go_together_ends_before_anything_starts(
    words: str, named: tuple[str, ...], tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, [*words.split(), "--out", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert all(word in str(result.exception) for word in named)
    assert list(tmp_path.iterdir()) == []


def test_every_tool_measures_something() -> None:
    assert {tool for tool, _, _ in TECHNIQUES} == set(TOOLS)
    for tool in TOOLS:
        block = {"transports": ["tcp", "udp"], "test": "duplex", "sizes": "64", "like": tool}
        with pytest.raises(ValidationError, match=f"{tool} measures (tcp|udp)"):
            MeasureTable.model_validate(block)


@pytest.mark.worker
@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (
            "tcp local stream --like iperf3 --time 300ms --streams 2",
            {"iperf3_sender_bit_per_s", "iperf3_receiver_bit_per_s", "throughput_bit_per_s"},
        ),
        (
            "udp local stream --like iperf3 --time 300ms",
            {"iperf3_jitter_ns", "iperf3_lost_ratio", "jitter_ns"},
        ),
        ("tcp local stream --like netperf --time 200ms", {"netperf_throughput_bit_per_s"}),
        ("udp local latency --like netperf --time 200ms", {"netperf_transactions_per_s"}),
        ("tcp local pingpong --like netpipe --sizes 8 --time 200ms", {"netpipe_best_bit_per_s"}),
        ("tcp local latency --like sockperf --time 900ms", {"sockperf_latency_p99_ns"}),
    ],
)
def test_real_runs_have_the_tools_figures_beside_our_own(
    words: str, names: set[str], tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, [*words.split(), "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.exception
    document = json.loads(result.stdout)
    assert names <= {figure["name"] for figure in document["figures"]}
    (measured,) = document["points"]
    assert measured["ended_by"] == "duration"
    own = {figure["name"] for figure in document["figures"]}
    assert measured["told"]
    assert all(each["beside"] in own for each in measured["told"])
    assert measured["checks"]["samples"]["equal"]
