"""Experiments that isolate a cause: what is changed, and what follows where that helps or hurts."""

from __future__ import annotations

from dataclasses import dataclass

BASE_LABEL = "as it was"


@dataclass(frozen=True)
class Experiment:
    """One change. ``label`` names its points; a sentence for each way it can come out, empty where
    nothing follows from it."""

    name: str
    label: str
    if_faster: str
    if_slower: str
    if_equal: str


_ALL = (
    Experiment(
        "larger_buffers",
        "buffers x 4",
        "The socket buffers limit: ask for larger ones (--buffer).",
        "Larger buffers cost: data waits in them, or leaves the CPU's caches.",
        "The socket buffers do not limit.",
    ),
    Experiment(
        "fixed_buffers",
        "buffers of 1M",
        "The buffers that the system chooses are too small: set them (--buffer 1M), or raise "
        "net.ipv4.tcp_rmem and tcp_wmem.",
        "The system's own choice of buffers is better than a fixed 1M.",
        "The buffers that the system chooses do not limit.",
    ),
    Experiment(
        "smaller_segments",
        "half the segment",
        "Smaller segments are faster: look for fragmentation, or a loss that grows with the frame.",
        "Each packet costs: larger ones (a larger MTU, offloads) would be faster.",
        "The number of packets does not limit.",
    ),
    Experiment(
        "no_delay",
        "no delay",
        "Nagle's algorithm holds messages back: set TCP_NODELAY (--nodelay).",
        "",
        "Nagle's algorithm plays no part.",
    ),
    Experiment(
        "other_congestion",
        "congestion control {}",
        "This congestion control does better here: --congestion {}.",
        "The congestion control in use does better than {}.",
        "The congestion control is not what limits.",
    ),
    Experiment(
        "spinning",
        "spinning",
        "Sleeping and waking costs: let the ends spin (--wait spin), or keep CPUs from deep sleep.",
        "Spinning ends take CPUs from the kernel's own work.",
        "Sleeping and waking plays no part.",
    ),
    Experiment(
        "busy_polling",
        "busy polling",
        "Interrupts cost: poll the device (--busy-poll 50), or moderate them less.",
        "Polling the device takes more than its interrupts.",
        "Interrupts are not what limits.",
    ),
    Experiment(
        "apart",
        "ends on two CPUs",
        "Where the ends run matters: pin them apart (--cpus 0,1).",
        "The scheduler's own choice of CPUs is better than a fixed one.",
        "Which CPUs the ends run on plays no part.",
    ),
    Experiment(
        "together",
        "ends on one CPU",
        "The ends gain by one CPU's caches and need no waking across.",
        "The ends work at the same time, and need two CPUs.",
        "One CPU would do for both ends.",
    ),
    Experiment(
        "pinned",
        "ends on CPU 0",
        "Where the ends run matters: pin them (--cpus 0,0) to the CPU that gets the device's "
        "interrupts.",
        "CPU 0 has other work, such as the device's interrupts.",
        "Which CPUs the ends run on plays no part.",
    ),
    Experiment(
        "batches",
        "16 datagrams a call",
        "System calls limit: hand over several datagrams in one (--batch 16).",
        "",
        "System calls do not limit.",
    ),
    Experiment(
        "busy_origin",
        "origin busy",
        "",
        "The origin has no CPU time to spare: what runs there matters.",
        "The origin's CPUs do not limit.",
    ),
    Experiment(
        "busy_target",
        "target busy",
        "",
        "The target has no CPU time to spare: what runs there matters.",
        "The target's CPUs do not limit.",
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def experiment_called(label: str) -> tuple[Experiment, str] | None:
    """The experiment whose points have that label, and what stands for {} in it; None for the base
    and what is none."""
    for experiment in _ALL:
        before, braces, after = experiment.label.partition("{}")
        if label == experiment.label:
            return experiment, ""
        if braces and label.startswith(before) and label.endswith(after):
            return experiment, label[len(before) : len(label) - len(after)]
    return None
