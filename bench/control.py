"""Why a goal was missed: the same comparison again with one cause taken away.

With **processors kept awake** no idle processor goes to sleep between two messages, so neither tool
waits for one to wake. With **both ends on one processor** no message crosses processors. A miss
that is gone in one of them comes from what was taken away; one that stays is netsonde's own.
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
from bench.peers import Route
from bench.verdict import Verdict, judge

LATENCY_WISH = Path("/dev/cpu_dma_latency")
AWAKE = "processors kept awake"
ONE_PROCESSOR = "both ends on one processor"
_GONE = {
    AWAKE: "how long an idle processor takes to sleep and to wake between two messages, and not "
    "what the programs do for one",
    ONE_PROCESSOR: "what happens between two processors (how soon one wakes the other, where the "
    "kernel does its part), and not what the programs do for a message",
}


@dataclass(frozen=True)
class Control:
    """The comparison with a cause taken away; no verdict where no pair of it succeeded."""

    taken_away: str
    outcome: Outcome
    verdict: Verdict | None

    @property
    def tells(self) -> bool:
        """Whether it is decided, one way or the other."""
        return self.verdict is not None and self.verdict.sure


def controls(
    route: Route,
    outcome: Outcome,
    pairs: int,
    draw: random.Random,
    tell: Callable[[], None],
    seed: int,
    wish: Path = LATENCY_WISH,
) -> list[Control]:
    """Measures them, the second only where the first does not show the cause.

    Empty where processors cannot be kept awake here and both ends share one anyway.
    """

    def again(taken_away: str, on: Route) -> Control:
        extent_s = outcome.extent.duration_s
        repeated = compare(on, outcome.comparison, pairs, extent_s, draw, tell)
        return Control(taken_away, repeated, judge(repeated, seed))

    done: list[Control] = []
    with kept_awake(wish) as awake:
        if awake:
            done.append(again(AWAKE, route))
    shown = any(c.tells and c.verdict is not None and c.verdict.met for c in done)
    if not shown and route.origin_cpu != route.target_cpu:
        done.append(again(ONE_PROCESSOR, dataclasses.replace(route, target_cpu=route.origin_cpu)))
    return done


@contextlib.contextmanager
def kept_awake(wish: Path = LATENCY_WISH) -> Iterator[bool]:
    """Asks the kernel for no sleep of idle processors while the block runs; whether it may."""
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


def cause(verdict: Verdict, done: Sequence[Control]) -> str:
    """What the controls say about the miss, in a few sentences."""
    findings = [_finding(control) for control in done]
    chance = "" if verdict.sure else "perhaps chance, the interval reaches the goal; "
    if not findings:
        return f"why: {chance}no control could be had here, so the cause is not known."
    said = "; ".join(findings)
    met = [c for c in done if c.tells and c.verdict is not None and c.verdict.met]
    if met:
        return f"why: {chance}{said}. The difference is in {_GONE[met[-1].taken_away]}."
    if all(c.tells for c in done):
        return f"why: {chance}{said}. The difference is in netsonde's own path."
    return f"why: {chance}{said}. Not decided; more pairs would tell."


def _finding(control: Control) -> str:
    verdict = control.verdict
    if verdict is None:
        return f"with {control.taken_away} there is no figure"
    ratio = verdict.ratio
    interval = "" if ratio.low is None else f" ({ratio.low:.3f}-{ratio.high:.3f})"
    word = ("met" if verdict.met else "missed") + ("" if verdict.sure else "?")
    return f"with {control.taken_away} the ratio is {ratio.ratio:.3f}{interval}, {word}"
