"""Faults whose truth is known: what is put in, the command that measures, what must be said first.

Each is put into a lab of its own, or beside it on this machine, and measured by the commands that
a user has. ``kind`` and ``place`` are what ``netsonde explain`` must put first. Clean cases have
none: nothing of the kinds of faults may be said of them.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from statements import Truth

from netsonde.lab import Lab, LabSpec
from netsonde.lab.scenario import lab_spec, scenario_of

Inject = Callable[[Lab], AbstractContextManager[None]]

BURN = "while True: pass"
STORM_PER_S = 6000
OTHERS_PER_S, OTHERS_BYTES = 2000, 1400
# Datagrams to a port where nobody listens, a hundred at a time.
STORM = """
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to, per_s, content = (sys.argv[1], 9), int(sys.argv[2]), bytes(int(sys.argv[3]))
due = time.monotonic()
while True:
    for _ in range(100):
        sock.sendto(content, to)
    due += 100 / per_s
    time.sleep(max(0.0, due - time.monotonic()))
"""
FORGETFUL = """
cd /proc/sys/net/ipv4 && echo 0 > ipfrag_low_thresh || exit
while :; do
    echo 0 > ipfrag_high_thresh; sleep 0.05; echo 4194304 > ipfrag_high_thresh; sleep 0.1
done
"""


ONCE_RUNNING = """
ns=$(readlink /proc/self/ns/net)
workers() {
    for p in /proc/[0-9]*; do
        [ "$(readlink $p/ns/net)" = "$ns" ] && [ "$(cat $p/comm)" = sonde-worker ] &&
            echo ${p#/proc/}
    done
}
while [ -z "$(workers)" ]; do sleep 0.05; done 2>/dev/null
sleep 1
"""
STOP_ONCE = (
    ONCE_RUNNING
    + """
found=$(workers 2>/dev/null)
kill -STOP $found; sleep 0.6; kill -CONT $found
sleep 600
"""
)


@contextlib.contextmanager
def nothing(_lab: Lab) -> Iterator[None]:
    yield


@dataclass(frozen=True)
class Case:
    """``words`` is the command, with LAB for the lab's name; ``scenario`` are tables of a scenario
    where the lab needs a switch, ``plain`` the fields of one with token buckets; ``also`` what is
    true of the run besides its kind, where the harness does not count it."""

    name: str
    words: str
    kind: str = ""
    place: str = ""
    plain: dict[str, Any] = field(default_factory=dict)
    scenario: dict[str, Any] | None = None
    inject: Inject = nothing
    also: tuple[Truth, ...] = ()

    def spec(self, name: str) -> LabSpec:
        if self.scenario is not None:
            return lab_spec(scenario_of({"links": "switch", "name": name, **self.scenario}))
        return LabSpec(**{"rate_bit_per_s": 100_000_000, "name": name, **self.plain})


def queue(host: str, rate: str, limit: str, burst: str = "16kb") -> Inject:
    """Another queue before a host's link: slower, or shorter, than it was."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        lab.in_host(lab.host(host), ["tc", *_bucket("v0", rate, limit, burst).split()])
        yield

    return inject


def port(number: int, rate: str, limit: str) -> Inject:
    """Another queue at the switch's port towards a host."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        lab.in_switch(["tc", *_bucket(f"p{number}", rate, limit, "16kb").split()])
        yield

    return inject


def _bucket(device: str, rate: str, limit: str, burst: str) -> str:
    return f"qdisc replace dev {device} root tbf rate {rate} burst {burst} limit {limit}"


def both(*parts: Inject) -> Inject:
    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for part in parts:
                stack.enter_context(part(lab))
            yield

    return inject


def mtu(host: str, size: int) -> Inject:
    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        lab.in_host(lab.host(host), ["ip", "link", "set", "dev", "v0", "mtu", str(size)])
        yield

    return inject


def setting(host: str, name: str, value: str) -> Inject:
    """A setting of the host's network, such as net.ipv4.tcp_sack."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        lab.in_host(lab.host(host), ["sysctl", "-qw", f"{name}={value}"])
        yield

    return inject


def stopped(host: str) -> Inject:
    """The host's worker is stopped once, for 0.6 s, a second after it was started."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        with _running(lab.host(host).command(["sh", "-c", STOP_ONCE])):
            yield

    return inject


def no_reassembly(host: str) -> Inject:
    """The host's kernel has now memory to put fragments together, and now none."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        with _running(lab.host(host).command(["sh", "-c", FORGETFUL])):
            yield

    return inject


def burnt(processor: int, nice: int = 0) -> Inject:
    """A process on this machine that wants all of one CPU."""

    @contextlib.contextmanager
    def inject(_lab: Lab) -> Iterator[None]:
        pinned = ["taskset", "-c", str(processor), "nice", "-n", str(nice)]
        with _running([*pinned, sys.executable, "-S", "-c", BURN]):
            yield

    return inject


def traffic(sender: str, target: str, per_s: int, size: int) -> Inject:
    """Datagrams of a third host to one of the two that are measured."""

    @contextlib.contextmanager
    def inject(lab: Lab) -> Iterator[None]:
        to = lab.host(target).address("ipv4")
        program = [sys.executable, "-S", "-c", STORM, to, str(per_s), str(size)]
        with _running(lab.host(sender).command(program)):
            yield

    return inject


@contextlib.contextmanager
def _running(argv: list[str]) -> Iterator[None]:
    process = subprocess.Popen(argv)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def slow_link(number: int, rate: str) -> Inject:
    """A host's cable came up slower than the others', both ways."""
    limit = "100kb"
    return both(queue(f"h{number}", rate, limit, "4kb"), port(number, rate, limit))


WAY = {"hosts": 2, "link": {"rate": "200M", "delay": "725us"}}
# Datagrams come at 5 Mbit/s over it, so that a socket holds those of 200 ms: a receiver that has to
# wait for its CPU loses none of its own.
LOSSY = {"hosts": 2, "link": {"rate": "100M", "loss": "1%"}}
FAR_LOSSY = {"hosts": 2, "link": {"rate": "20M", "delay": "5ms", "loss": "1%"}}
# Of a host to which others send it is true that its interface counted more than the test's.
OTHERS_FRAMES = Truth("counters-exact")
PINNED = "--cpus 0,1"
TWO = "LAB/h1,h2"

FAULTS: tuple[Case, ...] = (
    Case(
        "receive buffer of 10 KB on 2.9 ms",
        f"tcp {TWO} stream --sizes 100k --buffer 128k --receive-buffer 5k --time 1s",
        "window-limited",
        "receive buffer of h2",
        scenario=WAY,
    ),
    Case(
        "send buffer of 10 KB on 2.9 ms",
        f"tcp {TWO} stream --sizes 100k --buffer 5k --target-buffer 1M --time 1s",
        "window-limited",
        "send buffer of h1",
        scenario=WAY,
    ),
    Case(
        "core burnt by a normal process",
        f"tcp {TWO} latency {PINNED} --time 2s --relative-precision 0.01%",
        "busy-processor",
        "CPU 0",
        inject=burnt(0),
    ),
    Case(
        "core burnt by a nice process",
        f"tcp {TWO} latency {PINNED} --time 2s --relative-precision 0.01%",
        "busy-processor-nice",
        "CPU 1",
        inject=burnt(1, 19),
    ),
    Case(
        "dropped at the sender's queue",
        f"udp {TWO} stream --rate 60M {PINNED} --time 1s",
        "datagrams-lost",
        "sender kernel",
        inject=queue("h1", "40mbit", "20kb"),
    ),
    Case(
        "dropped in the path",
        f"udp {TWO} stream --rate 5M --time 2s",
        "datagrams-lost",
        "network",
        scenario=LOSSY,
    ),
    Case(
        "dropped at the receiver's socket",
        f"udp {TWO} stream --rate 400M {PINNED} --target-buffer 2k --time 1s",
        "datagrams-lost",
        "receiver application",
        plain={"rate_bit_per_s": 10**9},
    ),
    Case(
        "fragments dropped in the receiver's kernel",
        f"udp {TWO} stream --sizes 16k --rate 20M {PINNED} --time 1s",
        "fragments-lost",
        "receiver kernel",
        inject=no_reassembly("h2"),
    ),
    Case(
        "fragments lost in the path",
        f"udp {TWO} stream --sizes 16k --rate 5M --time 2s",
        "fragments-lost",
        "network",
        scenario=LOSSY,
    ),
    Case(
        "MTU of 576 on one side",
        f"tcp {TWO} stream {PINNED} --time 1s",
        "mtu-mismatch",
        "h2",
        inject=mtu("h2", 576),
        also=(Truth("unlike-hosts"),),
    ),
    Case(
        "Nagle with delayed acknowledgements",
        f"tcp {TWO} pingpong --sizes 2000 --call 1000 --nagle {PINNED} --time 1s",
        "nagle-delayed-ack",
        "acknowledgements of the origin and target",
    ),
    Case(
        "shaped rate",
        f"tcp {TWO} stream --congestion cubic {PINNED} --time 2s",
        "bottleneck",
        "network",
        inject=port(2, "20mbit", "200kb"),
    ),
    Case(
        "one of eight hosts with a slow link",
        "tcp LAB/h[1-8] ring --time 2s",
        "slow-node",
        "h5",
        plain={"hosts": 8, "rate_bit_per_s": 20_000_000},
        inject=slow_link(5, "5mbit"),
    ),
    Case(
        "BBR against CUBIC on a lossy path",
        f"tcp {TWO} stream --congestion bbr,cubic --time 3s",
        "congestion-control",
        "sender kernel",
        scenario=FAR_LOSSY,
    ),
    Case(
        "storm of small packets",
        f"tcp {TWO} stream {PINNED} --time 1s",
        "packet-storm",
        "h2",
        plain={"hosts": 3},
        inject=traffic("h3", "h2", STORM_PER_S, 1),
        also=(OTHERS_FRAMES,),
    ),
    Case(
        "traffic of a third host",
        f"tcp {TWO} stream {PINNED} --time 1s",
        "other-traffic",
        "h1",
        plain={"hosts": 3},
        inject=traffic("h3", "h1", OTHERS_PER_S, OTHERS_BYTES),
        also=(OTHERS_FRAMES,),
    ),
    Case(
        "buffer cut by the system",
        f"tcp {TWO} stream --buffer 64M {PINNED} --time 1s",
        "cut-buffers",
        "system of h1",
    ),
    Case(
        "both ends on one CPU",
        f"tcp {TWO} latency --cpus 1,1 --time 1s",
        "same-processor",
        "CPU 1",
    ),
    Case(
        "line full of headers",
        f"udp {TWO} stream --sizes 64 {PINNED} --time 1s",
        "headers",
        "line",
        plain={"rate_bit_per_s": 10_000_000},
    ),
    Case(
        "one direction slower",
        f"tcp {TWO} duplex {PINNED} --time 2s",
        "uneven-directions",
        "from h2 to h1",
        inject=queue("h2", "20mbit", "200kb"),
    ),
    Case(
        "round trips that wait for timeouts",
        f"tcp {TWO} latency --time 2s",
        "retransmission-timer",
        "network",
        scenario=LOSSY,
    ),
    Case(
        "shaper of the sender's own",
        f"tcp {TWO} stream --congestion cubic {PINNED} --time 2s",
        "bottleneck",
        "sender kernel",
        inject=queue("h1", "20mbit", "100kb"),
    ),
    Case(
        "no window scaling on 10 ms",
        f"tcp {TWO} stream {PINNED} --time 2s",
        "window-limited",
        "window scaling of h2",
        scenario={"hosts": 2, "link": {"rate": "60M", "delay": "2500us"}},
        inject=setting("h2", "net.ipv4.tcp_window_scaling", "0"),
    ),
    Case(
        "no selective acknowledgements on a lossy path",
        f"tcp {TWO} stream --congestion cubic {PINNED} --time 3s",
        "no-selective-acknowledgements",
        "h1",
        scenario=FAR_LOSSY,
        inject=setting("h1", "net.ipv4.tcp_sack", "0"),
    ),
    Case(
        "worker stopped once",
        f"tcp {TWO} latency {PINNED} --time 3s --relative-precision 0.01%",
        "stopped-worker",
        "h2",
        inject=stopped("h2"),
    ),
)

CLEAN: tuple[Case, ...] = (
    Case(
        "clean TCP stream without timestamps of one end",
        f"tcp {TWO} stream {PINNED} --time 1s",
        inject=setting("h2", "net.ipv4.tcp_timestamps", "0"),
    ),
    Case("clean TCP stream, cubic", f"tcp {TWO} stream --congestion cubic {PINNED} --time 1s"),
    Case("clean TCP stream, bbr", f"tcp {TWO} stream --congestion bbr {PINNED} --time 1s"),
    Case("clean UDP stream, paced", f"udp {TWO} stream --rate 50M {PINNED} --time 1s"),
    Case("clean UDP fragments", f"udp {TWO} stream --sizes 8k --rate 50M {PINNED} --time 1s"),
    Case("clean TCP round trips", f"tcp {TWO} latency {PINNED} --time 1s"),
    Case("clean UDP round trips", f"udp {TWO} latency {PINNED} --time 1s"),
    Case(
        "clean exchange in calls", f"tcp {TWO} pingpong --sizes 2000 --call 1000 {PINNED} --time 1s"
    ),
    Case("clean both ways", f"tcp {TWO} duplex {PINNED} --time 2s"),
    Case(
        "clean ring of eight",
        "tcp LAB/h[1-8] ring --time 2s",
        plain={"hosts": 8, "rate_bit_per_s": 20_000_000},
    ),
    Case(
        "clean way of 2.9 ms",
        f"tcp {TWO} stream --sizes 100k --time 1s",
        scenario={"hosts": 2, "link": {"rate": "50M", "delay": "725us"}},
    ),
)
