"""The table of rules, and the findings of a run in the order in which they matter.

A rule is a small pure function from a run and its figures to findings. A finding never appears
without the numbers that prove it; a rule that lacks its data says what it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netsonde.explain import needs
from netsonde.explain.data import Finding, Rule, Seen, Silent
from netsonde.figures.data import Figure
from netsonde.records.data import Run

LEVEL_ORDER = {"bad": 0, "warning": 1, "good": 2, "note": 3}

# Of one level and role, the rule that stands first ranks first: what explains more stands above
# what it explains. A smaller MTU makes headers many, one congestion control loses what another does
# not. What a burnt CPU cannot bring about (loss in the network, waits for timers, windows)
# stands above it; what it can (a socket that nobody reads in time) below.
VALIDITY: tuple[Rule, ...] = (
    Rule("requirements", "requirements.requirements"),
    Rule("failed-points", "run_rules.failed_points"),
    Rule("not-the-network", "run_rules.transport_verified"),
    Rule("wrong-data", "run_rules.data_intact"),
    Rule("beside-another", "run_rules.beside_others"),
    Rule("not-authentic", "run_rules.all_authentic"),
    Rule("late-switch", "run_rules.lab_kept_time"),
    Rule("strangers", "run_rules.strangers_met"),
    Rule("what-this-is", "run_rules.what_this_is"),
    Rule("inside-one-host", "partners.inside_one_host", (needs.RANKS,)),
    Rule("clocks-without-values", "clock_rules.clocks_without_values", (needs.RANKS_CLOCKS,)),
    Rule("timers-compared", "clock_rules.timers_compared", (needs.COLLECTIVE,)),
    Rule("timer-overhead", "clock_rules.overhead_taken_off", (needs.TAKEN_OFF,)),
    Rule("injected-delay", "mpi_ranks.injected_delays", (needs.COLLECTIVE,)),
    Rule("missing-hosts", "all_pairs.missing_hosts", (needs.ROUNDS,)),
    Rule("route-not-taken", "task_rules.route_not_taken", (needs.TASKS,)),
)
CAUSES: tuple[Rule, ...] = (
    Rule("experiments", "probe.experiments", (needs.EXPERIMENTS,)),
    Rule("same-processor", "cpu_rules.same_processor", (needs.FACTS,)),
    Rule("stopped-worker", "withheld_rules.stopped_workers", (needs.STOPS,)),
    Rule("cpu-quota", "withheld_rules.held_by_quota", (needs.THROTTLING,)),
    Rule("own-queue-delays", "varying_ways.own_queue_delays", (needs.ROUND_TRIPS, needs.QUEUES)),
    Rule("packet-storm", "path_rules.others_traffic", (needs.INTERFACE,)),
    Rule(
        "nagle-delayed-ack", "timer_rules.delayed_answers", (needs.TCP_ROUND_TRIPS, needs.EXTENDED)
    ),
    Rule(
        "interrupted-way", "withheld_rules.interrupted_way", (needs.EXTENDED, needs.WAITS), "likely"
    ),
    Rule("retransmission-timer", "timer_rules.time_outs", (needs.TCP_ROUND_TRIPS, needs.EXTENDED)),
    Rule("slow-parts", "all_pairs.slow_parts", (needs.ROUNDS,), "likely"),
    Rule("incast-collapse", "patterns.incast_collapse", (needs.TCP_ROUNDS,)),
    Rule("mpi-timeouts", "timer_rules.waits_for_timers", (needs.COLLECTIVE,)),
    Rule("slow-node", "patterns.slow_host", (needs.FLOWS,), "likely"),
    Rule("cut-buffers", "setting_rules.cut_buffers"),
    Rule("window-limited", "packet_rules.buffers_limit", (needs.TCP_STREAM, needs.CONNECTION)),
    Rule("mtu-mismatch", "path_rules.smaller_mtu", (needs.FACTS_OF_TWO,)),
    Rule("congestion-control", "path_rules.congestion_controls", (needs.TWO_CONTROLS,)),
    Rule("datagrams-lost", "loss_rules.loss_on_the_way", (needs.UDP,)),
    Rule(
        "bottleneck", "bottleneck_rules.bottleneck", (needs.TCP_STREAM, needs.LINK_RATE), "likely"
    ),
    Rule("slower-than-asked", "bottleneck_rules.slower_than_asked", (needs.UDP_STREAM,)),
    Rule(
        "no-selective-acknowledgements",
        "option_rules.no_selective_acknowledgements",
        (needs.TCP_STREAM, needs.CONNECTION),
    ),
    Rule("overtaken", "option_rules.overtaken", (needs.STREAM,), "likely"),
    Rule("segments-lost", "loss_rules.lost_segments", (needs.TCP_STREAM, needs.CONNECTION)),
    Rule(
        "control-by-loss",
        "option_rules.control_and_losses",
        (needs.TCP_STREAM, needs.CONNECTION),
        "likely",
    ),
    Rule("headers", "path_rules.full_of_headers", (needs.STREAM, needs.LINK_RATE)),
    Rule("busy-processor", "cpu_rules.busy_processor", (needs.PROCESSORS,)),
    Rule(
        "waited-for-processor",
        "withheld_rules.waited_for_processor",
        (needs.PROCESSORS, needs.WAITS),
    ),
    Rule("steal", "cpu_rules.disturbed", (needs.PROCESSORS,)),
    Rule("timeouts-with-ranks", "rank_growth.time_outs_with_ranks", (needs.COLLECTIVE,)),
    Rule("varying-way", "varying_ways.varying_way", (needs.ROUND_TRIPS, needs.WAITS), "likely"),
    Rule("crowded-ranks", "mpi_ranks.more_than_processors", (needs.COLLECTIVE,)),
    Rule("threads", "threads.threads_together", (needs.THREADS,)),
    Rule("outliers-again", "recurrence.outliers_again", (needs.COLLECTIVE,)),
    Rule("slowest-partner", "partners.slowest_partner", (needs.RANKS,)),
    Rule("uplinks", "partners.uplinks_limit", (needs.RANKS,), "likely"),
    Rule("windows-that-lose", "simulated_windows.windows_that_lose", (needs.SIMULATED,)),
    Rule("windows-missed", "mpi_ranks.windows_missed", (needs.COLLECTIVE,)),
    Rule("held-up", "mpi_ranks.held_up", (needs.COLLECTIVE,)),
    Rule("socket-overflows", "loss_rules.loss_at_the_socket", (needs.UDP,)),
    Rule("uneven-directions", "path_rules.uneven_directions", (needs.DUPLEX,), "likely"),
    Rule(
        "processor-bound", "cpu_rules.processor_limits", (needs.STREAM, needs.PROCESSORS), "likely"
    ),
    Rule("offloads-off", "path_rules.bundling_off", (needs.TCP_STREAM, needs.FACTS), "likely"),
    Rule("large-datagrams", "packet_rules.large_datagrams", (needs.UDP_STREAM,)),
    Rule(
        "remembered-connections",
        "setting_rules.remembered_connections",
        (needs.TCP_STREAM, needs.CONNECTION),
        "likely",
    ),
    Rule("mpi-guidelines", "guidelines.violated_guidelines", (needs.COLLECTIVE,)),
    Rule("common-start", "patterns.common_start", (needs.FLOWS,)),
    Rule("slow-operations", "slow_operations.slow_operations", (needs.EVENTS,), "likely"),
    Rule("kernel-tracing", "kernel_trace_rules.kernel_trace_findings", (needs.KERNEL_TRACE,)),
)
SYMPTOMS: tuple[Rule, ...] = (
    Rule("link-share", "rate_rules.link_share", (needs.STREAM,)),
    Rule("faster-than-the-link", "rate_rules.faster_than_the_link", (needs.LINK_RATE,)),
    Rule("ends-agree", "rate_rules.ends_agree", (needs.STREAM,)),
    Rule("counters-exact", "counter_rules.counters_exact", (needs.INTERFACE,)),
    Rule("short-for-the-clock", "clock_rules.short_for_the_clock", (needs.FACTS,)),
    Rule("sweeps", "sweeps.sweep_findings", (needs.SIZES,), "likely"),
    Rule("all-alike", "all_pairs.all_alike", (needs.ROUNDS,), "likely"),
)
CIRCUMSTANCES: tuple[Rule, ...] = (
    Rule("layers", "layers.layers", (needs.ROUND_TRIPS,)),
    Rule("layers-of-rate", "layers.throughput_layers", (needs.STREAM,)),
    Rule("sum-of-pairs", "patterns.sum_of_pairs", (needs.FLOWS,), "possible"),
    Rule("route-of-daemons", "task_rules.route_of_daemons", (needs.TASKS,), "likely"),
    Rule("best-of-swept", "simulated_sweeps.best_of_swept", (needs.SIMULATED,)),
    Rule("size-breaks", "protocols.breaks_over_sizes", (needs.COLLECTIVE,), "likely"),
    Rule("kernel-times", "kernel_trace_rules.kernel_times", (needs.KERNEL_TIMES,)),
    Rule("retransmits", "loss_rules.retransmits", (needs.CONNECTION,)),
    Rule("saturated", "cpu_rules.saturated", (needs.STREAM, needs.PROCESSORS), "possible"),
    Rule("several-modes", "mode_rules.several_modes", (needs.ROUND_TRIPS,)),
    Rule("wide-intervals", "setting_rules.wide_intervals"),
    Rule("over-the-cap", "setting_rules.over_the_cap"),
    Rule("idle-hosts", "setting_rules.idle_hosts", (needs.PROCESSORS,)),
    Rule("unknown-mpi-settings", "setting_rules.unknown_mpi_settings"),
    Rule("mpi-library-said", "setting_rules.what_the_library_said"),
    Rule("counter-distrusted", "clock_rules.counters_distrusted", (needs.FACTS,)),
    Rule("changed-facts", "unlike_hosts.facts_changed", confidence="possible"),
    Rule("unlike-hosts", "unlike_hosts.unlike_hosts", (needs.FACTS_OF_TWO,), "possible"),
    Rule("power-saving", "cpu_rules.saving_power", (needs.FACTS, needs.ROUND_TRIPS), "possible"),
    Rule("far-from-the-card", "cpu_rules.far_from_the_card", (needs.NUMA_NODES,), "possible"),
    Rule("acknowledgements", "path_rules.acknowledgements", (needs.TCP_STREAM, needs.CONNECTION)),
    Rule("gathered-interrupts", "path_rules.gathered_interrupts", (needs.INTERRUPTS,)),
    Rule("fragments", "path_rules.cut_datagrams", (needs.UDP_STREAM, needs.INTERFACE)),
    Rule("grows-with-ranks", "rank_growth.grows_with_ranks", (needs.COLLECTIVE,)),
    Rule("protocol-of-sending", "protocols.protocol_of_sending", (needs.RANKS,)),
    Rule("warm-up", "path_rules.warming_up", (needs.STREAM,), "likely"),
)
ROLES = (VALIDITY, CAUSES, SYMPTOMS, CIRCUMSTANCES)
"""Findings of one level stand in this order: whether the run is what it claims comes before causes,
these before what they bring about, and that before circumstances."""
RULES = tuple(rule for rules in ROLES for rule in rules)


def explain(run: Run, figures: Sequence[Figure]) -> list[Finding]:
    """All findings of a run, what matters most first."""
    return explain_and_lack(run, figures)[0]


def explain_and_lack(run: Run, figures: Sequence[Figure]) -> tuple[list[Finding], list[Silent]]:
    """All findings, what matters most first, and the rules that lack their data."""
    seen = Seen(run, figures)
    ranked: list[tuple[int, int, Finding]] = []
    silent = []
    for role, rule in ((role, rule) for role, rules in enumerate(ROLES) for rule in rules):
        found = list(rule.find(seen))
        ranked += [(LEVEL_ORDER[f.level], role, _complete(f, rule)) for f in found]
        lacks = rule.lacks(seen) if not found else []
        if lacks:
            silent.append(Silent(rule.name, tuple(lacks)))
    ranked.sort(key=lambda item: item[:2])
    return [finding for _, _, finding in ranked], silent


def _complete(finding: Finding, rule: Rule) -> Finding:
    """With what the rule says of all its findings, where the finding says nothing else."""
    kind = finding.kind or rule.name
    return replace(
        finding,
        kind=kind,
        confidence=finding.confidence or rule.confidence,
        docs=finding.docs or f"explain#{rule.name}",
    )
