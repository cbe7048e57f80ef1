"""Figures of how well clocks of several hosts are known."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure(
        "clock_uncertainty_ns", "one-way#clock", "rank-clocks#uncertainty", "all-pairs#measures"
    ),
    figure("clock_drift_ppb", "rank-clocks#drift"),
    figure("clock_round_trip_ns", "rank-clocks#exchanges"),
    *(
        figure(f"clock_{what}_{{order}}_ns", f"rank-clocks#{what}", order=("median", "p99", "max"))
        for what in ("residual", "error")
    ),
)
METHODS = {
    "rank-clocks#exchanges": "The fastest exchange between two ranks that compared their clocks.",
    "rank-clocks#uncertainty": (
        "Half the distance between the bounds of a rank's lead over rank 0, at most."
    ),
    "rank-clocks#drift": "The rate at which a rank's clock left rank 0's, the largest.",
    "rank-clocks#residual": (
        "Distance of comparisons from the line through the first and the last one."
    ),
    "rank-clocks#error": "The same line where the truth is known: all ranks read one clock.",
}
"""What each place of docs/methods says, in short."""
