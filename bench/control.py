"""Why a goal was missed: the same comparison with both ends on one processor.

There no wake-up crosses processors, so what is left is what the two programs themselves do for a
message. A difference that is gone there has to do with two processors working together: how soon
one wakes the other, where the kernel does its part. Which of these, the control cannot tell.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.alternate import Outcome, compare
from bench.peers import Route
from bench.verdict import Verdict, judge


@dataclass(frozen=True)
class Control:
    """The comparison on one processor; no verdict where no pair of it succeeded."""

    outcome: Outcome
    verdict: Verdict | None


def on_one_processor(
    route: Route,
    outcome: Outcome,
    pairs: int,
    draw: random.Random,
    tell: Callable[[], None],
    seed: int,
) -> Control | None:
    """Measures it; None where both ends share a processor anyway."""
    if route.origin_cpu == route.target_cpu:
        return None
    together = dataclasses.replace(route, target_cpu=route.origin_cpu)
    control = compare(together, outcome.comparison, pairs, outcome.extent.duration_s, draw, tell)
    return Control(control, judge(control, seed))


def cause(control: Control | None) -> str:
    """What the control says about the miss, in a sentence or two."""
    if control is None:
        return "why: not known; both ends share the only processor."
    verdict = control.verdict
    if verdict is None:
        return "why: not known; the control with both ends on one processor gave no figure."
    ratio = verdict.ratio
    interval = "" if ratio.low is None else f" ({ratio.low:.3f}-{ratio.high:.3f})"
    finding = f"with both ends on one processor the ratio is {ratio.ratio:.3f}{interval}"
    if not verdict.sure:
        word = "met" if verdict.met else "missed"
        return f"why: not decided; {finding}, {word} but not for certain. More pairs would tell."
    if not verdict.met:
        return f"why: netsonde's own path; {finding}, missed there too."
    return (
        f"why: not what the programs do for a message; {finding}, met. The difference is "
        "there only with the ends on two processors; what in that makes it is not known."
    )
