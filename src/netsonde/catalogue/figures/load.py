"""Figures of messages that are sent at fixed times, whatever became of those before."""

from __future__ import annotations

from netsonde.catalogue.figure import figure, times

ROWS = (
    *times("response", "load"),
    figure("capacity_messages_per_s", "load#capacity", better="more"),
    figure("offered_messages_per_s", "load#offered"),
    figure("send_lag_{order}_ns", "load#send-lag", order=("median", "p99")),
)
METHODS = {
    "load#quantiles": (
        "Response time: from the time a message was meant to leave to the arrival of its answer, "
        "so that what it waited for others is in it. Quantiles as of round trips."
    ),
    "load#extremes": "The least and the largest of all response times; no interval.",
    "load#mean": "Arithmetic mean of the steady part of the response times.",
    "load#capacity": (
        "Answers a second when messages are sent as fast as they go; the median of three batches."
    ),
    "load#offered": "One over the interval between intended times; the median over batches.",
    "load#unanswered": "Datagrams without an answer over those sent; Wilson's score interval.",
    "load#send-lag": "How late after the intended time the sender began a message.",
}
"""What each place of docs/methods says, in short."""
