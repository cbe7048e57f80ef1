"""The bench beside several peers at once: what they print, who is the best, what a run costs.

Samples of nuttcp and sockperf are real output. netperf and neper are not packaged where this was
written: their samples are put together from what their documentation and sources say they print.
"""

import dataclasses
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence

import pytest
from bench import alternate, peers
from bench.alternate import Outcome, compare
from bench.comparisons import Comparison
from bench.figure import Figure, processor_time, tail_round_trip, throughput
from bench.keyed import key_values
from bench.measured import Extent, Measured
from bench.neper import parse_neper
from bench.netperf import parse_netperf
from bench.nuttcp import parse_nuttcp
from bench.peers import PEERS, Route, Tool, free_port, missing_peer, run_tool, version
from bench.routes import open_route
from bench.sockperf import parse_flood, parse_tail_ns
from bench.table import WIDTH, Row, table
from bench.verdict import judge, missed

from netsonde.errors import HostError
from netsonde.lab import permission_problem
from netsonde.launch.local import LocalHost
from netsonde.peers.output import UnreadableOutputError

NUTTCP_TCP = (
    "megabytes=616.8746 real_seconds=1.00 rate_Mbps=5175.3769 tx_cpu=8 rx_cpu=9 "
    "retrans=3 rtt_ms=0.07\n"
)
NUTTCP_UDP = (
    "megabytes=1.4984 real_seconds=1.05 rate_Mbps=11.9940 tx_cpu=13 rx_cpu=2 drop=9909 "
    "pkt=34459 data_loss=28.75618\n"
)
NETPERF = """\
THROUGHPUT=26412.83
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=2.00
REMOTE_BYTES_RECVD=6603472896
LOCAL_TRANSPORT_RETRANS=4
"""
NEPER_SERVER = """\
buffer_size=65536
num_flows=1
throughput_opt=Mb
total_run_time=2
invalid_secret_count=0
time_start=613374.528893224
num_samples=2
time_end=613376.529042674
correlation_coefficient=1.00
throughput=19606.25
throughput_units=Mbit/s
local_throughput=19606250000
remote_throughput=0
"""
SOCKPERF_TAIL = """\
sockperf: ---> percentile 99.999 =  657.176
sockperf: ---> percentile 99.990 =  462.818
sockperf: ---> percentile 99.900 =  274.456
sockperf: ---> percentile 99.000 =  176.761
"""
SOCKPERF_CLIENT = """\
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: Total of 39974 messages sent in 1.012 sec

sockperf: Summary: Message Rate is 39501 [msg/sec]
sockperf: Summary: BandWidth is 2.411 MBps (19.288 Mbps)
"""
SOCKPERF_SERVER = """\
sockperf: [tid 22151] using recvfrom() to block on socket(s)
sockperf: Test end (interrupted by user)
sockperf: Total 23738 messages received and handled
sockperf: cleanupAfterLoop() exit
"""


def test_nuttcp_tcp():
    result = parse_nuttcp(NUTTCP_TCP, datagrams=False)
    assert result.received_bit_per_s == pytest.approx(5175.3769e6)
    assert result.received_bytes == round(616.8746 * 2**20)
    # Its own two figures agree, so a megabyte is of 2**20 bytes and a megabit of 10**6 bits.
    assert result.received_bytes * 8 / 1.00 == pytest.approx(result.received_bit_per_s, rel=0.01)
    assert result.retransmits == 3
    assert result.lost_ratio is None


def test_nuttcp_udp():
    result = parse_nuttcp(NUTTCP_UDP, datagrams=True)
    assert result.received_bit_per_s == pytest.approx(11.994e6)
    assert result.received_bytes == pytest.approx((34459 - 9909) * 64, abs=64)
    assert result.lost_ratio == pytest.approx(9909 / 34459, rel=1e-4)
    assert result.retransmits is None


def test_netperf():
    result = parse_netperf(NETPERF)
    assert result.received_bit_per_s == pytest.approx(26412.83e6)
    assert result.received_bytes == 6603472896
    assert result.retransmits == 4
    assert parse_netperf(NETPERF.replace("RETRANS=4", "RETRANS=-1")).retransmits is None


def test_neper_is_read_where_it_reads():
    assert parse_neper(NEPER_SERVER) == pytest.approx(19606.25e6)


def test_sockperf_tail():
    assert parse_tail_ns(SOCKPERF_TAIL) == pytest.approx(274456)


def test_sockperf_flood_counts_what_the_server_got():
    result = parse_flood(SOCKPERF_CLIENT, SOCKPERF_SERVER)
    assert (result.sent, result.received) == (39974, 23738)
    assert result.seconds == pytest.approx(1.012)


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (parse_nuttcp, "", "no rate_Mbps in: nothing"),
        (parse_nuttcp, "nuttcp-t: Error: connect: refused\n", "no rate_Mbps in: .*refused"),
        (parse_nuttcp, NUTTCP_UDP.replace("5175", "x").replace("11.9940", "nan"), "is 'nan'"),
        (parse_nuttcp, NUTTCP_UDP.replace("rate_Mbps=11.9940", "rate_Mbps=0.0"), "rate_Mbps is 0"),
        (parse_nuttcp, NUTTCP_UDP.replace("11.9940", "-3"), "rate_Mbps is '-3'"),
        (parse_nuttcp, NUTTCP_UDP.replace("11.9940", "9" * 400), "no rate_Mbps"),
        (parse_nuttcp, NUTTCP_UDP.replace("data_loss", "loss"), "no data_loss"),
        (parse_netperf, NETPERF.replace("REMOTE_BYTES", "BYTES"), "no REMOTE_BYTES_RECVD"),
        (parse_netperf, NETPERF.replace("10^6bits/s", "KBytes/s"), "its unit is 'KBytes/s'"),
        (parse_neper, NEPER_SERVER.replace("throughput=", "rate="), "no throughput in"),
        (parse_neper, NEPER_SERVER.replace("=Mbit/s", "=MB/s"), "its unit is 'MB/s'"),
        (parse_tail_ns, SOCKPERF_TAIL.replace("99.900", "98.000"), "no percentile 99.9"),
    ],
)
def test_output_that_holds_no_result(read, text, sentence):
    datagrams = {"datagrams": True} if read is parse_nuttcp else {}
    with pytest.raises(UnreadableOutputError, match=sentence):
        read(text, **datagrams)


@pytest.mark.parametrize(
    ("client", "server", "sentence"),
    [
        ("", SOCKPERF_SERVER, "no messages sent: nothing"),
        (SOCKPERF_CLIENT.replace("1.012", "0.000"), SOCKPERF_SERVER, "no messages sent"),
        # What ended it by SIGTERM did not let it count.
        (SOCKPERF_CLIENT, SOCKPERF_SERVER.splitlines()[0], "server wrote no count"),
    ],
)
def test_a_flood_without_a_count(client, server, sentence):
    with pytest.raises(UnreadableOutputError, match=sentence):
        parse_flood(client, server)


def test_what_is_too_long_is_no_pair():
    assert key_values("a=1 " + "b" * 65 + "=2 c=" + "3" * 64 + " d=4") == {"a": "1", "d": "4"}


CPU = min(os.sched_getaffinity(0))
ROUTE = Route("loopback", LocalHost(), LocalHost(), CPU, CPU, "reno")
PRIVATE = dataclasses.replace(ROUTE, private=True)


def test_a_server_open_to_every_network_needs_namespaces_of_our_own(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    for name, peer in PEERS.items():
        assert missing_peer(name, PRIVATE) is None
        refused = missing_peer(name, ROUTE)
        assert ("listens on every network" in (refused or "")) == peer.listens_everywhere


@pytest.mark.parametrize(("name", "program"), [("netperf", "netserver"), ("neper", "udp_stream")])
def test_every_program_of_a_peer_is_needed(monkeypatch, name, program):
    monkeypatch.setattr("shutil.which", lambda wanted: wanted if wanted != program else None)
    assert f"{program} is not installed" in (missing_peer(name, PRIVATE) or "")
    assert version("neper") == peers.UNKNOWN


def several(ours, rates, figures=None):
    """A comparison of made-up runs beside several peers."""
    return Comparison(
        "x",
        figures or (throughput("TCP stream 64k", 1.0, {"nuttcp": 3.0}),),
        {},
        lambda *_: Measured(ours),
        {peer: lambda *_, rate=rate: Measured(rate) for peer, rate in rates.items()},
    )


def test_one_run_of_ours_stands_beside_all_peers_of_a_round(monkeypatch):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    comparison = several(10.0, {"iperf3": 9.0, "nuttcp": 2.0, "neper": 9.9})
    outcome = compare(ROUTE, comparison, 6, 1, random.Random(1), lambda: None)
    assert len(outcome.runs) == 6 * 4
    verdicts = {verdict.peer: verdict for verdict in judge(outcome, 1)}
    assert [v.peer for v in verdicts.values() if v.best] == ["neper"]
    assert all(verdict.met and verdict.sure for verdict in verdicts.values())
    assert verdicts["nuttcp"].goal == 3.0
    text = table([Row(outcome, list(verdicts.values()))])
    assert "neper*" in text
    assert "iperf3*" not in text
    assert text.count("TCP stream 64k") == 1  # the title once, its peers below


def test_a_peer_with_a_goal_of_its_own_may_decide(monkeypatch):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    comparison = several(10.0, {"iperf3": 9.0, "nuttcp": 4.0})
    verdicts = judge(compare(ROUTE, comparison, 6, 1, random.Random(1), lambda: None), 1)
    [miss] = missed(verdicts)
    assert (miss.peer, miss.goal) == ("nuttcp", 3.0)
    assert miss.ratio.ratio == pytest.approx(2.5)


def test_the_present_are_compared_and_the_absent_named_once(monkeypatch):
    reasons = {"iperf3": None, "netperf": "netperf is not installed (somewhere)"}
    monkeypatch.setattr(alternate, "missing_peer", lambda name, _: reasons[name])
    figures = (throughput("TCP stream 64k", 1.0), processor_time("  its CPU time", 1.05))
    comparison = several(10.0, {"iperf3": 9.0, "netperf": 1.0}, figures)
    outcome = compare(ROUTE, comparison, 3, 1, random.Random(1), lambda: None)
    assert {run["tool"] for run in outcome.runs} == {"netsonde", "iperf3"}
    text = " ".join(table([Row(outcome, judge(outcome, 1))]).split())
    assert text.count("netperf is not installed (somewhere)") == 1


def outcome_of(figure: Figure, runs: Sequence[Mapping[str, object]]) -> Outcome:
    comparison = several(1.0, {"sockperf": 1.0}, (figure,))
    outcome = Outcome("loopback", comparison, Extent(1))
    for index, run in enumerate(runs):
        tool = ("netsonde", "sockperf")[index % 2]
        record = {"pair": index // 2, "tool": tool, "error": None, "usage": None, "details": {}}
        record |= run
        record["figures"] = alternate._figures(comparison, record)
        outcome.runs.append(record)
    return outcome


def test_processor_time_is_that_of_both_ends_for_each_gigabyte():
    ours = {"usage": {"user_s": 0.5, "system_s": 1.5}, "details": {"received_bytes": 4 * 10**9}}
    theirs = {"usage": {"user_s": 0.5, "system_s": 0.5}, "details": {"received_bytes": 10**9}}
    unmeasured = {"usage": None, "details": {"received_bytes": 10**9}}
    outcome = outcome_of(processor_time("CPU", 1.05), [ours, theirs] * 5 + [unmeasured, theirs])
    [verdict] = judge(outcome, 1)
    assert (verdict.ours, verdict.theirs) == (0.5, 1.0)
    assert verdict.ratio.n == 5
    assert verdict.met
    assert "0.500   1.000 s/GB" in table([Row(outcome, [verdict])])


@pytest.mark.parametrize(("each", "compared"), [(2000, True), (1999, False)])
def test_a_tail_needs_ten_thousand_round_trips_of_each(each, compared):
    ours = {"details": {"p999_ns": 200.0, "observations": 5000}}
    theirs = {"details": {"p999_ns": 100.0, "observations": each}}
    outcome = outcome_of(tail_round_trip("p99.9", 1.05), [ours, theirs] * 5)
    verdicts = judge(outcome, 1)
    text = " ".join(table([Row(outcome, verdicts)]).split())
    if compared:
        assert verdicts[0].observations == (25_000, 10_000)
        assert verdicts[0].ratio.ratio == 2.0
        assert "from 25,000 round trips beside 10,000" in text
    else:
        assert verdicts == []
        assert "not compared: 25000 round trips beside 9995, and it takes 10000" in text


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_figure_that_makes_no_ratio_is_an_error(monkeypatch, value):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    outcome = compare(ROUTE, several(1.0, {"iperf3": value}), 1, 1, random.Random(1), lambda: None)
    assert judge(outcome, 1) == []
    assert "a ratio needs more than 0" in table([Row(outcome, [])])


def test_wide_ratios_fit_the_table(monkeypatch):
    monkeypatch.setattr(alternate, "missing_peer", lambda *_: None)
    values = iter([4.5e9, 4.4e9, 3.3e9, 4.6e9, 4.1e9, 4.5e9])
    comparison = several(1.0, {"sockperf": 3.1e7, "nuttcp": 4e7})
    comparison = dataclasses.replace(comparison, ours=lambda *_: Measured(next(values)))
    outcome = compare(ROUTE, comparison, 6, 1, random.Random(1), lambda: None)
    text = table([Row(outcome, judge(outcome, 1))])
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "143.5" in text


needs_taskset = pytest.mark.skipif(
    shutil.which("taskset") is None, reason="taskset (package util-linux) is not installed"
)
COUNTING_SERVER = """
import signal, socket, time
def told(number, _):
    print("told", signal.Signals(number).name, flush=True)
    raise SystemExit(0)
signal.signal(signal.SIGINT, told); signal.signal(signal.SIGTERM, told)
s = socket.socket(); s.bind(("127.0.0.1", {port})); s.listen(); time.sleep(60)
"""


@needs_taskset
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_says_its_last_words_after_the_signal_it_wants(number):
    port = free_port(datagrams=False)
    server = [sys.executable, "-S", "-c", COUNTING_SERVER.format(port=port)]
    written = run_tool(ROUTE, Tool(server, ["echo", "done"], port, ends_by=number), 5.0)
    assert written.output == "done\n"
    assert written.server_output == f"told {number.name}\n"


@needs_taskset
def test_a_server_that_does_not_end_by_itself_is_ended():
    port = free_port(datagrams=False)
    server = [sys.executable, "-S", "-c", COUNTING_SERVER.format(port=port)]
    begun = time.monotonic()
    assert run_tool(ROUTE, Tool(server, ["true"], port), 5.0).server_output == ""
    assert time.monotonic() - begun < 20
    assert not peers._port_is_open(os.getpid(), port, datagrams=False)


def test_loopback_is_in_a_namespace_of_its_own_where_one_can_be_had():
    problem = permission_problem()
    if problem:
        pytest.skip(problem)
    with open_route("loopback") as (route, facts):
        assert route.private
        assert facts == {"kind": "loopback", "congestion_control": route.congestion_control}
        with route.target.start(["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]) as process:
            assert process.read().decode().strip() == route.congestion_control


def test_loopback_is_the_machines_where_no_lab_can_be_had(monkeypatch):
    def refuse(_):
        raise HostError("no lab here")

    monkeypatch.setattr("bench.routes.lab_up", refuse)
    with open_route("loopback") as (route, facts):
        assert not route.private
        assert "no lab here" in str(facts["namespace"])
    with pytest.raises(HostError, match="no lab here"), open_route("veth"):
        pass
