"""What files of other tools hold. Those in ``outputs`` are what the tools wrote, shortened; texts
in this file follow the tools' documented formats."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netsonde.peers.data import FileRead, Hints, PointRead
from netsonde.peers.output import LINE_LIMIT_CHARACTERS, UnreadableOutputError
from netsonde.peers.read import READERS, read_output
from netsonde.peers.told import nearest_rank

OUTPUTS = Path(__file__).parent / "outputs"
FILES = {path.name: path.read_text() for path in sorted(OUTPUTS.iterdir())}

NETPERF_STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.00     941.28
"""
NETPERF_UDP = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1472   10.00      850000      0    1000.96
212992           10.00      807500            950.91

"""
NETPERF_RR = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 \
AF_INET : demo : first burst 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00    20000.00
16384  131072
"""
NETPERF_CSV = """\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : \
first burst 0
Throughput,Throughput Units,Minimum Latency Microseconds,Mean Latency Microseconds,\
50th Percentile Latency Microseconds,90th Percentile Latency Microseconds,\
99th Percentile Latency Microseconds,Maximum Latency Microseconds,Stddev Latency Microseconds,\
Request Size Bytes,Command Line
81204.41,Trans/s,11,12.28,12,13,13,4046,18.82,1,"netperf -t TCP_RR -H h2 -- -r 1,1"
"""
NETPERF_KEYS = """\
OMNI Send TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
THROUGHPUT=3.50
THROUGHPUT_UNITS=GBytes/s
PROTOCOL=TCP
ELAPSED_TIME=10.00
LOCAL_SEND_SIZE=16384
LOCAL_CPU_UTIL=25.00
REMOTE_CPU_UTIL=-1.00
LOCAL_TRANSPORT_RETRANS=7
MEAN_LATENCY=4.25
"""
NETPIPE_5 = """\
        1     0.001     0.001     0.001    7.99
        2     0.002     0.002     0.002    8.01
     1024     1.024     1.000     1.100    8.00
"""
OSU_LATENCY = """\
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size          Latency (us)    P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
1                       7.04                5.66             12.25             12.31
8                       7.10                5.70             12.30             12.40
"""
OSU_ALLREDUCE = """\
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      20.56             18.10             23.40        1000
"""
OSU_BARRIER = """\
# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
             4.40
"""
OSU_BW = """\
# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1048576            1915.00
"""
OSU_MBW = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 2 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
8                      12.00        1500000.00
"""
IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# Calling sequence was:

# IMB-MPI1 PingPong Alltoall -npmin 4

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         7.90         0.00
         1024         1000         8.00       128.00

#----------------------------------------------------------------
# Benchmarking Alltoall
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8          100        23.00        59.00        40.00

# All processes entering MPI_Finalize
"""
WRITTEN = {
    "netperf-stream": NETPERF_STREAM,
    "netperf-udp": NETPERF_UDP,
    "netperf-rr": NETPERF_RR,
    "netperf-csv": NETPERF_CSV,
    "netperf-keys": NETPERF_KEYS,
    "netpipe-5": NETPIPE_5,
    "osu-latency": OSU_LATENCY,
    "osu-barrier": OSU_BARRIER,
    "imb": IMB,
}
INSERTED = ("", "-", "e9", "1e999", "nan", "\n", "]", "\u0663", "9" * 400)
EVERY = {**FILES, **WRITTEN}


def only(text: str, hints: Hints | None = None) -> tuple[FileRead, PointRead, dict[str, float]]:
    read = read_output(text, hints=hints or Hints())
    assert len(read.points) == 1
    return read, read.points[0], figures(read.points[0])


def figures(point: PointRead) -> dict[str, float]:
    return {figure.name: figure.value for figure in point.figures}


@pytest.mark.parametrize("name", EVERY)
def test_the_tool_is_found_by_the_content(name: str) -> None:
    assert read_output(EVERY[name]).tool == name.split("-")[0].split(".")[0]


@pytest.mark.parametrize("name", EVERY)
def test_every_value_is_finite_and_its_name_ends_in_a_unit(name: str) -> None:
    for point in read_output(EVERY[name]).points:
        assert point.figures
        names = [figure.name for figure in point.figures]
        assert len(names) == len(set(names))
        for figure in point.figures:
            assert math.isfinite(figure.value)
            assert figure.value >= 0
            ends = ("_ns", "_bit_per_s", "_ratio", "_bytes", "_per_s", "retransmitted_segments")
            assert figure.name.endswith(ends)


def test_iperf3_tcp() -> None:
    read, point, found = only(FILES["iperf3-tcp.json"])
    assert (read.version, read.command) == ("3.12", None)
    assert read.started_utc == "2026-11-21T21:19:01+00:00"
    assert (point.transport, point.test, point.message_bytes) == ("tcp", "stream", 131072)
    assert found["throughput_bit_per_s"] == pytest.approx(1055129600 * 8 / 2.031072)
    assert found["iperf3_sender_bit_per_s"] == pytest.approx(1055129600 * 8 / 2.01911)
    assert found["retransmitted_segments"] == 2
    assert found["iperf3_smoothed_round_trip_mean_ns"] == 1_138_000
    assert found["iperf3_congestion_window_max_bytes"] == 4_452_844
    assert found["iperf3_cpu_client_ratio"] == pytest.approx(0.1127, abs=1e-4)
    assert point.series["interval_bit_per_s"] == pytest.approx([4098497692.06, 4261165323.84])
    assert point.series["interval_retransmits"] == [2, 0]
    assert point.series["interval_round_trip_ns"] == [1_112_000, 1_164_000]


def test_iperf3_several_streams_in_reverse_with_a_part_left_out() -> None:
    _, point, found = only(FILES["iperf3-reverse-two-streams.json"])
    assert point.parameters["streams"] == 2
    assert point.reverse
    assert point.parameters["omit_ns"] == 10**9
    assert len(point.series["interval_bit_per_s"]) == 2  # the omitted one is not among them
    assert found["slowest_flow_bit_per_s"] == pytest.approx(6554043284.49)
    assert found["fastest_flow_bit_per_s"] == pytest.approx(6617613564.04)
    assert found["fairness_ratio"] == pytest.approx(0.999977, abs=1e-6)
    assert "iperf3_smoothed_round_trip_mean_ns" not in found  # 0 stands for not known


def test_iperf3_both_ways() -> None:
    _, point, found = only(FILES["iperf3-both-ways.json"])
    assert point.test == "duplex"
    assert found["throughput_bit_per_s"] == pytest.approx(2171594035.74)
    assert found["throughput_back_bit_per_s"] == pytest.approx(2104575942.29)
    assert found["throughput_sum_bit_per_s"] == pytest.approx(4276169978.03)
    assert found["retransmitted_segments"] == 4 + 7


def test_iperf3_udp_has_both_counts_of_loss() -> None:
    _, point, found = only(FILES["iperf3-udp-reverse.json"])
    assert (point.transport, point.message_bytes) == ("udp", 32768)
    assert found["lost_ratio"] == pytest.approx(1 - 225214464 / 1082654720)
    assert found["iperf3_lost_ratio"] == pytest.approx(25283 / 33040)
    assert found["jitter_ns"] == pytest.approx(1045796.65)


def test_sockperf_halves_are_doubled_under_our_names_only() -> None:
    read, point, found = only(FILES["sockperf-udp.txt"])
    assert read.version == "3.7-no.git"
    assert (point.transport, point.test, point.message_bytes) == ("udp", "latency", 14)
    assert point.parameters["assumed"] == "the message size, sockperf's default"
    assert found["sockperf_latency_median_ns"] == 5908
    assert found["round_trip_median_ns"] == 2 * 5908
    assert found["round_trip_max_ns"] == 2 * 8344034
    assert found["unanswered_ratio"] == 0


def test_sockperf_full_round_trips_are_taken_as_they_are() -> None:
    _, _, found = only(FILES["sockperf-full-rtt.txt"])
    assert found["sockperf_rtt_median_ns"] == found["round_trip_median_ns"] == 11867
    assert found["round_trip_p999_ns"] == 11810668


def test_sockperf_under_load_gives_no_round_trips() -> None:
    _, point, found = only(FILES["sockperf-under-load.txt"])
    assert point.test == "under_load"
    assert not any(name.startswith("round_trip") for name in found)
    assert found["sockperf_latency_median_ns"] == 4876084


def test_sockperf_counts_in_units_of_two_to_the_twenty() -> None:
    _, point, found = only(FILES["sockperf-throughput.txt"])
    assert point.message_bytes == 1000
    assert found["sockperf_sender_messages_per_s"] == 9801
    # The rate and the message rate say the same.
    assert found["sockperf_sender_bit_per_s"] == pytest.approx(9801 * 1000 * 8, rel=1e-3)


def test_a_log_of_sockperf_gives_every_round_trip() -> None:
    read, point, found = only(FILES["sockperf-log.csv"])
    assert "--mps=400" in str(read.command)
    trips = point.round_trips_ns
    assert trips is not None
    assert (len(trips), point.sent, point.message_bytes) == (217, 217, 64)
    assert trips[0] == 2_412_211_805 - 2_403_044_451
    # sockperf's own summary follows from them: mean and percentiles of halves.
    assert found["sockperf_latency_mean_ns"] == pytest.approx(trips.mean() / 2, abs=2)
    ordered = np.sort(trips)
    for name, share in (("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99)):
        ours = nearest_rank(ordered, share) / 2
        assert found[f"sockperf_latency_{name}_ns"] == pytest.approx(ours, abs=1.01)


def test_a_log_of_overlapping_messages_is_no_series_of_round_trips() -> None:
    text = FILES["sockperf-log.csv"]
    late = text.replace("1, 2.412211845, 2.412227639", "1, 2.412211745, 2.412227639")
    assert late != text
    assert only(late)[1].round_trips_ns is None


def test_netpipe_by_file_and_by_what_it_wrote_meanwhile() -> None:
    by_file = read_output(FILES["netpipe-3.out"]).points
    meanwhile = read_output(FILES["netpipe-3.txt"]).points
    assert [figures(p) for p in by_file[: len(meanwhile)]] == [figures(p) for p in meanwhile]
    first = by_file[0]
    assert (first.transport, first.test, first.message_bytes) == ("tcp", "pingpong", 1)
    assert figures(first)["netpipe_one_way_best_ns"] == pytest.approx(7490)
    # Bits and seconds, not NetPIPE's megabits of 2^20.
    assert figures(first)["netpipe_best_bit_per_s"] == pytest.approx(8e9 / 7490)


def test_netpipe_5_and_the_transport_that_only_the_user_knows() -> None:
    read = read_output(NETPIPE_5, hints=Hints(transport="mpi"))
    assert read.version == "5"
    last = read.points[-1]
    assert (last.transport, last.message_bytes) == ("mpi", 1024)
    assert "assumed" not in last.parameters
    assert figures(last) == {
        "netpipe_one_way_mean_ns": 8000,
        "netpipe_mean_bit_per_s": pytest.approx(1.024e9),
        "netpipe_slowest_trial_bit_per_s": pytest.approx(1e9),
        "netpipe_fastest_trial_bit_per_s": pytest.approx(1.1e9),
    }


def test_netperf_stream() -> None:
    _, point, found = only(NETPERF_STREAM)
    assert (point.transport, point.test, point.message_bytes) == ("tcp", "stream", 16384)
    assert found == {"throughput_bit_per_s": pytest.approx(941.28e6)}


def test_netperf_udp_has_two_lines() -> None:
    _, point, found = only(NETPERF_UDP)
    assert (point.transport, point.message_bytes) == ("udp", 1472)
    assert found["throughput_bit_per_s"] == pytest.approx(950.91e6)
    assert found["netperf_sender_bit_per_s"] == pytest.approx(1000.96e6)
    assert found["lost_ratio"] == pytest.approx(0.05)


def test_netperf_transactions() -> None:
    _, point, found = only(NETPERF_RR)
    assert (point.test, point.message_bytes) == ("latency", 1)
    assert found["netperf_transactions_per_s"] == 20000
    assert found["netperf_round_trip_mean_ns"] == pytest.approx(50_000)


def test_transactions_in_a_burst_are_no_round_trips() -> None:
    _, point, found = only(NETPERF_RR.replace("first burst 0", "first burst 16"))
    assert point.parameters["burst"] == 16
    assert set(found) == {"netperf_transactions_per_s"}


def test_netperf_csv() -> None:
    read, _, found = only(NETPERF_CSV)
    assert read.command == "netperf -t TCP_RR -H h2 -- -r 1,1"
    assert found["netperf_transactions_per_s"] == pytest.approx(81204.41)
    assert found["round_trip_median_ns"] == 12_000
    assert found["round_trip_mean_ns"] == pytest.approx(12_280)
    assert found["round_trip_max_ns"] == 4_046_000
    assert found["netperf_deviation_ns"] == pytest.approx(18_820)


def test_netperf_keys_bytes_are_binary_and_calls_are_no_round_trips() -> None:
    _, point, found = only(NETPERF_KEYS)
    assert (point.transport, point.test) == ("tcp", "stream")
    assert found["throughput_bit_per_s"] == pytest.approx(3.5 * 8 * 2**30)
    assert found["netperf_call_mean_ns"] == pytest.approx(4250)
    assert found["netperf_cpu_local_ratio"] == 0.25
    assert "netperf_cpu_remote_ratio" not in found  # -1 stands for not counted
    assert found["retransmitted_segments"] == 7


def test_netperf_without_its_first_line_needs_a_transport() -> None:
    keys = "\n".join(line for line in NETPERF_KEYS.split("\n")[1:] if "PROTOCOL" not in line)
    with pytest.raises(UnreadableOutputError, match="give --transport"):
        read_output(keys)
    assert read_output(keys, hints=Hints(transport="tcp")).points[0].transport == "tcp"


def test_osu() -> None:
    points = read_output(OSU_LATENCY).points
    assert [(p.test, p.operation, p.message_bytes) for p in points] == [
        ("latency", None, 1),
        ("latency", None, 8),
    ]
    assert figures(points[0]) == pytest.approx(
        {
            "osu_one_way_mean_ns": 7040,
            "osu_one_way_median_ns": 5660,
            "osu_one_way_p90_ns": 12250,
            "osu_one_way_p99_ns": 12310,
        }
    )
    read, point, found = only(OSU_ALLREDUCE)
    assert read.version == "5.8"
    assert (point.test, point.operation) == ("collective", "allreduce")
    assert found["osu_completion_mean_ns"] == pytest.approx(20560)
    assert found["osu_completion_max_ns"] == pytest.approx(23400)
    _, barrier, times = only(OSU_BARRIER)
    assert (barrier.operation, barrier.message_bytes) == ("barrier", 0)
    assert times == {"osu_completion_mean_ns": pytest.approx(4400)}
    assert only(OSU_BW)[2] == {"osu_bandwidth_bit_per_s": pytest.approx(1915e6 * 8)}
    assert only(OSU_MBW)[2]["osu_messages_per_s"] == 1_500_000


def test_imb() -> None:
    read = read_output(IMB)
    assert (read.version, read.command) == ("2021.7", "IMB-MPI1 PingPong Alltoall -npmin 4")
    _, pingpong, alltoall = read.points
    assert (pingpong.test, pingpong.message_bytes) == ("latency", 1024)
    assert figures(pingpong) == {"imb_one_way_mean_ns": pytest.approx(8000)}
    assert (alltoall.operation, alltoall.parameters["ranks"]) == ("alltoall", 4)
    assert figures(alltoall) == pytest.approx(
        {"imb_rank_min_ns": 23000, "imb_rank_max_ns": 59000, "imb_rank_mean_ns": 40000}
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "none of iperf3, sockperf"),
        ("hello\n", "none of iperf3, sockperf"),
        (FILES["iperf3-tcp.json"][:-200], "no JSON from line"),
        (FILES["iperf3-tcp.json"].replace("1055129600", "NaN"), "NaN is no number|no JSON"),
        (FILES["iperf3-tcp.json"].replace('"bytes":\t1055129600', '"bytes":\t-1'), "is -1"),
        (FILES["iperf3-tcp.json"].replace("4155951536.9223742", "1e400"), "sum_received is inf"),
        (FILES["iperf3-tcp.json"].replace("4155951536.9223742", "1e30"), "sum_received is 1e"),
        (FILES["iperf3-tcp.json"].replace('"TCP"', '"SCTP"'), "measured SCTP"),
        ('{"start": ' + "[" * 100_000, "nested too deeply|no JSON"),
        ('{"start": {"test_start": 1}, "end": {}}', "incomplete"),
        (FILES["sockperf-udp.txt"][:900], "sockperf's result is incomplete: no"),
        (FILES["sockperf-udp.txt"].replace("5.908", "nan"), "percentile 50.000 is nan"),
        (FILES["sockperf-udp.txt"].replace("5.908", "-5.908"), "percentile 50.000 is -5.908"),
        (FILES["sockperf-log.csv"][:-32], "breaks off"),
        (
            FILES["sockperf-log.csv"].replace("2, 2.412227679", "2, yesterday"),
            "line 24 of sockperf's log",
        ),
        (FILES["netpipe-3.out"][:-1], "breaks off"),
        (FILES["netpipe-3.out"][:-20] + "\n", "line 24"),
        (FILES["netpipe-3.out"].replace("1.018764", "9.018764"), "line 1 .* do not go together"),
        (NETPERF_STREAM.split("\n\n")[0], "breaks off"),
        (NETPERF_STREAM.replace("10^6bits/sec", "apples/sec"), "no unit"),
        (NETPERF_STREAM.replace("941.28", "9" * 19), "line 7 .* throughput is"),
        (NETPERF_UDP.split("807500")[0], "breaks off"),
        (NETPERF_KEYS.replace("3.50", "many"), "THROUGHPUT is many"),
        (NETPERF_KEYS + "THROUGHPUT=4\n", "line 11 .* a second time"),
        (NETPERF_CSV.replace(",1,", ","), "values for"),
        (OSU_LATENCY.replace("12.31", ""), "line 4 .* 4 numbers for 5 columns"),
        (OSU_LATENCY[:120], "no table of OSU"),
        (IMB.replace("59.00", "1e99"), "line 22 .* t_max"),
        ("# OSU MPI Latency Test v7.4\n" + "1" * (LINE_LIMIT_CHARACTERS + 1), "line 2 has"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UnreadableOutputError, match=sentence) as caught:
        read_output(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("tool", READERS)
@given(text=st.text(max_size=400))
@settings(max_examples=60)
def test_no_text_makes_a_parser_fail_otherwise(tool: str, text: str) -> None:
    read_or_refused(text, tool)


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
@settings(max_examples=40)
def test_truncated_and_changed_files_are_read_or_refused(name: str, data: st.DataObject) -> None:
    text = EVERY[name]
    cut = data.draw(st.integers(0, len(text)))
    begin = data.draw(st.integers(0, len(text)))
    inserted = data.draw(st.sampled_from(INSERTED))
    changed = (text[:begin] + inserted + text[begin:])[:cut]
    read_or_refused(changed, None)


@given(value=st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.lists(st.integers())))
@example(value=[])
def test_values_of_another_type_are_refused(value: object) -> None:
    import json

    document = json.loads(FILES["iperf3-tcp.json"])
    for part in ("start", "end", "intervals"):
        read_or_refused(json.dumps({**document, part: value}), "iperf3")
    for part in ("sum_sent", "sum_received", "streams", "cpu_utilization_percent"):
        end = {**document["end"], part: value}
        read_or_refused(json.dumps({**document, "end": end}), "iperf3")


def read_or_refused(text: str, tool: str | None) -> None:
    """No exception but the one that is a sentence, and no value that is no number."""
    try:
        read = read_output(text, tool)
    except UnreadableOutputError:
        return
    for point in read.points:
        assert point.message_bytes >= 0
        assert all(math.isfinite(figure.value) for figure in point.figures)
        assert all(math.isfinite(v) for values in point.series.values() for v in values)
