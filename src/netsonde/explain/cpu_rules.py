"""Rules about CPUs: who else used the one that a test ran on, and where one was the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netsonde.explain.commands import advise, again, binding
from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import (
    IDLE_KINDS,
    STEAL_NOTABLE,
    busiest_cpu,
    facts_of,
    fills_the_link,
    find_point,
    growth,
    host_of,
    ids_of,
    point_in_words,
    steal_share,
)
from netsonde.records.carried import ONE_MACHINE
from netsonde.records.data import Point, Run
from netsonde.units import format_count, format_rate, format_time

OTHERS_NOTABLE = 0.2
"""Of one CPU: what others must use of it before they count as the cause of anything."""
SATURATED = 0.95
OWN_LEAST = 0.7
"""Of a saturated CPU: what the test itself and its interrupts must use of it."""
INTERRUPT_MOST = 0.5
"""Of a saturated CPU: with more than this in interrupts, they are what saturates it."""
SECONDS_LEAST = 0.4
"""CPU time is counted in ticks of 4 or 10 ms."""
NICE_SHARE = 0.5
"""Of what others use: with more than this at a low priority they are called nice."""
ENDS = {0: "origin", 1: "target"}
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
WORK = ("user", "nice", "system")
INTERRUPT_KINDS = ("irq", "softirq")
QUIET_GOVERNORS = ("powersave", "conservative")


@dataclass(frozen=True)
class Use:
    """Who used the CPU that an end's worker ran on, as shares of its time.

    ``own`` is the workers' there, ``nice`` that part of ``others`` which ran at a low priority.
    """

    rank: int
    host: str
    cpu: str
    busy: float
    own: float
    others: float
    nice: float
    interrupts: float
    seconds: float

    @property
    def place(self) -> str:
        return f"{self.host}, CPU {self.cpu}"


def uses_of(run: Run, point: Point) -> list[Use]:
    """Of each end whose worker stayed on one CPU; none where counters do not tell.

    Both hosts of a lab, and both ends of loopback, are one machine: the workers of all ranks on a
    CPU are its own use.
    """
    if point.kind.is_program or point.carrier.has_ranks:
        return []
    at = {rank: cpu for rank in _ranks(point) if (cpu := _stayed_on(point, rank)) is not None}
    one = is_one_machine(run)
    if one and len(at) < len(_ranks(point)):
        return []  # a worker of the test itself was there for a while
    uses = (_use(point, rank, cpu, at, one) for rank, cpu in at.items())
    return [use for use in uses if use is not None]


def is_one_machine(run: Run) -> bool:
    return (run.manifest.get("path") or {}).get("kind") in ONE_MACHINE


def _ranks(point: Point) -> list[int]:
    return sorted({rank for batch in point.batches for rank in batch.ends})


def _stayed_on(point: Point, rank: int) -> int | None:
    """The CPU that a worker's loops ended on in every batch, where it never changed it."""
    ends = [b.ends[rank] for b in point.batches if rank in b.ends]
    found = {end.counters.get("cpu") for end in ends}
    cpu = found.pop() if len(found) == 1 else None
    moved = growth(point, rank, "process.migrations")
    return cpu if cpu is not None and moved <= len(ends) // 10 else None


def _use(point: Point, rank: int, cpu: int, at: dict[int, int], one: bool) -> Use | None:
    names = {kind: growth(point, rank, f"cpu.{cpu}.{kind}") for kind in KINDS}
    end = next(b.ends[rank] for b in point.batches if rank in b.ends)
    per_s = end.before.values.get("system.jiffies_per_s", 0) if end.before else 0
    total = sum(names.values())
    if not per_s or total < SECONDS_LEAST * per_s:
        return None
    seconds = total / per_s
    there = [r for r, c in at.items() if c == cpu] if one else [rank]
    own = sum(growth(point, r, f"process.{k}_ns") for r in there for k in ("user", "system"))
    own_share = own / 1e9 / seconds
    work = sum(names.get(kind, 0) for kind in WORK) / total
    others = max(0.0, work - own_share)
    nice = min(others, names.get("nice", 0) / total)
    return Use(
        rank,
        end.host,
        str(cpu),
        1 - sum(names.get(kind, 0) for kind in IDLE_KINDS) / total,
        own_share,
        others,
        nice,
        sum(names.get(kind, 0) for kind in INTERRUPT_KINDS) / total,
        seconds,
    )


def busy_processor(seen: Seen) -> list[Finding]:
    """Others' work on the very CPUs that ends ran on, the busiest first: each may have its
    own."""
    if (seen.run.manifest.get("path") or {}).get("topology"):
        return []  # the lab's switch works somewhere on this machine, and is part of the link
    one = is_one_machine(seen.run)
    found: dict[str, list[tuple[Use, Point]]] = {}
    for point in seen.run.points:
        for use in uses_of(seen.run, point):
            if use.others >= OTHERS_NOTABLE:
                found.setdefault(use.cpu if one else use.place, []).append((use, point))
    worst = [(max(there, key=_others_of), there) for there in found.values()]
    worst.sort(key=lambda item: -_others_of(item[0]))
    return [_busy(use, point, [p for _, p in there]) for (use, point), there in worst]


def _others_of(found: tuple[Use, Point]) -> float:
    return found[0].others


def _busy(use: Use, point: Point, points: Sequence[Point]) -> Finding:
    is_nice = use.nice >= NICE_SHARE * use.others
    who = "Others at a low priority (nice)" if is_nice else "Others"
    switches = growth(point, use.rank, "process.involuntary_switches")
    return Finding(
        "warning",
        f"{who} used {use.others:.0%} of CPU {use.cpu} at {use.host}, on which the "
        f"{ENDS.get(use.rank % 2)} ran.",
        f"{point_in_words(point)}: over {use.seconds:.1f} s the CPU was {use.busy:.0%} "
        f"busy, {use.own:.0%} of its time with the test and {use.nice:.0%} with nice "
        f"processes; the test had to give it up {switches} times.",
        "Find who it is with top -H (press f, mark P and NI), stop it, or give the test "
        f"another CPU with {binding(point.transport)}.",
        ids_of({p.id: p for p in points}.values()),
        kind="busy-processor-nice" if is_nice else "busy-processor",
        place=use.place,
    )


def same_processor(seen: Seen) -> Iterator[Finding]:
    """Both ends of a test on one CPU of one machine, which has others."""
    found = []
    for point in seen.run.points:
        if not is_one_machine(seen.run) or point.flows > 1 or set(_ranks(point)) != {0, 1}:
            continue
        at = [_stayed_on(point, rank) for rank in (0, 1)]
        _, facts = facts_of(seen.run, point, 0)
        count = facts.get("cpu.count")
        if at[0] is not None and at[0] == at[1] and isinstance(count, int) and count > 1:
            found.append((point, at[0]))
    if not found or found[0][0].carrier.has_ranks:
        return
    point, cpu = found[0]
    asked = point.spec.chosen.origin_cpu is not None
    yield Finding(
        "warning" if asked else "note",
        f"Both ends ran on CPU {cpu} of one machine at {len(found)} "
        f"{'point' if len(found) == 1 else 'points'}: they waited for each other's turn.",
        f"{point_in_words(point)}: every batch of both ends ended on CPU {cpu}"
        + (", as --cpus asked." if asked else ", by the scheduler's choice."),
        advise(
            "Give each end a CPU of its own",
            again(seen.run, {"--cpus": f"{cpu},{cpu + 1 if cpu == 0 else cpu - 1}"}),
        ),
        ids_of(p for p, _ in found),
        place=f"CPU {cpu}",
    )


def far_from_the_card(seen: Seen) -> Iterator[Finding]:
    """Workers whose CPU and card are at the memories of two NUMA nodes."""
    found: dict[tuple[str, int, int], list[Point]] = {}
    for point in seen.run.points:
        for rank in _ranks(point):
            cpu = _stayed_on(point, rank)
            nodes = None if cpu is None else _nodes(seen.run, point, rank, cpu)
            if cpu is not None and nodes is not None and nodes[0] != nodes[1]:
                found.setdefault((host_of(point, rank), cpu, nodes[1]), []).append(point)
    if not found:
        return
    (host, cpu, node), points = max(found.items(), key=lambda item: len(item[1]))
    device = next(iter(_interfaces(points[0], host)), "the card")
    more = f" It is so on {len(found) - 1} other CPUs." if len(found) > 1 else ""
    yield Finding(
        "note",
        f"On {host} the worker ran on CPU {cpu}, far from {device}: the card is at NUMA "
        f"node {node}.",
        f"{format_count(len(points), 'point')}, such as {point_in_words(points[0])}: each "
        f"batch ended on CPU {cpu}, which is not one of node {node}.{more}",
        f"Measure on a CPU of node {node} as well ({binding(points[0].transport)}) and compare.",
        ids_of(points),
        place=f"CPU {cpu} of {host}",
    )


def _interfaces(point: Point, host: str) -> list[str]:
    """By which the ends on that host leave."""
    ranks = [rank for rank in _ranks(point) if host_of(point, rank) == host]
    named = [point.opened.get(rank, {}).get("interface") for rank in ranks]
    return [str(name) for name in named if name is not None]


def _nodes(run: Run, point: Point, rank: int, cpu: int) -> tuple[int, int] | None:
    """The NUMA nodes of a CPU and of the card; None where the host does not tell both."""
    facts = run.host_facts(host_of(point, rank))
    device = point.opened.get(rank, {}).get("interface")
    card = facts.get(f"interface.{device}.numa_node")
    if not isinstance(card, int):
        return None
    from netsonde.figures.levels import groups_in  # late: few hosts have several nodes

    groups = groups_in(str(facts.get("cpu.numa_nodes", "")))
    own = next((node for node, processors in groups.items() if cpu in processors), None)
    return None if own is None else (own, card)


def processor_limits(seen: Seen) -> Iterator[Finding]:
    """Streams below the link's rate at which an end's own CPU had nothing left."""
    found = []
    for point in seen.run.points:
        if not point.kind.is_stream or fills_the_link(seen, point):
            continue
        for use in uses_of(seen.run, point):
            mine = use.own + use.interrupts
            if use.busy >= SATURATED and mine >= OWN_LEAST and use.others < OTHERS_NOTABLE:
                found.append((mine, use, point))
    if not found:
        return
    _, use, point = max(found, key=lambda item: item[0])
    by_interrupts = use.interrupts >= INTERRUPT_MOST
    role = "sending" if use.rank % 2 == 0 else "receiving"
    what = "its interrupts" if by_interrupts else f"the {role} end"
    per_message = _time_per_message_ns(point, use)
    each = f"; a message costs it {format_time(per_message)}" if per_message else ""
    rate = seen.value("throughput_bit_per_s", point.id)
    yield Finding(
        "warning",
        f"A CPU is the limit: {what} saturated CPU {use.cpu} at {use.host}.",
        f"{point_in_words(point)} reached {format_rate(rate)} while the CPU was "
        f"{use.busy:.0%} busy: {use.own:.0%} the test itself, {use.interrupts:.0%} interrupts, "
        f"{use.others:.0%} others{each}.",
        "Spread the card's interrupts over CPUs (/proc/interrupts, irqbalance), or turn "
        "moderation on (ethtool -C)."
        if by_interrupts
        else "Use larger --sizes, several --streams, a larger MTU, or a faster CPU.",
        ids_of({p.id: p for _, _, p in found}.values()),
        kind="interrupt-bound" if by_interrupts else "processor-bound",
        place=use.place,
        confidence="likely",
    )


def _time_per_message_ns(point: Point, use: Use) -> float:
    name = "messages_sent" if use.rank % 2 == 0 else "messages_received"
    messages = point.counter(name, use.rank % 2)
    return 1e9 * use.seconds * use.busy / messages if messages else 0.0


def saving_power(seen: Seen) -> Iterator[Finding]:
    """CPUs that are told to be slow, where round trips were measured."""
    if not any(p.kind.is_round_trip for p in seen.run.select()):
        return
    hosts = seen.run.manifest.get("hosts") or {}
    found = {
        host: facts["cpu.governor"]
        for host, facts in hosts.items()
        if facts.get("cpu.governor") in QUIET_GOVERNORS
    }
    if not found:
        return
    most, count = Counter(found.values()).most_common(1)[0]
    yield Finding(
        "note",
        f"CPUs save power at {count} of {len(hosts)} hosts: round trips include their waking up.",
        f"The governor is {most} at {', '.join(list(found)[:4])}.",
        "Compare with: cpupower frequency-set -g performance",
        place=", ".join(list(found)[:4]),
        confidence="possible",
    )


def saturated(seen: Seen) -> Iterator[Finding]:
    found: dict[str, tuple[Point, float, str]] = {}
    for point in seen.run.points:
        if not point.kind.is_stream:
            continue
        for rank in (0, 1):
            cpu, busy = busiest_cpu(point, rank)
            if busy >= SATURATED:
                found[point.id] = (point, busy, cpu)
    if not found:
        return
    point, busy, cpu = max(found.values(), key=lambda item: item[1])
    yield Finding(
        "note",
        f"A CPU was saturated at {format_count(len(found), 'throughput point')}: there "
        "the CPU, not the link, may set the limit.",
        f"{point_in_words(point)}: CPU {cpu} was {busy:.0%} busy.",
        points=tuple(found),
    )


def disturbed(seen: Seen) -> Iterator[Finding]:
    worst = max(((steal_share(p), p.id) for p in seen.run.points if p.batches), default=(0.0, ""))
    if worst[0] < STEAL_NOTABLE:
        return
    yield Finding(
        "warning",
        "Other virtual machines took CPU time during the run.",
        f"Steal was up to {worst[0]:.1%} of all CPU time, at "
        f"{point_in_words(find_point(seen.run, worst[1]))}.",
        "Repeat on a quiet or a physical machine.",
        (worst[1],),
    )
