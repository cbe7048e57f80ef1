"""Another MTU for a lab's links, at both ends, and the old one back whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import lab_checks
import pytest

from netsonde.errors import UsageError
from netsonde.lab import Lab, LabSpec, lab_up, start_named
from netsonde.lab.mtu import LinkMtu
from netsonde.lab.registry import take_down

pytestmark = [pytest.mark.lab, pytest.mark.timeout(60)]
TIMEOUT_S = 15
WIDE_BYTES = 9000


def wide_switch() -> LabSpec:
    spec: LabSpec = lab_checks.switch_spec(2, 10**8)
    assert spec.fabric is not None
    for link in spec.fabric["topology"]["links"]:
        link["up"] = link["down"] = {**link["up"], "mtu_bytes": WIDE_BYTES}
    return spec


SPECS: dict[str, tuple[Callable[[], LabSpec], int]] = {
    "bridge": (lambda: LabSpec(hosts=2, rate_bit_per_s=10**8), 1500),
    "switch": (wide_switch, WIDE_BYTES),
}


@pytest.fixture(params=list(SPECS))
def lab(request: pytest.FixtureRequest) -> Iterator[tuple[Lab, int]]:
    """A lab and its own MTU."""
    make, own = SPECS[request.param]
    with lab_up(make()) as lab:
        yield lab, own


def shown(lab: Lab, number: int) -> dict[str, Any]:
    """What a host has: the device's MTU, the route's and its IPv6 addresses."""
    host = lab.hosts[number - 1]
    (device,) = json.loads(lab.in_host(host, ["ip", "-json", "address", "show", "dev", "v0"]))
    (route,) = json.loads(lab.in_host(host, ["ip", "-json", "route", "get", other(lab, number)]))
    metrics = route.get("metrics") or [{}]
    addresses = [entry["local"] for entry in device["addr_info"] if entry["family"] == "inet6"]
    return {"device": device["mtu"], "route": metrics[0].get("mtu"), "ipv6": addresses}


def other(lab: Lab, number: int) -> str:
    return lab.hosts[number % 2].address("ipv4")


def segment(lab: Lab) -> int:
    """The segment that a connection between the hosts gets, without time stamps' 12 bytes."""
    program = (
        "import socket,sys\nwith socket.create_server(('', 7300)) as s: s.accept()[0].recv(1)\n"
    )
    asking = (
        "import socket,sys,time\n"
        "for _ in range(200):\n"
        "    try: s = socket.create_connection((sys.argv[1], 7300), 5); break\n"
        "    except ConnectionRefusedError: time.sleep(0.02)\n"
        "print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))\n"
    )
    first, second = lab.hosts
    with subprocess.Popen(second.command([sys.executable, "-c", program])) as server:
        found = lab_checks.run_in(first, sys.executable, "-c", asking, second.address("ipv4"))
        assert server.wait(TIMEOUT_S) == 0
    return int(found)


def test_both_ends_have_it_and_get_their_own_back(lab: tuple[Lab, int]) -> None:
    lab_, own = lab
    before = [shown(lab_, number) for number in (1, 2)]
    assert before[0]["device"] == own
    with LinkMtu(lab_, ["h1", "h2"]) as links:
        for mtu in (576, WIDE_BYTES, 1280, 1500):
            links.set(mtu)
            for number in (1, 2):
                found = shown(lab_, number)
                assert (found["route"] or found["device"]) == mtu
                assert found["ipv6"] == before[number - 1]["ipv6"]
            assert segment(lab_) == mtu - 52
        links.set(576)
    assert [shown(lab_, number) for number in (1, 2)] == before
    assert segment(lab_) == own - 52


def fail_with(lab: Lab, mtu_bytes: int) -> None:
    with LinkMtu(lab, ["h1", "h2"]) as links:
        links.set(mtu_bytes)
        raise ZeroDivisionError


def test_an_error_puts_back_too(lab: tuple[Lab, int]) -> None:
    lab_, own = lab
    with pytest.raises(ZeroDivisionError):
        fail_with(lab_, 576)
    assert shown(lab_, 1)["device"] == own
    assert shown(lab_, 1)["route"] is None


def test_what_a_lab_cannot_have_is_refused() -> None:
    words = r"more than the lab's links take, 1500.*\[link\]"
    with (
        lab_up(lab_checks.switch_spec(2, 10**8)) as plain,
        pytest.raises(UsageError, match=words),
    ):
        LinkMtu(plain, ["h1", "h2"]).check(1501)
    small = LabSpec(hosts=2, buffer_bytes=8000)
    with lab_up(small) as lab_, pytest.raises(UsageError, match="does not fit the lab's buffer"):
        LinkMtu(lab_, ["h1"]).check(WIDE_BYTES)


OWNER = """
import time
from netsonde.lab import find_lab
from netsonde.lab.mtu import LinkMtu
with LinkMtu(find_lab("kept"), ["h1", "h2"]) as links:
    links.set(576)
    print("set", flush=True)
    time.sleep(1000)
"""


def test_a_kill_puts_back_too() -> None:
    """Nothing of the killed process runs any more, and the lab is somebody else's."""
    lab_ = start_named(LabSpec(hosts=2, rate_bit_per_s=10**8, name="kept"))
    try:
        with subprocess.Popen(
            [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "set\n"
            assert shown(lab_, 1)["route"] == 576
            os.kill(owner.pid, signal.SIGKILL)
        deadline = time.monotonic() + TIMEOUT_S
        while any(shown(lab_, n)["route"] or shown(lab_, n)["device"] != 1500 for n in (1, 2)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert segment(lab_) == 1448
    finally:
        take_down(lab_)
