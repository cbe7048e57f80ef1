"""The paths that are measured: where both ends run, and how long the way is between them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from bench.comparisons import LAB, LOOPBACK, VETH
from bench.peers import Route
from bench.settings import CONGESTION_CONTROL
from netsonde.errors import HostError
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.spec import LabSpec
from netsonde.launch.host import Host
from netsonde.launch.local import LocalHost

LAB_RATE_BIT_PER_S = 10**9
SETTING_TIMEOUT_S = 10.0
_DEFAULT_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"
_HOSTS = {LOOPBACK: 1, VETH: 2, LAB: 2}


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
        except HostError as error:
            if name != LOOPBACK:
                raise
            host = LocalHost()
            route = Route(name, host, host, *cpus)
            facts: dict[str, object] = {"kind": "loopback", "namespace": f"the machine's: {error}"}
        else:
            route = Route(name, lab.hosts[0], lab.hosts[-1], *cpus, private=True)
            facts = {**lab.path_facts(), "congestion_control": CONGESTION_CONTROL}
            if name == LOOPBACK:
                facts = {"kind": "loopback", "congestion_control": CONGESTION_CONTROL}
        yield route, facts


@contextlib.contextmanager
def _lab(name: str) -> Iterator[Lab]:
    """Hosts of our own: nobody else reaches their ports, and their settings are ours."""
    rate = LAB_RATE_BIT_PER_S if name == LAB else None
    with lab_up(LabSpec(hosts=_HOSTS[name], rate_bit_per_s=rate, name="bench")) as lab:
        for host in lab.hosts:
            _run(host, ["/bin/sh", "-c", f"echo {CONGESTION_CONTROL} >{_DEFAULT_CONTROL}"])
        yield lab


def _run(host: Host, argv: Sequence[str]) -> None:
    with host.start(argv) as process:
        if process.wait(SETTING_TIMEOUT_S) != 0:
            raise HostError(f"{host.name}: {argv[-1]} {process.ending(SETTING_TIMEOUT_S)}")
