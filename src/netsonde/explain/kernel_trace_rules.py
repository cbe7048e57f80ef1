"""Findings from inside the kernel: why segments were retransmitted, who waited for a CPU,
which layer held packets, where round trips spend their time, and why nothing was told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netsonde.explain.commands import binding
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import between_snapshots_ns, find_point, ids_of, point_in_words
from netsonde.figures.compute import find
from netsonde.figures.kernel_trace import CAUSES, ENDS, is_traced, kernel_trace_of
from netsonde.records.data import Point
from netsonde.units import format_count, format_time

LONG_WAIT_NS = 100_000
"""A CPU that is free takes a few microseconds to run what was woken, each time."""
LONG_WAITS_LEAST = 10
"""One of them may be anything's."""
WAITED_SHARE = 0.02
"""From this share of a measurement on, long waits for the CPU are worth a finding."""
HELD_NOTABLE_NS = 100_000
"""Packets that wait for longer in a queueing discipline wait for the line, not for the host."""
CAUSE_WORDS = {
    "time_out": "after a timeout",
    "fast": "because acknowledgements showed the loss",
    "probe": "as a probe of the last segment",
    "other": "for another cause",
}
MISSING_WORDS = {
    "not_compiled": "sonde-worker was built there without Clang or libbpf",
    "no_btf": "its kernel does not describe its types (no /sys/kernel/btf/vmlinux)",
    "capability": "the worker may not load programs (CAP_BPF and CAP_PERFMON, or root)",
    "refused": "its kernel refused the programs",
}
_ADVICE = {
    "time_out": "Timeouts come of losses at the end of a burst, or of many at once: look for a "
    "buffer that overflows (tc -s qdisc, ethtool -S), and at the minimum timeout "
    "(sysctl net.ipv4.tcp_rto_min_us).",
    "fast": "Single losses within a window: look for drops in the network (ethtool -S, switch "
    "counters).",
    "probe": "The last segment of a message was lost, or its acknowledgement was late.",
    "other": "",
}


def kernel_trace_findings(seen: Seen) -> list[Finding]:
    asked = [
        point
        for point in seen.run.select()
        # A block may have other transports as well, which leave it out.
        if point.carrier.is_pair and point.spec.chosen.depth
    ]
    deep = [p for p in asked if is_traced(p)]
    return [
        *_missing(asked),
        *_retransmitted(deep),
        *_waited_for_processor(seen, deep),
        *_held_in_queue(seen, deep),
        *_lost_counts(deep),
    ]


def _missing(asked: Sequence[Point]) -> Iterator[Finding]:
    """Once for all points and both ends."""
    reasons: dict[tuple[str, str, str], list[Point]] = {}
    for point in asked:
        for rank, end in point.opened.items():
            if end.get("depth") is not True and rank in ENDS:
                known = (str(end.get("depth_missing", "")), str(end.get("depth_detail", "")))
                reasons.setdefault((ENDS[rank], *known), []).append(point)
    if not reasons:
        return
    points = [point for found in reasons.values() for point in found]
    ends = list(dict.fromkeys(end for end, _, _ in reasons))
    words = dict.fromkeys(_reason(reason, detail) for _, reason, detail in reasons)
    yield Finding(
        "note",
        f"There is no kernel tracing of the {' and the '.join(ends)}: {'; '.join(words)}.",
        "Everything else was measured as without --kernel-trace.",
        "What is needed: netsonde man kernel-trace",
        tuple(dict.fromkeys(ids_of(points))),
    )


def _reason(reason: str, detail: str) -> str:
    words = MISSING_WORDS.get(reason, "the other end watches nothing for others")
    return f"{words} ({detail})" if reason == "refused" and detail else words


def _retransmitted(deep: Sequence[Point]) -> Iterator[Finding]:
    """The causes at the point with the most segments retransmitted."""
    causes = {p.id: _causes(p) for p in deep if p.carrier.has_connection}
    found = [p for p in deep if sum(causes.get(p.id, {}).values())]
    if not found:
        return
    worst = max(found, key=lambda p: sum(causes[p.id].values()))
    counts = {cause: count for cause, count in causes[worst.id].items() if count}
    total = sum(counts.values())
    main = max(counts, key=lambda cause: counts[cause])
    parts = ", ".join(f"{count} {CAUSE_WORDS[cause]}" for cause, count in counts.items())
    if counts[main] == total:
        how = f"all {CAUSE_WORDS[main]}" if total > 1 else CAUSE_WORDS[main]
    else:
        how = f"most {CAUSE_WORDS[main]}"
    segments = f"{total} segments were" if total > 1 else "1 segment was"
    yield Finding(
        "warning" if main == "time_out" else "note",
        f"At {point_in_words(worst)} {segments} retransmitted, {how}.",
        f"Of both ends: {parts}.",
        _ADVICE[main],
        ids_of(found),
    )


def _causes(point: Point) -> dict[str, int]:
    ends = [trace for rank in ENDS if (trace := kernel_trace_of(point, rank)) is not None]
    return {cause: sum(trace.retransmits[cause] for trace in ends) for cause in CAUSES}


def _waited_for_processor(seen: Seen, deep: Sequence[Point]) -> Iterator[Finding]:
    shares = {
        (point.id, rank): share
        for point in deep
        for rank in ENDS
        if (share := _waited_share(point, rank)) >= WAITED_SHARE
    }
    if not shares:
        return
    (point_id, rank), share = max(shares.items(), key=lambda item: item[1])
    point = next(p for p in deep if p.id == point_id)
    trace = kernel_trace_of(point, rank)
    assert trace is not None
    wait = trace.waits["scheduler"]
    each = seen.figure(f"{ENDS[rank]}_scheduler_wait_per_message_ns", point_id)
    per_message = f", {format_time(each.value)} for each message" if each else ""
    yield Finding(
        "warning",
        f"The worker at the {ENDS[rank]} waited {format_time(wait.sum_ns)} for its CPU "
        f"at {point_in_words(point)}{per_message}.",
        f"{wait.count} waits, the longest of {format_time(wait.max_ns)}; those of "
        f"{format_time(LONG_WAIT_NS)} and more took {share:.0%} of the time.",
        f"Something else runs on that CPU: choose another ({binding(point.transport)}), or stop "
        "it.",
        tuple(dict.fromkeys(id_ for id_, _ in shares)),
    )


def _waited_share(point: Point, rank: int) -> float:
    """The share of long waits, where they are more than a few, of the time between the snapshots.
    Those of several threads may add up to more than it."""
    trace = kernel_trace_of(point, rank)
    elapsed_ns = between_snapshots_ns(point, rank)
    if trace is None or elapsed_ns <= 0:
        return 0.0
    count, long_ns = trace.waits["scheduler"].longer(LONG_WAIT_NS)
    return long_ns / elapsed_ns if count >= LONG_WAITS_LEAST else 0.0


def _held_in_queue(seen: Seen, deep: Sequence[Point]) -> Iterator[Finding]:
    held = [
        (figure, point, end)
        for point in deep
        for end in ENDS.values()
        if (figure := seen.figure(f"{end}_queue_wait_median_ns", point.id)) is not None
        and figure.value >= HELD_NOTABLE_NS
    ]
    if not held:
        return
    figure, point, end = max(held, key=lambda item: item[0].value)
    most = seen.figure(f"{end}_queue_wait_p99_ns", point.id)
    p99 = f", 99 % no longer than {format_time(most.value)}" if most else ""
    yield Finding(
        "note",
        f"At {point_in_words(point)} packets waited {format_time(figure.value)} in the "
        f"queueing discipline of the {end}'s device (median).",
        f"{figure.samples} packets{p99}.",
        "They wait there for the line, or for a shaper: tc -s qdisc says which.",
        tuple(dict.fromkeys(p.id for _, p, _ in held)),
    )


def _lost_counts(deep: Sequence[Point]) -> Iterator[Finding]:
    """What could not be counted is said, where it is any."""
    lost = {
        p.id: sum(
            d.dropped + d.missed for rank in ENDS if (d := kernel_trace_of(p, rank)) is not None
        )
        for p in deep
    }
    found = [p for p in deep if lost[p.id]]
    if not found:
        return
    worst = max(found, key=lambda p: lost[p.id])
    yield Finding(
        "warning",
        f"Kernel tracing is incomplete at {format_count(len(found), 'point')}.",
        f"{point_in_words(worst)}: {lost[worst.id]} events were not counted, because a table "
        "was full or the kernel left a program out.",
        points=ids_of(found),
    )


def kernel_times(seen: Seen) -> list[Finding]:
    """Where round trips spend their time, and where the kernel would not say."""
    asked = [p for p in seen.run.select() if p.spec.chosen.kernel_times]
    untold = [p for p in asked if find(seen.figures, "network_median_ns", p.id) is None]
    findings = [_kernel_said_nothing(untold)] if untold else []
    told = [p for p in asked if p not in untold]
    if not told:
        return findings
    parts = {
        name: find(seen.figures, f"{name}_median_ns", told[0].id)
        for name in ("network", "origin_host", "target_host")
    }
    values = {name: figure.value for name, figure in parts.items() if figure is not None}
    network, origin, target = (format_time(values[name]) for name in parts)
    claim = (
        f"Of a round trip at {point_in_words(told[0])} the network takes {network}, the origin's "
        f"host {origin} and the target's {target} (medians)."
    )
    lacking = [f for f in seen.figures if f.name == "stamped_ratio" and f.value < 1]
    worst = min(lacking, key=lambda f: f.value, default=None)
    evidence = "Every round trip has the kernel's stamps at both ends."
    if worst is not None:
        evidence = (
            f"At {point_in_words(find_point(seen.run, worst.point))} {worst.value:.2%} of "
            f"{worst.samples} round trips have the kernel's stamps at both ends; the others count "
            "only as a whole."
        )
    return [*findings, Finding("note", claim, evidence, points=ids_of(told))]


def _kernel_said_nothing(points: Sequence[Point]) -> Finding:
    point = points[0]
    refused = [rank for rank, end in point.opened.items() if end.get("kernel_times") is False]
    lacking = [
        name
        for name in ("queue", "driver", "arrival")
        for rank in (0, 1)
        if point.counter(f"unstamped_{name}", rank)
    ]
    what = "stamps messages" if refused else f"stamps the {' and '.join(dict.fromkeys(lacking))}"
    return Finding(
        "warning",
        f"At {format_count(len(points), 'point')} round trips are not divided: the kernel's "
        "times are missing.",
        f"At {point_in_words(point)} no round trip has all stamps: not at both ends the kernel and "
        f"the device's driver {what}.",
        "The round trips themselves are complete; `ethtool -T` says what a device can.",
        ids_of(points),
    )
