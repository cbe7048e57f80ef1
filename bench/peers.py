"""The peers' processes: a server and a client, started, waited for and ended."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.commands import ended
from netsonde.errors import HostError
from netsonde.launch.host import ChildProcess, Host, printable

OUTPUT_LIMIT_BYTES = 16 << 20
READY_TIMEOUT_S = 5.0
ENDING_TIMEOUT_S = 3.0
VERSION_TIMEOUT_S = 10.0

UNKNOWN = "unknown"
_UNPACKAGED = "Debian's main archive has no package; it is used where --peer-path finds it"


@dataclass(frozen=True)
class Peer:
    """A tool to compare with: its programs, where they come from, and what says its version.

    ``listens_everywhere`` says that its server takes whoever comes, from any network: it is run
    only in network namespaces of the bench's own.
    """

    programs: Sequence[str]
    source: str
    version: Sequence[str] = ()
    listens_everywhere: bool = False


PEERS: Mapping[str, Peer] = {
    "iperf3": Peer(("iperf3",), "package iperf3", ("iperf3", "--version")),
    "nuttcp": Peer(("nuttcp",), "package nuttcp", ("nuttcp", "-V"), listens_everywhere=True),
    "netperf": Peer(
        ("netperf", "netserver"), _UNPACKAGED, ("netperf", "-V"), listens_everywhere=True
    ),
    # It says no version, nor does the package that it has not got.
    "neper": Peer(("tcp_stream", "udp_stream"), _UNPACKAGED),
    "sockperf": Peer(("sockperf",), "package sockperf", ("sockperf", "--version")),
    "fi_pingpong": Peer(
        ("fi_pingpong",),
        "package libfabric-bin",
        ("dpkg-query", "-W", "-f", "${Version}", "libfabric-bin"),  # that of fi_info
        listens_everywhere=True,
    ),
    # Of the bench's own: the calls alone.
    "plain": Peer(("cc",), "package gcc"),
    "busy": Peer(("cc",), "package gcc"),
    "NPtcp": Peer(
        ("NPtcp",),
        "package netpipe-tcp",
        ("dpkg-query", "-W", "-f", "${Version}", "netpipe-tcp"),  # it has no word for it itself
        listens_everywhere=True,
    ),
}


@dataclass(frozen=True)
class Route:
    """The two hosts that everything is measured between, and where it runs on them.

    ``congestion_control`` is the default there. ``private`` says that no other network reaches
    their ports.
    """

    name: str
    origin: Host
    target: Host
    origin_cpu: int
    target_cpu: int
    congestion_control: str
    private: bool = False


@dataclass(frozen=True)
class Usage:
    """What all processes of one run used, both ends, from start to end.

    CPU seconds, and context switches: voluntary ones are waits, mostly for the other end.
    """

    user_s: float
    system_s: float
    voluntary_switches: int
    involuntary_switches: int


@dataclass
class UsageMeter:
    """Filled at the end of the block of measured_usage()."""

    usage: Usage | None = None


@contextlib.contextmanager
def measured_usage() -> Iterator[UsageMeter]:
    """What child processes that were started and ended in the block have used."""
    meter = UsageMeter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield meter
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    meter.usage = Usage(
        after.ru_utime - before.ru_utime,
        after.ru_stime - before.ru_stime,
        after.ru_nvcsw - before.ru_nvcsw,
        after.ru_nivcsw - before.ru_nivcsw,
    )


@dataclass(frozen=True)
class Tool:
    """How one peer is run.

    ``port`` is the one that the server opens first, of UDP where ``datagrams``. ``ends_by`` is the
    signal that ends the server; None where it ends by itself after one client.
    """

    server: Sequence[str]
    client: Sequence[str]
    port: int
    datagrams: bool = False
    ends_by: signal.Signals | None = None

    @property
    def command(self) -> str:
        """The client's, as a person would type it."""
        return " ".join(self.client)


@dataclass(frozen=True)
class Written:
    """What a client wrote, to standard output and (its last 16 KiB) to standard error.

    server_output is the server's standard output.
    """

    output: str
    errors: str
    server_output: str = ""


def run_tool(route: Route, tool: Tool, timeout_s: float) -> Written:
    """Runs server and client, pinned as the route says; what they wrote.

    Raises HostError, with both ended, where one fails or the client has not ended in timeout_s.
    """
    with contextlib.ExitStack() as stack:
        server = _start(stack, route.target, route.target_cpu, tool.server)
        _wait_ready(server, tool)
        client = _start(stack, route.origin, route.origin_cpu, tool.client)
        if client.process.wait(timeout_s) is None:
            raise HostError(f"{tool.client[0]} had not ended after {timeout_s:g} s")
        written = client.written()
        if client.process.poll() != 0:
            raise HostError(f"{tool.client[0]} {client.process.ending(ENDING_TIMEOUT_S)}")
        if tool.ends_by is not None:
            _signal(server.process, tool.ends_by)
        if server.process.wait(ENDING_TIMEOUT_S) is not None:
            written = replace(written, server_output=server.written().output)
    return written


def free_port(*, datagrams: bool) -> int:
    """A port that nothing uses here just now."""
    kind = socket.SOCK_DGRAM if datagrams else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def missing_peer(name: str, route: Route) -> str | None:
    """Why a peer cannot be run there, or None."""
    missing = missing_program(name)
    if missing is not None:
        return missing
    if shutil.which("taskset") is None:
        return "taskset is not installed (package util-linux)"
    if PEERS[name].listens_everywhere and not route.private:
        return (
            f"{name} listens on every network of the machine, and no network namespace of the "
            "bench's own can be had here"
        )
    return None


def look_also_in(folders: Sequence[Path]) -> None:
    """Programs of peers are looked for there first: those that no package has, and newer ones."""
    found = [str(folder.resolve()) for folder in folders]
    os.environ["PATH"] = os.pathsep.join([*found, os.environ.get("PATH", os.defpath)])


def offers(program: str, option: str) -> bool:
    """Whether a program's --help names an option."""
    try:
        done = ended([program, "--help"], VERSION_TIMEOUT_S)
    except HostError:
        return False
    return option in done.stdout + done.stderr


def missing_program(name: str) -> str | None:
    """Which program of a peer is not there and where it would come from, or None."""
    peer = PEERS[name]
    for program in peer.programs:
        if shutil.which(program) is None:
            return f"{program} is not installed ({peer.source})"
    return None


def version(name: str) -> str:
    """The peer's version in its own words, or its package's where it has none."""
    argv = PEERS[name].version
    if not argv:
        return UNKNOWN
    try:
        done = ended(argv, VERSION_TIMEOUT_S)
    except HostError:
        return UNKNOWN
    lines = done.stdout.strip().splitlines()
    return printable(lines[0]) if lines else UNKNOWN


class _Running:
    """A started process whose output is gathered, bounded, while it runs."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read_all, daemon=True)
        self._reader.start()

    def written(self) -> Written:
        """What it wrote. Call it when it has ended."""
        self._reader.join(ENDING_TIMEOUT_S)
        self.process.ending(ENDING_TIMEOUT_S)  # waits for the last words on standard error
        output = bytes(self._output).decode(errors="replace")
        return Written(output, self.process.stderr_text())

    def close(self) -> None:
        self.process.stop()
        self._reader.join()
        self.process.release()

    def _read_all(self) -> None:
        while content := self.process.read():
            if len(self._output) < OUTPUT_LIMIT_BYTES:
                self._output += content


def _start(stack: contextlib.ExitStack, host: Host, cpu: int, argv: Sequence[str]) -> _Running:
    running = _Running(host.start(["taskset", "-c", str(cpu), *argv]))
    stack.callback(running.close)
    return running


def _signal(process: ChildProcess, number: signal.Signals) -> None:
    """To the tool itself: in a lab a process of ours stands outside and waits for it."""
    inside = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with contextlib.suppress(OSError, ValueError):
        pids = [int(pid) for pid in inside.read_text().split()] or [process.pid]
        for pid in pids:
            os.kill(pid, number)


_LISTENING = {False: ("tcp", "tcp6", "0A"), True: ("udp", "udp6", "07")}


def _wait_ready(server: _Running, tool: Tool) -> None:
    """Waits until the server's port is open, without connecting: NPtcp takes one client only."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while not _port_is_open(server.process.pid, tool.port, datagrams=tool.datagrams):
        if server.process.poll() is not None:
            raise HostError(f"{tool.server[0]} {server.process.ending(ENDING_TIMEOUT_S)}")
        if time.monotonic() > deadline:
            raise HostError(f"{tool.server[0]} did not open its port in {READY_TIMEOUT_S:g} s")
        time.sleep(0.01)


def _port_is_open(pid: int, port: int, *, datagrams: bool) -> bool:
    """Whether somebody listens on the port in the network namespace of process pid."""
    *tables, state = _LISTENING[datagrams]
    for table in tables:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == state and int(fields[1].rpartition(":")[2], 16) == port:
                    return True
    return False
