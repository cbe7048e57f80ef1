"""A rule about single slow operations: what the hosts did in just that time."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import host_of, point_in_words
from netsonde.figures.coincidence import ENDS, Coincidence, SlowOnes, slow_ones
from netsonde.figures.depth import CAUSES
from netsonde.figures.events import KINDS
from netsonde.records.data import Point
from netsonde.units import format_time

LEAST_SLOW = 5
CHANCE = 1e-3
"""Of seeing so much by chance at any of the kinds and ends together."""
SHARE_NOTABLE = 0.25
"""Of the slow operations, with more such events than by chance."""
COST_NOTABLE = 0.02
"""Of all time, beyond the median: from there on it is a warning."""
TOLD_NAMES = 2
SOFTIRQS = (
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "IRQ_POLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
)
"""In the kernel's order (include/linux/interrupt.h)."""
_HAD = {
    "preempted": "the worker at the {end} put off its processor",
    "woken-late": "the worker at the {end} wait for its processor after it was woken",
    "moved": "the worker at the {end} moved to another processor",
    "softirq": "a processor of the {end} in a softirq for long",
    "interrupt": "a processor of the {end} in an interrupt for long",
    "sent-again": "TCP at the {end} send segments again",
    "frequency": "the frequency of a processor of the {end} changed",
    "held": "packets lie in the queueing discipline of the {end}",
}
_ADVICE = {
    "preempted": "Keep other work off that processor, or choose another one (--cpus).",
    "woken-late": "Where it was idle, it slept: --wait spin keeps it awake. Else keep other work off "
    "it, or choose another one (--cpus).",
    "moved": "Give the worker a processor of its own (--cpus).",
    "softirq": "Keep interrupts and softirqs off the worker's processor (/proc/irq/*/smp_affinity, "
    "RPS), or choose another one (--cpus).",
    "interrupt": "Let another processor serve that interrupt (/proc/irq/*/smp_affinity).",
    "sent-again": "netsonde explain names where segments were lost; depth's table says why they were "
    "sent again.",
    "frequency": "Fix the frequency (the governor performance) and measure again.",
    "held": "tc -s qdisc says which queue it is, and what else is in it.",
}


def slow_operations(seen: Seen) -> list[Finding]:
    """For each point whose slow operations have one kind of event more often than by chance, that
    which most of them have."""
    findings = []
    for point in seen.run.points:
        found = slow_ones(point) if point.batches else None
        if found is None or found.slow < LEAST_SLOW:
            continue
        real = [c for c in found.coincidences if _is_real(c)]
        if real:
            findings.append(_finding(point, found, max(real, key=_weight)))
    return findings


def _is_real(found: Coincidence) -> bool:
    tries = len(KINDS) * len(ENDS)
    more = found.hits - found.by_chance
    return found.chance * tries < CHANCE and more >= SHARE_NOTABLE * found.slow


def _weight(found: Coincidence) -> tuple[float, float]:
    """What most of them have beyond chance; then what lasted longest."""
    return found.hits - found.by_chance, found.taken_ns


def _finding(point: Point, slow: SlowOnes, found: Coincidence) -> Finding:
    end = ENDS[found.rank]
    cost = slow.excess_ns / slow.all_ns
    taken = found.taken_ns / found.excess_ns if found.excess_ns else 0.0
    lasted = f" They lasted {taken:.0%} of what those took beyond the median." if taken else ""
    unseen = f" {slow.unseen} came when no more events were kept." if slow.unseen else ""
    return Finding(
        "warning" if cost >= COST_NOTABLE else "note",
        f"{point_in_words(point)}: {found.hits} of the {found.slow} slowest {slow.what} had "
        f"{_HAD[found.kind].format(end=end)}{_who(found)}.",
        f"Slow: {format_time(slow.least_ns)} and more, where the median is "
        f"{format_time(slow.median_ns)}; together {cost:.0%} of all time. By chance "
        f"{found.by_chance:.1f} would have had it, and of the others {found.others:.1%} did."
        f"{lasted}{unseen}",
        _ADVICE[found.kind],
        (point.id,),
        kind=f"slow-operations-{found.kind}",
        place=host_of(point, found.rank),
        confidence="likely",
    )


def _who(found: Coincidence) -> str:
    if found.kind == "softirq":
        return f" ({_listed([SOFTIRQS[d] for d in found.details if d < len(SOFTIRQS)])})"
    if found.kind == "sent-again":
        words = [CAUSES[d].replace("_", "-") for d in found.details if d < len(CAUSES)]
        return f" ({_listed(words)})"
    names = [_in_words(name) for name in found.names if name]
    if not names:
        return ""
    return {"interrupt": f" ({_listed(names)})"}.get(found.kind, f" for {_listed(names)}")


def _in_words(name: str) -> str:
    """The kernel's idle task is called after the boot processor's swapper."""
    return "nobody: it was idle" if name.startswith("swapper/") else name


def _listed(names: list[str]) -> str:
    return " and ".join(dict.fromkeys(names[:TOLD_NAMES]))
