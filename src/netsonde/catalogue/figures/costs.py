"""Figures of what a message costs its hosts, of pairs across a bisection, and of bursts."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("send_cost_median_ns", "model-measure#sends", "model-measure#overheads", better="less"),
    figure("send_equilibrium_ns", "model-measure#sends", better="less"),
    figure("send_ring_messages", "model-measure#sends"),
    figure("receive_cost_median_ns", "model-measure#overheads", better="less"),
    figure("arrival_cost_median_ns", "model-measure#overheads", better="less"),
    figure("arrivals_rejected_ratio", "model-measure#overheads"),
    figure("one_pair_round_trip_median_ns", "model-measure#bisection", better="less"),
    figure("bisection_round_trip_median_ns", "model-measure#bisection", better="less"),
    figure("bisection_slowdown_times", "model-measure#bisection", better="less"),
    figure("burst_lost_ratio", "model-measure#bursts", better="less"),
    figure("burst_passed_messages", "model-measure#bursts", better="more"),
    figure("burst_room_messages", "model-measure#bursts", better="more"),
)
METHODS = {
    "model-measure#sends": (
        "Series of n sends as fast as they go, from the start to the return of the last call, with "
        "a pause in which all drains: the cost of a send while there is room, and the slope over n "
        "once there is none."
    ),
    "model-measure#overheads": (
        "Send call, receive call of an answer that is already there, and the longest gap between "
        "two readings of the clock while it arrives, message by message."
    ),
    "model-measure#bisection": (
        "Round trips between the halves of the hosts, of one pair and of more and more at once: "
        "the median over all pairs."
    ),
    "model-measure#bursts": (
        "Bursts of growing size that all sources begin at one instant: what arrived of each, and "
        "what had room, which is what arrived less what left meanwhile."
    ),
}
"""What each place of docs/methods says, in short."""
