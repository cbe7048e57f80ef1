"""Figures of what limits a transport that is told of memory."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("{what}_median_ns", "fabric#bounds", what=("registration", "release")),
    figure("{what}_p99_ns", "fabric#bounds", what=("registration", "release")),
    figure("largest_message_bytes", "fabric#bounds"),
    figure("injected_most_bytes", "fabric#bounds"),
    figure("trespass_refused_ratio", "fabric#protection", better="more"),
    figure("trespass_reached_ratio", "fabric#protection", better="less"),
)
METHODS = {
    "fabric#bounds": (
        "From the call that registers touched memory of that size until it returns, and of the one "
        "that takes it back; the largest message and what is injected are what the provider says."
    ),
    "fabric#protection": (
        "Of attempts at the other end's memory without a right to it: those that the provider "
        "refused with an error, and those by which bytes got through, as both ends found out."
    ),
}
"""What each place of docs/methods says, in short."""
