"""The search: knob after knob in the order of what ``explain`` names, each judged by launches in
pairs, until nothing is left to gain or the time is spent. It knows no host; a bench measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from netsonde.errors import HostError
from netsonde.tuning.sockets.causes import order
from netsonde.tuning.sockets.data import Change, Gains, Goal, Look, Setup, Step, Tuning
from netsonde.tuning.sockets.judged import Rules, Values, gains_of, promise_of
from netsonde.tuning.sockets.knobs import KNOBS, Knob
from netsonde.units import format_count

MOST_TIMES = 2
"""A knob that gained nothing is tried once more."""
LAUNCHES_BESIDE = 2
"""Looks, for each step that was kept."""


class Bench(Protocol):
    """What measures. All of it raises HostError where a launch fails or a host refuses."""

    @property
    def goals(self) -> Sequence[Goal]: ...

    def look(self, setup: Setup) -> Look:
        """A launch, and what is found in it."""

    def pairs(self, before: Setup, after: Setup, count: int) -> Mapping[str, Values]:
        """Launches in pairs, by name of the goal."""

    def refused(self, knob: Knob) -> str:
        """Why a knob is not to be turned here, as a sentence's end; empty where it may be."""

    def check(self, change: Change) -> None:
        """Raises HostError with the reason where the path does not take a change."""

    def left_s(self) -> float:
        """What is left of the time."""

    def launch_s(self) -> float:
        """What a launch takes."""

    @property
    def launches(self) -> int:
        """How many were made."""


def search(
    bench: Bench, untuned: Setup, rules: Rules, tell: Callable[[Step], None] = lambda _: None
) -> Tuning:
    """The settings that are proven to be faster, or that there are none.

    ``tell`` hears of each step as it is made. Raises HostError where the untuned setup cannot be
    measured.
    """
    course = _Course(bench, untuned, rules, tell)
    course.run()
    proof = course.proof()
    proven = any(gain.is_better_by(0.0) for gain in proof.values()) and not any(
        gain.is_worse for gain in proof.values()
    )
    return Tuning(
        untuned,
        course.setup if proven else untuned,
        tuple(course.steps),
        proof,
        proven,
        _verdict(course, proof, proven),
        bench.launches,
        course.unfinished,
    )


def prove(bench: Bench, untuned: Setup, tuned: Setup, pairs: int) -> Gains:
    """Fresh launches of both, in pairs."""
    return gains_of(bench.goals, bench.pairs(untuned, tuned, pairs))


def _verdict(course: _Course, proof: Gains, proven: bool) -> str:
    kept = sum(step.outcome == "kept" for step in course.steps)
    tried = sum(step.change is not None for step in course.steps)
    if not kept:
        none = "Nothing to gain was found" if not course.unfinished else "Nothing was gained so far"
        return f"{none}: {format_count(tried, 'step')} tried, none kept. Nothing is proposed."
    if proven:
        return (
            f"{format_count(kept, 'step')} of {tried} tried made a gain that fresh launches prove."
        )
    if any(gain.is_worse for gain in proof.values()):
        return "Fresh launches show a goal that became worse. Nothing is proposed."
    return (
        f"{format_count(kept, 'step')} seemed to gain, but fresh launches do not prove it. Nothing "
        "is proposed."
    )


@dataclass
class _Course:
    """The search as it goes on: ``setup`` is the best so far."""

    bench: Bench
    untuned: Setup
    rules: Rules
    tell: Callable[[Step], None]
    setup: Setup = field(init=False)
    steps: list[Step] = field(default_factory=list)
    unfinished: str = ""

    def __post_init__(self) -> None:
        self.setup = self.untuned
        self._times: dict[str, int] = {}
        self._tried_behind: dict[str, int] = {}
        """How many steps had been kept when a knob was tried."""

    def run(self) -> None:
        look = self.bench.look(self.setup)
        while (chosen := self._next(look)) is not None:
            knob, cause = chosen
            if self._lacks_time():
                self._leave_rest(look)
                return
            step = self._try(KNOBS[knob], cause, look)
            self._times[knob] = self._times.get(knob, 0) + 1
            self._tried_behind[knob] = len(self._kept())
            self._note(step)
            if step.outcome == "kept":
                look = self.bench.look(self.setup)

    def proof(self) -> Gains:
        if self.setup == self.untuned:
            return {}
        return prove(self.bench, self.untuned, self.setup, self.rules.pairs)

    def _kept(self) -> set[str]:
        return {step.knob for step in self.steps if step.outcome == "kept"}

    def _note(self, step: Step) -> None:
        """A knob that was tried again stands once, as it came out last."""
        self.steps = [s for s in self.steps if s.knob != step.knob or s.outcome == "kept"]
        self.steps.append(step)
        self.tell(step)

    def _next(self, look: Look) -> tuple[str, str] | None:
        """The knob to try next, and what names it. One that gained nothing is tried again where a
        step was kept since and a finding still names it: another limit hid it."""
        kept = self._kept()
        for knob, cause in order(look.findings, tuple(KNOBS)):
            times = self._times.get(knob, 0)
            hidden = len(kept) > self._tried_behind.get(knob, 0)
            again = bool(cause) and hidden and times < MOST_TIMES
            if knob not in kept and (not times or again):
                return knob, cause
        return None

    def _try(self, knob: Knob, cause: str, look: Look) -> Step:
        step = Step(knob.name, knob.level, "left alone", "", cause)
        reason = self._why_not(knob, cause, look)
        if reason:
            return replace(step, reason=reason)
        found = list(knob.candidates(look.known))
        if not found:
            return replace(step, reason=knob.at_best)
        chosen, screened, step = self._screened(knob, found, step)
        if chosen is None:
            return replace(step, screened=screened)
        return replace(self._judged(chosen, step), screened=screened)

    def _why_not(self, knob: Knob, cause: str, look: Look) -> str:
        if knob.same_as in self._kept():
            return f"{knob.same_as} did it for the program"
        if knob.only_if_named and not cause:
            return "it takes something from others, and no finding asks for it"
        goals = [goal for goal in self.bench.goals if goal.name in knob.goals]
        if not goals:
            return "it serves no goal that was asked for"
        open_goals = [goal for goal in goals if knob.beyond_line or goal.name not in look.at_best]
        if not open_goals:
            return look.at_best[goals[0].name]
        return self.bench.refused(knob)

    def _screened(
        self, knob: Knob, found: Sequence[Change], step: Step
    ) -> tuple[Change | None, tuple[str, ...], Step]:
        """The value to judge, with all that were looked at; none where pairs promise nothing."""
        promising: list[tuple[float, Change]] = []
        screened: list[str] = []
        failed = ""
        goals = [goal for goal in self.bench.goals if goal.name in knob.goals]
        for change in found:
            try:
                self.bench.check(change)
                values = self.bench.pairs(
                    self.setup, self.setup.with_change(change), self.rules.screened
                )
            except HostError as error:
                failed = str(error)
                screened.append(f"{change.words}: {failed}")
                continue
            screened.append(change.words)
            step = replace(step, change=change, gains=gains_of(self.bench.goals, values))
            promises = [promise_of(g, values[g.name], self.rules.least_gain) for g in goals]
            best = max((p for p in promises if p is not None), default=None)
            if best is not None:
                promising.append((best, change))
        if promising:
            return self._least_of(promising), tuple(screened), step
        if step.change is None:
            return None, tuple(screened), replace(step, reason=failed)
        pairs = format_count(self.rules.screened, "pair")
        return (
            None,
            tuple(screened),
            replace(step, outcome="no gain", reason=f"{pairs} promise none"),
        )

    def _least_of(self, promising: Sequence[tuple[float, Change]]) -> Change:
        """The first, which changes least, of those that promise as much as the best."""
        best = max(promise for promise, _ in promising)
        enough = best / (1.0 + self.rules.least_gain)
        return next(change for promise, change in promising if promise >= enough)

    def _judged(self, change: Change, step: Step) -> Step:
        """By pairs of its own, none of those that chose the value."""
        try:
            after = self.setup.with_change(change)
            gains = gains_of(
                self.bench.goals, self.bench.pairs(self.setup, after, self.rules.pairs)
            )
        except HostError as error:
            return replace(step, reason=str(error), change=change)
        step = replace(step, change=change, gains=gains)
        worse = [goal.title for goal in self.bench.goals if gains[goal.name].is_worse]
        better = [
            goal.title
            for goal in self.bench.goals
            if gains[goal.name].is_better_by(self.rules.least_gain)
        ]
        if worse:
            return replace(step, outcome="no gain", reason=f"worse: {', '.join(worse)}")
        if not better:
            least = f"{100 * self.rules.least_gain:.3g} %"
            return replace(step, outcome="no gain", reason=f"not proven to be over {least}")
        self.setup = after
        return replace(step, outcome="kept", reason=f"better: {', '.join(better)}")

    def _lacks_time(self) -> bool:
        """Whether a step and the proof do not fit into what is left."""
        needed = 2 * (self.rules.screened + self.rules.pairs)
        if self.setup != self.untuned:
            needed += 2 * self.rules.pairs
        return self.bench.left_s() < (needed + LAUNCHES_BESIDE) * self.bench.launch_s()

    def _leave_rest(self, look: Look) -> None:
        known = {step.knob for step in self.steps}
        rest = [(knob, cause) for knob, cause in order(look.findings, tuple(KNOBS))]
        left = [(knob, cause) for knob, cause in rest if knob not in known]
        for knob, cause in left:
            row = KNOBS[knob]
            reason = self._why_not(row, cause, look)
            if not reason and not list(row.candidates(look.known)):
                reason = row.at_best
            self._note(Step(knob, row.level, "left alone", reason or "the time was spent", cause))
        spent = [step.knob for step in self.steps if step.reason == "the time was spent"]
        if spent:
            self.unfinished = f"The time was spent before {', '.join(spent)}."
