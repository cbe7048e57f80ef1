"""Every kind of table that OSU and IMB print; the numbers are made up, the forms are the tools'."""

import pytest

from netsonde.operations import operations
from netsonde.peers.data import PointRead
from netsonde.peers.output import UnreadableOutputError
from netsonde.peers.read import read_output


def figures(point: PointRead) -> dict[str, float]:
    return {f.name: f.value for f in point.figures}


OSU_FULL = """\
# OSU MPI Bcast Latency Test v7.4
# Datatype: MPI_CHAR.
# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations  {tails}
8  1.50  0.50  2.50  1000  1.25  9.00
16384  20.00  10.00  30.00  100  19.00  40.00
""".format(tails="P50 Tail Lat(us)  P95 Tail Lat(us)")


def test_osu_with_all_columns():
    small, large = read_output(OSU_FULL).points
    assert (small.test, small.operation, small.message_bytes) == ("collective", "bcast", 8)
    assert figures(small) == {
        "osu_completion_mean_ns": 1500,
        "osu_completion_min_ns": 500,
        "osu_completion_max_ns": 2500,
        "osu_completion_median_ns": 1250,
        "osu_completion_p95_ns": 9000,
    }
    assert {f.samples for f in small.figures} == {1000}
    assert {f.samples for f in large.figures} == {100}


OSU_CHECKED = """\
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_INT.
# Size       Avg Latency(us)        Validation
4                       3.00              Pass
8                       4.00              Fail
"""


def test_osu_with_its_check():
    passed, failed = read_output(OSU_CHECKED).points
    assert figures(passed) == {"osu_completion_mean_ns": 3000}
    assert passed.parameters["validation"] == "pass"
    assert failed.parameters["validation"] == "fail"


OSU_OVERLAP = """\
# OSU MPI Non-blocking Allreduce Latency Test v5.8
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size  Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)  {rest}
1024  30.00  20.00  1.00  0.50  8.50  20.00  18.00  22.00  50.00
""".format(rest="Pure Comm.(us)  Min Comm.(us)  Max Comm.(us)  Overlap(%)")


def test_osu_of_what_goes_on_meanwhile():
    (point,) = read_output(OSU_OVERLAP).points
    assert point.operation == "iallreduce"
    found = figures(point)
    assert found["osu_overlap_ratio"] == 0.5
    assert found["osu_completion_pure_ns"] == 20_000
    assert found["osu_completion_pure_max_ns"] == 22_000
    assert found["osu_completion_overall_ns"] == 30_000
    assert found["osu_completion_coll_init_ns"] == 1000


OSU_PUT = """\
# OSU MPI_Put Latency Test v7.4
# Window creation: MPI_Win_allocate
# Synchronization: {way}
# Size          Latency (us)
8                       0.90
"""


@pytest.mark.parametrize(
    ("way", "operation"),
    [
        ("MPI_Win_flush", "put_flush"),
        ("MPI_Win_fence", "put_fence"),
        ("MPI_Win_lock/unlock", "put_lock"),
        ("MPI_Win_post/start/complete/wait", "put_pscw"),
        ("MPI_Win_flush_local", "put_win_flush_local"),
    ],
)
def test_osu_one_sided_is_no_message(way, operation):
    (point,) = read_output(OSU_PUT.format(way=way)).points
    assert (point.test, point.operation) == ("collective", operation)
    assert figures(point) == {"osu_access_mean_ns": pytest.approx(900)}


def test_osu_rates_one_sided_and_of_pairs():
    bandwidth = OSU_PUT.replace("Latency Test", "Bandwidth Test").replace(
        "Latency (us)", "Bandwidth (MB/s)"
    )
    (point,) = read_output(bandwidth.format(way="MPI_Win_flush")).points
    assert figures(point) == {"osu_bandwidth_bit_per_s": pytest.approx(0.9 * 8e6)}
    text = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 2 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       3.10        3100000.00
"""
    (point,) = read_output(text).points
    assert (point.test, point.parameters["pairs"], point.parameters["window"]) == ("stream", 2, 64)
    assert figures(point)["osu_messages_per_s"] == 3_100_000


@pytest.mark.parametrize(
    ("title", "operation"),
    [
        ("MPI Broadcast Latency", "bcast"),
        ("MPI All-to-All Personalized Exchange Latency", "alltoall"),
        ("MPI All-to-Allv Personalized Exchange Latency", "alltoallv"),
        ("MPI Reduce_scatter Latency", "reduce_scatter"),
        ("MPI Gatherv Latency", "gatherv"),
        ("MPI Persistent Bcast Latency", "bcast_init"),
        ("MPI Non-blocking Gather Latency", "igather"),
        ("MPI Neighborhood Allgather Latency", "neighbor_allgather"),
        ("MPI-CUDA Scatter Latency", "scatter"),
    ],
)
def test_osu_titles_are_netsondes_operations(title, operation):
    text = f"# OSU {title} Test v7.4\n# Size       Avg Latency(us)\n8                1.00\n"
    (point,) = read_output(text).points
    assert point.operation == operation
    assert operation in operations()


@pytest.mark.parametrize(
    "title", ["MPI Latency", "MPI Multi Latency", "MPI Multi-threaded Latency"]
)
def test_osu_titles_of_messages(title):
    text = f"# OSU {title} Test v5.8\n# Size          Latency (us)\n8                1.00\n"
    (point,) = read_output(text).points
    assert (point.test, point.operation) == ("latency", None)


IMB_HEAD = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
"""
IMB_OVERLAP = (
    IMB_HEAD
    + """\
# Benchmarking Ibcast
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8         1000        30.00        20.00        25.00        60.00
"""
)


def test_imb_of_what_goes_on_meanwhile():
    (point,) = read_output(IMB_OVERLAP).points
    assert (point.operation, point.parameters["ranks"]) == ("ibcast", 4)
    assert figures(point) == {
        "imb_rank_overlapped_ns": 30_000,
        "imb_rank_pure_ns": 20_000,
        "imb_rank_computation_ns": 25_000,
        "imb_overlap_ratio": 0.6,
    }


IMB_GROUPS = (
    IMB_HEAD
    + """\
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
# Group 0: 0 1
# Group 1: 2 3
#----------------------------------------------------------------
        Group       #bytes #repetitions      t[usec]   Mbytes/sec

            0            8         1000         1.00         8.00
            1            8         1000         2.00         4.00
"""
)


def test_imb_groups():
    first, second = read_output(IMB_GROUPS).points
    assert (first.test, first.parameters["group"], second.parameters["group"]) == ("latency", 0, 1)
    assert first.parameters["groups"] == 2
    assert figures(second) == {"imb_one_way_mean_ns": 2000}


IMB_RATES = (
    IMB_HEAD
    + """\
# Benchmarking Uniband
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
            8          100        40.00      5000000
      4194304 timeout.; Time limit (secs_per_sample * msg_sizes_list_len) is over
"""
)


def test_imb_rates_and_what_was_not_measured():
    (point,) = read_output(IMB_RATES).points
    assert figures(point) == {"imb_messages_per_s": 5_000_000}


IMB_CHECKED = (
    IMB_HEAD
    + """\
# Benchmarking Unidir_put
# #processes = 2
#---------------------------------------------------
#
#    MODE: AGGREGATE
#
       #bytes #repetitions      t[usec]   Mbytes/sec      defects
            8         1000         0.50        16.00         0.00

# Benchmarking Allreduce
# #processes = 2
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects
            8         1000         1.00         3.00         2.00         1.50
"""
)


def test_imb_with_its_check_and_modes():
    put, allreduce = read_output(IMB_CHECKED).points
    assert (put.operation, put.parameters["mode"]) == ("unidir_put", "aggregate")
    assert put.parameters["defects"] == 0
    assert "mode" not in allreduce.parameters
    assert allreduce.parameters["defects"] == 1.5
    assert figures(allreduce)["imb_rank_max_ns"] == 3000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OSU_OVERLAP.replace("50.00\n", "500\n"), "Overlap"),
        (OSU_CHECKED.replace("Pass", ""), "1 numbers for|2 numbers for 3 columns"),
        (IMB_RATES.replace("5000000", "-1"), "Msg/sec"),
        (IMB_OVERLAP.replace("60.00", "nan"), "no table"),
    ],
)
def test_damaged_tables_are_one_sentence(text, words):
    with pytest.raises(UnreadableOutputError, match=words):
        read_output(text)
