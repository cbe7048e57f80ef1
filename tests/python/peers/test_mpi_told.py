"""What other MPI benchmarks would have said of records whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from rank_records import US, rank_batch, rank_point
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.cli.mpi_like import blocks_like
from netsonde.cli.mpi_tests import block_of
from netsonde.figures.compute import figures_of_point
from netsonde.peers.mpi_techniques import (
    MPI_TECHNIQUES,
    MPI_TOOLS,
    mpi_technique,
    settings,
)
from netsonde.peers.mpi_told import MAKERS, until_accurate
from netsonde.peers.said import Told, what_remains
from netsonde.peers.told import remains, told
from netsonde.records.data import Batch, EndData, Point
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec


def by_name(point: Point) -> dict[str, Told]:
    return {each.name: each for each in told(point)}


def early_root(like: str, **more: Any) -> Any:
    """Four ranks; the root leaves a bcast after 2 us, the others stay for 10, after one repetition
    of warm-up that took 500. Each of the others is the slowest once, by 3 us."""
    begin = [[1000 * i for i in range(4)]] * 4
    stay = [[500, 2, 2, 2], [500, 13, 10, 10], [500, 10, 13, 10], [500, 10, 10, 13]]
    return rank_point("bcast", rank_batch(begin, stay), like=like, warm_up=1, **more)


def test_osu_takes_the_mean_over_ranks_and_netsonde_the_slowest_rank():
    found = by_name(early_root("osu"))
    assert found["osu_completion_mean_ns"].value == (2 + 3 * 11) / 4 * US
    assert found["osu_completion_min_ns"].value == 2 * US
    assert found["osu_completion_max_ns"].value == 11 * US  # of means: none is 13
    assert found["osu_completion_mean_ns"].words == "8.75 Avg Latency(us)"
    assert found["osu_completion_mean_ns"].samples == 3
    ours = {f.name: f.value for f in figures_of_point(early_root("osu"))}
    assert ours["completion_median_ns"] == 13 * US
    assert ours["osu_completion_mean_ns"] == 8.75 * US


def test_imb_gives_least_largest_and_mean_of_the_ranks_means():
    found = by_name(early_root("imb"))
    assert [found[f"imb_rank_{name}_ns"].value for name in ("min", "max", "mean")] == [
        2 * US,
        11 * US,
        8.75 * US,
    ]


def overlapping(like: str) -> Any:
    """Two ranks without barriers: each stays for 10 us, and enters the next repetition 6 us after
    it entered this one, since a rank that is done goes on at once."""
    begin = [[0, 100, 106, 112, 118], [3, 103, 109, 115, 121]]
    return rank_point("bcast", rank_batch(begin, [[10] * 5] * 2), like=like, warm_up=1)


def test_pmb_times_the_loop_so_repetitions_overlap():
    found = by_name(overlapping("pmb"))
    assert found["pmb_rank_mean_ns"].value == (18 + 10) / 4 * US  # and not 10
    ours = {f.name: f.value for f in figures_of_point(overlapping("pmb"))}
    assert ours["completion_median_ns"] == 10 * US


def test_mpptest_takes_the_best_part_of_rank_0s_loop():
    # Sixty repetitions in pairs; a pair takes 20 us, but the twentieth 8.
    begin = [20 * (i // 2) + 10 * (i % 2) for i in range(60)]
    stay = [10.0] * 60
    begin[39] = begin[38] + 4
    stay[38] = stay[39] = 4
    found = by_name(
        rank_point("bcast", rank_batch([begin, begin], [stay, stay]), like="mpptest", warm_up=0)
    )
    assert found["mpptest_completion_best_ns"].value == 4 * US


def test_mpbench_counts_from_the_roots_entry():
    # Rank 1 leaves the barrier 7 us after the root, and is then inside for 10.
    begin = [[0, 100, 200], [7, 107, 207]]
    stay = [[2, 2, 2], [10, 10, 10]]
    point = rank_point("bcast", rank_batch(begin, stay), size=1700, like="mpbench", warm_up=1)
    found = by_name(point)
    assert found["mpbench_completion_mean_ns"].value == 17 * US
    assert found["mpbench_bandwidth_bit_per_s"].words == "100.000 MB/sec"


def test_reprompi_with_a_barrier_and_with_windows():
    found = by_name(early_root("reprompi"))
    assert found["reprompi_median_ns"].value == 13 * US
    assert found["reprompi_median_ns"].words == "0.0000130000 median_runtime_sec"
    windows = rank_batch(
        [[2, 100, 200], [5, 100, 200]],
        [[3, 10, 10], [9, 12, 14]],
        late_us=[[0, 0, 40], [0, 0, 0]],
    )
    found = by_name(rank_point("bcast", windows, like="reprompi", warm_up=0, start="window"))
    assert found["reprompi_max_ns"].value == 12 * US  # 2 to 14 and 100 to 112; the third was late
    assert found["reprompi_min_ns"].samples == 2


def test_skampi_stops_when_it_is_accurate_and_trims():
    values = np.array([50.0, 1, 10, 10, 10, 10, 10, 10, 10, 10, 90, 70])
    assert len(until_accurate(values, 0.03)) == len(values)
    steady = np.array([10.0, 11] * 20 + [500])
    assert len(until_accurate(steady, 0.03)) == 8  # the fewest; the error is 1.8 %
    assert len(until_accurate(steady, 0.01)) == 24  # 0.5/sqrt(23) of 10.5 is the first below 1 %
    stay = [[1, *([20, 29] * 20)], [1, *([26, 28] * 20)]]
    begin = [[100 * i for i in range(41)]] * 2
    late = [[0] * 41] * 2
    point = rank_point("bcast", rank_batch(begin, stay, late), like="skampi", warm_up=1)
    found = by_name(point)["skampi_completion_trimmed_mean_ns"]
    assert found.value == 27.5 * US  # of 26 and 29 by turns
    assert found.words == "27.5 0.6 8"  # 1.5/sqrt(7) is 2.1 % of 27.5


def ping_pong(like: str, trips_us: list[float], warm_up: int, size: int = 8) -> Point:
    origin = EndData(0, "a", {"round_trip_ns": np.array(trips_us, np.int64) * US})
    origin.counters = {"start_ns": 0, "end_ns": 10**9, "messages_sent": len(trips_us)}
    parameters = {"message_bytes": size, "like": like, "warm_up": warm_up}
    batch = Batch(0, {0: origin, 1: EndData(1, "b")})
    return Point("p001", "mpi", "latency", parameters, "finished", batches=[batch])


@pytest.mark.parametrize("tool", ["osu", "imb", "pmb", "mpbench"])
def test_a_loop_of_round_trips_is_halved(tool):
    found = by_name(ping_pong(tool, [900, 10, 12, 14], 1))
    assert found[f"{tool}_one_way_mean_ns"].value == 6 * US
    assert found[f"{tool}_one_way_mean_ns"].words.startswith("6.00 ")


@pytest.mark.parametrize(
    ("tool", "mega"),
    [
        ("imb", 10**6),
        ("pmb", 1 << 20),
        ("mpptest", 10**6),
        ("mpbench", 1 << 20),
        ("skampi", 1 << 20),
    ],
)
def test_a_bandwidth_is_the_size_over_one_way(tool, mega):
    end = EndData(0, "h", counters={"messages_sent": 60})
    end.series["round_trip_ns"] = np.full(60, 20 * US)
    parameters = {"message_bytes": 1 << 20, "like": tool, "warm_up": 0}
    point = Point("p1", "mpi", "latency", parameters, "finished", batches=[Batch(0, {0: end})])
    said = by_name(point)[f"{tool}_bandwidth_bit_per_s"]
    assert said.value == pytest.approx((1 << 20) * 8e9 / (10 * US))
    assert said.words.startswith(f"{(1 << 20) / (10e-6 * mega):.2f} MB/s of {mega} bytes")


def test_mpibench_takes_every_message_one_way_and_the_slowest_process_of_a_collective():
    batch = rank_batch([[10, 110], [2, 113]], [[1, 20], [19, 1]])
    messages = rank_point("one_way_isend", batch, like="mpibench", pattern="pairs", warm_up=0)
    assert by_name(messages)["mpibench_mean_ns"].value == (11 + 17) / 2 * US
    assert by_name(messages)["mpibench_mean_ns"].samples == 2
    found = by_name(early_root("mpibench"))
    assert found["mpibench_mean_ns"].value == 13 * US
    assert settings("mpibench", "collective", "alltoall", 8, None)["count"] == 110
    assert settings("mpibench", "collective", "one_way_isend", 8, None)["count"] == 1010


@pytest.mark.parametrize("tool", ["imb", "pmb", "skampi", "mpibench"])
def test_sendrecv_is_a_ring_for_tools_and_for_netsondes_own_beside_them(tool):
    assert settings(tool, "collective", "sendrecv", 8, None)["pattern"] == "ring"
    assert "pattern" not in settings(tool, "collective", "bcast", 8, None)
    blocks = blocks_like(block_of("sendrecv", "64", 5), "sendrecv", ["imb", tool], False, "1s")
    spec = StudySpec.model_validate({"mpi": {"ranks": 4}, "measure": blocks})
    patterns = {p.parameters["pattern"] for p in plan_points(spec)}
    assert patterns == {"ring"}


def test_skampi_does_not_halve_and_mpptest_takes_the_best():
    trips = [900.0, *([10] * 50), *([20] * 1450)]
    found = by_name(ping_pong("mpptest", trips, 1))
    assert found["mpptest_one_way_best_ns"].value == 5 * US
    found = by_name(ping_pong("skampi", [900, *([20] * 20)], 1))
    assert found["skampi_round_trip_trimmed_mean_ns"].value == 20 * US


def test_osu_bandwidth_leaves_out_its_warm_up():
    # 10 messages of warm-up in 500 us, then 100 in 1000 us, whose end is heard of 50 us later.
    sent = np.concatenate([np.arange(1, 11) * 50, 500 + np.arange(1, 101) * 10]) * US
    origin = EndData(0, "a", {"sent_ns": sent.astype(np.int64)})
    origin.counters = {"start_ns": 7, "end_ns": 7 + 1550 * US}
    parameters = {"message_bytes": 1050, "like": "osu", "warm_up": 10}
    batch = Batch(0, {0: origin, 1: EndData(1, "b")})
    point = Point("p001", "mpi", "stream", parameters, "finished", batches=[batch])
    (found,) = told(point)
    assert found.value == pytest.approx(100 * 1050 * 8e9 / (1050 * US))
    assert found.words == "100.00 Bandwidth (MB/s)"


def test_osus_threads_share_the_time_until_the_last_one_ends():
    # Two threads, a warm-up of 1 and 4 that count each; thread 1 begins 5 us later and is slower.
    origin = EndData(0, "a")
    origin.series = {
        "round_trip_ns": np.array([30, 10, 10, 10, 10, 40, 20, 20, 20, 20]) * US,
        "thread": np.repeat([0, 1], 5),
        "thread_begin_ns": np.array([0, 5]) * US,
        "thread_end_ns": np.array([70, 125]) * US,
    }
    parameters = {"message_bytes": 8, "like": "osu", "warm_up": 1, "threads": 2}
    batch = Batch(0, {0: origin, 1: EndData(1, "b")})
    point = Point("p001", "mpi", "threads", parameters, "finished", batches=[batch])
    (found,) = told(point)
    assert found.value == pytest.approx((125 - 30) / (2 * 4) * US)  # from 30, after the warm-up
    assert found.words == "11.88 Latency (us)"


def test_every_technique_has_its_figure_and_says_what_remains():
    assert set(MAKERS) == set(MPI_TECHNIQUES)
    assert {tool for tool, _ in MPI_TECHNIQUES} == set(MPI_TOOLS)
    assert all(what_remains(tool, "mpi", test) for tool, test in MPI_TECHNIQUES)
    assert "OSU's barrier" in remains(early_root("osu"))


def test_repetitions_are_the_tools():
    assert settings("osu", "collective", "bcast", 8192, None) == {"warm_up": 100, "count": 1100}
    assert settings("osu", "collective", "bcast", 8193, None) == {"warm_up": 10, "count": 110}
    assert settings("osu", "latency", None, 8, None) == {
        "warm_up": 100,
        "count": 10_100,
        "echo": "other",
    }
    assert settings("osu", "stream", None, 1 << 20, None) == {
        "warm_up": 128,
        "count": 128 + 20 * 64,
        "outstanding": 64,
    }
    assert settings("imb", "collective", "bcast", 1 << 20, None) == {"warm_up": 4, "count": 44}
    assert settings("imb", "collective", "bcast", 64 << 20, None) == {"warm_up": 1, "count": 2}
    assert settings("pmb", "collective", "reduce", 8, 5) == {
        "warm_up": 100,
        "count": 105,
        "start": "none",
        "rotate_root": True,
        "datatype": "float",
    }
    assert "rotate_root" not in settings("pmb", "collective", "alltoall", 8, 5)
    assert settings("skampi", "collective", "bcast", 8, None)["start"] == "window"
    assert mpi_technique("osu", "duplex") is None


def test_words_are_joined_as_the_tool_joins_them():
    def joined(tool: str, operation: str) -> tuple[str | None, str | None]:
        found = settings(tool, "collective", operation, 64, None)
        return found.get("reduction"), found.get("datatype")

    assert joined("osu", "allreduce") == (None, "char")
    assert joined("imb", "reduce") == (None, "float")
    assert joined("skampi", "allreduce") == (None, "int")
    assert joined("skampi", "reduce_scatter") == ("or", "int")
    assert joined("reprompi", "scan") == ("or", "byte")
    assert joined("mpbench", "allreduce") == (None, None)
    assert joined("osu", "bcast") == (None, None)
    for given in ({"datatype": "int"}, {"reduction": "max"}):
        block = {"test": "collective", "operations": "allreduce", "like": "osu", **given}
        with pytest.raises(ValidationError, match="has its own way"):
            planned({"transports": "mpi", "sizes": "64", **block})
    free = {"test": "collective", "operations": "allreduce", "like": "mpbench", "datatype": "int"}
    assert planned({"transports": "mpi", "sizes": "64", **free})


def test_what_a_tool_does_not_measure_is_refused():
    bcast = {"test": "collective", "operations": "bcast", "like": "osu"}
    for block, said in (
        ({"test": "stream", "like": "skampi"}, "skampi measures mpi latency, collective"),
        ({**bcast, "operations": "scan", "like": "mpbench"}, "mpbench and scan"),
        ({**bcast, "root": 1}, "osu and root"),
    ):
        with pytest.raises(ValidationError, match=said):
            planned({"transports": "mpi", "sizes": "64", **block})
    assert planned({"transports": "mpi", "sizes": "64", **bcast})


def planned(*measure: dict[str, Any]) -> list[dict[str, Any]]:
    spec = StudySpec.model_validate({"measure": list(measure)})
    return [point.parameters for point in plan_points(spec)]


def test_a_study_measures_like_a_tool():
    block = {"transports": ["mpi"], "test": "collective", "operations": ["bcast", "allreduce"]}
    points = planned({**block, "sizes": "8k,16k", "like": "pmb"})
    assert [p.get("rotate_root") for p in points] == [True, True, None, None]
    assert [p["count"] for p in points] == [1100, 1100, 1100, 1100]
    assert {p["start"] for p in points} == {"none"}
    points = planned(
        {"transports": ["mpi"], "test": "stream", "sizes": "1k", "like": "osu", "count": 640}
    )
    assert (points[0]["count"], points[0]["warm_up"]) == (1280, 640)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bcast", "--like", "iperf3"], "--like 'iperf3'"),
        (["bcast", "--like", "osu", "--time", "3s"], "--like osu and --time"),
        (
            ["bcast", "--like", "osu", "--relative-precision", "5%"],
            "--like osu and --relative-precision",
        ),
        (["bcast", "--like", "osu", "--start", "window"], "--start"),
        (["bcast", "--like", "osu", "--root", "1"], "osu and --root do"),
        (["gatherv", "--like", "skampi"], "gatherv"),
        (["duplex", "--like", "osu"], "duplex"),
        (["duplex", "--outstanding", "4"], "--outstanding goes with stream"),
        (["stream", "--like", "osu", "--outstanding", "4"], "--outstanding"),
    ],
)
def test_what_does_not_go_together(words, said):
    result = CliRunner().invoke(app, ["mpi", *words])
    assert result.exit_code != 0
    assert said in str(result.exception)
    assert "netsonde.errors" in str(type(result.exception))
