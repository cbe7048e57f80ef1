"""What messages wait for inside the hosts: parts by the kernel's stamps, and layers."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ENDS = ("origin", "target")
PARTS = (
    *("origin_send_to_queue", "origin_queue_to_driver", "network", "target_driver_to_receive"),
    *("target_receive_to_send", "target_send_to_queue", "target_queue_to_driver"),
    "origin_driver_to_receive",
)

ROWS = (
    figure("{part}_{order}_ns", "kernel-times#parts", part=PARTS, order=("median", "p99")),
    figure("{end}_host_{order}_ns", "kernel-times#hosts", end=ENDS, order=("median", "p99")),
    figure(
        "{which}_{part}_ns", "kernel-times#typical-and-slow", which=("typical", "slow"), part=PARTS
    ),
    figure("stamped_ratio", "kernel-times#missing"),
    *(
        figure(
            f"{{end}}_{layer}_wait_{{order}}_ns",
            f"kernel-trace#{layer}",
            end=ENDS,
            order=("median", "p99", "max"),
        )
        for layer in ("scheduler", "queue", "driver", "receive")
    ),
    figure("{end}_scheduler_wait_per_message_ns", "kernel-trace#scheduler", end=ENDS),
    figure("{end}_softirq_per_message_ns", "kernel-trace#softirqs", end=ENDS),
    figure("{end}_system_calls_per_message", "kernel-trace#system-calls", end=ENDS),
    figure(
        "retransmits_{cause}",
        "kernel-trace#retransmits",
        cause=("time_out", "fast", "probe", "other"),
    ),
)
METHODS = {
    "kernel-times#parts": (
        "Each part begins and ends at a stamp or a call on one host. The network's is the time "
        "from the origin's driver to the arrival of the answer, less what the target's host took; "
        "both ways together."
    ),
    "kernel-times#hosts": "The sum of a host's parts, round trip by round trip.",
    "kernel-times#typical-and-slow": (
        "Means over the round trips between the 45 % and the 55 % quantile, and over the slowest "
        "hundredth. They add up to the mean round trip of these."
    ),
    "kernel-times#missing": (
        "Round trips of which both hosts have every stamp, over those answered. The others have "
        "no parts."
    ),
    "kernel-trace#scheduler": (
        "From the time a thread of the worker could run until it ran, by the scheduler's "
        "tracepoints. Quantiles of a histogram whose buckets are a quarter of a power of two "
        "wide at most; the largest is exact. For each message: the sum over the messages sent."
    ),
    "kernel-trace#queue": (
        "From the time a packet of the test's own socket was given to its device's queueing "
        "discipline until the driver was called; histogram as above."
    ),
    "kernel-trace#driver": "How long the driver's call for a packet took; histogram as above.",
    "kernel-trace#receive": (
        "From the time the host's stack took a packet until the worker began to read it (UDP: had "
        "read it); histogram as above."
    ),
    "kernel-trace#softirqs": (
        "Time in NET_RX and NET_TX softirqs of the whole host, over the messages that were sent."
    ),
    "kernel-trace#system-calls": (
        "System calls that the worker entered, those on the control connection left out, over the "
        "messages that were sent."
    ),
    "kernel-trace#retransmits": (
        "Segments of the worker's connections that were retransmitted, by the state the connection "
        "was in: a timeout, a fast retransmission, a probe of the tail, another."
    ),
}
"""What each place of docs/methods says, in short."""
