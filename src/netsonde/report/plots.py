"""All plots of a report, in its order."""

from __future__ import annotations

from netsonde.report import (
    agreement_table,
    clock_table,
    collective_plots,
    effect_plots,
    every_pair_plots,
    growth_plots,
    guideline_plots,
    latency_plots,
    launch_plots,
    load_plots,
    mode_plots,
    option_plots,
    other_tools,
    overlaid,
    pair_plots,
    partner_plots,
    pattern_plots,
    predicted,
    rank_plots,
    ranks_per_host,
    recurrence_plots,
    repetition_plots,
    scaling_plots,
    side_by_side,
    simulation_plots,
    spread_plots,
    stage_plots,
    sweep_plots,
    thread_plots,
    throughput_plots,
)
from netsonde.report.lookup import Study
from netsonde.report.plot import Plot

SIDE_BY_SIDE = (side_by_side.ratio_by_size,)
TECHNIQUES = (agreement_table.techniques,)
LATENCY = (
    latency_plots.distribution,
    latency_plots.against_size,
    thread_plots.against_threads,
    stage_plots.where_time_goes,
    load_plots.against_load,
    partner_plots.pairs_plot,
    partner_plots.levels_plot,
)
THROUGHPUT = (
    throughput_plots.against_size,
    option_plots.by_option,
    scaling_plots.against_count,
    pattern_plots.by_flow,
    throughput_plots.against_time,
    throughput_plots.processors,
)
SWEEPS = (sweep_plots.swept, option_plots.matrices, launch_plots.over_launches)
SIMULATED = (
    simulation_plots.beside_published,
    simulation_plots.swept,
    simulation_plots.lost_over_swept,
    effect_plots.effects,
)
LAYERS = (latency_plots.layers,)
COLLECTIVES = (
    collective_plots.distribution,
    collective_plots.against_size,
    repetition_plots.histograms,
    repetition_plots.ranks,
    repetition_plots.who_with_whom,
    overlaid.ways_of_operations,
    ranks_per_host.against_fewest,
    predicted.model_against_measured,
    growth_plots.against_ranks,
    growth_plots.time_outs_against_ranks,
    spread_plots.spread,
    rank_plots.late_ranks,
    recurrence_plots.outliers_over_launches,
    guideline_plots.guidelines,
    mode_plots.modes,
    collective_plots.slowest_repetitions,
    clock_table.timers,
    clock_table.clocks_plot,
)
ORDER = (latency_plots.order,)
OTHER_TOOLS = (other_tools.intervals, other_tools.against_size)


def pairs(study: Study) -> list[Plot]:
    """Of a run of all pairs, a plot for each measure, or each size and company."""
    return [*pair_plots.plots_of_pairs(study), *every_pair_plots.plots_of_every_pair(study)]


def all_plots(study: Study) -> list[Plot]:
    """Every plot for which something was measured."""
    sections = (
        *(SIDE_BY_SIDE, TECHNIQUES, LATENCY, THROUGHPUT, SWEEPS, LAYERS, COLLECTIVES, ORDER),
        *(SIMULATED, OTHER_TOOLS),
    )
    made = (make(study) for section in sections for make in section)
    return [*pairs(study), *(plot for plot in made if plot is not None)]
