"""What the lab's switch costs for each frame, and whether it keeps time while it is full."""

from __future__ import annotations

import os

from netsonde.lab.capacity import Filled, fill
from netsonde.units import format_rate, format_time

GOAL_NS = 2500
CLUSTERS = ((16, 10**8), (2, 10**9))
REAL_TIME_PRIORITY = 20


def switch_cost(seconds: float) -> list[Filled]:
    """Full clusters, with real-time priority for the switch as root. Raises HostError."""
    priority = REAL_TIME_PRIORITY if os.geteuid() == 0 else 0
    return [fill(hosts, rate, seconds, priority) for hosts, rate in CLUSTERS]


def lines(found: list[Filled]) -> list[str]:
    """For the terminal: a line for each cluster, and what the goal is."""
    said = ["the lab's switch: every host sends at 97 % of its line"]
    for f in found:
        said.append(
            f"{f.hosts:3} hosts {format_rate(f.rate_bit_per_s):>11}: "
            f"{f.cpu_per_frame_ns:.0f} ns of CPU a frame "
            f"({'met' if f.cpu_per_frame_ns <= GOAL_NS else 'missed'}), "
            f"{f.kernel_per_frame_ns:.0f} of it in the"
        )
        said.append(
            "    kernel's read and write; "
            f"{f.lost_frames} of {f.lost_frames + f.delivered_frames} frames lost, "
        )
        said.append(
            f"    {100 * f.late_share:.2f} % late, p99 {format_time(f.late_p99_ns)}: "
            + ("kept up" if f.kept_up else "did not keep up")
        )
    said.append(
        f"Goal: {GOAL_NS} ns. The kernel's read is from the sender's device; its write takes the"
    )
    said.append("frame through the receiving host's whole stack. The rest: model and wake-ups.")
    return said
