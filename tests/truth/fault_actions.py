"""How a fault is put into a lab while it runs, and taken out again on every way out.

Each action is a context manager over a Bench. Nothing outside the lab is changed, but for a group
of processes under the kernel's cgroups, and processes that are started and ended by their id.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from faults_table import STORM

from netsonde.lab import Lab
from netsonde.lab.links import HOST_DEVICE, LEAST_DEVICE_MTU_BYTES

CGROUPS = Path("/sys/fs/cgroup/cpu")
"""Where the first version of cgroups has the CPUs' time; a machine without it has no quota to
put in, and says so."""
LOOK_S = 0.01
FIND_LIMIT_S = 20.0
PERIOD_US = 100_000
SLICE_S = 0.02
BURN = """
import sys, time
share = float(sys.argv[1])
while True:
    until = time.monotonic() + 0.05 * share
    while time.monotonic() < until:
        pass
    if share < 1:
        time.sleep(0.05 * (1 - share))
"""
# As ethtool -K DEVICE tx VALUE rx VALUE.
SET_CHECKSUMS = """
import ctypes, fcntl, socket, struct, sys
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for command in (0x17, 0x15):
    content = ctypes.create_string_buffer(struct.pack("=II", command, int(sys.argv[2])), 8)
    request = struct.pack("16sP", sys.argv[1].encode(), ctypes.addressof(content))
    fcntl.ioctl(control, 0x8946, request.ljust(40, bytes(1)))
"""


@dataclass
class Bench:
    """A lab with what the harness knows of it. ``counters`` is what
    faults did, by their own count; ``chance`` where an action has to choose a moment."""

    lab: Lab
    chance: random.Random
    counters: dict[str, float] = field(default_factory=dict)

    def run(self, host: str, *argv: str) -> str:
        return self.lab.in_host(self.lab.host(host), argv)

    def port(self, host: str) -> str:
        return f"p{self.lab.spec.host_names.index(host) + 1}"


Action = Callable[[Bench, float], AbstractContextManager[None]]


@contextlib.contextmanager
def sysctl(bench: Bench, host: str, name: str, value: str) -> Iterator[None]:
    before = _setting(bench, host, name)
    bench.run(host, "sysctl", "-q", "-w", f"{name}={value}")
    try:
        if _setting(bench, host, name) != value:  # sysctl ends with 0 all the same
            raise OSError(f"{host} does not take {name}={value}")
        yield
    finally:
        bench.run(host, "sysctl", "-q", "-w", f"{name}={before}")


def _setting(bench: Bench, host: str, name: str) -> str:
    return " ".join(bench.run(host, "sysctl", "-n", name).split())


@contextlib.contextmanager
def host_queue(bench: Bench, host: str, words: Sequence[str]) -> Iterator[None]:
    """Another queueing discipline at a host's own device."""
    before = _bucket_words(bench.run(host, "tc", "-d", "qdisc", "show", "dev", HOST_DEVICE))
    with _queue(lambda argv: bench.run(host, *argv), HOST_DEVICE, words, before):
        yield


@contextlib.contextmanager
def port_queue(bench: Bench, host: str, words: Sequence[str]) -> Iterator[None]:
    """Another queueing discipline at the bridge's port towards a host."""
    device, lab = bench.port(host), bench.lab
    before = _bucket_words(lab.in_switch(["tc", "-d", "qdisc", "show", "dev", device]))
    with _queue(lab.in_switch, device, words, before):
        yield


@contextlib.contextmanager
def _queue(
    run: Callable[[Sequence[str]], str], device: str, words: Sequence[str], before: Sequence[str]
) -> Iterator[None]:
    replace = ["tc", "qdisc", "replace", "dev", device, "root"]
    run([*replace, *words])
    try:
        yield
    finally:
        run(["tc", "qdisc", "del", "dev", device, "root"])
        run([*replace, *before])


def _bucket_words(shown: str) -> list[str]:
    """What tc shows of a token bucket, as tc takes it."""
    words = shown.split()
    kept = ["tbf"]
    for name, other in (("rate", "rate"), ("burst", "burst"), ("lat", "latency")):
        kept += [other, words[words.index(name) + 1].split("/")[0]]
    return kept


@contextlib.contextmanager
def htb(bench: Bench, host: str, rate_bit_per_s: float) -> Iterator[None]:
    """A class of a hierarchical token bucket that holds all traffic of a host."""
    with host_queue(bench, host, ["handle", "1:", "htb", "default", "1"]):
        rate = f"{round(rate_bit_per_s)}bit"
        bench.run(
            host,
            *("tc", "class", "add", "dev", HOST_DEVICE, "parent", "1:", "classid", "1:1"),
            *("htb", "rate", rate, "burst", "16kb", "cburst", "16kb"),
        )
        yield


@contextlib.contextmanager
def route(bench: Bench, host: str, *words: str) -> Iterator[None]:
    """Other attributes of the route between the hosts."""
    shown = bench.run(host, "ip", "route", "show", "10.77.0.0/24").split()
    bench.run(host, "ip", "route", "replace", *shown, *words)
    try:
        yield
    finally:
        bench.run(host, "ip", "route", "replace", *shown)


@contextlib.contextmanager
def mtu(bench: Bench, host: str, size_bytes: int) -> Iterator[None]:
    """Below what IPv6 asks of a device the route has it: a device that loses IPv6 and gets it back
    announces itself, and the run after would not be a clean one."""
    device_bytes = max(size_bytes, LEAST_DEVICE_MTU_BYTES)
    narrow = size_bytes < device_bytes
    bench.run(host, "ip", "link", "set", "dev", HOST_DEVICE, "mtu", str(device_bytes))
    try:
        with route(bench, host, "mtu", str(size_bytes)) if narrow else contextlib.nullcontext():
            yield
    finally:
        bench.run(host, "ip", "link", "set", "dev", HOST_DEVICE, "mtu", "1500")


@contextlib.contextmanager
def line(bench: Bench, host: str, way: str, **plan: object) -> Iterator[None]:
    """Another line of the switch's link to a host; undone with what the topology says."""
    assert bench.lab.spec.fabric is not None
    links = bench.lab.spec.fabric["topology"]["links"]
    usual = next(entry for entry in links if entry["lower"] == host)[way]
    nothing = {"jitter": {"distribution": "none", "mean_ns": 0}, "delay_ns": 0}
    undo = {name: usual.get(name, nothing.get(name, 0)) for name in plan}
    bench.lab.set_line(host, way, plan)
    try:
        yield
    finally:
        bench.lab.set_line(host, way, undo)


@contextlib.contextmanager
def outage(bench: Bench, host: str, seconds: float) -> Iterator[None]:
    """The host's cable is out for so long, at a moment of the measurement."""

    def pull(_pids: list[int]) -> None:
        time.sleep(bench.chance.uniform(0.2, 0.5))
        begun = time.monotonic()
        bench.lab.set_link(host, up=False)
        try:
            time.sleep(seconds)
        finally:
            bench.lab.set_link(host, up=True)
        bench.counters["down_s"] = time.monotonic() - begun

    with _when_it_works(bench, host, pull):
        yield


@contextlib.contextmanager
def stopped(bench: Bench, host: str, seconds: float) -> Iterator[None]:
    """The worker on a host is stopped for so long, at a moment of the measurement."""

    def stop(pids: list[int]) -> None:
        time.sleep(bench.chance.uniform(0.2, 0.5))
        begun = time.monotonic()
        with _held(pids):
            time.sleep(seconds)
        bench.counters["stopped_s"] = time.monotonic() - begun

    with _when_it_works(bench, host, stop):
        yield


@contextlib.contextmanager
def in_slices(bench: Bench, host: str, share: float) -> Iterator[None]:
    """The worker is stopped for a share of each twentieth of a second, all the time."""
    ended = threading.Event()

    def slices(pids: list[int]) -> None:
        while not ended.is_set() and any(Path(f"/proc/{pid}").exists() for pid in pids):
            with _held(pids):
                ended.wait(SLICE_S * share)
            bench.counters["stopped_s"] = bench.counters.get("stopped_s", 0) + SLICE_S * share
            ended.wait(SLICE_S * (1 - share))

    with _when_it_works(bench, host, slices, ended):
        yield


@contextlib.contextmanager
def _held(pids: Sequence[int]) -> Iterator[None]:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def niced(bench: Bench, host: str, nice: int) -> Iterator[None]:
    def renice(pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, pid, nice)
        bench.counters["niced"] = len(pids)

    with _when_it_works(bench, host, renice):
        yield


@contextlib.contextmanager
def quota(bench: Bench, host: str, share: float) -> Iterator[None]:
    """The worker on a host gets so much of one CPU, by the kernel's cgroups."""
    group = CGROUPS / f"netsonde-{os.getpid()}"
    group.mkdir()
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(max(1000, round(share * PERIOD_US))))

    def enter(pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(OSError):
                (group / "cgroup.procs").write_text(str(pid))

    try:
        with _when_it_works(bench, host, enter):
            yield
        found = dict(text.split() for text in (group / "cpu.stat").read_text().splitlines())
        bench.counters["throttled_s"] = int(found["throttled_time"]) / 1e9
    finally:
        _leave(group)


def _leave(group: Path) -> None:
    """Removes a group; who is in it still goes to the one above."""
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (group.parent / "cgroup.procs").write_text(pid)
    group.rmdir()


@contextlib.contextmanager
def _when_it_works(
    bench: Bench,
    host: str,
    act: Callable[[list[int]], None],
    ended: threading.Event | None = None,
) -> Iterator[None]:
    """Calls ``act`` in a thread with the worker's processes as soon as they run on a host."""
    ended = ended or threading.Event()

    def wait() -> None:
        deadline = time.monotonic() + FIND_LIMIT_S
        while not ended.is_set() and time.monotonic() < deadline:
            pids = _workers(bench, host)
            if pids:
                act(pids)
                return
            ended.wait(LOOK_S)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _workers(bench: Bench, host: str) -> list[int]:
    """Processes of netsonde's engine in a host's network namespace."""
    holder = bench.lab.host(host).holder
    with contextlib.suppress(OSError):
        space = Path(f"/proc/{holder}/ns/net").readlink()
        return [pid for pid in _pids("sonde") if _space(pid) == space]
    return []


def _pids(name: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "comm").read_text().startswith(name):
                found.append(int(entry.name))
    return found


def _space(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/ns/net").readlink()
    except OSError:
        return None


@contextlib.contextmanager
def burning(processor: int | None, share: float, nice: int = 0) -> Iterator[None]:
    """A process of this machine that wants so much of a CPU."""
    pinned = [] if processor is None else ["taskset", "-c", str(processor)]
    program = [sys.executable, "-S", "-c", BURN, f"{share:.3f}"]
    with _started([*pinned, "nice", "-n", str(nice), *program]):
        yield


@contextlib.contextmanager
def traffic(
    bench: Bench, sender: str, target: str, per_s: float, size_bytes: int
) -> Iterator[None]:
    """Datagrams of a host that is not measured to one of the two that are."""
    to = bench.lab.host(target).address("ipv4")
    program = [sys.executable, "-S", "-c", STORM, to, str(round(per_s)), str(size_bytes)]
    with _started(bench.lab.host(sender).command(program)):
        yield


@contextlib.contextmanager
def _started(argv: Sequence[str]) -> Iterator[None]:
    """A process that ends with this one, whatever ends that."""
    tied = ["setpriv", "--pdeathsig", "KILL", "--", *argv]
    process = subprocess.Popen(tied, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def checksums_off(bench: Bench, host: str) -> Iterator[None]:
    """The device's checksums are the kernel's work."""
    _set_checksums(bench, host, 0)
    try:
        yield
    finally:
        _set_checksums(bench, host, 1)


def _set_checksums(bench: Bench, host: str, value: int) -> None:
    program = [sys.executable, "-S", "-c", SET_CHECKSUMS, HOST_DEVICE, str(value)]
    command = bench.lab.host(host).command(program)
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=FIND_LIMIT_S, check=True)
