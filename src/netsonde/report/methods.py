"""Where each figure's method is explained, and its short form for the report itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from netsonde.catalogue.known_figures import METHODS
from netsonde.figures import Figure
from netsonde.report.plot import Plot


@dataclass(frozen=True)
class Method:
    """``anchor`` is the id within the report, ``page`` the place under docs/methods."""

    anchor: str
    page: str
    names: tuple[str, ...]
    short: str


def method_anchor(method: str) -> str:
    """The id in the report of a method such as ``latency#quantiles``."""
    return "method-" + re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")


def methods_of(figures: Iterable[Figure]) -> list[Method]:
    """The methods that the figures were obtained by, each once, in order."""
    names: dict[str, dict[str, None]] = {}
    for figure in figures:
        names.setdefault(figure.method, {})[figure.name] = None
    return [
        Method(
            method_anchor(method),
            _page(method),
            tuple(sorted(found)),
            METHODS.get(method, ""),
        )
        for method, found in sorted(names.items())
    ]


PLOTS: dict[str, tuple[str, ...]] = {
    "latency-distribution": ("latency#quantiles", "latency#extremes"),
    "latency-size": ("latency#quantiles", "sweeps#start-up"),
    "latency-order": ("latency#quantiles",),
    "layers": ("latency#quantiles",),
    "threads": ("threads#",),
    "where-the-time-goes": ("kernel-times#",),
    "response-load": ("load#",),
    "modes": ("latency#quantiles", "collectives#quantiles"),
    "pairs-": ("all-pairs#",),
    "pairs": ("latency#quantiles", "throughput#"),
    "levels": ("latency#quantiles",),
    "scaling": ("throughput#", "patterns#throughput"),
    "throughput-size": ("throughput#", "sweeps#peak", "sweeps#asymptotic-bandwidth"),
    "throughput-time": ("throughput#stream", "throughput#retransmits"),
    "processors": ("throughput#processor-time",),
    "by-option": ("throughput#", "latency#quantiles"),
    "matrix": ("throughput#", "latency#quantiles"),
    "by-flow": ("throughput#flows", "patterns#"),
    "sweep": ("sweeps#",),
    "collectives": ("collectives#", "rank-clocks#"),
    "ranks-per-host": ("launches#ranks-on-a-host",),
    "model-measured": ("collectives#quantiles", "latency#quantiles"),
    "ways-of-operations": ("collectives#quantiles", "latency#quantiles", "throughput#"),
    "recurrence": ("recurrence#",),
    "clocks": ("rank-clocks#",),
    "timers": ("timers#",),
    "imported": ("other-tools#",),
    "techniques": ("other-tools#",),
}
"""What the methods begin with that a plot's figures are obtained by, by what its id begins with."""


def methods_of_plot(plot: Plot, figures: Iterable[Figure]) -> list[Method]:
    """The methods behind a plot, of the figures that the run has."""
    key = max((k for k in PLOTS if plot.id.startswith(k)), key=len, default="")
    wanted = PLOTS.get(key, ())
    return methods_of(f for f in figures if wanted and f.method.startswith(wanted))


def _page(method: str) -> str:
    page, _, anchor = method.partition("#")
    return f"docs/methods/{page}.md" + (f"#{anchor}" if anchor else "")
