"""Figures of a user's own program."""

from __future__ import annotations

from netsonde.catalogue.figure import FigureKind

ROWS = (
    FigureKind("elapsed_median_ns", "ns", "elapsed", ("programs#elapsed-time",), "less"),
    FigureKind("program_{figure}", None, "{figure}", ("programs#its-own-figures",)),
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
