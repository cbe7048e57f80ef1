"""A comparison and a plan as text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from netsonde.compare.all_pairs import compared_pairs, lines_of_pairs
from netsonde.compare.data import Circumstance, Comparison, FigureVerdict, RunInfo
from netsonde.compare.plan import FigurePlan, LaunchPlan
from netsonde.units import change_in_words, value_in_words

WIDTH = 80
_LABEL = 29
_NUMBER = 11
_MOST_CIRCUMSTANCES = 10
_MOST_RUNS = 3
_ORDER = {"worse": 0, "better": 1, "unknown": 2, "equal": 3}


def change_in_numbers(figure: FigureVerdict) -> str:
    """``+3.1 % (+2.0, +4.2)``; without an interval, the change alone; nothing without a ratio."""
    if figure.ratio is None:
        return ""
    change = f"{_percent(figure.ratio)} %"
    if figure.low is None or figure.high is None:
        return change
    return f"{change} ({_percent(figure.low)}, {_percent(figure.high)})"


def _percent(ratio: float) -> str:
    change = 100.0 * (ratio - 1.0)
    return f"{change:+.0f}" if abs(change) >= 99.5 else f"{change:+.1f}"


def comparison_lines(comparison: Comparison) -> Iterable[str]:
    """What is printed: the sides, a line for each figure, what else changed, notes, all pairs, the
    sum."""
    yield from _side("Before", comparison.before)
    yield from _side("After", comparison.after)
    yield ""
    yield from _heading()
    for figure in sorted(comparison.figures, key=lambda f: _ORDER[f.verdict]):
        yield from _line(figure, comparison)
    yield from _changed(comparison.circumstances)
    for word, left in (("before", comparison.only_before), ("after", comparison.only_after)):
        if left:
            yield ""
            yield from _wrapped(f"Only {word}: {'; '.join(left)}")
    for note in comparison.notes:
        yield ""
        yield from _wrapped(note)
    yield from lines_of_pairs(compared_pairs(comparison), comparison.circumstances)
    yield ""
    yield from _wrapped(_sum(comparison))


def _side(word: str, runs: Sequence[RunInfo]) -> Iterable[str]:
    for number, run in enumerate(runs[:_MOST_RUNS]):
        launches = _counted(run.launches, "launch")
        about = ", ".join(filter(None, (run.origin, launches, run.started_utc[:16])))
        head = f"{word if number == 0 else '':<7} "
        one_line = f"{head}{run.directory} ({about})"
        if len(one_line) <= WIDTH:
            yield one_line
        else:
            yield f"{head}{run.directory}"
            yield f"        {about}"
    left = runs[_MOST_RUNS:]
    if left:
        more = sum(run.launches for run in left)
        yield f"        and {_counted(len(left), 'more run')} with {_counted(more, 'launch')}"


def _counted(number: int, noun: str) -> str:
    """``1 launch``, ``2 launches``."""
    plural = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{plural * (number != 1)}"


def _heading() -> Iterable[str]:
    yield (
        f"{'Verdict':<8}{'Figure':<{_LABEL}} {'Before':>{_NUMBER}} {'After':>{_NUMBER}} "
        f"{'Change, %':>18}"
    )


def _line(figure: FigureVerdict, comparison: Comparison) -> Iterable[str]:
    label = figure.label
    if sum(f.label == label for f in comparison.figures) > 1:
        label = f"{label} {figure.key.figure}"
    unit = figure.key.unit
    before, after = (value_in_words(s.median, unit) for s in (figure.before, figure.after))
    numbers = (
        f"{before:>{_NUMBER}} {after:>{_NUMBER}} {change_in_numbers(figure).replace(' %', ''):>18}"
    )
    room = WIDTH - 8 - 1 - len(numbers)
    if len(label) <= room:
        yield f"{figure.verdict:<8}{label:<{room}} {numbers}".rstrip()
    else:
        yield f"{figure.verdict:<8}{shorten_end(label, WIDTH - 8)}"
        yield f"{numbers:>{WIDTH}}".rstrip()
    if figure.verdict in ("better", "worse") and figure.ratio is not None:
        yield from _wrapped(change_in_words(figure.ratio, unit), indent=8)
    for change in figure.changed:
        yield from _wrapped(change, indent=8)
    if figure.reason and figure.verdict != "unknown":
        yield from _wrapped(figure.reason, indent=8)


def _changed(circumstances: Sequence[Circumstance]) -> Iterable[str]:
    if not circumstances:
        return
    yield ""
    yield "What else changed"
    for change in circumstances[:_MOST_CIRCUMSTANCES]:
        name = change.name.removeprefix("sysctl.")
        yield from _wrapped(f"{name}: {change.before} -> {change.after}", indent=2)
    left = len(circumstances) - _MOST_CIRCUMSTANCES
    if left > 0:
        yield f"  and {left} more, which --json has"


def _sum(comparison: Comparison) -> str:
    counts = comparison.counts
    named = ", ".join(f"{count} {name}" for name, count in counts.items())
    reasons = {f.reason: None for f in comparison.figures if f.verdict == "unknown"}
    why = f" Unknown: {'; or '.join(reasons)}." if reasons else ""
    return (
        f"{_counted(len(comparison.figures), 'figure')}: {named}. Equal is within "
        f"{100 * comparison.margin:.3g} %; any false alarm among all has a chance of at most "
        f"{100 * comparison.false_alarms:.3g} %.{why}"
    )


def plan_lines(plan: LaunchPlan) -> Iterable[str]:
    """The launches that each figure needs, the most demanding first."""
    yield (
        f"To find a change of {100 * plan.shift:.3g} % in "
        f"{_counted(len(plan.figures), 'figure')} with "
        f"{100 * plan.power:.3g} % power:"
    )
    yield ""
    yield f"{'Figure':<36} {'Seen':>6} {'Noise':>9} {'Launches':>9} {'At most':>8}"
    for figure in sorted(plan.figures, key=_demand, reverse=True):
        label = shorten_end(figure.label, 36)
        if figure.plan is None:
            yield f"{label:<36} {figure.seen:>6}  {figure.reason}"
            continue
        noise = f"{100 * figure.plan.noise:.2g} %"
        asked = (_count(figure.plan.launches), _count(figure.plan.launches_safe))
        yield f"{label:<36} {figure.seen:>6} {noise:>9} {asked[0]:>9} {asked[1]:>8}"
    yield ""
    yield from _wrapped(plan.sentence)


def _demand(figure: FigurePlan) -> float:
    if figure.plan is None:
        return -1.0
    return float(figure.plan.launches or 1e9)


def _count(launches: int | None) -> str:
    return str(launches) if launches is not None else "> 1000"


def shorten_end(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _wrapped(text: str, indent: int = 0) -> Iterable[str]:
    pad = " " * indent
    return wrap(text, WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False)
