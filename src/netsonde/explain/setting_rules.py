"""Rules about settings and circumstances: what the system made of what was asked for, and what
else could be in the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import facts_of, ids_of, point_in_words
from netsonde.records.carried import ONE_MACHINE
from netsonde.records.data import EndData, Point, Run
from netsonde.units import bytes_in_words, format_size, format_time

OVER_THE_CAP = 1.1
"""How much of its cap a point may last before a word is said."""
OTHERS_IDLE = 0.1
"""CPUs: others who used no more than this tenth of one count as idle."""
IDLE_LEAST_S = 1.0
"""CPU time is counted in steps of 4 or 10 ms; less than this says nothing of a tenth."""
SYSTEMS_SHARE = 2
"""Linux reports twice the buffer that it was asked for; the second half is for bookkeeping."""
THRESHOLD_UNSET = 2**31 - 1
"""What Linux takes for TCP's slow-start threshold where it remembers none."""
WORK = ("user", "nice", "system")
INTERRUPTS = ("irq", "softirq")


def wide_intervals(seen: Seen) -> Iterator[Finding]:
    capped = [p for p in seen.run.points if p.ended_by == "time" and not p.kind.is_unanswered]
    if not capped:
        return
    share = capped[0].spec.interval
    asked = [item for p in capped for item in (p.spec.intervals or {}).items()]
    others = {f"{name} to {wanted:.1%}" for name, wanted in asked}
    goals = ", ".join([f"the median was known to {share:.1%}", *sorted(others)])
    lasted = [share for share in shares_of_cap(capped).values() if share]
    near = f" They lasted {min(lasted):.0%} to {max(lasted):.0%} of it." if lasted else ""
    yield Finding(
        "note",
        f"{len(capped)} of {len(seen.run.points)} points reached their time cap before {goals}.",
        f"Their intervals are wider than asked and are shown.{near}",
        "Give more time with --time, or cap in the study.",
        ids_of(capped),
    )


def over_the_cap(seen: Seen) -> Iterator[Finding]:
    """Points that lasted longer than their time cap."""
    lasted = shares_of_cap(seen.run.points)
    over = [p for p in seen.run.points if lasted.get(p.id, 0) > OVER_THE_CAP]
    if not over:
        return
    worst = max(over, key=lambda p: lasted[p.id])
    yield Finding(
        "note",
        f"{len(over)} {'point' if len(over) == 1 else 'points'} lasted longer than the time cap.",
        f"{point_in_words(worst)}: {format_time(_lasted_ns(worst))}, the cap was "
        f"{format_time(worst.spec.cap_ns)}. A message is not broken off, a "
        "stream has six batches and a program six runs at least, and a message of UDP waits "
        "200 ms for what was lost.",
        "Give more --time, or smaller --sizes.",
        ids_of(over),
    )


def shares_of_cap(points: Iterable[Point]) -> dict[str, float]:
    """How long each finished point lasted, as a share of its time cap, by id; not those that were
    to make a number of messages."""
    return {
        p.id: _lasted_ns(p) / p.spec.cap_ns
        for p in points
        if p.status == "finished" and p.ended_by != "count" and p.spec.cap_ns
        if not p.kind.is_round
    }


def _lasted_ns(point: Point) -> int:
    times = [
        snapshot.time_ns
        for batch in point.batches
        if (end := batch.ends.get(0))
        for snapshot in (end.before, end.after)
        if snapshot
    ]
    return max(times) - min(times) if times else 0


def cut_buffers(seen: Seen) -> Iterator[Finding]:
    """Socket buffers of which the system gave less than was asked for."""
    found = [cut for point in seen.run.points for cut in _cuts(seen.run, point)]
    if not found:
        return
    point, words, host, wanted = found[0]
    points = {cut[0].id: cut[0] for cut in found}
    yield Finding(
        "warning",
        f"The system cut the socket buffers of {len(points)} "
        f"{'point' if len(points) == 1 else 'points'}.",
        f"{point_in_words(point)}: {words}.",
        "Raise net.core.rmem_max and net.core.wmem_max, or ask for less: sysctl -w "
        f"net.core.rmem_max={wanted} net.core.wmem_max={wanted} at {host}",
        tuple(points),
        place=f"system of {host}",
    )


def _cuts(run: Run, point: Point) -> Iterator[tuple[Point, str, str, int]]:
    options = point.spec.chosen
    both, there = options.buffer, options.target_buffer
    receive = both if options.receive_buffer is None else options.receive_buffer
    asked = {
        (0, "send"): both,
        (0, "receive"): receive,
        (1, "send"): there if there is not None else both,
        (1, "receive"): there if there is not None else receive,
    }
    for (rank, kind), wanted in asked.items():
        given = point.opened.get(rank, {}).get(f"{kind}_buffer_bytes")
        if wanted is None or given is None or int(given) >= SYSTEMS_SHARE * wanted:
            continue
        host, facts = facts_of(run, point, rank)
        setting = "rmem_max" if kind == "receive" else "wmem_max"
        limit = facts.get(f"sysctl.net.core.{setting}")
        why = f" (net.core.{setting} is {limit})" if limit is not None else ""
        yield (
            point,
            f"{bytes_in_words(wanted)} to {kind} were asked for at {host or f'end {rank}'}, "
            f"{format_size(int(given) // SYSTEMS_SHARE)} were given{why}",
            host or f"end {rank}",
            int(wanted),
        )


@dataclass(frozen=True)
class OthersUse:
    """CPUs that others than the workers used, at least and at most, over ``seconds``."""

    least: float
    most: float
    seconds: float


def idle_hosts(seen: Seen) -> Iterator[Finding]:
    """Whether the hosts did anything besides the test, from CPU time that is not its own;
    silent where interrupts leave that open."""
    used = others_use(seen.run)
    if not used:
        return
    seconds = min(use.seconds for use in used.values())
    evidence = (
        "CPUs that others than the workers used: "
        + ", ".join(f"{host} {use.least:.2f} to {use.most:.2f}" for host, use in used.items())
        + f"; over {seconds:.1f} s of batches. {OTHERS_IDLE} counts as idle."
    )
    if max(use.most for use in used.values()) <= OTHERS_IDLE:
        yield Finding("good", "The hosts were idle otherwise.", evidence)
        return
    busiest = max(use.least for use in used.values())
    if busiest <= OTHERS_IDLE:
        return
    yield Finding(
        "warning",
        f"A host was not idle otherwise: others used {busiest:.2f} CPUs or more.",
        evidence,
        "Stop what else runs there, or measure at another time.",
    )


def others_use(run: Run) -> dict[str, OthersUse]:
    """What others used of each machine's CPUs over all batches.

    Hosts of a lab and both ends of loopback are one machine, whose workers are counted together.
    What the lab's switch used of a whole point, between batches too, is no other's, so that it is
    taken off the least. The time of interrupts is the test's or others', and some kernels charge
    it to whatever process was running: at least is user and system time less the workers' own, at
    most all but idle and stolen time less the workers' own.
    """
    one = (run.manifest.get("path") or {}).get("kind") in ONE_MACHINE
    totals: dict[str, _Time] = {}
    for point in run.points:
        # A user's own program is no worker, and no other either; nor is work that was asked for.
        if point.kind.is_program or "busy" in point.checks:
            continue
        switch_ns = (point.checks.get("lab") or {}).get("switch_cpu_ns", 0)
        if one and point.batches:  # the lab's switch is part of the test
            totals.setdefault("this machine", _Time()).switch_s += switch_ns / 1e9
        for batch in point.batches:
            seen_machines = set()
            for end in batch.ends.values():
                machine = "this machine" if one else end.host
                if end.before is None or end.after is None:
                    continue
                total = totals.setdefault(machine, _Time())
                own = [end.difference(f"process.{kind}_ns") or 0 for kind in ("user", "system")]
                total.own_s += sum(own) / 1e9
                if machine not in seen_machines:
                    seen_machines.add(machine)
                    total.add(end)
    return {
        machine: OthersUse(
            max(0.0, time.work_s - time.own_s - time.switch_s) / time.elapsed_s,
            max(0.0, time.work_s + time.interrupts_s - time.own_s) / time.elapsed_s,
            time.elapsed_s,
        )
        for machine, time in totals.items()
        if time.elapsed_s >= IDLE_LEAST_S
    }


@dataclass
class _Time:
    """Of one machine, in seconds."""

    own_s: float = 0.0
    switch_s: float = 0.0
    work_s: float = 0.0
    interrupts_s: float = 0.0
    elapsed_s: float = 0.0

    def add(self, end: EndData) -> None:
        if end.before is None or end.after is None or "cpu.all.user" not in end.before.values:
            return
        per_s = end.before.values.get("system.jiffies_per_s", 0)
        if per_s:
            self.work_s += sum(end.difference(f"cpu.all.{k}") or 0 for k in WORK) / per_s
            interrupts = sum(end.difference(f"cpu.all.{k}") or 0 for k in INTERRUPTS)
            self.interrupts_s += interrupts / per_s
            self.elapsed_s += (end.after.time_ns - end.before.time_ns) / 1e9


def remembered_connections(seen: Seen) -> Iterator[Finding]:
    """TCP streams that began with the slow-start threshold of an earlier connection."""
    connected = seen.run.where(lambda p: p.carrier.has_connection)
    found = [(p, t) for p in connected if (t := _remembered(p))]
    if not found:
        return
    point, threshold = found[0]
    saving = facts_of(seen.run, point, 0)[1].get("sysctl.net.ipv4.tcp_no_metrics_save", "not known")
    yield Finding(
        "warning",
        f"TCP began {len(found)} {'point' if len(found) == 1 else 'points'} with what the "
        "system remembered of earlier connections.",
        f"{point_in_words(point)}: the slow-start threshold was {threshold} segments before "
        f"anything was sent; net.ipv4.tcp_no_metrics_save is {saving}.",
        "Before a run, empty the memory of both hosts with ip tcp_metrics flush, or set "
        "net.ipv4.tcp_no_metrics_save to 1.",
        ids_of(p for p, _ in found),
    )


def _remembered(point: Point) -> int | None:
    end = point.batches[0].ends.get(0) if point.batches else None
    if end is None or end.before is None:
        return None
    threshold = end.before.values.get("connection.test.snd_ssthresh", THRESHOLD_UNSET)
    retransmits = end.before.values.get("connection.test.total_retrans", 0)
    return threshold if threshold < THRESHOLD_UNSET and not retransmits else None


UNKNOWN = "mpi.unknown."
SAID = "mpi.said"
MOST_NAMED = 4


def unknown_mpi_settings(seen: Seen) -> Iterator[Finding]:
    """Variables of the environment that are none of the MPI that was measured."""
    nearest: dict[str, str] = {}
    for facts in _of_libraries(seen):
        nearest |= {
            name.removeprefix(UNKNOWN): str(value).split(" ")[0]
            for name, value in facts.items()
            if name.startswith(UNKNOWN)
        }
    if not nearest:
        return
    names = list(nearest)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    yield Finding(
        "warning",
        f"{', '.join(names[:MOST_NAMED])}{more} in the environment: no variable of this MPI, "
        "without effect.",
        "The library was asked for its variables in the job. Most like them: "
        f"{', '.join(filter(None, nearest.values()))}.",
        "Correct the name, or take it out of the environment.",
    )


def what_the_library_said(seen: Seen) -> list[Finding]:
    """An MPI library's own words at its start, which are about its settings mostly."""
    said = dict.fromkeys(str(facts[SAID]) for facts in _of_libraries(seen) if facts.get(SAID))
    return [
        Finding("note", f"The MPI library said at its start: {words}", "", "") for words in said
    ]


def _of_libraries(seen: Seen) -> Iterator[Mapping[str, Any]]:
    manifest = seen.run.manifest
    yield from (manifest.get("hosts") or {}).values()
    yield from (manifest.get("mpis") or {}).values()
