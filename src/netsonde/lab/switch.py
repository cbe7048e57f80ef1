"""The lab's switch process: started, calibrated and asked. Standard library only.

sonde-switch listens for requests in the abstract name space of its own network namespace, which is
that of the lab's init; whoever asks must be in there.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from netsonde.errors import HostError
from netsonde.lab.links import HOST_DEVICE
from netsonde.lab.spec import LabSpec, host_name, ipv4_address
from netsonde.launch.commands import answer_of
from netsonde.limits import limit_s

START_TIMEOUT_S = limit_s("switch-start")
ANSWER_TIMEOUT_S = limit_s("switch-answer")


def start_switch(spec: LabSpec, networks: Sequence[int], *, threaded: bool) -> int:
    """Starts it on a TAP device in each network namespace; its pid once it runs.

    networks: a descriptor of each host's network namespace, in the hosts' order. threaded: the
    devices are such that can receive in threads of their own. Raises HostError.
    """
    assert spec.fabric is not None
    request = {
        "topology": spec.fabric["topology"],
        "loop": spec.fabric["loop"],
        "taps": [
            {"network": network, "device": HOST_DEVICE, "threaded": threaded}
            for network in networks
        ],
    }
    content = os.memfd_create("request")
    os.write(content, json.dumps(request).encode())
    os.lseek(content, 0, os.SEEK_SET)
    answer_end, said_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(content, 0)
            os.dup2(said_end, 1)
            for network in networks:
                os.set_inheritable(network, True)
            os.execv(spec.fabric["program"], ["sonde-switch", "serve"])
        finally:
            os._exit(70)
    os.close(content)
    os.close(said_end)
    try:
        _await_ready(answer_end)
    finally:
        os.close(answer_end)
    return pid


def _await_ready(answer_end: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    said = b""
    while not said.endswith(b"\n"):
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([answer_end], [], [], left_s)[0]:
            raise HostError(f"the lab's switch did not start within {START_TIMEOUT_S:.0f} s")
        piece = os.read(answer_end, 65536)
        if not piece:
            raise HostError("the lab's switch ended as it was started")
        said += piece
    answer = json.loads(said)
    if "ready" not in answer:
        raise HostError(f"the lab's switch cannot be had here: {answer.get('error', 'unknown')}")


def ask(command: Sequence[str], verb: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the switch. command runs ``sonde-switch ask`` where the switch can be reached.

    Raises HostError with the switch's own words where it refuses.
    """
    request = json.dumps({"request": 1, "verb": verb, **fields}) + "\n"
    try:
        done = answer_of(command, ANSWER_TIMEOUT_S, request)
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise HostError(
            f"the lab's switch did not answer within {ANSWER_TIMEOUT_S:.0f} s"
        ) from error
    except ValueError as error:
        words = done.stderr.strip()[:300] or "nothing"
        raise HostError(f"the lab's switch did not answer; it said {words!r}") from error
    if "done" not in answer:
        raise HostError(f"the lab's switch refused: {answer.get('error')}")
    result: dict[str, Any] = answer["done"]
    return result


def calibrate(spec: LabSpec) -> dict[str, Any] | None:
    """Has the switch measure what a pass through it costs; for the lab's init.

    None where it is not wanted, or where there are no two hosts to measure between.
    """
    assert spec.fabric is not None
    if not spec.fabric["calibrate"] or spec.hosts < 2:
        return None
    first, second = _neighbours(spec.fabric["topology"])
    fields = {"from": host_name(first), "to": host_name(second), "address": ipv4_address(second)}
    return ask([spec.fabric["program"], "ask"], "calibrate", fields)


def _neighbours(topology: Mapping[str, Any]) -> tuple[int, int]:
    """Two hosts at one switch, where there are two; by their numbers."""
    seen: dict[str, int] = {}
    for number, link in enumerate(topology["links"][: len(topology["hosts"])], 1):
        if link["upper"] in seen:
            return seen[link["upper"]], number
        seen[link["upper"]] = number
    return 1, 2
