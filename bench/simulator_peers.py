"""The same many-to-one job simulated by netsonde, by ns-3 and by SimGrid, in turn.

ns-3 plays single packets, as netsonde does. SimGrid has no packets: what is sent is a fluid that
shares links. It can send each packet as a message of its own, one after the other, or all as one
message.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.peers import Route
from bench.simulator import PROGRAM, Spent, one_switch, play, spend
from bench.turns import Beside, beside, in_turn
from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker

NAME = "simulator-peers"
SENDERS = 15
PACKETS = 20_000
"""Of each sender."""
SAME_TIME = 1e-4
"""How far simulated times may lie apart, of the same job: ns-3 and netsonde agree to the
nanosecond, a fluid has no first packet that must cross the switch."""
OURS = "netsonde"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Kind:
    """How a peer is built and called; ``models``: what it plays of the job."""

    source: str
    libraries: Sequence[str]
    package: str
    arguments: Sequence[str]
    models: str


SIMGRID = ("simulator_simgrid.cpp", ("-lsimgrid",), "libsimgrid-dev")
QUIET = "--log=root.thresh:warning"
KINDS: Mapping[str, Kind] = {
    "ns-3": Kind(
        "simulator_ns3.cpp",
        ("-lns3-point-to-point", "-lns3-network", "-lns3-core"),
        "libns3-dev",
        (),
        "packets, no IP",
    ),
    "SimGrid, packets": Kind(*SIMGRID, ("each", QUIET), "a fluid a packet"),
    "SimGrid, messages": Kind(*SIMGRID, ("whole", QUIET), "a fluid a sender"),
}


@dataclass(frozen=True)
class SimulatorPeer:
    """netsonde beside a peer: ns of CPU time for the whole job; ``skipped`` says why there
    are none. ``simulated_ns`` is the job's time as the peer found it."""

    peer: str
    models: str
    beside: Beside | None = None
    simulated_ns: float | None = None
    skipped: str | None = None


def simulator_peers(route: Route, seconds: float, draw: random.Random) -> list[SimulatorPeer]:
    """Every peer that can be built, in turn with netsonde. The route is not used. Raises HostError
    where netsonde's own fails, or a peer plays another job."""
    del route
    ours = str(find_worker(PROGRAM))
    with tempfile.TemporaryDirectory(prefix="netsonde-bench-") as folder:
        missing: dict[str, str] = {}
        ways: dict[str, Callable[[], tuple[float, float]]] = {OURS: partial(_ours, ours)}
        for peer, kind in KINDS.items():
            try:
                program = build(kind, Path(folder))
                ways[peer] = partial(_theirs, program, kind)
            except HostError as error:
                missing[peer] = str(error)
        rounds = in_turn(ways, seconds, draw) if len(ways) > 1 else []
    return [
        SimulatorPeer(peer, kind.models, skipped=missing[peer])
        if peer in missing
        else compared(peer, kind, [(one[OURS], one[peer]) for one in rounds])
        for peer, kind in KINDS.items()
    ]


Run = tuple[float, float]
"""ns of CPU time, and of simulated time."""


def compared(peer: str, kind: Kind, pairs: Sequence[tuple[Run, Run]]) -> SimulatorPeer:
    """Raises HostError where the simulated times differ."""
    (_, ours_ns), (_, theirs_ns) = pairs[0]
    if abs(theirs_ns - ours_ns) > SAME_TIME * ours_ns:
        raise HostError(
            f"{peer} simulated {theirs_ns:.0f} ns and netsonde {ours_ns:.0f} ns: these are not the "
            "same job"
        )
    found = beside(peer, "ns", [ours[0] for ours, _ in pairs], [theirs[0] for _, theirs in pairs])
    return SimulatorPeer(peer, kind.models, found, theirs_ns)


def build(kind: Kind, folder: Path) -> Path:
    """A peer's program. Raises HostError where its library is missing."""
    compiler = shutil.which("c++")
    if compiler is None:
        raise HostError("there is no c++ to compile it")
    program = folder / Path(kind.source).stem
    if not program.exists():
        command = [compiler, "-std=c++17", "-O2", "-o", str(program), str(HERE / kind.source)]
        try:
            spend([*command, *kind.libraries])
        except HostError as error:
            raise HostError(f"it cannot be built (package {kind.package})") from error
    return program


def _ours(program: str) -> Run:
    job = {"kind": "many_to_one", "target": 0, "packets": PACKETS}
    scenario = one_switch(SENDERS + 1, {"architecture": "output"}, job)
    values, spent = play(program, scenario)
    return 1e9 * spent.cpu_s, float(values["elapsed_ns"])


def _theirs(program: Path, kind: Kind) -> Run:
    spent: Spent = spend([str(program), str(SENDERS), str(PACKETS), *kind.arguments])
    words = spent.output.split()
    if not words or not words[0].isdigit():
        raise HostError(f"{program.name} did not say what time it simulated")
    return 1e9 * spent.cpu_s, float(words[0])


def lines(found: Sequence[SimulatorPeer]) -> list[str]:
    """For the terminal: a line for each peer."""
    said = [
        f"{SENDERS} to one, {PACKETS:,} packets each: CPU time of netsonde, peer, ratio",
    ]
    for one in found:
        if one.beside is None:
            said.append(f"{one.peer:<18}skipped: {one.skipped}"[:80])
            continue
        ratio = one.beside.ratio
        interval = "-" if ratio.low is None else f"{ratio.low:.3f}-{ratio.high:.3f}"
        said.append(
            f"{one.peer:<18}{one.beside.first / 1e9:7.3f} s{one.beside.second / 1e9:7.3f} s"
            f"{ratio.ratio:8.3f} {interval:<13} {one.models}"
        )
    pairs = min((one.beside.ratio.n for one in found if one.beside), default=0)
    said.append(f"By {pairs} or more pairs. All of them find the same simulated time.")
    return said
