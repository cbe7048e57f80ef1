"""What this machine can emulate: clusters that are filled until the switch cannot keep time."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.lab import processors
from netsonde.lab.cluster import lab_up
from netsonde.lab.load import make_load
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of
from netsonde.units import format_rate

FULL_FRAME_BITS = 1538 * 8  # with everything that a line adds
LINE_SHARE = 0.97
SENT_SHARE = 0.99  # of what was asked; less means that the senders had no time
# Each host of a cluster sends to the next one, all at once, both ways of every link full.
# The last one is what `lab up` makes where nothing else is said.
CLUSTERS = (
    *((2, 10**8), (4, 10**8), (8, 10**8), (16, 10**8), (32, 10**8)),
    *((2, 10**9), (4, 10**9)),
)
SETTLE_S = 0.3
FILE_LIMIT_BYTES = 65536


@dataclass(frozen=True)
class Filled:
    """One cluster, filled: frames of 1514 bytes at 97 % of every line.

    received_by: ``switch`` or ``threads``, as it was had.
    cpu_per_frame_ns is the switch thread's; kernel_per_frame_ns of it is spent in the reads and
    writes of frames. source_per_frame_ns is the sending thread's, with the sending hosts' part of
    the kernel. machine_per_frame_ns is what all CPUs used meanwhile: these two, what the
    kernel does elsewhere for the receiving hosts, interrupts, and whatever else ran.
    ``kept_up``: nothing lost, everything sent, and the switch's own verdict on its lateness.
    """

    hosts: int
    rate_bit_per_s: int
    received_by: str
    asked_frames_per_s: float
    sent_frames_per_s: float
    delivered_frames: int
    lost_frames: int
    late_p99_ns: int
    late_share: float
    cpu_per_frame_ns: float
    kernel_per_frame_ns: float
    source_per_frame_ns: float
    machine_per_frame_ns: float
    cpu_share: float
    kept_up: bool


def measure_capacity(seconds: float, priority: int, tell: Callable[[Filled], None]) -> list[Filled]:
    """Fills each of CLUSTERS for so long; tell hears of each. Raises HostError."""
    found = []
    for hosts, rate in CLUSTERS:
        found.append(fill(hosts, rate, seconds, priority))
        tell(found[-1])
    return found


def fill(
    hosts: int, rate_bit_per_s: int, seconds: float, priority: int = 0, receive: str = "switch"
) -> Filled:
    """A ring of hosts, filled. priority: of SCHED_FIFO for the switch; needs root. receive: as in
    a scenario's pace.

    The switch has a CPU of its own where there are two: a real-time switch would else starve
    the traffic's source whenever the kernel put both on one.
    """
    *others, own = sorted(os.sched_getaffinity(0))
    place = {"cpu": own} if others else {}
    cpu = others[0] if others else None
    scenario = scenario_of(
        {
            "name": "capacity",
            "hosts": hosts,
            "links": "switch",
            "link": {"rate": rate_bit_per_s},
            "switch": [{"name": "s1", "buffer": "256 packets"}],
            "pace": {
                "priority": priority,
                "receive": receive,
                "beyond_capacity": True,
                **place,
            },
        }
    )
    per_host = int(LINE_SHARE * rate_bit_per_s / FULL_FRAME_BITS)
    pairs = [(number, number % hosts + 1) for number in range(1, hosts + 1)]
    with lab_up(lab_spec(scenario)) as lab:
        make_load(lab, pairs, frames=1)  # every station is heard once
        before = switch_stats(lab, forget=True)
        machine = processors.look()
        load = make_load(lab, pairs, frames_per_s=per_host, seconds=seconds, cpu=cpu)
        machine_ns = processors.used_ns(machine, processors.look())
        time.sleep(SETTLE_S)
        after = switch_stats(lab)
    frames = _delivered(after) - _delivered(before)
    cpu_ns, kernel_ns = (after["loop"][n] - before["loop"][n] for n in ("cpu_ns", "kernel_ns"))
    asked = per_host * hosts
    sent = sum(load.sent)
    in_time = sent / load.elapsed_s >= SENT_SHARE * asked
    return Filled(
        hosts=hosts,
        rate_bit_per_s=rate_bit_per_s,
        received_by=after["receive"]["by"],
        asked_frames_per_s=asked,
        sent_frames_per_s=sent / load.elapsed_s,
        delivered_frames=frames,
        lost_frames=sent - frames,
        late_p99_ns=after["lateness"]["p99_ns"],
        late_share=after["honest"]["late_share"],
        cpu_per_frame_ns=cpu_ns / frames if frames else 0.0,
        kernel_per_frame_ns=kernel_ns / frames if frames else 0.0,
        source_per_frame_ns=load.cpu_ns / sent if sent else 0.0,
        machine_per_frame_ns=machine_ns / frames if frames else 0.0,
        cpu_share=cpu_ns / (load.elapsed_s * 1e9),
        kept_up=in_time and sent == frames and after["honest"]["valid"],
    )


def _delivered(stats: Mapping[str, Any]) -> int:
    return sum(int(link["down"]["arrived"]) for link in stats["links"])


def note_capacity(found: list[Filled]) -> Path | None:
    """Keeps the most frames a second that were kept up with; the file. Where none was, something
    else ran: nothing is kept, and None returned. Raises HostError."""
    most = max((f.asked_frames_per_s for f in found if f.kept_up), default=0.0)
    if not most:
        return None
    path = _file()
    content = {
        "cpus": os.cpu_count(),
        "unix_s": time.time(),
        "frames_per_s": most,
        "clusters": [asdict(f) for f in found],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1))
    except OSError as error:
        raise HostError(f"cannot note the capacity in {path}: {error.strerror}") from error
    return path


def known_capacity() -> float | None:
    """Frames a second, where it was measured on a machine with as many CPUs as this."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        with _file().open() as file:
            content = json.loads(file.read(FILE_LIMIT_BYTES))
        if content["cpus"] == os.cpu_count():
            return float(content["frames_per_s"])
    return None


def require_capacity(fabric: Mapping[str, Any] | None) -> None:
    """Raises UsageError where all hosts sending at once would be more than this machine can do."""
    most = known_capacity()
    if fabric is None or most is None or fabric["beyond_capacity"]:
        return
    topology = fabric["topology"]
    rates = [link["up"]["rate_bit_per_s"] for link in topology["links"][: len(topology["hosts"])]]
    asked = sum(rates) / FULL_FRAME_BITS
    if asked > 1.05 * most:
        raise UsageError(
            f"{len(rates)} hosts with {format_rate(sum(rates))} in all can send {asked:.0f} full "
            f"frames a second; this machine emulates {most:.0f} (netsonde lab capacity). Lower the "
            "rates, or set pace.beyond_capacity = true where they will not all send at once"
        )


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path("~/.cache").expanduser()) / "netsonde/capacity.json"
