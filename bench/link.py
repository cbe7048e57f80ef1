"""Frames on the link beside UDP: round trips of both in turn, over a cable with nothing between."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bench.comparisons import SMALL_BYTES
from bench.ours import answered, open_session
from bench.peers import Route
from bench.routes import SETTING_TIMEOUT_S
from bench.turns import Beside, beside, in_turn, line
from netsonde.errors import HostError
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.spec import LabSpec
from netsonde.launch.session import Session
from netsonde.records.decode import decode_batch

NAME = "link"
TRIPS = 2000
BATCH_TIMEOUT_S = 30
GOAL = 0.5
"""Of UDP's round trip, where both spin."""
CABLES = {
    "link": ("c0", ("10.78.0.1", "10.78.0.2")),
    "udp": ("c1", ("10.79.0.1", "10.79.0.2")),
}
"""Of each: the device at both ends, and their addresses."""
WAYS: Mapping[str, Mapping[str, object]] = {
    f"{driver}, {wait}": {"driver": driver, "wait": wait}
    for wait in ("spin", "block")
    for driver in ("packet", "ring", "xdp")
}


def link(_: Route, seconds: float, draw: random.Random) -> list[Beside]:
    """Batches over the link and over UDP, both waiting alike, in turn, each over a cable of its
    own: an eBPF program of the one would see the other's frames. The route of one host is not
    used. Raises HostError where no lab can be had."""
    with _cables() as cables:
        share = seconds / len(WAYS)
        return [_one(cables, title, options, share, draw) for title, options in WAYS.items()]


def _one(
    cables: Mapping[str, Route],
    title: str,
    options: Mapping[str, object],
    seconds: float,
    draw: random.Random,
) -> Beside:
    asked = {"link": options, "udp": {"wait": options["wait"]}}
    with contextlib.ExitStack() as stack:
        ways = {
            name: partial(
                _median_ns, stack.enter_context(open_session(cables[name], name, asked[name]))
            )
            for name in asked
        }
        rounds = in_turn(ways, seconds, draw)
    ours, theirs = ([one[name] for one in rounds] for name in asked)
    return beside(title, "ns", ours, theirs)


def _median_ns(session: Session) -> float:
    asked = {"test": "latency", "message_bytes": SMALL_BYTES, "count": TRIPS}
    return float(np.median(answered(decode_batch(0, session.run(asked, BATCH_TIMEOUT_S)))))


@contextlib.contextmanager
def _cables() -> Iterator[dict[str, Route]]:
    """Two hosts of a lab, as each is seen over two veth pairs of their own beside its switch."""
    allowed = sorted(os.sched_getaffinity(0))
    cpus = (allowed[0], allowed[1 % len(allowed)])
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=None, name="bench-link")) as lab:
        origin, target = lab.hosts
        there = dict(word.split("=") for word in origin.neighbours.split())[target.name]
        cables = {}
        for name, (device, addresses) in CABLES.items():
            _run(lab, 0, f"link add {device} type veth peer name {device} netns {there}")
            for number, address in enumerate(addresses):
                _run(lab, number, f"addr add {address}/24 dev {device}")
                _run(lab, number, f"link set {device} up")
            first, second = (
                replace(host, addresses={"ipv4": address})
                for host, address in zip((origin, target), addresses, strict=True)
            )
            cables[name] = Route(f"cable {device}", first, second, *cpus, "", private=True)
        yield cables


def _run(lab: Lab, number: int, words: str) -> None:
    command = lab.hosts[number].command(["ip", *words.split()])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SETTING_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise HostError(f"no cable between the lab's hosts: {done.stderr.strip()}")


def lines(found: Sequence[Beside]) -> list[str]:
    """For the terminal: both ways, and their ratio; the best that spins beside the goal."""
    said = ["64 B round trip on the link, UDP's waiting alike, and their ratio"]
    spinning = [one for one in found if one.title.endswith("spin")]
    best = min(spinning, key=lambda one: one.ratio.ratio)
    for one in found:
        text = line(one, one.lies(0.0, GOAL) if one is best else None)
        said.append(text if one is best else text.removesuffix("not decided").rstrip())
    pairs = min((one.ratio.n for one in found), default=0)
    said.append(f"Goal: at most {GOAL}, by the best driver where both spin; {pairs} or more pairs")
    said.append(f"of batches of {TRIPS} round trips over a veth pair with nothing between.")
    return said
