"""Why a goal was missed: the same comparison again with one cause taken away.

With **CPUs kept awake** no idle CPU goes to sleep between messages, so neither tool
waits for one to wake. With **both ends on one CPU** no message crosses CPUs. A miss
that is gone in one of them comes from what was taken away; one that stays is netsonde's own. Where
both ends spin there is nothing to take away: no CPU sleeps, and on one the ends only stand in
each other's way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.alternate import Outcome, compare
from bench.comparisons import Comparison
from bench.peers import Route
from bench.verdict import Verdict, certain_misses, judge

LATENCY_WISH = Path("/dev/cpu_dma_latency")
AWAKE = "CPUs kept awake"
ONE_PROCESSOR = "both ends on one CPU"
_GONE = {
    AWAKE: "how long an idle CPU takes to sleep and to wake between two messages, and not "
    "what the programs do for one",
    ONE_PROCESSOR: "what happens between two CPUs (how soon one wakes the other, where the "
    "kernel does its part), and not what the programs do for a message",
}


@dataclass(frozen=True)
class Control:
    """The comparison with a cause taken away, beside the peers that netsonde was behind."""

    taken_away: str
    outcome: Outcome
    verdicts: Sequence[Verdict]

    def on(self, verdict: Verdict) -> Verdict | None:
        """What this control finds where ``verdict`` found a miss; None where it has no figure."""
        for own in self.verdicts:
            if (own.figure, own.peer) == (verdict.figure, verdict.peer):
                return own
        return None

    def shows_the_cause(self, verdict: Verdict) -> bool:
        """Whether the miss is gone for certain."""
        own = self.on(verdict)
        return own is not None and own.sure and own.met


def controls(
    route: Route,
    outcome: Outcome,
    verdicts: Sequence[Verdict],
    pairs: int,
    draw: random.Random,
    tell: Callable[[], None],
    seed: int,
    wish: Path = LATENCY_WISH,
) -> list[Control]:
    """Measures them for the figures that were missed for certain, the second control only where
    the first does not show the cause of all.

    Empty where no miss is certain (so many rounds would not decide a control either), where both
    ends spin, and where CPUs cannot be kept awake here and both ends share one anyway.
    """
    misses = certain_misses(verdicts)
    if not misses or outcome.comparison.spins:
        return []
    again = _only(outcome.comparison, misses)

    def control(taken_away: str, on: Route) -> Control:
        repeated = compare(on, again, pairs, outcome.extent.duration_s, draw, tell)
        return Control(taken_away, repeated, judge(repeated, seed))

    done: list[Control] = []
    with kept_awake(wish) as awake:
        if awake:
            done.append(control(AWAKE, route))
    shown = bool(done) and all(done[0].shows_the_cause(miss) for miss in misses)
    if not shown and route.origin_cpu != route.target_cpu:
        together = dataclasses.replace(route, target_cpu=route.origin_cpu)
        done.append(control(ONE_PROCESSOR, together))
    return done


def _only(comparison: Comparison, misses: Sequence[Verdict]) -> Comparison:
    """The comparison with the figures that were missed and the peers that were ahead."""
    figures = {miss.figure for miss in misses}
    peers = {miss.peer for miss in misses}
    return dataclasses.replace(
        comparison,
        figures=[figure for figure in comparison.figures if figure.id in figures],
        peers={peer: run for peer, run in comparison.peers.items() if peer in peers},
    )


@contextlib.contextmanager
def kept_awake(wish: Path = LATENCY_WISH) -> Iterator[bool]:
    """Asks the kernel for no sleep of idle CPUs while the block runs; whether it may."""
    try:
        descriptor = os.open(wish, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        os.write(descriptor, bytes(4))  # the wish, in us; it lasts as long as the file is open
        yield True
    finally:
        os.close(descriptor)


def cause(verdict: Verdict, done: Sequence[Control], *, spins: bool = False) -> str:
    """What the controls say about the miss, in a few sentences."""
    if not verdict.sure:
        return "why: perhaps chance, no interval keeps off the goal; more pairs would tell."
    if spins:
        return (
            "why: no end sleeps, so no CPU is waited for. The difference is in what the "
            "programs do for a message, or in who else ran on their CPUs."
        )
    findings = [_finding(control, verdict) for control in done]
    if not findings:
        return "why: no control could be had here, so the cause is not known."
    said = "; ".join(findings)
    shown = [control for control in done if control.shows_the_cause(verdict)]
    if shown:
        return f"why: {said}. The difference is in {_GONE[shown[-1].taken_away]}."
    if all(own is not None and own.sure for own in (control.on(verdict) for control in done)):
        return f"why: {said}. The difference is in netsonde's own path."
    return f"why: {said}. Not decided; more pairs would tell."


def _finding(control: Control, missed_one: Verdict) -> str:
    verdict = control.on(missed_one)
    if verdict is None:
        return f"with {control.taken_away} there is no figure"
    ratio = verdict.ratio
    interval = "" if ratio.low is None else f" ({ratio.low:.3f}-{ratio.high:.3f})"
    word = ("met" if verdict.met else "missed") + ("" if verdict.sure else "?")
    return f"with {control.taken_away} the ratio is {ratio.ratio:.3f}{interval}, {word}"
