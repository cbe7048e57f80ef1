"""Figures of a user's own program."""

from __future__ import annotations

from netsonde.catalogue.figure import figure

ROWS = (
    figure("elapsed_median_ns", "programs#elapsed-time", better="less", label="elapsed"),
    figure("program_{figure}", "programs#its-own-figures", label="{figure}"),
)
METHODS = {
    "programs#elapsed-time": (
        "From the start of a run of the user's own program to its end, on its host's way to this "
        "machine and back; the median over runs, with the interval of their order statistics."
    ),
    "programs#its-own-figures": (
        "What the program wrote: the last number that the study's expression found in a run's "
        "output; the median over runs, with the interval of their order statistics."
    ),
}
"""What each place of docs/methods says, in short."""
