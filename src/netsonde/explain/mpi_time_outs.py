"""Whether MPI operations waited for TCP's retransmission timer."""

from __future__ import annotations

import numpy as np

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import point_in_words
from netsonde.figures.time_outs import Waits, waits_of
from netsonde.model.time_outs import stands_out
from netsonde.records.data import Point
from netsonde.units import format_time

MOST_FINDINGS = 2
"""Points that are told one by one, those that lost the most time first."""


def waits_for_timers(seen: Seen) -> list[Finding]:
    """Source: N. A. W. Abdul Hamid 2008, sections 5.4.1, 5.6 and 5.8."""
    found = [
        (waits, point)
        for point in seen.run.of_operations
        if (waits := waits_of(seen.run, point)) is not None and waits.judgement.verdict != "none"
    ]
    found.sort(key=lambda item: _lost_ns(item[0]), reverse=True)
    findings = [_finding(waits, point) for waits, point in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        rest = found[MOST_FINDINGS:]
        findings.append(
            Finding(
                "note",
                f"{len(rest)} more points of MPI have repetitions that stand out by a timeout.",
                "; ".join(f"{point_in_words(p)}: {_share_in_words(w)}" for w, p in rest) + ".",
                points=tuple(point.id for _, point in rest),
            )
        )
    return findings


def _share_in_words(waits: Waits) -> str:
    slow = 1 - waits.judgement.shares()[0]
    return f"{slow:.1%}" if waits.judgement.verdict == "found" else f"{slow:.1%}, not decided"


def _lost_ns(waits: Waits) -> float:
    usual = waits.judgement.bands.usual_ns
    slow = waits.judgement.bands.waits != 0
    return float((waits.times_ns[slow] - usual).sum())


def _finding(waits: Waits, point: Point) -> Finding:
    verdict = waits.judgement.verdict
    return _found(waits, point) if verdict == "found" else _undecided(waits, point)


def _found(waits: Waits, point: Point) -> Finding:
    bands = waits.judgement.bands
    none, one, two, more = waits.judgement.shares()
    lost = _lost_ns(waits) / float(waits.times_ns.sum())
    mean = float(waits.times_ns.mean())
    without = float(waits.times_ns[bands.waits == 0].mean())
    ranks = [f"rank {r} in {n}" for r, n in sorted(waits.by_rank.items()) if n]
    return Finding(
        "warning",
        f"{point_in_words(point)}: {1 - none:.1%} of the repetitions waited for TCP's "
        f"retransmission timer, which took {lost:.0%} of all their time.",
        f"One timeout of {format_time(waits.least_ns)} in {one:.1%}, two in {two:.1%}, more in "
        f"{more:.1%} of {len(bands.waits)}. Mean {format_time(mean)}, without these "
        f"{format_time(without)}. {_counted(waits)} Own stays were so long: "
        f"{', '.join(ranks) or 'none'}.{_before(waits)}",
        "Find where segments are lost (the interfaces' and the switch's drops); try larger "
        "buffers there, fewer or smaller messages at once, or a shorter least timeout (ip route "
        "... rto_min).",
        (point.id,),
    )


def _undecided(waits: Waits, point: Point) -> Finding:
    judged = waits.judgement
    slow = int((judged.bands.waits != 0).sum())
    least = format_time(waits.least_ns)
    longer = f"{slow} of {len(judged.bands.waits)} repetitions took longer by about {least} or more"
    if judged.verdict == "below":
        out = waits.times_ns[stands_out(waits.times_ns)] - judged.bands.usual_ns
        longer = (
            f"{len(out)} of {len(waits.times_ns)} repetitions stand out, by "
            f"{format_time(float(out.min()))} to {format_time(float(out.max()))}"
            if len(out)
            else longer
        )
    why, level = {
        "broad": (f"their usual times differ by more than half of {least}", "note"),
        "between": (f"they do not stand at multiples of {least}", "note"),
        "contradicted": ("the kernels counted no timeouts to go with them", "note"),
        "uncounted": ("nobody counted timeouts", "note"),
        "below": (f"the kernels counted {waits.time_outs} timeouts, and what stands out does so "
                  f"by less than the {least} that are known as the least", "warning"),
        "hidden": (f"the shortest, {format_time(float(np.min(waits.times_ns)))}, may hold one too",
                   "warning"),
    }[judged.verdict]  # fmt: skip
    claim = f"{point_in_words(point)}: whether repetitions waited for TCP's timer is not decided"
    return Finding(
        "warning" if level == "warning" else "note",
        f"{claim}: {why}.",
        f"{longer}. {_counted(waits)}{_before(waits)}",
        "See what routes and connections have for the least timeout: ip route show; ss -ti (rto)."
        if judged.verdict == "below"
        else "Look at the modes and at the slowest ranks of this point.",
        (point.id,),
    )


def _counted(waits: Waits) -> str:
    if waits.time_outs is None or waits.probes is None:
        return "The kernels' counters were not read."
    return (
        f"The hosts' kernels counted {waits.time_outs} timeouts (TCPTimeouts) and {waits.probes} "
        "probes for a lost tail (TCPLossProbes), the barriers between repetitions included."
    )


def _before(waits: Waits) -> str:
    if not waits.begun_late:
        return ""
    return (
        f" In {waits.begun_late} of them a rank entered late by as much: the barrier before it "
        "waited."
    )
