"""A lab's switches and links as the simulator takes them: the same cluster in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.errors import UsageError

_LINE_KEYS = {"rate_bit_per_s", "delay_ns", "mtu_bytes", "loss_ratio", "burst"}
"""What a simulated line has of an emulated one."""
QUEUED_FRAMES = 10_000
"""What the queue of a lab's device holds."""


def lab_cluster(
    topology: Mapping[str, Any], host: Mapping[str, Any], later_ns: int = 0
) -> dict[str, Any]:
    """Hosts, links and switches of sonde-sim's input for a topology of sonde-switch, all hosts of
    one kind; each link takes ``later_ns`` more. Raises UsageError for what only a lab has."""
    hosts = list(topology["hosts"])
    links = {str(link["lower"]): link for link in topology["links"]}
    link_kinds = {f"link-{lower}": _link(link, later_ns) for lower, link in links.items()}
    switch_kinds = {s["name"]: _switch(s, links.get(s["name"])) for s in topology["switches"]}
    groups = [
        {"switch": links[name]["upper"], "count": 1, "kind": "host", "link": f"link-{name}"}
        for name in hosts
    ]
    return {
        "host_kinds": {"host": {"transmit_ring_packets": QUEUED_FRAMES, **host}},
        "link_kinds": link_kinds,
        "switch_kinds": switch_kinds,
        "switches": _in_order([s["name"] for s in topology["switches"]], links),
        "hosts": groups,
    }


def _in_order(names: list[str], links: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each switch behind the one above it, the only one that is below none first."""
    found: dict[str, dict[str, Any]] = {}
    while len(found) < len(names):
        fits = [n for n in names if n not in found and _above(n, links) in {None, *found}]
        if not fits or sum(_above(n, links) is None for n in (*found, *fits)) != 1:
            raise UsageError("a simulated cluster is a tree of switches, and this one is none")
        for name in fits:
            above = _above(name, links)
            own = {} if above is None else {"parent": above, "link": f"link-{name}"}
            found[name] = {"name": name, "kind": name, **own}
    return list(found.values())


def _above(name: str, links: Mapping[str, Mapping[str, Any]]) -> str | None:
    return str(links[name]["upper"]) if name in links else None


def _link(link: Mapping[str, Any], later_ns: int) -> dict[str, Any]:
    up, down = link["up"], link["down"]
    for line in (up, down):
        more = {key for key, value in line.items() if value} - _LINE_KEYS
        if more:
            raise UsageError(f"link {link['name']}: {min(more)} cannot be simulated, only emulated")
    if any(up.get(key) != down.get(key) for key in ("delay_ns", "loss_ratio", "burst")):
        raise UsageError(f"link {link['name']}: a simulated one has equal delays and losses")
    plan = {
        "rate_bit_per_s": up["rate_bit_per_s"],
        "down_rate_bit_per_s": down["rate_bit_per_s"],
        "propagation_ns": up.get("delay_ns", 0) + later_ns,
    }
    return plan | {key: up[key] for key in ("loss_ratio", "burst") if up.get(key)}


def _switch(switch: Mapping[str, Any], above: Mapping[str, Any] | None) -> dict[str, Any]:
    plan = {
        key.replace("capacity", "buffer"): value for key, value in switch.items() if key != "name"
    }
    for unit in ("packets", "bytes"):
        own = (above or {}).get(f"lower_capacity_{unit}")
        if own is not None:
            plan[f"uplink_buffer_{unit}"] = own
    return plan
