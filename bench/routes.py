"""The paths that are measured: where both ends run, and how long the way is between them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.comparisons import LAB, LOOPBACK, OFFLOADED, VETH
from bench.peers import Route
from netsonde.errors import HostError
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.links import HOST_DEVICE
from netsonde.lab.spec import LabSpec
from netsonde.launch.host import Host
from netsonde.launch.local import LocalHost

LAB_RATE_BIT_PER_S = 10**9
SETTING_TIMEOUT_S = 10.0
_DEFAULT_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"
# The first that may be the default of a namespace; reno always may.
_CONTROLS = ("cubic", "reno")
_HOSTS = {LOOPBACK: 1, VETH: 2, OFFLOADED: 2, LAB: 2}


@contextlib.contextmanager
def open_route(name: str) -> Iterator[tuple[Route, dict[str, object]]]:
    """The path of that name and what it is made of, as long as the block runs.

    Where no lab can be had, loopback is that of the machine. Raises HostError for the others.
    """
    allowed = sorted(os.sched_getaffinity(0))
    cpus = (allowed[0], allowed[1 % len(allowed)])
    with contextlib.ExitStack() as stack:
        try:
            lab = stack.enter_context(_lab(name))
            control = _set_control(lab)
        except HostError as error:
            if name != LOOPBACK:
                raise
            host = LocalHost()
            route = Route(name, host, host, *cpus, _machines_control())
            facts: dict[str, object] = {"kind": "loopback", "namespace": f"the machine's: {error}"}
        else:
            route = Route(name, lab.hosts[0], lab.hosts[-1], *cpus, control, private=True)
            facts = {"kind": "loopback"} if name == LOOPBACK else lab.path_facts()
            if name == OFFLOADED:
                _offload(lab)
        yield route, {**facts, "congestion_control": route.congestion_control}


def _lab(name: str) -> Lab:
    """Hosts of our own: nobody else reaches their ports, and their settings are ours."""
    rate = LAB_RATE_BIT_PER_S if name == LAB else None
    return lab_up(LabSpec(hosts=_HOSTS[name], rate_bit_per_s=rate, name="bench"))


def _offload(lab: Lab) -> None:
    """Packets cross the link many at once, as on an ordinary veth pair. Raises HostError."""
    line = f"from netsonde.lab.offload import switch_bundling_on as on; on({HOST_DEVICE!r})"
    for host in lab.hosts:
        with host.start([sys.executable, "-c", line]) as process:
            if process.wait(SETTING_TIMEOUT_S) != 0:
                raise HostError(f"the offloads of {host.name} cannot be switched on")


def _set_control(lab: Lab) -> str:
    """One congestion control as the default of all hosts: not every peer can choose it."""
    for control in _CONTROLS:
        if all(_succeeds(host, f"echo {control} >{_DEFAULT_CONTROL}") for host in lab.hosts):
            return control
    raise HostError(
        f"neither {' nor '.join(_CONTROLS)} can be the default congestion control in the lab"
    )


def _machines_control() -> str:
    try:
        return Path(_DEFAULT_CONTROL).read_text().strip()
    except OSError:
        return _CONTROLS[0]


def _succeeds(host: Host, line: str) -> bool:
    with host.start(["/bin/sh", "-c", line]) as process:
        return process.wait(SETTING_TIMEOUT_S) == 0
