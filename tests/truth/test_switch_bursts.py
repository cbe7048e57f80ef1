"""Gated bursts over the lab's switch lose what the buffer model says, to the frame.

Model (Tam, appendix A.1): S senders at one rate burst k frames into one receiver of that rate; of
them k / S leave while the rest comes in, and B find room; B is S times a port's where the inputs
have the buffers.
"""

from __future__ import annotations

import math
import random

import pytest
from lab_truth import COUNTING, links_of, scenario_lab, settle

from netsonde.lab import permission_problem
from netsonde.lab.load import make_load
from netsonde.lab.observe import switch_stats

PROBLEM = permission_problem()
pytestmark = [
    pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}"),
    pytest.mark.counts,
]

RUNS = 34  # of each of six labs: 204 in all, by `make soak`
USUAL_RUNS = 12
SENDERS = 8
# Those of the literature's switches (Tam, table A.1), in packets; the 1,990 need most frames.
SWITCHES = [
    ("input", 43, "100M"),
    ("input", 45, "1G"),
    ("output", 95, "100M"),
    ("output", 128, "1G"),
    ("shared", 820, "100M"),
    ("shared", 1990, "1G"),
]


def bursts(buffer, runs):
    """Senders and frames of each run: the first are the same however many there are."""
    draw = random.Random(buffer)
    fixed = [(2, 60), (8, 4000)]
    return fixed + [
        (draw.randint(2, SENDERS), draw.randint(40, 4000)) for _ in range(runs - len(fixed))
    ]


def model(architecture, buffer, senders, frames):
    room = buffer * (senders if architecture == "input" else 1)
    return min(frames, frames / senders + room)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("architecture", "buffer", "rate", "runs"),
    [
        *((*s, USUAL_RUNS) for s in SWITCHES if s[2] == "100M" and s[0] != "output"),
        *(pytest.param(*s, RUNS, marks=pytest.mark.soak) for s in SWITCHES),
    ],
)
def test_gated_bursts(architecture, buffer, rate, runs):
    receiver = SENDERS + 1
    with scenario_lab(
        hosts=receiver,
        pace=COUNTING,
        link={"rate": rate},
        switch=[{"name": "s1", "architecture": architecture, "buffer": f"{buffer} packets"}],
    ) as lab:
        introduce(lab, receiver)
        for senders, wanted in bursts(buffer, runs):
            each = wanted // senders
            delivered, dropped = burst(lab, architecture, senders, each, receiver)
            frames = senders * each
            expected = model(architecture, buffer, senders, frames)
            words = f"S={senders} k={frames}: {delivered} came, model {expected:.1f}"
            assert delivered + dropped == frames, words
            # One in transmission holds its place; and frames are whole.
            assert math.floor(expected) - 1 <= delivered <= expected, words


def introduce(lab, receiver):
    """Every station is heard once, so that nothing is flooded afterwards."""
    make_load(lab, [(number, receiver) for number in range(1, receiver)], frames=1)
    make_load(lab, [(receiver, 1)], frames=1)
    settle(lab, lambda stats: stats["loop"]["frames_inside"] == 0)


def burst(lab, architecture, senders, each, receiver):
    """How many frames came and how many were dropped for want of room.

    The receiver answers some that nobody waits for any more; those answers go another way.
    """
    inputs = range(1, senders + 1)
    places = [f"h{n}" for n in inputs] if architecture == "input" else [f"h{receiver}"]
    before = switch_stats(lab)
    lab.ask_switch("gate", {"open": False})
    make_load(lab, [(number, receiver) for number in range(1, senders + 1)], frames=each)
    wait_until_queued(lab, senders)
    lab.ask_switch("gate", {"open": True})
    frames = senders * each

    def outcome(stats):
        now, then = links_of(stats), links_of(before)
        came = now[f"h{receiver}"]["down"]["arrived"] - then[f"h{receiver}"]["down"]["arrived"]
        lost = sum(
            now[place]["upper_port"]["dropped"] - then[place]["upper_port"]["dropped"]
            for place in places
        )
        return came, lost

    after = settle(lab, lambda stats: sum(outcome(stats)) >= frames)
    return outcome(after)


def wait_until_queued(lab, senders):
    """Until the hosts' token buckets have passed everything on to the device's queue."""
    for host in lab.hosts[:senders]:
        while True:
            shown = lab.in_host(host, ["tc", "-s", "qdisc", "show", "dev", "v0"])
            if "backlog 0b 0p" in shown:
                break
