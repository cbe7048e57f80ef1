"""Every option of sockets that a study has, with a value that is not the usual one."""

from __future__ import annotations

import itertools
from typing import Any

from pydantic import ValidationError

from netsonde.catalogue.options.sockets import options_of
from netsonde.study.options_table import OptionsTable

UNUSUAL: dict[str, Any] = {
    "buffer": 40_000,
    "receive_buffer": 50_000,
    "target_buffer": 60_000,
    "no_delay": False,
    "congestion_control": "reno",
    "max_segment": 600,
    "cork": True,
    "not_sent_low": 20_000,
    "window_clamp": 20_000,
    "traffic_class": 0x88,
    "busy_poll_us": 50,
    "multipath": True,
    "pacing": 50_000_000,
    "sending": "sendfile",
    "datagrams_per_call": 4,
    "segment_offload": True,
    "asks_before_sleep": 0,
    "kernel_times": True,
    "kernel_trace": True,
    "authenticated": True,
    "wait": "ready",
    "placement": "apart",
    "origin_cpu": 0,
    "target_cpu": 1,
}
WAYS = ("source_address", "interface")
"""They say which way is taken, by the control connection too: another path, not another setting of
one. Both have tests of their own."""
NEEDS = {"segment_offload": {"datagrams_per_call": 4}}
OTHERS = {"wait": ["spin"], "sending": ["zerocopy", "uring"]}
"""Further values of an option with several ways."""
UNMEASURED = {"kernel_times", "datagrams_per_call"}
"""Together nothing is measured: stamps are of round trips, and datagrams by the dozen have none."""
KEPT_APART: tuple[tuple[str, Any], ...] = (
    ("kernel_times", True),
    ("multipath", True),
    ("datagrams_per_call", 4),
    ("segment_offload", True),
    ("wait", "spin"),
)
"""With these something cannot be measured or takes long: not where they need not be."""


ABOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "buffer": (("throughput", "packets"), "the window is smaller than the path's product"),
    "receive_buffer": (("throughput", "packets"), "as buffer"),
    "target_buffer": (("throughput", "packets"), "as buffer"),
    "no_delay": (("round trip",), "Nagle's algorithm waits for acknowledgements"),
    "congestion_control": (("throughput", "packets"), "how the window grows and is paced"),
    "max_segment": (("throughput", "packets"), "more packets, each with headers"),
    "cork": (("round trip", "packets"), "two more system calls a message; full segments"),
    "not_sent_low": (("throughput", "packets"), "less is queued in the socket"),
    "window_clamp": (("throughput", "packets"), "the sender has less under way"),
    "traffic_class": ((), ""),
    "busy_poll_us": (("round trip",), "the waiting call asks the device"),
    "multipath": (("throughput", "round trip", "packets"), "another protocol"),
    "pacing": (("throughput", "round trip", "packets"), "the kernel sends no faster"),
    "sending": (("throughput", "round trip", "packets"), "other system calls"),
    "datagrams_per_call": (("throughput",), "fewer system calls"),
    "segment_offload": (("throughput", "packets"), "datagrams leave in bundles"),
    "asks_before_sleep": (("throughput",), "other system calls; the receiver sleeps sooner"),
    "kernel_times": (("round trip",), "the kernel stamps, and is asked for the stamps"),
    "kernel_trace": (
        ("throughput", "round trip", "synchronisation"),
        "programs in the kernel run at each event, whosever it is",
    ),
    "authenticated": (
        ("throughput", "round trip", "synchronisation", "packets"),
        "a tag of each datagram and each control frame is made and looked at",
    ),
    "wait": (
        ("throughput", "round trip", "synchronisation"),
        "other system calls; spinning takes a CPU, and keeps it awake",
    ),
    "placement": (("throughput", "round trip", "synchronisation"), "which CPUs ends run on"),
    "origin_cpu": (("throughput", "round trip", "synchronisation"), "as placement"),
    "target_cpu": (("throughput", "round trip", "synchronisation"), "as placement"),
    "source_address": (
        ("throughput", "round trip", "packets"),
        "another address may have another route and another card",
    ),
    "interface": (("throughput", "round trip", "packets"), "another card"),
}
"""Of each option, what it may change and why; it leaves everything else as it is."""


def about(options: dict[str, Any]) -> set[str]:
    """What options together may change."""
    return {what for name in options for what in ABOUT[name][0]}


def places(options: dict[str, Any]) -> dict[str, Any]:
    """Where the ends are with and without these options: on one CPU; on two where they spin;
    where the options say, if they do."""
    if options.keys() & {"placement", "origin_cpu", "target_cpu"}:
        return {}
    return {"origin_cpu": 0, "target_cpu": 1 if options.get("wait") == "spin" else 0}


def settings() -> list[dict[str, Any]]:
    """Each option of tcp or udp alone, in each of its ways, with what it needs."""
    return [
        {**NEEDS.get(name, {}), name: value}
        for name in OptionsTable.model_fields
        if name not in WAYS and transports({name: None})
        for value in [UNUSUAL[name], *OTHERS.get(name, [])]
    ]


def pairs() -> list[dict[str, Any]]:
    """Every two options together, where they may be."""
    both = [a | b for a, b in itertools.combinations(settings(), 2) if not _at_odds(a, b)]
    return [options for options in both if is_possible(options) and transports(options)]


def _at_odds(a: dict[str, Any], b: dict[str, Any]) -> bool:
    is_contrary = any(a[name] != b[name] for name in a.keys() & b.keys())
    return is_contrary or a.items() <= b.items() or a.keys() | b.keys() >= UNMEASURED


def is_possible(options: dict[str, Any]) -> bool:
    try:
        OptionsTable.model_validate(options)
    except ValidationError:
        return False
    return True


def transports(options: dict[str, Any]) -> list[str]:
    """Those of tcp and udp that have all of these options."""
    return [name for name in ("tcp", "udp") if options.keys() <= set(options_of(name))]


def named(options: dict[str, Any]) -> str:
    return "-".join(f"{name}={value}" for name, value in options.items())


def together() -> list[dict[str, Any]]:
    """Few settings of many options each, among which every two that go together are somewhere.

    Greedy: each begins with a pair that is missing and takes what goes along with it, first what
    brings most missing pairs.
    """
    missing = {_key(options) for options in pairs()}
    alone = settings()
    found = []
    for pair in pairs():
        if _key(pair) not in missing:
            continue
        row = pair
        left = [one for one in alone if not set(KEPT_APART) & (one.items() - pair.items())]
        while left:
            left.sort(key=lambda one: len(missing & _pairs_of(row | one)))
            one = left.pop()
            if not _at_odds(row, one) and is_possible(row | one) and transports(row | one):
                row = row | one
        missing -= _pairs_of(row)
        found.append(row)
    return found


def _key(options: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(options.items())


def _pairs_of(options: dict[str, Any]) -> set[frozenset[tuple[str, Any]]]:
    """Those of :func:`pairs` that are within."""
    held = [one for one in settings() if one.items() <= options.items()]
    return {_key(a | b) for a, b in itertools.combinations(held, 2)}
