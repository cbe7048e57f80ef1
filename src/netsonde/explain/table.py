"""The table of rules, and the findings of a run in the order in which they matter.

A rule is a small pure function from a run and its figures to findings. A finding never appears
without the numbers that prove it; a rule that lacks its data says what it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netsonde.explain import (
    all_pairs,
    bottleneck_rules,
    changed_facts,
    clock_rules,
    counter_rules,
    cpu_rules,
    guidelines,
    kernel_time_rules,
    kernel_trace_rules,
    layers,
    loss_limits,
    loss_rules,
    mode_rules,
    mpi_ranks,
    mpi_settings,
    mpi_time_outs,
    mpi_timers,
    needs,
    node_rules,
    one_host,
    option_rules,
    paced_rules,
    packet_rules,
    partners,
    path_rules,
    patterns,
    probe,
    protocols,
    rank_growth,
    rate_rules,
    recurrence,
    requirements,
    run_rules,
    setting_rules,
    silences,
    simulated_windows,
    size_breaks,
    slow_operations,
    sweeps,
    threads,
    timer_rules,
    unlike_hosts,
    uplinks,
    varying_ways,
    withheld_rules,
)
from netsonde.explain.data import Finding, Rule, Seen, Silent
from netsonde.figures.data import Figure
from netsonde.records.data import Run

LEVEL_ORDER = {"bad": 0, "warning": 1, "good": 2, "note": 3}
ROLE_ORDER = {"validity": 0, "cause": 1, "symptom": 2, "circumstance": 3}

# Of one level and role, the rule that stands first ranks first: what explains more stands above
# what it explains. A smaller MTU makes headers many, one congestion control loses what another does
# not. What a burnt processor cannot bring about (loss in the network, waits for timers, windows)
# stands above it; what it can (a socket that nobody reads in time) below.
RULES: tuple[Rule, ...] = (
    Rule("requirements", requirements.requirements, "validity"),
    Rule("failed-points", run_rules.failed_points, "validity"),
    Rule("not-the-network", run_rules.transport_verified, "validity"),
    Rule("wrong-data", run_rules.data_intact, "validity"),
    Rule("late-switch", run_rules.lab_kept_time, "validity"),
    Rule("what-this-is", run_rules.what_this_is, "validity"),
    Rule("inside-one-host", one_host.inside_one_host, "validity", (needs.RANKS,)),
    Rule(
        "clocks-without-values",
        clock_rules.clocks_without_values,
        "validity",
        (needs.RANKS_CLOCKS,),
    ),
    Rule("timers-compared", mpi_timers.timers_compared, "validity", (needs.COLLECTIVE,)),
    Rule("timer-overhead", mpi_timers.overhead_taken_off, "validity"),
    Rule("injected-delay", mpi_ranks.injected_delays, "validity", (needs.COLLECTIVE,)),
    # causes
    Rule("experiments", probe.experiments, "cause"),
    Rule("same-processor", cpu_rules.same_processor, "cause", (needs.FACTS,)),
    Rule("stopped-worker", withheld_rules.stopped_workers, "cause", (needs.STOPS,)),
    Rule("cpu-quota", withheld_rules.held_by_quota, "cause", (needs.THROTTLING,)),
    Rule(
        "own-queue-delays",
        varying_ways.own_queue_delays,
        "cause",
        (needs.ROUND_TRIPS, needs.QUEUES),
    ),
    Rule("packet-storm", path_rules.others_traffic, "cause", (needs.INTERFACE,)),
    Rule(
        "nagle-delayed-ack",
        timer_rules.delayed_answers,
        "cause",
        (needs.TCP_ROUND_TRIPS, needs.EXTENDED),
    ),
    Rule(
        "interrupted-way",
        silences.interrupted_way,
        "cause",
        (needs.EXTENDED, needs.WAITS),
        "likely",
    ),
    Rule(
        "retransmission-timer",
        timer_rules.time_outs,
        "cause",
        (needs.TCP_ROUND_TRIPS, needs.EXTENDED),
    ),
    Rule("slow-parts", all_pairs.slow_parts, "cause", confidence="likely"),
    Rule("missing-hosts", all_pairs.missing_hosts, "validity"),
    Rule("incast-collapse", patterns.incast_collapse, "cause", (needs.TCP_ROUNDS,)),
    Rule("mpi-timeouts", mpi_time_outs.waits_for_timers, "cause", (needs.COLLECTIVE,)),
    Rule("slow-node", node_rules.slow_host, "cause", (needs.FLOWS,), "likely"),
    Rule("cut-buffers", setting_rules.cut_buffers, "cause"),
    Rule(
        "window-limited", packet_rules.buffers_limit, "cause", (needs.TCP_STREAM, needs.CONNECTION)
    ),
    Rule("mtu-mismatch", path_rules.smaller_mtu, "cause", (needs.FACTS_OF_TWO,)),
    Rule("congestion-control", path_rules.congestion_controls, "cause", (needs.TWO_CONTROLS,)),
    Rule("datagrams-lost", loss_rules.loss_on_the_way, "cause", (needs.UDP,)),
    Rule(
        "bottleneck",
        bottleneck_rules.bottleneck,
        "cause",
        (needs.TCP_STREAM, needs.LINK_RATE),
        "likely",
    ),
    Rule(
        "slower-than-asked",
        paced_rules.slower_than_asked,
        "cause",
        (needs.UDP_STREAM,),
    ),
    Rule(
        "no-selective-acknowledgements",
        option_rules.no_selective_acknowledgements,
        "cause",
        (needs.TCP_STREAM, needs.CONNECTION),
    ),
    Rule("overtaken", option_rules.overtaken, "cause", (needs.STREAM,), "likely"),
    Rule("segments-lost", loss_rules.lost_segments, "cause", (needs.TCP_STREAM, needs.CONNECTION)),
    Rule(
        "control-by-loss",
        loss_limits.control_and_losses,
        "cause",
        (needs.TCP_STREAM, needs.CONNECTION),
        "likely",
    ),
    Rule("headers", path_rules.full_of_headers, "cause", (needs.STREAM, needs.LINK_RATE)),
    Rule(
        "busy-processor",
        cpu_rules.busy_processor,
        "cause",
        (needs.PROCESSORS,),
    ),
    Rule(
        "waited-for-processor",
        withheld_rules.waited_for_processor,
        "cause",
        (needs.PROCESSORS, needs.WAITS),
    ),
    Rule("steal", cpu_rules.disturbed, "cause", (needs.PROCESSORS,)),
    Rule("timeouts-with-ranks", rank_growth.time_outs_with_ranks, "cause", (needs.COLLECTIVE,)),
    Rule(
        "varying-way",
        varying_ways.varying_way,
        "cause",
        (needs.ROUND_TRIPS, needs.WAITS),
        "likely",
    ),
    Rule("crowded-ranks", mpi_ranks.more_than_processors, "cause", (needs.COLLECTIVE,)),
    Rule("threads", threads.threads_together, "cause", (needs.RANKS,)),
    Rule("outliers-again", recurrence.outliers_again, "cause", (needs.COLLECTIVE,)),
    Rule("slowest-partner", partners.slowest_partner, "cause", (needs.RANKS,)),
    Rule("uplinks", uplinks.uplinks_limit, "cause", (needs.RANKS,), "likely"),
    Rule(
        "windows-that-lose",
        simulated_windows.windows_that_lose,
        "cause",
        (needs.SIMULATED,),
    ),
    Rule("windows-missed", mpi_ranks.windows_missed, "cause", (needs.COLLECTIVE,)),
    Rule("held-up", mpi_ranks.held_up, "cause", (needs.COLLECTIVE,)),
    Rule("socket-overflows", loss_rules.loss_at_the_socket, "cause", (needs.UDP,)),
    Rule("uneven-directions", path_rules.uneven_directions, "cause", (needs.DUPLEX,), "likely"),
    Rule(
        "processor-bound",
        cpu_rules.processor_limits,
        "cause",
        (needs.STREAM, needs.PROCESSORS),
        "likely",
    ),
    Rule(
        "offloads-off", path_rules.bundling_off, "cause", (needs.TCP_STREAM, needs.FACTS), "likely"
    ),
    Rule("large-datagrams", packet_rules.large_datagrams, "cause", (needs.UDP_STREAM,)),
    Rule(
        "remembered-connections",
        setting_rules.remembered_connections,
        "cause",
        (needs.TCP_STREAM, needs.CONNECTION),
        "likely",
    ),
    Rule("mpi-guidelines", guidelines.violated_guidelines, "cause", (needs.COLLECTIVE,)),
    Rule("common-start", patterns.common_start, "cause", (needs.FLOWS,)),
    Rule("slow-operations", slow_operations.slow_operations, "cause", (needs.EVENTS,), "likely"),
    Rule(
        "kernel-tracing", kernel_trace_rules.kernel_trace_findings, "cause", (needs.KERNEL_TRACE,)
    ),
    # what causes bring about
    Rule("link-share", rate_rules.link_share, "symptom", (needs.STREAM,)),
    Rule("faster-than-the-link", rate_rules.faster_than_the_link, "symptom", (needs.LINK_RATE,)),
    Rule("ends-agree", rate_rules.ends_agree, "symptom", (needs.STREAM,)),
    Rule("counters-exact", counter_rules.counters_exact, "symptom", (needs.INTERFACE,)),
    Rule("short-for-the-clock", clock_rules.short_for_the_clock, "symptom", (needs.FACTS,)),
    Rule("sweeps", sweeps.sweeps_seen, "symptom", (needs.ROUND_TRIPS,), "likely"),
    Rule("all-alike", all_pairs.all_alike, "symptom", confidence="likely"),
    # circumstances
    Rule("layers", layers.layers, "circumstance", (needs.ROUND_TRIPS,)),
    Rule(
        "size-breaks", size_breaks.breaks_over_sizes, "circumstance", (needs.COLLECTIVE,), "likely"
    ),
    Rule("kernel-times", kernel_time_rules.kernel_times, "circumstance", (needs.ROUND_TRIPS,)),
    Rule("retransmits", loss_rules.retransmits, "circumstance", (needs.CONNECTION,)),
    Rule(
        "saturated",
        cpu_rules.saturated,
        "circumstance",
        (needs.STREAM, needs.PROCESSORS),
        "possible",
    ),
    Rule("several-modes", mode_rules.several_modes, "circumstance", (needs.ROUND_TRIPS,)),
    Rule("wide-intervals", setting_rules.wide_intervals, "circumstance"),
    Rule("over-the-cap", setting_rules.over_the_cap, "circumstance"),
    Rule("idle-hosts", setting_rules.idle_hosts, "circumstance", (needs.PROCESSORS,)),
    Rule("unknown-mpi-settings", mpi_settings.unknown_mpi_settings, "circumstance"),
    Rule("mpi-library-said", mpi_settings.what_the_library_said, "circumstance"),
    Rule("counter-distrusted", clock_rules.counters_distrusted, "circumstance", (needs.FACTS,)),
    Rule("changed-facts", changed_facts.facts_changed, "circumstance", confidence="possible"),
    Rule(
        "unlike-hosts", unlike_hosts.unlike_hosts, "circumstance", (needs.FACTS_OF_TWO,), "possible"
    ),
    Rule(
        "power-saving",
        cpu_rules.saving_power,
        "circumstance",
        (needs.FACTS, needs.ROUND_TRIPS),
        "possible",
    ),
    Rule(
        "far-from-the-card",
        cpu_rules.far_from_the_card,
        "circumstance",
        (needs.NUMA_NODES,),
        "possible",
    ),
    Rule(
        "acknowledgements",
        path_rules.acknowledgements,
        "circumstance",
        (needs.TCP_STREAM, needs.CONNECTION),
    ),
    Rule(
        "gathered-interrupts", path_rules.gathered_interrupts, "circumstance", (needs.INTERRUPTS,)
    ),
    Rule(
        "fragments", path_rules.cut_datagrams, "circumstance", (needs.UDP_STREAM, needs.INTERFACE)
    ),
    Rule("grows-with-ranks", rank_growth.grows_with_ranks, "circumstance", (needs.COLLECTIVE,)),
    Rule(
        "protocol-of-sending",
        protocols.protocol_of_sending,
        "circumstance",
        (needs.RANKS,),
    ),
    Rule("warm-up", path_rules.warming_up, "circumstance", (needs.STREAM,), "likely"),
)


def explain(run: Run, figures: Sequence[Figure]) -> list[Finding]:
    """All findings of a run, what matters most first."""
    return explain_and_lack(run, figures)[0]


def explain_and_lack(run: Run, figures: Sequence[Figure]) -> tuple[list[Finding], list[Silent]]:
    """All findings, what matters most first, and the rules that lack their data."""
    seen = Seen(run, figures)
    ranked: list[tuple[int, int, Finding]] = []
    silent = []
    for rule in RULES:
        found = rule.find(seen)
        ranked += [(LEVEL_ORDER[f.level], ROLE_ORDER[rule.role], _complete(f, rule)) for f in found]
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
