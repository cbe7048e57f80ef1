"""Figures of how well clocks of several hosts are known."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind

ROWS = (
    FigureKind(
        "clock_uncertainty_ns",
        "ns",
        "clock uncertainty",
        ("one-way#clock", "rank-clocks#uncertainty", "all-pairs#measures"),
    ),
    FigureKind("clock_drift_ppb", "count", "clock drift ppb", ("rank-clocks#drift",)),
    FigureKind("clock_round_trip_ns", "ns", "clock round trip", ("rank-clocks#exchanges",)),
    *(
        FigureKind(
            f"clock_{what}_{{order}}_ns",
            "ns",
            f"clock {what} {{order}}",
            (f"rank-clocks#{what}",),
            parts={"order": ("median", "p99", "max")},
        )
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
