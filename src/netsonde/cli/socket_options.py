"""The arguments and options of ``netsonde tcp`` and ``netsonde udp``, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

from netsonde.cli.socket_tests import TESTS
from netsonde.study.measure_table import REFINE_POINTS

HostArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST|HOSTS",
        help="The other end: an ssh name, ADDRESS:PORT of a `netsonde serve` (with --pair), "
        "`local`, or `lab:h1,h2`. Of a test of many hosts: all of them, or all but the one that "
        "comes next, as in `node[1-8] node9 incast`.",
    ),
]
TestArgument = Annotated[
    str,
    typer.Argument(
        metavar="TEST|HOST",
        help=f"One of {TESTS}. Of a test of many hosts also the last of them, before the test.",
    ),
]
LastArgument = Annotated[
    str | None,
    typer.Argument(metavar="TEST", help="The test, where two words of hosts come first."),
]
SizesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Message sizes: `64`, `1,1k,64k`, `1..1M`, `1..1M:4`, `1..1M:1.5` (also one and a "
        "half times each power of two).",
    ),
]
PerturbOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="With sweep: so many bytes beside each size as well (3); 0 for none."
    ),
]
RefineOption = Annotated[
    bool,
    typer.Option(
        "--refine",
        help=f"With sweep (of MPI, also operations): up to {REFINE_POINTS} more sizes where the "
        "curve breaks.",
    ),
]
CallOption = Annotated[
    str | None, typer.Option("--call", metavar="SIZE", help="Bytes of one send or receive call.")
]
CountOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="So many messages instead of a stopping rule."),
]
TimeOption = Annotated[
    str, typer.Option("--time", metavar="DURATION", help="Time cap of each point.")
]
IntervalOption = Annotated[
    str,
    typer.Option(
        metavar="PERCENT",
        help="Measure until the median is known to this share; `1%,p99:5%` for other quantiles, "
        "too.",
    ),
]
OwnTimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="DURATION",
        help="Time cap of each point (2s; with --like, how long that tool measures).",
    ),
]
OwnIntervalOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="Measure until the median is known to this share (1%); `1%,p99:5%` for other "
        "quantiles, too.",
    ),
]
LikeOption = Annotated[
    str | None,
    typer.Option(
        metavar="TOOL",
        help="Measure as iperf3, netperf, netpipe or sockperf does, and say what it would say.",
    ),
]
OmitOption = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="With --like iperf3: leave out a first part, as its -O."),
]
BufferOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Socket buffers at both ends; `64k,1M` measures with each."),
]
ReceiveBufferOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Receive buffers, where they are to differ.")
]
WaitOption = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How the ends wait for data: in the call (`block`), by asking again and again "
        "(`spin`), or for the kernel's word that the socket is ready (`ready`).",
    ),
]
TargetBufferOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Socket buffers at HOST, where they are to differ."),
]
MtuOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Of a lab's links, while this runs (HOST `lab:h1,h2`); `1500,9000` measures with "
        "each.",
    ),
]
BusyOption = Annotated[
    str | None,
    typer.Option(
        metavar="END=SHARE",
        help="Other work for hosts meanwhile, as `target=80%`, `both=100%:nice`, "
        "`origin=50%@0-3`; `none,target=100%` measures with each.",
    ),
]
StreamsOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=64, help="With stream: so many flows at once.")
]
LoadOption = Annotated[
    str | None,
    typer.Option(
        metavar="SHARES",
        help="With latency: open loop, messages at fixed times; `0,25,50,75,90%` of what the path "
        "answers at most.",
    ),
]
QualityOption = Annotated[
    str | None,
    typer.Option(
        "--qos",
        metavar="CLASS",
        help="Quality of service: `af41`, `ef`, `dscp46`, `0xb8`, or Hpcbench's 1 to 6.",
    ),
]
BusyPollOption = Annotated[
    int | None,
    typer.Option(
        metavar="US", min=0, max=10**6, help="Let waiting calls poll the device for so long."
    ),
]
CpusOption = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Processors for the two ends, such as `0,1`."),
]
FromOption = Annotated[
    str, typer.Option("--from", metavar="HOST", help="The end that starts the test.")
]
PairOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="The code that `netsonde serve` printed.")
]
Ipv6Option = Annotated[bool, typer.Option("--ipv6", "-6", help="Use IPv6.")]
ForgetOption = Annotated[
    bool,
    typer.Option(
        "--forget",
        help="Empty what both kernels remember of earlier connections before each point; needs "
        "root on both hosts.",
    ),
]
LinkRateOption = Annotated[
    str | None,
    typer.Option(
        metavar="RATE",
        help="What the path carries, as 10G, where no interface says it: for the share of the "
        "link, TCP's limits and the buffer to take.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Seed of the order of points.")
]
KernelTimesOption = Annotated[
    bool,
    typer.Option(
        "--kernel-times",
        help="With latency, sweep and pingpong: let the kernel say when messages pass its queue "
        "and driver, and divide each round trip into hosts and network.",
    ),
]
DepthOption = Annotated[
    bool,
    typer.Option(
        "--depth",
        help="Count inside the kernel with eBPF, where it may be: waits for a processor, in the "
        "queue, the driver and the socket, and why TCP sends again.",
    ),
]
ReportOption = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="GROUPS",
        help="With stream: the figures that are printed, in this order: rate, loss, reorder, "
        "jitter, gaps, one-way. The run directory has all of them.",
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check-data", help="Verify the content of every message.")
]

# Of TCP alone, then of UDP alone.
PacingOption = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Let the kernel pace what either end sends."),
]
NoDelayOption = Annotated[
    bool | None,
    typer.Option(
        "--nodelay/--nagle",
        help="Switch Nagle's algorithm off (usual, but for --cork) or on.",
        show_default=False,
    ),
]
CorkOption = Annotated[
    bool, typer.Option("--cork", help="Gather the calls of a message into full segments.")
]
CongestionOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Congestion control, such as cubic.")
]
SegmentOption = Annotated[str | None, typer.Option(metavar="SIZE", help="Maximum segment size.")]
NotSentLowOption = Annotated[
    str | None,
    typer.Option(
        "--notsent-lowat", metavar="SIZE", help="Take more data only below so much unsent."
    ),
]
MultipathOption = Annotated[
    bool, typer.Option("--multipath", help="Multipath TCP, where both kernels have it.")
]
SendfileOption = Annotated[
    bool, typer.Option("--sendfile", help="Send from a file in memory, with sendfile().")
]
ZerocopyOption = Annotated[
    bool, typer.Option("--zerocopy", help="Send without a copy, with MSG_ZEROCOPY.")
]
UringOption = Annotated[
    bool,
    typer.Option(
        "--uring", help="Send and receive by io_uring, the calls of a message as one chain."
    ),
]
RateOption = Annotated[
    str | None, typer.Option(metavar="RATE", help="Send the stream at this payload rate.")
]
PortOption = Annotated[
    int | None,
    typer.Option(metavar="PORT", min=1, max=65535, help="Where to, with generate (9, discard)."),
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=64, help="So many datagrams in one system call (stream, duplex)."
    ),
]
OffloadOption = Annotated[
    bool,
    typer.Option(
        "--offload", help="With --batch: the kernel or the card cuts and joins datagrams."
    ),
]
