"""The lab's links as iproute2 commands: pure functions that give them, and one that runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from netsonde.errors import HostError
from netsonde.lab.spec import (
    FRAME_BYTES,
    FRAME_HEADER_BYTES,
    HOST_QUEUE_BYTES,
    IPV4_NETWORK,
    LINE_EXTRA_BYTES,
    MINIMUM_BURST_FRAMES,
    MTU_BYTES,
    LabSpec,
    host_name,
    ipv4_address,
    ipv6_address,
    link_address,
)
from netsonde.launch.commands import answer_of
from netsonde.limits import limit_s

SYSTEM_PATH = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")  # a user's PATH often lacks sbin
BATCH_TIMEOUT_S = limit_s("lab-links")
HOST_DEVICE = "v0"
CARD_DEPTH_NS = 4_000_000  # as long as a process may have to wait for its CPU
TAP_QUEUE_FRAMES = 10_000  # a closed gate keeps a burst in it; a full one drops without a word
BRIDGE = "br0"
LEAST_DEVICE_MTU_BYTES = 1280  # with less it loses its IPv6, and does not get it back quietly


def find_tool(name: str) -> str:
    """Where a tool of the system is. Raises HostError where it is missing."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_PATH))
    found = shutil.which(name, path=path)
    if not found:
        package = "iproute2" if name in ("ip", "tc", "bridge") else "util-linux"
        raise HostError(f"the lab needs the command {name}; install the package {package}")
    return found


def run_batch(tool: str, lines: Sequence[str], enter: Sequence[str] = ()) -> None:
    """Runs commands of ip, tc or bridge in one process, which ``enter`` puts in its place. Raises
    HostError with its words."""
    if not lines:
        return
    try:
        argv = [*enter, find_tool(tool), "-batch", "-"]
        done = answer_of(argv, BATCH_TIMEOUT_S, "\n".join(lines) + "\n")
    except subprocess.TimeoutExpired as error:
        raise HostError(f"{tool} did not make the lab's links in {BATCH_TIMEOUT_S} s") from error
    if done.returncode != 0:
        words = [line for line in done.stderr.splitlines() if not line.startswith("Command failed")]
        raise HostError(f"the lab's links could not be made: {tool} says {' '.join(words)!r}")


def port_name(number: int) -> str:
    return f"p{number}"


def switch_links(holders: Mapping[int, int]) -> list[str]:
    """For ip in the switch's namespace. holders: host number to a process in its namespace."""
    lines = [
        f"link add name {BRIDGE} type bridge stp_state 0 mcast_snooping 0",
        f"link set {BRIDGE} addrgenmode none",
        f"link set {BRIDGE} up",
    ]
    for number, pid in holders.items():
        port = port_name(number)
        lines += [
            f"link add {port} type veth peer name {HOST_DEVICE} "
            f"address {link_address(number)} netns {pid}",
            f"link set {port} addrgenmode none",
            f"link set {port} master {BRIDGE}",
            # Who is where is known, so the switch neither learns nor floods: a frame moves the
            # counters of its sender and its receiver and nobody else's.
            f"link set {port} type bridge_slave learning off flood off",
            f"link set {port} up",
        ]
    return lines


def switch_stations(numbers: Sequence[int]) -> list[str]:
    """For bridge: which host is behind which port."""
    return [
        f"fdb add {link_address(number)} dev {port_name(number)} master static"
        for number in numbers
    ]


def switch_buckets(spec: LabSpec) -> list[str]:
    """For tc in the switch's namespace: the way towards each host."""
    return [line for number in range(1, spec.hosts + 1) for line in _port_bucket(spec, number)]


def _port_bucket(spec: LabSpec, number: int, mtu_bytes: int | None = None) -> list[str]:
    return _bucket(
        spec, port_name(number), _depth(spec.port_bucket_bytes, mtu_bytes), spec.buffer_bytes
    )


def host_buckets(spec: LabSpec, number: int, mtu_bytes: int | None = None) -> list[str]:
    """For tc in a host's namespace: the way from it. mtu_bytes where a bridge's link is to have
    another MTU than its own."""
    if spec.fabric is None:
        depth_bytes = _depth(spec.bucket_bytes, mtu_bytes)
        return _bucket(spec, HOST_DEVICE, depth_bytes, spec.host_queue_bytes)
    rate_bit_per_s = _host_link(spec, number)["up"]["rate_bit_per_s"]
    return [card_bucket(rate_bit_per_s, own_mtu(spec, number))]


def card_bucket(rate_bit_per_s: int, mtu_bytes: int = MTU_BYTES) -> str:
    """For tc: makes a TAP device slow its senders as a card does, which by itself it does not.

    The bucket has the line's own rate and counts what the line does, so nothing piles up behind
    it; its depth keeps the line busy where its timer is late. The switch alone keeps time.
    """
    least_bytes = 4 * FRAME_BYTES if mtu_bytes <= MTU_BYTES else 2 * frame_bytes(mtu_bytes)
    depth_bytes = max(rate_bit_per_s * CARD_DEPTH_NS // (8 * 10**9), least_bytes)
    return (
        f"qdisc replace dev {HOST_DEVICE} root tbf rate {rate_bit_per_s}bit "
        f"burst {depth_bytes}b limit {HOST_QUEUE_BYTES}b overhead {LINE_EXTRA_BYTES}"
    )


def frame_bytes(mtu_bytes: int) -> int:
    """What Linux counts for the longest packet."""
    return mtu_bytes + FRAME_HEADER_BYTES


def _depth(usual_bytes: int, mtu_bytes: int | None) -> int:
    """A bucket lets nothing pass that is larger than it is deep."""
    if mtu_bytes is None:
        return usual_bytes
    return max(usual_bytes, MINIMUM_BURST_FRAMES * frame_bytes(mtu_bytes))


def host_mtu(spec: LabSpec, number: int, mtu_bytes: int | None) -> list[str]:
    """For ip in a host's namespace: another MTU, or its own with None.

    Below what IPv6 asks of a device the route to the other hosts has it.
    """
    mtu_bytes = mtu_bytes or own_mtu(spec, number)
    address = ipv4_address(number)
    route = f"route replace {IPV4_NETWORK} dev {HOST_DEVICE} proto kernel scope link src {address}"
    narrow = f" mtu {mtu_bytes}" if mtu_bytes < LEAST_DEVICE_MTU_BYTES else ""
    device_bytes = max(mtu_bytes, LEAST_DEVICE_MTU_BYTES)
    return [f"link set {HOST_DEVICE} mtu {device_bytes}", route + narrow]


def port_mtu(
    spec: LabSpec, numbers: Sequence[int], mtu_bytes: int | None
) -> tuple[list[str], list[str]]:
    """For (ip, tc) in the switch's namespace: the other ends of the links of these hosts."""
    device_bytes = max(mtu_bytes or MTU_BYTES, LEAST_DEVICE_MTU_BYTES)
    ip = [f"link set {port_name(number)} mtu {device_bytes}" for number in numbers]
    return ip, [line for number in numbers for line in _port_bucket(spec, number, mtu_bytes)]


def host_links(spec: LabSpec, number: int, *, ipv6: bool) -> list[str]:
    """For ip in a host's namespace.

    Every neighbour is known for good and the device asks for none, so that nothing but what a
    test sends crosses the link; unless the scenario wants ARP and neighbour discovery.
    """
    asks = spec.fabric is not None and bool(spec.fabric.get("arp"))
    lines = [
        "link set lo up",
        f"link set {HOST_DEVICE} arp {'on' if asks else 'off'} addrgenmode none",
        f"address add {ipv4_address(number)}/24 dev {HOST_DEVICE}",
    ]
    if spec.fabric is not None:
        card = f"address {link_address(number)} mtu {own_mtu(spec, number)}"
        lines.insert(2, f"link set {HOST_DEVICE} {card} txqueuelen {TAP_QUEUE_FRAMES}")
    if ipv6:
        lines.append(f"address add {ipv6_address(number)}/64 dev {HOST_DEVICE} nodad")
    lines.append(f"link set {HOST_DEVICE} up")
    others = [] if asks else [n for n in range(1, spec.hosts + 1) if n != number]
    for other in others:
        for address in [ipv4_address(other)] + [ipv6_address(other)] * ipv6:
            lines.append(
                f"neighbour replace {address} lladdr {link_address(other)} "
                f"dev {HOST_DEVICE} nud permanent"
            )
    return lines


def own_mtu(spec: LabSpec, number: int) -> int:
    """The MTU that the lab gave a host: through the switch the larger of the link's two directions;
    the switch drops what one cannot take."""
    if spec.fabric is None:
        return MTU_BYTES
    link = _host_link(spec, number)
    return max(mtu_of_line(link[way]) for way in ("up", "down"))


def mtu_of_line(line: Mapping[str, Any]) -> int:
    """The longest packet that one direction of a switch's link takes."""
    return int(line.get("mtu_bytes", MTU_BYTES))


def _host_link(spec: LabSpec, number: int) -> dict[str, Any]:
    assert spec.fabric is not None
    name = host_name(number)
    entries: list[dict[str, Any]] = spec.fabric["topology"]["links"]
    return next(entry for entry in entries if entry["lower"] == name)


def hosts_file(hosts: int, *, ipv6: bool) -> str:
    """What /etc/hosts holds in every host."""
    lines = ["127.0.0.1 localhost"] + ["::1 localhost"] * ipv6
    for number in range(1, hosts + 1):
        lines.append(f"{ipv4_address(number)} {host_name(number)}")
        lines += [f"{ipv6_address(number)} {host_name(number)}"] * ipv6
    return "\n".join(lines) + "\n"


def _bucket(spec: LabSpec, device: str, depth_bytes: int, limit_bytes: int) -> list[str]:
    if spec.rate_bit_per_s is None:
        return []
    return [
        f"qdisc replace dev {device} root tbf rate {spec.rate_bit_per_s}bit "
        f"burst {depth_bytes}b limit {limit_bytes}b"
    ]
