"""The peers' processes: a server and a client, started, waited for and ended."""

from __future__ import annotations

import contextlib
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.host import ChildProcess, Host

OUTPUT_LIMIT_BYTES = 16 << 20
READY_TIMEOUT_S = 5.0
ENDING_TIMEOUT_S = 3.0
VERSION_TIMEOUT_S = 10.0

PACKAGES = {"iperf3": "iperf3", "sockperf": "sockperf", "NPtcp": "netpipe-tcp"}


@dataclass(frozen=True)
class Route:
    """The two hosts that everything is measured between, and where it runs on them."""

    name: str
    origin: Host
    target: Host
    origin_cpu: int
    target_cpu: int


@dataclass(frozen=True)
class Usage:
    """What all processes of one run used, both ends, from start to end.

    Processor seconds, and context switches: voluntary ones are waits, mostly for the other end.
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
    """How one peer is run. ``server_ends`` says that it ends by itself after one client."""

    server: Sequence[str]
    client: Sequence[str]
    port: int
    datagrams: bool
    server_ends: bool


@dataclass(frozen=True)
class Written:
    """What a client wrote, to standard output and (its last 16 KiB) to standard error."""

    output: str
    errors: str


def run_tool(route: Route, tool: Tool, timeout_s: float) -> Written:
    """Runs server and client, pinned as the route says; what the client wrote.

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
        if tool.server_ends:
            server.process.wait(ENDING_TIMEOUT_S)
        else:
            server.process.terminate()
            server.process.wait(ENDING_TIMEOUT_S)
    return written


def free_port(*, datagrams: bool) -> int:
    """A port that nothing uses here just now."""
    kind = socket.SOCK_DGRAM if datagrams else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
        return port


def missing_peer(command: str) -> str | None:
    """Why a peer cannot be run here, or None."""
    for needed, package in ((command, PACKAGES[command]), ("taskset", "util-linux")):
        if shutil.which(needed) is None:
            return f"{needed} is not installed (package {package})"
    return None


def version(command: str) -> str:
    """The peer's version in its own words; NPtcp has none to say, there it is the package's."""
    argv = {
        "iperf3": ["iperf3", "--version"],
        "sockperf": ["sockperf", "--version"],
        "NPtcp": ["dpkg-query", "-W", "-f", "${Version}", PACKAGES["NPtcp"]],
    }[command]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=VERSION_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = done.stdout.strip().splitlines()
    return lines[0] if lines else "unknown"


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


_LISTENING = {False: ("tcp", "tcp6", "0A"), True: ("udp", "udp6", "07")}


def _wait_ready(server: _Running, tool: Tool) -> None:
    """Waits until the server's port is open, without connecting: NPtcp takes one client only."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    # iperf3 opens its UDP port only after the client has come over TCP.
    listens_on_tcp = tool.server[0] == "iperf3" or not tool.datagrams
    while not _port_is_open(server.process.pid, tool.port, datagrams=not listens_on_tcp):
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
