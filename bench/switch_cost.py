"""What the lab's switch costs for each frame, and whether it keeps time while it is full."""

from __future__ import annotations

import os

from netsonde.lab.capacity import Filled, fill
from netsonde.units import format_rate, format_time

GOAL_NS = 2500
MOST_OVER_CALLS = 1.10
"""The switch's CPU time over what its bare reads and writes of frames take in the same run."""
CLUSTERS = ((16, 10**8), (2, 10**9))
RECEIVERS = {"switch": "the switch receives", "threads": "threads receive"}
REAL_TIME_PRIORITY = 20


def switch_cost(seconds: float) -> list[Filled]:
    """Full clusters, with real-time priority for the switch as root. Raises HostError."""
    priority = REAL_TIME_PRIORITY if os.geteuid() == 0 else 0
    return [
        fill(hosts, rate, seconds, priority, receive)
        for hosts, rate in CLUSTERS
        for receive in RECEIVERS
    ]


def lines(found: list[Filled]) -> list[str]:
    """For the terminal: whose CPU time a frame takes in each cluster; the goal."""
    said = ["the lab's switch: every host sends at 97 % of its line"]
    for f in found:
        rest_ns = f.machine_per_frame_ns - f.cpu_per_frame_ns - f.source_per_frame_ns
        said += [
            f"{f.hosts:3} hosts {format_rate(f.rate_bit_per_s):>11}, {RECEIVERS[f.received_by]}: "
            f"{f.cpu_per_frame_ns:.0f} ns of the switch a frame "
            f"({'met' if f.cpu_per_frame_ns <= GOAL_NS else 'missed'}),",
            f"    {f.kernel_per_frame_ns:.0f} of it in the kernel's read and write, {_over(f)};",
            f"    all of the machine {f.machine_per_frame_ns:.0f} ns: besides the switch",
            f"    {f.source_per_frame_ns:.0f} of the source and {rest_ns:.0f} of all else; "
            f"{f.lost_frames} of {f.lost_frames + f.delivered_frames} frames lost,",
            f"    {100 * f.late_share:.2f} % late, p99 {format_time(f.late_p99_ns)}: "
            + ("kept up" if f.kept_up else "did not keep up"),
        ]
    said += [
        f"Goals: {MOST_OVER_CALLS} of its bare reads and writes, timed one by one in the same run;",
        f"{GOAL_NS} ns of the switch, whose write takes a frame through the receiving host's",
        "whole stack unless threads of the kernel do. The source's time has the sending hosts'",
        "stacks in it; all else is those threads, interrupts, and whatever else the machine ran.",
    ]
    return said


def _over(filled: Filled) -> str:
    """The switch's time over that of its calls, and whether that is within the goal."""
    if filled.kernel_per_frame_ns <= 0.0:
        return "not timed"
    ratio = filled.cpu_per_frame_ns / filled.kernel_per_frame_ns
    return f"{ratio:.2f} of them ({'met' if ratio <= MOST_OVER_CALLS else 'missed'})"
