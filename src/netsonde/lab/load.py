"""UDP traffic between a lab's hosts, made by one native thread: to fill a switch."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.errors import HostError
from netsonde.lab.cluster import Lab
from netsonde.lab.spec import host_name
from netsonde.launch.commands import answer_of
from netsonde.limits import limit_s

PORT = 9  # discard
ENDING_TIMEOUT_S = limit_s("lab-load")


@dataclass(frozen=True)
class Load:
    """Frames that each flow sent, how long that took, and the sending thread's CPU time."""

    sent: list[int]
    elapsed_s: float
    cpu_ns: int


def make_load(
    lab: Lab,
    pairs: Sequence[tuple[int, int]],
    *,
    frames: int = 0,
    frames_per_s: int = 0,
    seconds: float = 30.0,
    payload_bytes: int = 1472,
    cpu: int | None = None,
) -> Load:
    """From host to host, by their numbers: so many frames for each pair, or paced for a time.

    Nobody reads what comes. cpu: the CPU that makes it. Raises HostError.
    """
    holders = lab.made["hosts"]
    request: dict[str, Any] = {
        "port": PORT,
        "payload_bytes": payload_bytes,
        "duration_ns": round(seconds * 1e9),
        "flows": [
            {
                "from": holders[host_name(origin)]["lab_pid"],
                "address": lab.host(host_name(target)).address("ipv4"),
                "frames": frames,
                "frames_per_s": frames_per_s,
            }
            for origin, target in pairs
        ],
        "sinks": [
            holders[host_name(number)]["lab_pid"]
            for number in sorted({target for _, target in pairs})
        ],
    }
    if cpu is not None:
        request["cpu"] = cpu
    try:
        asked = lab.switch_command("load")
        done = answer_of(asked, seconds + ENDING_TIMEOUT_S, json.dumps(request))
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise HostError("the traffic in the lab did not end in its time") from error
    except ValueError as error:
        raise HostError(f"the traffic could not be made: {done.stderr.strip()[:300]}") from error
    if "sent" not in answer:
        raise HostError(f"the traffic could not be made: {answer.get('error')}")
    return Load(answer["sent"], answer["elapsed_ns"] / 1e9, answer["cpu_ns"])
