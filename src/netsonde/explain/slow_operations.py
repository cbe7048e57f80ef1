"""A rule about single slow operations: what the hosts did in just that time."""

from __future__ import annotations

from collections.abc import Iterator

from netsonde.explain.commands import binding
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import host_of, point_in_words
from netsonde.figures.coincidence import ENDS, Coincidence, SlowOnes, slow_ones
from netsonde.figures.events import KINDS
from netsonde.figures.kernel_trace import CAUSES
from netsonde.records.data import Point
from netsonde.units import format_time

LEAST_HITS = 5
CHANCE = 1e-3
"""Of seeing so much by chance at any of the kinds and ends together."""
EXPLAINED_NOTABLE = 0.25
"""Of what the slow ones took beyond the median."""
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
    "preempted": "the worker at the {end} put off its CPU",
    "woken-late": "the worker at the {end} wait for its CPU after it was woken",
    "moved": "the worker at the {end} moved to another CPU",
    "softirq": "a CPU of the {end} in a softirq for long",
    "interrupt": "a CPU of the {end} in an interrupt for long",
    "retransmitted": "TCP at the {end} retransmit segments",
    "frequency": "the frequency of a CPU of the {end} changed",
    "held": "packets lie in the queueing discipline of the {end}",
}
_ADVICE = {
    "preempted": "Keep other work off that CPU, or choose another one ({cpus}).",
    "woken-late": "Where it was idle, it slept: --wait spin keeps it awake. Else keep other work "
    "off it, or choose another one ({cpus}).",
    "moved": "Give the worker a CPU of its own ({cpus}).",
    "softirq": "Keep interrupts and softirqs off the worker's CPU (/proc/irq/*/smp_affinity, "
    "RPS), or choose another one ({cpus}).",
    "interrupt": "Let another CPU serve that interrupt (/proc/irq/*/smp_affinity).",
    "retransmitted": "Another finding names where segments were lost; the table of kernel "
    "tracing says why they were retransmitted.",
    "frequency": "Fix the frequency (the governor performance) and measure again.",
    "held": "tc -s qdisc says which queue it is, and what else is in it.",
}


def slow_operations(seen: Seen) -> Iterator[Finding]:
    """For each point whose slow operations events explain, the kind that explains most of them."""
    for point in seen.run.points:
        found = slow_ones(point) if point.batches else None
        real = [c for c in found.coincidences if _is_real(c)] if found is not None else []
        if found is not None and real:
            yield _finding(point, found, max(real, key=lambda c: c.explained))


def _is_real(found: Coincidence) -> bool:
    tries = len(KINDS) * len(ENDS)
    enough = found.hits >= LEAST_HITS and found.chance * tries < CHANCE
    return enough and found.explained >= EXPLAINED_NOTABLE


def _finding(point: Point, slow: SlowOnes, found: Coincidence) -> Finding:
    end = ENDS[found.rank]
    cost = slow.excess_ns / slow.all_ns
    unseen = f" {slow.unseen} came when no more events were kept." if slow.unseen else ""
    return Finding(
        "warning" if cost >= COST_NOTABLE else "note",
        f"{point_in_words(point)}: {found.hits} of the {slow.slow} slow {slow.what} had "
        f"{_HAD[found.kind].format(end=end)}{_who(found)}.",
        f"That is {found.explained:.0%} of what the slow ones took beyond the median, more than by "
        f"chance; of the others {found.others:.1%} had it. Slow: {format_time(slow.least_ns)} and "
        f"more, where the median is {format_time(slow.median_ns)}; together {cost:.0%} of all "
        f"time.{unseen}",
        _ADVICE[found.kind].format(cpus=binding(point.transport)),
        (point.id,),
        kind=f"slow-operations-{found.kind}",
        place=host_of(point, found.rank),
        confidence="likely",
    )


def _who(found: Coincidence) -> str:
    if found.kind == "softirq":
        return f" ({_listed([SOFTIRQS[d] for d in found.details if d < len(SOFTIRQS)])})"
    if found.kind == "retransmitted":
        words = [CAUSES[d].replace("_", "") for d in found.details if d < len(CAUSES)]
        return f" ({_listed(words)})"
    names = [_in_words(name) for name in found.names if name]
    if not names:
        return ""
    return {"interrupt": f" ({_listed(names)})"}.get(found.kind, f" for {_listed(names)}")


def _in_words(name: str) -> str:
    """The kernel's idle task is called after the boot CPU's swapper."""
    return "nobody: it was idle" if name.startswith("swapper/") else name


def _listed(names: list[str]) -> str:
    return " and ".join(dict.fromkeys(names[:TOLD_NAMES]))
