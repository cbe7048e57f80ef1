"""A search in lines for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from netsonde.tuning.sockets.data import Gain, Goal, Setup, Step, Tuning
from netsonde.tuning.sockets.files import options_in_words
from netsonde.tuning.sockets.knobs import KNOBS
from netsonde.units import format_count, value_in_words

WIDTH = 80


def percent(ratio: float | None) -> str:
    """1.234 -> ``+23.4 %``; what became many times as good is said in times."""
    if ratio is None:
        return "–"
    return f"{ratio:.3g} times" if ratio >= 10 else f"{100 * (ratio - 1):+.1f} %"


def gain_in_words(gain: Gain) -> str:
    """``+23.4 % (20.1 to 27.0)``."""
    if gain.low is None or gain.high is None:
        return f"{percent(gain.ratio)} (too few pairs for an interval)"
    return f"{percent(gain.ratio)} ({percent(gain.low)} to {percent(gain.high)})"


def step_line(step: Step, goals: Sequence[Goal]) -> str:
    """One step while the search goes on."""
    what = f"{step.knob}, {step.change.words}" if step.change else step.knob
    said = "; ".join(
        f"{goal.title} {gain_in_words(step.gains[goal.name])}"
        for goal in goals
        if goal.name in step.gains and step.outcome == "kept"
    )
    return f"{what}: {step.outcome} ({step.reason})" + (f": {said}" if said else "")


def tuning_lines(tuning: Tuning, goals: Sequence[Goal]) -> Iterator[str]:
    """The verdict, the proof, each step, and what was left alone."""
    yield from _wrapped(tuning.verdict)
    if tuning.unfinished:
        yield from _wrapped(tuning.unfinished)
    yield from proof_lines(tuning, goals)
    tried = [step for step in tuning.steps if step.change is not None]
    if tried:
        yield ""
        yield "Tried, in this order:"
        for step in tried:
            yield from _step_lines(step, goals)
    alone = [step for step in tuning.steps if step.change is None]
    if alone:
        yield ""
        yield "Left alone:"
        for reason in dict.fromkeys(step.reason for step in alone):
            knobs = ", ".join(step.knob for step in alone if step.reason == reason)
            yield from _wrapped(f"  {knobs}: {reason}")
    if tuning.proven:
        yield ""
        yield from setting_lines(tuning.tuned)


def proof_lines(tuning: Tuning, goals: Sequence[Goal]) -> Iterator[str]:
    if not tuning.proof:
        return
    yield ""
    pairs = next(iter(tuning.proof.values())).pairs
    yield f"Tuned beside untuned, in {format_count(pairs, 'fresh pair')} of launches:"
    for goal in goals:
        gain = tuning.proof[goal.name]
        unit = _unit(goal)
        values = f"{value_in_words(gain.before, unit)} -> {value_in_words(gain.after, unit)}"
        yield from _wrapped(f"  {goal.title}: {gain_in_words(gain)}; {values}")


def setting_lines(tuned: Setup) -> Iterator[str]:
    """What is proposed."""
    if tuned.host:
        yield "For both hosts:"
        for name, value in tuned.host.items():
            yield f"  {name} = {value or 'none'}"
    options = options_in_words(tuned)
    if options:
        yield "For programs:"
        for line in options:
            yield from _wrapped(f"  {line}")


def _step_lines(step: Step, goals: Sequence[Goal]) -> Iterator[str]:
    mark = {"kept": "+", "no gain": "-"}.get(step.outcome, " ")
    cause = f", named by {step.cause}" if step.cause else ""
    words = step.change.words if step.change else ""
    yield from _wrapped(f"{mark} {step.knob}: {words} ({KNOBS[step.knob].level}{cause})")
    yield from _wrapped(f"    {step.outcome}: {step.reason}")
    for goal in goals:
        if goal.name in step.gains:
            yield from _wrapped(f"    {goal.title} {gain_in_words(step.gains[goal.name])}")


def _unit(goal: Goal) -> str:
    return "bit_per_s" if goal.more else "ns"


def _wrapped(text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()))
    return wrap(
        text,
        WIDTH,
        subsequent_indent=indent + "    ",
        break_on_hyphens=False,
        break_long_words=False,
    )
