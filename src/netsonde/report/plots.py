"""All plots of a report, in its order."""

from __future__ import annotations

from netsonde.report import (
    collective_plots,
    latency_plots,
    load_plots,
    option_plots,
    other_tools,
    pattern_plots,
    stage_plots,
    sweep_plots,
    throughput_plots,
)
from netsonde.report.lookup import Study
from netsonde.report.plot import Plot

LATENCY = (
    latency_plots.distribution,
    latency_plots.against_size,
    stage_plots.where_time_goes,
    load_plots.against_load,
)
THROUGHPUT = (
    throughput_plots.against_size,
    option_plots.by_option,
    pattern_plots.by_flow,
    throughput_plots.against_time,
    throughput_plots.processors,
)
SWEEPS = (sweep_plots.swept, option_plots.matrices)
LAYERS = (latency_plots.layers,)
COLLECTIVES = (collective_plots.distribution, collective_plots.against_size)
ORDER = (latency_plots.order,)
OTHER_TOOLS = (other_tools.intervals, other_tools.against_size)


def all_plots(study: Study) -> list[Plot]:
    """Every plot for which something was measured."""
    sections = (LATENCY, THROUGHPUT, SWEEPS, LAYERS, COLLECTIVES, ORDER, OTHER_TOOLS)
    made = (make(study) for section in sections for make in section)
    return [plot for plot in made if plot is not None]
