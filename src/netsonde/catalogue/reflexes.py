"""Words of other tools that netsonde calls something else: who types one is told what to type.

The page docs/reference/from-other-tools.md is made of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["sockets", "mpi", "serve", "test", "command"]
"""Where a word is typed: as an option of a command that measures sockets (tcp, udp), of mpi or of
serve; where the name of a test of sockets is expected; as netsonde's first word."""


@dataclass(frozen=True, slots=True)
class Reflex:
    """A word, or several of one meaning, whose they are, and the sentence that answers.

    ``says`` is what netsonde calls it, empty where there is nothing to type; ``note`` is what else
    is to be known. ``places`` are where the answer is right.
    """

    words: tuple[str, ...]
    of: str
    says: str
    note: str
    places: tuple[Place, ...] = ("sockets",)

    def answer(self, typed: str) -> str:
        """The sentence for who typed it."""
        what = f"netsonde says {self.says}" if self.says else "netsonde needs no such word"
        return f"{typed} is {self.of}; {what}: {self.note}"


_BOTH: tuple[Place, ...] = ("sockets", "mpi")
REFLEXES = (
    Reflex(("--cap",), "a study's key", "--time 10s", "the cap of a point", _BOTH),
    Reflex(("-t", "--duration"), "iperf3's", "--time 10s", "the cap of a point", _BOTH),
    Reflex(("-P", "--parallel"), "iperf3's", "--streams N", "so many flows at once"),
    Reflex(("-n", "--bytes", "-k"), "iperf3's", "--count N", "so many messages, of --sizes bytes"),
    Reflex(
        ("-l", "--len", "--length"), "iperf3's", "--sizes SIZES", "message sizes, as 64,1k,1..64k"
    ),
    Reflex(("-w", "--window"), "iperf3's", "--buffer SIZE", "the socket buffers at both ends"),
    Reflex(("-b", "--bitrate", "--bandwidth"), "iperf3's", "--rate RATE", "what is sent at most"),
    Reflex(("-C",), "iperf3's", "--congestion NAME", "such as cubic"),
    Reflex(("-M", "--set-mss"), "iperf3's", "--mss SIZE", "the maximum segment size"),
    Reflex(("-N", "--no-delay"), "iperf3's", "--nodelay", "it is usual; --nagle switches it off"),
    Reflex(("-Z",), "iperf3's", "--zerocopy", "or --sendfile"),
    Reflex(("-S", "--tos", "--dscp"), "iperf3's", "--qos CLASS", "such as af41 or 0xb8"),
    Reflex(("-A", "--affinity"), "iperf3's", "--cpus A,B", "the CPUs of the two ends"),
    Reflex(("-O",), "iperf3's", "--omit", "with --like iperf3; else the warm-up is found"),
    Reflex(
        ("-u", "--udp"),
        "iperf3's",
        "netsonde udp HOST TEST",
        "the transport is the command's name",
    ),
    Reflex(
        ("-c", "--client", "-H", "--host"),
        "iperf3's and netperf's",
        "netsonde tcp HOST TEST",
        "the other end is the first word, as in netsonde tcp node7 stream",
        ("sockets", "command"),
    ),
    Reflex(
        ("-s", "--server"),
        "iperf3's",
        "netsonde serve",
        "it runs at the other end where ssh does not lead there",
        ("sockets", "command"),
    ),
    Reflex(
        ("-R", "--reverse"),
        "iperf3's",
        "--from HOST",
        "that host sends: netsonde tcp local stream --from node7",
    ),
    Reflex(
        ("-d", "--bidir", "--dualtest"),
        "iperf3's",
        "the test duplex",
        "both ways at once: netsonde tcp node7 duplex",
    ),
    Reflex(
        ("-J", "--json-stream"),
        "iperf3's",
        "--json",
        "one JSON document on standard output",
        ("sockets", "mpi", "serve"),
    ),
    Reflex(
        ("-i", "--interval"),
        "iperf3's and OSU's",
        "",
        "a line each second is there anyway, every sample is kept, and --count N is the number of "
        "messages or repetitions",
        _BOTH,
    ),
    Reflex(
        ("-p",),
        "iperf3's",
        "HOST:PORT",
        "in the place of HOST, with the code that netsonde serve printed there in NETSONDE_PAIR",
    ),
    Reflex(
        ("-p",),
        "iperf3's",
        "--port",
        "of the pairing; --test-port is that of the tests",
        ("serve",),
    ),
    Reflex(("-m",), "OSU's", "--sizes SIZES", "as 1..4M, each power of two", ("mpi",)),
    Reflex(("-x", "--warmup"), "OSU's", "", "the warm-up is found in the samples", ("mpi",)),
    Reflex(("-c", "--validation"), "OSU's", "--check-data", "every byte is compared", ("mpi",)),
    Reflex(("-f", "--full"), "OSU's", "--json", "or netsonde report: all figures", ("mpi",)),
    Reflex(("-np", "-ppn"), "mpirun's", "-n N", "and --ppn N: so many ranks on a host", ("mpi",)),
    Reflex(
        ("-npmin", "-msglog", "-iter"),
        "IMB's",
        "-n and --sizes",
        "as -n 2..16 --sizes 1..4M",
        ("mpi",),
    ),
    Reflex(
        ("bandwidth", "throughput", "bw", "tcp_stream", "udp_stream", "tcp_sendfile", "tp"),
        "a word of netperf, sockperf or qperf",
        "stream",
        "one way, as fast as it goes",
        ("test",),
    ),
    Reflex(
        ("tcp_maerts",),
        "a word of netperf",
        "stream --from HOST",
        "the other host sends",
        ("test",),
    ),
    Reflex(
        ("rr", "tcp_rr", "udp_rr", "lat", "rtt", "ping", "ping-pong", "tcp_lat", "udp_lat", "pp"),
        "a word of netperf, sockperf or qperf",
        "latency",
        "round trips of single messages",
        ("test",),
    ),
    Reflex(
        ("under-load", "ul"),
        "a word of sockperf",
        "latency --load SHARES",
        "messages at fixed times, as --load 50,90%",
        ("test",),
    ),
    Reflex(
        ("netpipe", "nptcp"),
        "a word of NetPIPE",
        "sweep --like netpipe",
        "latency by size",
        ("test",),
    ),
    Reflex(("bidir", "bidirectional"), "iperf3's", "duplex", "both ways at once", ("test",)),
    Reflex(
        ("rrul", "tcp_crr", "udp_flood"),
        "a test of flent or netperf",
        "latency and stream",
        "one after the other, as in latency,stream; or incast, outcast, pairs, ring, alltoall",
        ("test",),
    ),
    Reflex(
        ("latency", "pingpong", "stream", "sweep", "duplex", "bandwidth"),
        "a test",
        "netsonde tcp HOST TEST",
        "as in netsonde tcp node7 latency; udp, icmp and mpi likewise",
        ("command",),
    ),
    Reflex(
        ("ping", "mtr", "fping"),
        "another tool",
        "netsonde icmp HOST latency",
        "echoes",
        ("command",),
    ),
    Reflex(
        ("iperf3", "iperf", "nuttcp", "netperf", "qperf", "sockperf", "ttcp"),
        "another tool",
        "netsonde tcp HOST stream",
        "or latency; --like iperf3, netperf or sockperf measures as that one does",
        ("command",),
    ),
    Reflex(
        ("server", "client", "listen"),
        "another tool",
        "netsonde serve",
        "the other end, where ssh does not lead there; else nothing has to be started",
        ("command",),
    ),
    Reflex(
        ("osu", "imb", "osu_latency", "osu_bw", "osu_allreduce", "skampi", "reprompi"),
        "another tool",
        "netsonde mpi TEST...",
        "such as latency, stream, allreduce; --like osu, imb or skampi measures as that one does",
        ("command",),
    ),
    Reflex(("flent", "run"), "another tool", "netsonde study run FILE", "many tests", ("command",)),
)


def reflex(typed: str, place: Place) -> Reflex | None:
    """The row for a word as it was typed, with ``=VALUE`` or in capitals; None for any other."""
    word = typed.split("=")[0]
    known = {w: row for row in REFLEXES if place in row.places for w in row.words}
    return known.get(word) or (known.get(word.lower()) if not word.startswith("-") else None)


@dataclass(frozen=True, slots=True)
class Call:
    """What is typed for another tool, and what for netsonde."""

    tool: str
    theirs: str
    ours: str


CALLS = (
    Call("iperf3", "iperf3 -s; iperf3 -c node7", "netsonde tcp node7 stream"),
    Call("iperf3", "iperf3 -c node7 -R", "netsonde tcp local stream --from node7"),
    Call(
        "iperf3", "iperf3 -c node7 -P 4 -t 30", "netsonde tcp node7 stream --streams 4 --time 30s"
    ),
    Call("iperf3", "iperf3 -c node7 --bidir", "netsonde tcp node7 duplex"),
    Call("iperf3", "iperf3 -c node7 -u -b 400M", "netsonde udp node7 stream --rate 400M"),
    Call(
        "iperf3",
        "iperf3 -c node7 -w 1M -C bbr",
        "netsonde tcp node7 stream --buffer 1M --congestion bbr",
    ),
    Call("iperf3", "the same figure as iperf3's", "netsonde tcp node7 stream --like iperf3"),
    Call("netperf", "netperf -H node7 -t TCP_STREAM", "netsonde tcp node7 stream"),
    Call("netperf", "netperf -H node7 -t TCP_MAERTS", "netsonde tcp local stream --from node7"),
    Call("netperf", "netperf -H node7 -t TCP_RR", "netsonde tcp node7 latency"),
    Call("netperf", "netperf -H node7 -t UDP_RR -- -r 64", "netsonde udp node7 latency --sizes 64"),
    Call("netperf", "netperf -i 30 -I 99,5", "netsonde tcp node7 stream --relative-precision 5%"),
    Call("sockperf", "sockperf ping-pong -i node7 --tcp", "netsonde tcp node7 latency"),
    Call("sockperf", "sockperf under-load -i node7", "netsonde udp node7 latency --load 50,90%"),
    Call("sockperf", "sockperf throughput -i node7", "netsonde udp node7 stream"),
    Call("ping", "ping node7", "netsonde icmp node7 latency"),
    Call(
        "ping", "ping -s 1400 -c 100 node7", "netsonde icmp node7 latency --sizes 1400 --count 100"
    ),
    Call("NetPIPE", "NPtcp -h node7", "netsonde tcp node7 sweep --like netpipe"),
    Call("OSU", "mpirun -n 2 osu_latency", "netsonde mpi latency -n 2 --hosts node1,node2"),
    Call(
        "OSU",
        "mpirun -n 2 osu_bw -m 1:4194304",
        "netsonde mpi stream --sizes 1..4M -n 2 --hosts node1,node2",
    ),
    Call(
        "OSU",
        "mpirun -n 8 osu_allreduce -i 1000",
        "netsonde mpi allreduce --count 1000 -n 8 --hosts node1,node2",
    ),
    Call(
        "OSU",
        "the same figure as OSU's",
        "netsonde mpi allreduce --like osu -n 8 --hosts node1,node2",
    ),
    Call("IMB", "mpirun -n 4 IMB-MPI1 PingPong Bcast", "netsonde mpi pingpong bcast -n 4"),
    Call("IMB", "mpirun -n 16 IMB-MPI1 -npmin 2 Allreduce", "netsonde mpi allreduce -n 2..16"),
    Call("SKaMPI", "a file of measurements", "netsonde mpi bcast --like skampi -n 8"),
    Call("flent", "flent tcp_download -H node7", "netsonde tcp local stream --from node7"),
    Call("flent", "flent rrul -H node7", "netsonde tcp node7 latency,stream"),
)
"""In the order of the page. A test parses each of netsonde's."""
