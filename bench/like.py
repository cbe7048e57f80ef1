"""Whether ``--like TOOL`` finds what the tool finds: both in turn, on the same CPUs and way, by the
figure that the tool is quoted by."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.commands import said
from bench.mpi_netpipe import PINNED
from bench.peers import Route
from bench.turns import Beside, beside, in_turn, line
from netsonde.catalogue.within import MEMORY
from netsonde.errors import HostError
from netsonde.launch.host import printable
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import default_environment, environment_of, launcher_arguments
from netsonde.peers.iperf3 import parse_iperf3
from netsonde.peers.output import UnreadableOutputError
from netsonde.peers.sockperf import parse_sockperf

NAME = "like"
WITHIN = (0.95, 1.05)
MESSAGE_BYTES = 64
LARGE_BYTES = 65536
STREAM_BYTES = 131072
SECONDS = 1
TIMEOUT_S = 90
PORT = "{port}"
"""In a tool's words, for one that is free when it starts."""
SERVER_LOOKS, SERVER_LOOK_S = 10, 0.2
"""A tool's server says nowhere that it listens: its client looks so often, so far apart."""
MPIS = ("mpich-debian", "openmpi-debian", "mpich")
"""Tools of MPI are built for one of them; --peer-path leads to those of the first that has any."""


@dataclass(frozen=True)
class Alike:
    """One tool and netsonde as it, or why there is none."""

    title: str
    tool: str
    beside: Beside | None = None
    missing: str = ""


@dataclass(frozen=True)
class Socket:
    """A tool over sockets: netsonde's command, its figure, the tool's two ends, what it printed."""

    tool: str
    words: Sequence[str]
    figure: str
    server: Sequence[str]
    client: Sequence[str]
    read: Callable[[str], float]
    unit: str


@dataclass(frozen=True)
class Ranks:
    """A tool of MPI: its program and words, netsonde's test and words, and its figure."""

    tool: str
    program: str
    words: Sequence[str]
    test: str
    size: int
    own: Sequence[str]
    figure: str


def _rate(text: str) -> float:
    return parse_iperf3(text).received_bit_per_s


def _mean_ns(text: str) -> float:
    """Half of it: the form that sockperf is quoted by."""
    return parse_sockperf(text).mean_ns / 2


def sockets() -> list[Socket]:
    """Those that are packaged."""
    address = f"-i 127.0.0.1 -p {PORT}"
    found = [
        Socket(
            "iperf3",
            f"tcp local stream --like iperf3 --time {SECONDS}s".split(),
            "iperf3_receiver_bit_per_s",
            f"iperf3 -s -1 -B 127.0.0.1 -p {PORT} -J".split(),
            f"iperf3 -c 127.0.0.1 -p {PORT} -J -t {SECONDS}".split(),
            _rate,
            "bit_per_s",
        )
    ]
    trips = f"-m {MESSAGE_BYTES} -t {SECONDS} --full-rtt"
    for transport, own in (("udp", ""), ("tcp", " --tcp")):
        found.append(
            Socket(
                "sockperf",
                f"{transport} local latency --like sockperf --sizes {MESSAGE_BYTES}".split(),
                "sockperf_latency_mean_ns",
                f"sockperf server {address}{own}".split(),
                f"sockperf ping-pong {address} {trips}{own}".split(),
                _mean_ns,
                "ns",
            )
        )
    return found


def ranks() -> list[Ranks]:
    """Those that --peer-path may lead to."""
    found = []
    for size in (MESSAGE_BYTES, LARGE_BYTES):
        loops = ["--sizes", str(size)]
        found += [
            Ranks(
                "osu",
                "osu_latency",
                ["-m", f"{size}:{size}"],
                "latency",
                size,
                loops,
                "osu_one_way_mean_ns",
            ),
            Ranks(
                "osu",
                "osu_allreduce",
                ["-m", f"{size}:{size}"],
                "allreduce",
                size,
                loops,
                "osu_completion_mean_ns",
            ),
            Ranks(
                "imb",
                "IMB-MPI1",
                ["PingPong", "-msglen", "{sizes}"],
                "latency",
                size,
                loops,
                "imb_one_way_mean_ns",
            ),
            Ranks(
                "imb",
                "IMB-MPI1",
                ["Allreduce", "-msglen", "{sizes}"],
                "allreduce",
                size,
                loops,
                "imb_rank_mean_ns",
            ),
            Ranks(
                "reprompi",
                "mpibenchmark",
                ["--calls-list=MPI_Allreduce", f"--msizes-list={size}", "--nrep=100"],
                "allreduce",
                size,
                loops,
                "reprompi_median_ns",
            ),
        ]
    return found


def like(route: Route, seconds: float, draw: random.Random) -> list[Alike]:
    """Every tool that is here. The route is not used: both run on the machine's own. HostError."""
    del route
    processors = sorted(os.sched_getaffinity(0))[:2]
    if len(processors) < 2:
        raise HostError("two ends need two CPUs")
    here: list[tuple[str, str, str, dict[str, Callable[[], float]]]] = []
    absent: list[Alike] = []
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        script = Path(folder, "pinned.sh")
        script.write_text(PINNED)
        script.chmod(0o700)
        for one in sockets():
            title = f"{one.tool} {one.words[0]} {one.words[2]}"
            if shutil.which(one.tool) is None:
                absent.append(Alike(title, one.tool, missing=f"{one.tool} is not installed"))
                continue
            pinned = [*one.words, "--cpus", ",".join(map(str, processors))]
            ways: dict[str, Callable[[], float]] = {
                "netsonde": partial(_told, pinned, one.figure, folder),
                "tool": partial(_ends, one, processors),
            }
            here.append((title, one.tool, one.unit, ways))
        for of in ranks():
            title = f"{of.program} {of.words[0] if of.tool == 'imb' else ''} {of.size} B"
            program = shutil.which(of.program)
            if program is None:
                absent.append(Alike(title, of.tool, missing=f"{of.program} is not found"))
                continue
            mpi = _mpi_of(program)
            ways = {
                "netsonde": partial(_told, _as_ranks(of, mpi), of.figure, folder),
                "tool": partial(_job, of, program, mpi, script, processors, folder),
            }
            here.append((title, of.tool, "ns", ways))
        found = []
        for title, tool, unit, ways in here:
            rounds = in_turn(ways, seconds / len(here), draw)
            own = [one["netsonde"] for one in rounds]
            theirs = [one["tool"] for one in rounds]
            found.append(Alike(title, tool, beside(title[:18], unit, own, theirs)))
    return [*found, *absent]


def lines(found: Sequence[Alike]) -> list[str]:
    """For the terminal: a line for each tool, and what the goal is."""
    said = ["as other tools measure: netsonde --like it, the tool itself, and their ratio"]
    said += [line(one.beside, one.beside.lies(*WITHIN)) for one in found if one.beside]
    said += [f"{one.title}: skipped: {one.missing}" for one in found if one.missing]
    low, high = WITHIN
    return [*said, f"Goal: the same number, {low} to {high}."]


def _free_port() -> int:
    from bench.peers import free_port

    return free_port(datagrams=False)


def _told(words: Sequence[str], figure: str, folder: str) -> float:
    """What netsonde tells as the tool. Raises HostError."""
    command = [sys.executable, "-m", "netsonde", *words, "--json", "--out", folder]
    text = said(command, TIMEOUT_S)
    told = json.loads(text[text.index("{") :])["points"][0].get("told", ())
    values = [float(one["value"]) for one in told if one["name"] == figure]
    if not values:
        raise HostError(f"netsonde {' '.join(words)} told no {figure}")
    return values[0]


def _ends(tool: Socket, processors: Sequence[int]) -> float:
    """What the tool prints, both ends pinned. Raises HostError."""
    origin, target = (["taskset", "-c", str(processor)] for processor in processors)
    port = str(_free_port())  # the last one's may be taken for a minute
    server_words, client_words = (
        [word.replace(PORT, port) for word in words] for words in (tool.server, tool.client)
    )
    with subprocess.Popen(
        [*target, *server_words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            return _answered([*origin, *client_words], tool.read)
        finally:
            server.terminate()


def _answered(command: Sequence[str], read: Callable[[str], float]) -> float:
    """The client's, again where its server was not there yet. Raises HostError."""
    last = HostError("never tried")
    for attempt in range(SERVER_LOOKS):
        if attempt:
            time.sleep(SERVER_LOOK_S)
        try:
            return read(said(command, TIMEOUT_S))
        except (HostError, UnreadableOutputError) as error:
            last = HostError(f"{command[3]}: {error}")
    raise last


def _mpi_of(program: str) -> Mpi:
    """The MPI whose library the program has. Raises HostError."""
    libraries = said(["ldd", program], TIMEOUT_S)
    for name in MPIS:
        try:
            mpi = find_mpi(name)
        except HostError:
            continue
        if ("libmpich" in libraries) == ("mpich" in name):
            return mpi
    raise HostError(f"{program} is built for an MPI that is not here")


def _as_ranks(of: Ranks, mpi: Mpi) -> list[str]:
    return [
        "mpi",
        of.test,
        "-n",
        "2",
        "--mpi",
        mpi.name,
        "--pin",
        "all",
        "--like",
        of.tool,
        *of.own,
    ]


def _job(
    of: Ranks, program: str, mpi: Mpi, script: Path, processors: Sequence[int], folder: str
) -> float:
    """What the tool prints of two pinned ranks, ns. Raises HostError."""
    sizes = Path(folder, "sizes")
    sizes.write_text(f"{of.size}\n")
    words = [str(sizes) if word == "{sizes}" else word for word in of.words]
    environment = {**default_environment(mpi, [], 2, MEMORY), **environment_of(mpi)}
    pinned = [str(script), *map(str, processors), program, *words]
    command = [str(mpi.mpiexec), *launcher_arguments(mpi, [], 2), *pinned]
    text = said(command, TIMEOUT_S, environment)
    return _of_table(text, of)


def _of_table(text: str, of: Ranks) -> float:
    """The mean of OSU and IMB in us, ReproMPI's median in s: in the last row of the size."""
    rows = [row.split() for row in text.splitlines() if row and not row.startswith("#")]
    if of.tool == "reprompi":
        kept = [row for row in rows if str(of.size) in row]
        values = sorted(float(row[-1]) for row in kept)
        return 1e9 * values[len(values) // 2] if values else _unread(text)
    kept = [row for row in rows if row and row[0] == str(of.size)]
    if not kept:
        return _unread(text)
    row = kept[-1]
    place = 1 if of.tool == "osu" else (2 if of.test == "latency" else 4)
    return 1e3 * float(row[place])


def _unread(text: str) -> float:
    raise HostError(f"no row of the size was printed: {printable(text.strip()[-200:])}")
