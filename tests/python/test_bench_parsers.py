"""What the bench reads from the peers, and what it concludes. Samples are real output, shortened
only where they repeat themselves."""

import dataclasses
import json
import os
import random
import shutil
import signal
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from bench import alternate, libfabric, peers
from bench.alternate import Outcome, compare
from bench.comparisons import PATHS, Comparison, comparisons
from bench.control import AWAKE, ONE_PROCESSOR, Control, controls, kept_awake
from bench.figure import Figure
from bench.measured import Extent, Measured
from bench.peers import Route, Tool, free_port, run_tool
from bench.table import WIDTH, Row, legend, table
from bench.verdict import Verdict, circumstances, judge

from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.peers.iperf3 import parse_iperf3
from netsonde.peers.netpipe import parse_netpipe
from netsonde.peers.output import UnreadableOutputError
from netsonde.peers.sockperf import parse_sockperf
from netsonde.peers.told import best_trial_mean, without_ends

IPERF3_TCP = """
{"start":{"connected":[{"socket":5,"local_host":"127.0.0.1","local_port":55806,
"remote_host":"127.0.0.1","remote_port":5711}],"version":"iperf 3.12",
"tcp_mss_default":32768,"target_bitrate":0,"sock_bufsize":262144,"sndbuf_actual":524288,
"rcvbuf_actual":524288,"test_start":{"protocol":"TCP","num_streams":1,"blksize":65536,"omit":0,
"duration":1,"bytes":0,"blocks":0,"reverse":0,"tos":0,"target_bitrate":0}},"intervals":[],
"end":{"streams":[{"sender":{"socket":5,"start":0,"end":1.000123,"seconds":1.000123,
"bytes":5592776704,"bits_per_second":44736711016.54496,"retransmits":9,"max_snd_cwnd":720313,
"max_snd_wnd":515120,"max_rtt":38,"min_rtt":38,"mean_rtt":38,"sender":true},"receiver":{"socket":5,
"start":0,"end":1.000149,"seconds":1.000123,"bytes":5592776704,
"bits_per_second":44735548035.342735,"sender":true}}],"sum_sent":{"start":0,"end":1.000123,
"seconds":1.000123,"bytes":5592776704,"bits_per_second":44736711016.54496,"retransmits":9,
"sender":true},"sum_received":{"start":0,"end":1.000149,"seconds":1.000149,"bytes":5592776704,
"bits_per_second":44735548035.342735,"sender":true},"cpu_utilization_percent":{
"host_total":99.2426225904126,"host_user":1.2425426455745534,"host_system":97.9999800137905,
"remote_total":67.349695496589,"remote_user":2.4118309898585517,
"remote_system":64.9379644914328},"sender_tcp_congestion":"cubic",
"receiver_tcp_congestion":"cubic"}}
"""

IPERF3_UDP = """
{"start":{"connected":[{"socket":5,"local_host":"127.0.0.1","local_port":38675,
"remote_host":"127.0.0.1","remote_port":5717}],"version":"iperf 3.12","target_bitrate":0,
"sock_bufsize":262144,"sndbuf_actual":524288,"rcvbuf_actual":524288,"test_start":{
"protocol":"UDP","num_streams":1,"blksize":1472,"omit":0,"duration":1,"bytes":0,"blocks":0,
"reverse":0,"tos":0,"target_bitrate":0}},"intervals":[],"end":{"streams":[{"udp":{"socket":5,
"start":0,"end":1.000018,"seconds":1.000018,"bytes":854363520,"bits_per_second":6834785133.86759,
"jitter_ms":0.0007653556551497934,"lost_packets":418456,"packets":580410,
"lost_percent":72.09662135387055,"out_of_order":0,"sender":true}}],"sum":{"start":0,
"end":1.004982,"seconds":1.004982,"bytes":854363520,"bits_per_second":6834785133.86759,
"jitter_ms":0.0007653556551497934,"lost_packets":418456,"packets":580410,
"lost_percent":72.09662135387055,"sender":true},"sum_sent":{"start":0,"end":1.000018,
"seconds":1.000018,"bytes":854363520,"bits_per_second":6834785133.86759,"jitter_ms":0,
"lost_packets":0,"packets":580410,"lost_percent":0,"sender":true},"sum_received":{"start":0,
"end":1.004982,"seconds":1.004982,"bytes":234627968,"bits_per_second":1867718769.0923817,
"jitter_ms":0.0007653556551497934,"lost_packets":418456,"packets":577850,
"lost_percent":72.09662135387055,"sender":false},"cpu_utilization_percent":{
"host_total":74.96500126453468,"host_user":13.223249117314964,"host_system":61.74175214721972,
"remote_total":27.2400356622593,"remote_user":1.7293807662609555,
"remote_system":25.510654895998346}}}
"""

IPERF3_REFUSED = """{
\t"start":\t{
\t\t"connected":\t[],
\t\t"version":\t"iperf 3.12"
\t},
\t"intervals":\t[],
\t"end":\t{
\t},
\t"error":\t"unable to connect to server: Connection refused"
}
"""

SOCKPERF = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT =  5713 # TCP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime=1.001 sec; Warm up time=400 msec; SentMessages=11900; \
ReceivedMessages=11899
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=6374; ReceivedMessages=6374
sockperf: \x1b[2;35m====> avg-rtt=86.236 (std-dev=23.889)\x1b[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 86.236 usec
sockperf: \x1b[2;35mTotal 6374 observations\x1b[0m; each percentile contains 63.74 observations
sockperf: ---> <MAX> observation =  657.176
sockperf: ---> percentile 99.999 =  657.176
sockperf: ---> percentile 99.990 =  462.818
sockperf: ---> percentile 99.900 =  274.456
sockperf: ---> percentile 99.000 =  176.761
sockperf: ---> percentile 90.000 =  106.916
sockperf: ---> percentile 75.000 =   86.306
sockperf: ---> percentile 50.000 =   79.028
sockperf: ---> percentile 25.000 =   76.283
sockperf: ---> <MIN> observation =   24.847
"""

SOCKPERF_REFUSED = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)
"""

NETPIPE = """\
Send and receive buffers are 524288 and 524288 bytes
(A bug in Linux doubles the requested buffer sizes)
Now starting the main loop
  0:       1 bytes   3795 times -->      0.20 Mbps in      38.96 usec
  1:       2 bytes   2566 times -->      0.40 Mbps in      37.91 usec
 25:    8192 bytes    828 times -->   5206.29 Mbps in      12.00 usec
 39: 1048576 bytes     48 times -->   8956.18 Mbps in     893.24 usec
"""


def test_iperf3_tcp():
    result = parse_iperf3(IPERF3_TCP)
    assert result.received_bit_per_s == pytest.approx(44735548035.34)
    assert result.sent_bytes == result.received_bytes == 5592776704
    assert result.retransmits == 9
    assert result.congestion_control == "cubic"
    assert (result.send_buffer_bytes, result.receive_buffer_bytes) == (524288, 524288)
    assert result.cpu_client_ratio == pytest.approx(0.992426)
    assert result.cpu_server_ratio == pytest.approx(0.673497)
    assert result.lost_ratio is None


def test_iperf3_udp_counts_what_was_lost_at_the_end_too():
    result = parse_iperf3(IPERF3_UDP)
    assert result.received_bit_per_s == pytest.approx(1867718769.09)
    assert result.sent_bit_per_s == pytest.approx(6834785133.87)
    received_datagrams = 234627968 // 1472
    assert result.lost_ratio == pytest.approx(1 - received_datagrams / 580410)
    assert result.lost_ratio > 0.7209662135387055  # iperf3's own
    assert result.retransmits is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (IPERF3_REFUSED, "iperf3 says: unable to connect to server: Connection refused"),
        ("", "iperf3 wrote no JSON: nothing"),
        (IPERF3_TCP[:400], "iperf3 wrote no JSON"),
        (json.dumps({"start": {}, "end": {}}), "incomplete: no usable 'test_start'"),
        (IPERF3_UDP.replace('"bytes":854363520', '"bytes":0'), "incomplete"),
    ],
)
def test_iperf3_without_a_result(text, sentence):
    with pytest.raises(UnreadableOutputError, match=sentence):
        parse_iperf3(text)


def test_sockperf():
    result = parse_sockperf(SOCKPERF)
    assert result.percentiles_ns[50.0] == pytest.approx(79028)
    assert result.least_ns == pytest.approx(24847)
    assert result.percentiles_ns[99.0] == pytest.approx(176761)
    assert result.observations == 6374
    assert result.dropped == 0


def test_sockperf_counts_drops():
    assert (
        parse_sockperf(SOCKPERF.replace("dropped messages = 0", "dropped messages = 17")).dropped
        == 17
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SOCKPERF_REFUSED, "Connection refused"),
        (SOCKPERF.replace("percentile 50.000", "percentile 51.000"), "no percentile 50"),
        # Without --full-rtt it halves: that must not be taken for a round trip.
        (SOCKPERF.replace("Round trip is", "Latency is"), "no round trips"),
    ],
)
def test_sockperf_without_a_result(text, sentence):
    with pytest.raises(UnreadableOutputError, match=sentence):
        parse_sockperf(text)


def test_netpipe_gives_times_per_size():
    sizes = parse_netpipe(NETPIPE)
    assert [size.message_bytes for size in sizes] == [1, 2, 8192, 1048576]
    assert [size.repeats for size in sizes] == [3795, 2566, 828, 48]
    assert sizes[-1].one_way_ns == pytest.approx(893240)
    # Its own Mbps are of 2**20 bits.
    assert pytest.approx(8956.18, rel=1e-4) == 8 * 1048576 / 893.24e-6 / 2**20


def test_netpipe_without_a_result():
    with pytest.raises(UnreadableOutputError, match="NPtcp wrote no result"):
        parse_netpipe("Send and receive buffers are 524288 and 524288 bytes\n")


def test_the_ends_of_a_run_are_left_out_by_time():
    samples = np.full(100, 10, dtype=np.int64)  # one second of ten each
    assert len(without_ends(samples, 400, 50)) == 55
    samples[0] = 400  # the warm-up is a time, not a number of messages
    assert len(without_ends(samples, 400, 50)) == 94
    with pytest.raises(ValueError, match="too short"):
        without_ends(np.full(4, 100, dtype=np.int64), 400, 50)


def test_netpipes_figure_is_the_best_mean_of_three():
    samples = np.array([30, 50, 20, 22, 90, 10], dtype=np.int64)
    assert best_trial_mean(samples, 3) == 21.0


def test_fi_pingpong_tells_half_a_round_trip():
    text = (
        "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
        "64      20k     =20k     2.4m       0.31s      8.20     7.81        0.13\n"
    )
    found = libfabric.parse_pingpong(text)
    assert (found.message_bytes, found.one_way_ns) == (64, 7810.0)
    with pytest.raises(UnreadableOutputError, match="no line of results"):
        libfabric.parse_pingpong("fi_getinfo: -61\n")


def test_every_peer_is_compared_and_every_comparison_has_a_name():
    known = {comparison.id: comparison for comparison in comparisons()}
    assert len(known) == len(comparisons())
    assert {peer for c in known.values() for peer in c.peers} == set(peers.PEERS)
    for comparison in known.values():
        assert set(comparison.paths) <= set(PATHS)
        assert set(comparison.paths)
        for figure in comparison.figures:
            assert set(figure.goals) <= set(comparison.peers)


def test_the_goals_are_those_that_were_set():
    figures = {(c.id, f.id): f for c in comparisons() for f in c.figures}
    goals = {key: figure.goal for key, figure in figures.items()}
    assert goals["tcp-stream", "throughput"] == 1.0
    assert goals["tcp-stream", "cpu"] == 1.05
    assert goals["tcp-latency", "median"] == goals["udp-latency", "median"] == 1.0
    assert goals["tcp-latency", "p999"] == goals["udp-latency", "p999"] == 1.05
    assert figures["udp-latency", "p999"].least_observations == 10_000
    assert goals["tcp-spin", "median"] == goals["udp-spin", "median"] == 1.0
    assert goals["tcp-spin", "p999"] == goals["udp-spin", "p999"] == 1.05
    small = figures["udp-small", "throughput"]
    assert small.goal_beside("iperf3") == 3.0
    assert small.goal_beside("nuttcp") == small.goal_beside("sockperf") == 1.0


CPU = min(os.sched_getaffinity(0))
ROUTE = Route("loopback", LocalHost(), LocalHost(), CPU, CPU, "reno")
GOALS = {"bit_per_s": 0.97, "ns": 1.03}


def a_figure(unit="bit_per_s", **fields):
    return Figure("x", "TCP stream 64k", unit, "", GOALS[unit], **fields)


def a_comparison(ours_run, peer_run, unit="bit_per_s"):
    return Comparison("x", (a_figure(unit),), {}, ours_run, {"iperf3": peer_run})


def outcome_of(ours_values, peer_values, unit="bit_per_s"):
    outcome = Outcome("loopback", a_comparison(None, None, unit), Extent(1))
    for pair, values in enumerate(zip(ours_values, peer_values, strict=True)):
        for tool, value in zip(("netsonde", "iperf3"), values, strict=True):
            outcome.runs.append(a_run(pair, tool, value))
    return outcome


def a_run(pair, tool, value, **details):
    usage = {"user_s": 0.1, "system_s": 0.2, "voluntary_switches": 7, "involuntary_switches": 1}
    return {
        "pair": pair,
        "place": 0,
        "tool": tool,
        "value": value,
        "figures": {"x": value} if value is not None else {},
        "error": None if value is not None else "it broke",
        "usage": usage,
        "details": {"lost_ratio": 0.25, **details} if value is not None else {},
    }


def the_verdict(outcome) -> Verdict:
    [verdict] = judge(outcome, 1)
    return verdict


def test_pairs_alternate_in_a_drawn_and_repeatable_order(monkeypatch):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)

    def order(seed):
        made: list[str] = []

        def run(tool, value):
            made.append(tool)
            return Measured(value)

        comparison = a_comparison(lambda *_: run("netsonde", 1.0), lambda *_: run("iperf3", 2.0))
        outcome = compare(ROUTE, comparison, 20, 1, random.Random(seed), lambda: None)
        assert [run["tool"] for run in outcome.runs] == made
        return made

    first = order(1)
    assert order(1) == first
    assert order(2) != first
    assert all(set(pair) == {"netsonde", "iperf3"} for pair in list(pairwise(first))[::2])
    assert 0 < first[0::2].count("netsonde") < 20


def test_a_failed_run_is_kept_and_its_pair_is_left_out(monkeypatch):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    values = iter((1.0, HostError("the worker was killed by SIGSEGV"), 3.0))

    def measure(*_):
        value = next(values)
        if isinstance(value, float):
            return Measured(value)
        raise value

    comparison = a_comparison(measure, lambda *_: Measured(2.0))
    outcome = compare(ROUTE, comparison, 3, 1, random.Random(1), lambda: None)
    assert len(outcome.runs) == 6
    assert outcome.values(a_figure(), "iperf3") == ([1.0, 3.0], [2.0, 2.0])
    text = table([Row(outcome, judge(outcome, 1))])
    assert "pair 2: netsonde failed: the worker was killed by SIGSEGV" in text


def test_a_missing_peer_is_a_row_with_the_reason(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    comparison = a_comparison(lambda *_: pytest.fail("run"), lambda *_: pytest.fail("run"))
    outcome = compare(ROUTE, comparison, 3, 1, random.Random(1), lambda: None)
    assert judge(outcome, 1) == []
    assert "skipped: iperf3 is not installed (package iperf3)" in table([Row(outcome, [])])


@pytest.mark.parametrize(
    ("ours_over_peer", "unit", "met", "sure"),
    [
        (1.00, "bit_per_s", True, True),
        (0.90, "bit_per_s", False, True),
        (0.975, "bit_per_s", True, False),
        (1.00, "ns", True, True),
        (1.10, "ns", False, True),
        (0.50, "ns", True, True),
        (1.028, "ns", True, False),
    ],
)
def test_goals(ours_over_peer, unit, met, sure):
    peer_values = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1000.0]
    noise = [1.0, 1.015, 0.985, 1.01, 0.99, 1.0]
    ours_values = [ours_over_peer * p * n for p, n in zip(peer_values, noise, strict=True)]
    verdict = the_verdict(outcome_of(ours_values, peer_values, unit))
    assert (verdict.met, verdict.sure) == (met, sure)
    assert verdict.ratio.ratio == pytest.approx(ours_over_peer, rel=0.01)


def test_few_pairs_are_never_sure():
    verdict = the_verdict(outcome_of([10.0], [10.0]))
    assert verdict.met
    assert not verdict.sure
    assert verdict.ratio.low is None


def test_the_table_fits_80_columns_and_says_what_a_miss_used():
    missed = outcome_of([9e9] * 6, [44.7355e9] * 6)
    met = outcome_of([9.5612e8] * 6, [9.5612e8] * 6)
    slow = outcome_of([86_236.0] * 6, [12_079.0] * 6, "ns")
    failed = outcome_of([None], [2.0])
    rows = [Row(o, judge(o, 1)) for o in (missed, met, slow, failed)]
    text = table(rows)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert max(map(len, legend().splitlines())) <= WIDTH
    assert "44.74 Gbit/s" in text
    assert "956.1 Mbit/s" in text
    assert "12.08 µs" in text
    assert "skipped: it broke" in text
    assert text.count("netsonde: CPU 0.10 s user, 0.20 s system, 7 waits, 1 preemptions") == 2
    assert text.count("so the cause is not known") == 2
    assert circumstances(met)[1].startswith("iperf3: ")
    assert circumstances(missed)[0].endswith("lost 25.00 %")


needs_taskset = pytest.mark.skipif(
    shutil.which("taskset") is None, reason="taskset (package util-linux) is not installed"
)
SERVER = """
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", {port})); s.listen(); time.sleep(60)
"""


@needs_taskset
def test_a_peer_that_hangs_is_ended_with_its_server():
    port = free_port(datagrams=False)
    tool = Tool(
        [sys.executable, "-S", "-c", SERVER.format(port=port)],
        ["sleep", "60"],
        port,
        ends_by=signal.SIGTERM,
    )
    begun = time.monotonic()
    with pytest.raises(HostError, match=r"sleep had not ended after 0\.3 s"):
        run_tool(ROUTE, tool, 0.3)
    assert time.monotonic() - begun < 20
    assert not peers._port_is_open(os.getpid(), port, datagrams=False)


@needs_taskset
def test_a_server_that_ends_at_once_says_why():
    tool = Tool(["ls", "--no-such-option"], ["true"], 1)
    with pytest.raises(HostError, match=r"ls ended with status 2: .*--help"):
        run_tool(ROUTE, tool, 5.0)


@needs_taskset
def test_a_client_that_fails_says_why():
    port = free_port(datagrams=False)
    tool = Tool(
        [sys.executable, "-S", "-c", SERVER.format(port=port)],
        ["ls", "/no/such/file"],
        port,
        ends_by=signal.SIGTERM,
    )
    with pytest.raises(HostError, match=r"ls ended with status 2: .*No such file"):
        run_tool(ROUTE, tool, 5.0)


UNDECIDED = [1.0, 1.1, 0.9, 1.06, 1.05, 1.02]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({AWAKE: [1.0] * 6}, "how long an idle CPU takes to sleep"),
        ({AWAKE: [1.2] * 6, ONE_PROCESSOR: [1.0] * 6}, "what happens between two CPUs"),
        ({AWAKE: [1.2] * 6, ONE_PROCESSOR: [1.2] * 6}, "in netsonde's own path"),
        ({AWAKE: UNDECIDED, ONE_PROCESSOR: [1.2] * 6}, "Not decided"),
        ({ONE_PROCESSOR: UNDECIDED}, "Not decided"),
        ({AWAKE: [None], ONE_PROCESSOR: [1.0] * 6}, "there is no figure"),
        ({}, "the cause is not known"),
    ],
)
def test_controls_say_why(found, words):
    done = []
    for taken_away, values in found.items():
        outcome = outcome_of(values, [1.0] * len(values), "ns")
        done.append(Control(taken_away, outcome, judge(outcome, 1)))
    missed = missed_latency()
    text = " ".join(table([Row(missed, judge(missed, 1), done)]).split())
    assert words in text
    assert "perhaps chance" not in text


def test_a_miss_that_is_not_decided_may_be_chance():
    missed = outcome_of([1.0, 1.2, 0.9, 1.16, 1.15, 1.02], [1.0] * 6, "ns")
    verdicts = judge(missed, 1)
    assert "perhaps chance" in " ".join(table([Row(missed, verdicts)]).split())
    assert controls(ROUTE, missed, verdicts, 6, random.Random(1), pytest.fail, 1) == []


@pytest.mark.parametrize(
    ("awake_ns", "apart_ns", "done"),
    [
        (1.0, 1.2, [AWAKE]),  # the first control shows the cause
        (1.2, 1.2, [AWAKE, ONE_PROCESSOR]),
        (None, 1.2, [ONE_PROCESSOR]),  # CPUs cannot be kept awake here
    ],
)
def test_controls_take_one_cause_away(monkeypatch, tmp_path, awake_ns, apart_ns, done):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    wish = tmp_path / "wish"
    if awake_ns is not None:
        wish.write_bytes(b"")
    seen = []

    def ours(route, _):
        awake = wish.exists() and route.origin_cpu != route.target_cpu
        seen.append((route.origin_cpu, route.target_cpu))
        return Measured(awake_ns if awake else apart_ns)

    comparison = a_comparison(ours, lambda *_: Measured(1.0), "ns")
    outcome = compare(ROUTE, comparison, 6, 1, random.Random(1), lambda: None)
    apart = dataclasses.replace(ROUTE, target_cpu=ROUTE.origin_cpu + 1)
    seen.clear()
    verdicts = judge(outcome, 1)
    found = controls(apart, outcome, verdicts, 6, random.Random(1), lambda: None, 1, wish)
    assert [control.taken_away for control in found] == done
    assert (seen[-1] == (ROUTE.origin_cpu, ROUTE.origin_cpu)) == (ONE_PROCESSOR in done)


def test_nothing_is_taken_away_from_ends_that_spin():
    outcome = missed_latency()
    outcome.comparison = dataclasses.replace(outcome.comparison, spins=True)
    verdicts = judge(outcome, 1)
    assert controls(ROUTE, outcome, verdicts, 6, random.Random(1), pytest.fail, 1) == []
    text = " ".join(table([Row(outcome, verdicts)]).split())
    assert "no end sleeps" in text
    assert "the cause is not known" not in text


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize(("name", "spins"), [("latency", False), ("spin", True)])
def test_both_tools_wait_alike(monkeypatch, transport, name, spins):
    """Both ends of both tools spin, or none does; each is pinned to the CPU of its end."""
    [comparison] = [c for c in comparisons() if c.id == f"{transport}-{name}"]
    tools = []

    def keep_tool(_, tool, __):
        tools.append(tool)
        raise HostError("not run")

    asked: list[dict[str, object]] = []

    def keep_options(*_, options, target_options):
        asked.extend((options, target_options))
        raise HostError("not run")

    monkeypatch.setattr("bench.sockperf.run_tool", keep_tool)
    monkeypatch.setattr("bench.ours.open_pair", keep_options)
    route = dataclasses.replace(ROUTE, target_cpu=CPU + 1)
    for run in (comparison.ours, comparison.peers["sockperf"]):
        with pytest.raises(HostError, match="not run"):
            run(route, Extent(1))
    assert [("--nonblocked" in argv) for argv in (tools[0].server, tools[0].client)] == [spins] * 2
    assert [options["wait"] for options in asked] == ["spin" if spins else "block"] * 2
    assert [options["cpu"] for options in asked] == [CPU, CPU + 1]
    assert comparison.spins is spins


def test_processors_are_kept_awake_by_a_wish_of_no_latency(tmp_path):
    wish = tmp_path / "wish"
    with kept_awake(wish) as awake:
        assert not awake
    wish.write_bytes(b"")
    with kept_awake(wish) as awake:
        assert awake
        assert wish.read_bytes() == bytes(4)


def missed_latency():
    return outcome_of([1.2] * 6, [1.0] * 6, "ns")
