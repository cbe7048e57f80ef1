"""What a running lab does: its processes, and what its links counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netsonde.lab import links
from netsonde.lab.cluster import Lab

SHOW_QUEUES = ("tc", "-statistics", "-raw", "-json", "qdisc", "show")  # raw: with the limit


def lab_status(lab: Lab) -> dict[str, Any]:
    """The lab as data: what it is, and for each host its addresses, processes and counters.

    ``from_host`` and ``to_host`` are the two directions of a host's link, as the queue in front of
    it counted: sent packets and bytes (of frames), dropped packets, and what waits now.
    """
    counted = _bridge_links(lab) if lab.spec.fabric is None else _switch_links(lab)
    hosts = [
        {
            "name": host.name,
            "addresses": dict(host.addresses),
            "processes": _processes(host.holder),
            **link,
        }
        for host, link in zip(lab.hosts, counted, strict=True)
    ]
    return {
        "name": lab.spec.name,
        "keeper_pid": lab.made["keeper_pid"],
        "path": lab.path_facts(),
        "hosts": hosts,
    }


def _bridge_links(lab: Lab) -> list[dict[str, Any]]:
    ports = _links(lab.in_switch(["ip", "-j", "link", "show"]))
    port_queues = _queues(lab.in_switch(SHOW_QUEUES))
    found = []
    for number, host in enumerate(lab.hosts, 1):
        port = links.port_name(number)
        found.append(
            {
                "link": "up" if "UP" in ports[port]["flags"] else "down",
                "from_host": _queues(lab.in_host(host, SHOW_QUEUES)).get(links.HOST_DEVICE),
                "to_host": port_queues.get(port),
            }
        )
    return found


def _switch_links(lab: Lab) -> list[dict[str, Any]]:
    """As the switch counted: dropped is what a line lost and what its port had no room for."""
    counted = {link["name"]: link for link in lab.ask_switch("stats", {})["links"]}
    assert lab.spec.fabric is not None
    topology = lab.spec.fabric["topology"]
    holding = {plan["name"]: plan["architecture"] for plan in topology["switches"]}
    at_input = {link["name"]: holding[link["upper"]] == "input" for link in topology["links"]}
    found = []
    for host in lab.hosts:
        device = _links(lab.in_host(host, ["ip", "-j", "link", "show"]))[links.HOST_DEVICE]
        link = counted[host.name]
        dropped = link["upper_port"]["dropped"]  # by the port that has the buffer
        before, behind = (dropped, 0) if at_input[host.name] else (0, dropped)
        found.append(
            {
                "link": "up" if "LOWER_UP" in device["flags"] else "down",
                "from_host": _line(link["up"], before),
                "to_host": _line(link["down"], behind),
            }
        )
    return found


def _line(counted: dict[str, int], dropped: int) -> dict[str, int]:
    lost = sum(count for name, count in counted.items() if name.startswith("lost_"))
    return {
        "sent_packets": counted["frames"],
        "sent_bytes": counted["bytes"],
        "dropped_packets": lost + counted["oversize"] + dropped,
        "waiting_packets": 0,
    }


def _links(shown: str) -> dict[str, dict[str, Any]]:
    return {link["ifname"]: link for link in json.loads(shown)}


def _queues(shown: str) -> dict[str, dict[str, Any]]:
    """Counters of the token buckets by device; a device without one is not there."""
    return {
        queue["dev"]: {
            "rate_bit_per_s": queue["options"]["rate"] * 8,
            "limit_bytes": queue["options"]["limit"],
            "burst_bytes": queue["options"]["burst"],
            "sent_packets": queue["packets"],
            "sent_bytes": queue["bytes"],
            "dropped_packets": queue["drops"],
            "waiting_packets": queue["qlen"],
            "waiting_bytes": queue["backlog"],
        }
        for queue in json.loads(shown)
        if queue["kind"] == "tbf"
    }


def _processes(holder: int) -> list[dict[str, Any]]:
    """Processes in a host, without the one that holds it."""
    spaces = _spaces(holder)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == holder:
            continue
        try:
            if _spaces(int(entry.name)) != spaces:
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile, or of another user
            continue
        found.append({"pid": int(entry.name), "command": command.strip()[:200]})
    return sorted(found, key=lambda process: process["pid"])


def _spaces(pid: int) -> tuple[int, ...]:
    """What tells that a process is in a host; who waits outside for one has the network only."""
    return tuple(Path(f"/proc/{pid}/ns/{kind}").stat().st_ino for kind in ("net", "pid"))
