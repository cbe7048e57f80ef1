"""A search as a page: what was tried, the gain of each step, what was left alone and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from netsonde.report.changes import Looks, change_curves, less_one
from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import (
    Axis,
    Cell,
    Column,
    Mark,
    Panel,
    Plot,
    Table,
    columns,
    tabled,
)
from netsonde.report.plot import text_table as table_of
from netsonde.tuning.sockets.data import Goal, Outcome, Step, Tuning
from netsonde.tuning.sockets.files import options_in_words
from netsonde.tuning.sockets.judged import FALSE_ALARMS, Rules
from netsonde.tuning.sockets.knobs import KNOBS
from netsonde.tuning.sockets.text import gain_in_words
from netsonde.units import value_in_words

PAGE_NAME = "report.html"
MARKS: dict[Outcome, str] = {"kept": "✓ kept", "no gain": "– no gain", "left alone": "· left alone"}
_LOOKS: Looks[Outcome] = {
    "kept": ("good", "triangle-up"),
    "no gain": ("other", "circle"),
    "left alone": ("bad", "square"),
}


def write_page(tuning: Tuning, goals: Sequence[Goal], rules: Rules, where: str, path: Path) -> None:
    """Writes the page whole or not at all. Raises UsageError where it cannot be written."""
    sections = [
        Section("result", "Result", _result_words(tuning, rules), _proof_table(tuning, goals)),
        *_settings(tuning),
        Section(
            "steps",
            "What was tried",
            [_how(rules)],
            _step_table(tuning, goals),
            [plot for goal in goals if (plot := _plot(tuning, goal)) is not None],
        ),
        Section("alone", "What was left alone", [], _alone_table(tuning)),
    ]
    write_sections_page(path, "Settings of sockets and hosts", where, sections)


def _result_words(tuning: Tuning, rules: Rules) -> list[str]:
    words = [tuning.verdict]
    if tuning.proof:
        words.append(
            f"Tuned beside untuned, each {rules.pairs} times in turns, in launches that no step "
            "was judged by. How: netsonde man tune-sockets."
        )
    if tuning.unfinished:
        words.append(tuning.unfinished)
    return words


def _how(rules: Rules) -> str:
    return (
        f"A value is looked at with {rules.screened} pairs of launches. The one of a knob that "
        f"promises most is judged by {rules.pairs} further pairs: it is kept where the whole "
        f"interval of a goal lies beyond {100 * rules.least_gain:.3g} %, and no goal became worse. "
        f"The chance that a set of pairs calls anything a change where there is none is "
        f"{FALSE_ALARMS:.0%}. Gains of steps that were looked at only are of their few pairs."
    )


def _proof_table(tuning: Tuning, goals: Sequence[Goal]) -> Table | None:
    if not tuning.proof:
        return None
    rows: list[tuple[Cell, ...]] = []
    for goal in goals:
        gain = tuning.proof[goal.name]
        values = [_value(gain.before, goal), _value(gain.after, goal)]
        rows.append((goal.title, *values, gain_in_words(gain), gain.pairs))
    names = ("Goal", "Untuned", "Tuned", "Gain, with its interval", "Pairs")
    return table_of("proof", "Tuned beside untuned", names, rows)


def _value(value: float, goal: Goal) -> str:
    return value_in_words(value, "bit_per_s" if goal.more else "ns")


def _settings(tuning: Tuning) -> list[Section]:
    if not tuning.proven:
        return []
    rows: list[tuple[Cell, ...]] = [
        ("both hosts", name, value or "none") for name, value in tuning.tuned.host.items()
    ]
    for line in options_in_words(tuning.tuned):
        if " = " in line:
            name, _, value = line.partition(" = ")
            rows.append(("programs", name, value))
    names = ("For", "Setting", "Value")
    words = [
        "The files beside this page have them: a .conf for /etc/sysctl.d and commands for each "
        "host, options for programs, and undo-HOST.sh, which restores what was before."
    ]
    return [Section("settings", "Settings", words, table_of("settings", "Settings", names, rows))]


def _tried(tuning: Tuning) -> list[Step]:
    return [step for step in tuning.steps if step.change is not None]


def _step_table(tuning: Tuning, goals: Sequence[Goal]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for number, step in enumerate(_tried(tuning), 1):
        gains = [gain_in_words(step.gains[g.name]) if g.name in step.gains else "–" for g in goals]
        change = step.change.words if step.change else ""
        row = (number, MARKS[step.outcome], step.knob, change, step.level, step.cause or "–")
        rows.append((*row, *gains, step.reason, "; ".join(step.screened)))
    names = ("Number", "Outcome", "Knob", "Value", "Level", "Named by")
    return table_of(
        "steps", "Steps", (*names, *(g.title.capitalize() for g in goals), "Why", "Looked at"), rows
    )


def _alone_table(tuning: Tuning) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (step.knob, KNOBS[step.knob].words, step.level, step.reason)
        for step in tuning.steps
        if step.change is None
    ]
    return table_of("alone", "Left alone", ("Knob", "What it turns", "Level", "Why"), rows)


def _plot(tuning: Tuning, goal: Goal) -> Plot | None:
    """The gain of each step in one goal, with its interval."""
    drawn = [
        (place, step, step.gains[goal.name])
        for place, step in enumerate(_tried(tuning))
        if goal.name in step.gains
    ]
    if not drawn:
        return None
    names = [step.knob for step in _tried(tuning)]
    axis = Axis("knob", "text", low=-0.5, high=len(names) - 0.5, names=names)
    curves = change_curves(
        _LOOKS, [(place, s.outcome, g.ratio, g.low, g.high) for place, s, g in drawn]
    )
    return tabled(
        f"gain-{goal.name}",
        f"Gain in {goal.title}",
        "How many times as good the goal became, less one, with its interval, in the order of the "
        "search. Each stands beside the best setup before it.",
        "; ".join(f"{s.knob}: {gain_in_words(g)}, {s.outcome}" for _, s, g in drawn),
        [Panel("", axis, Axis("gain", "ratio"), curves, [Mark("y", 0.0, "")], height=320)],
        (
            Column("knob", "Knob"),
            Column("outcome", "Outcome"),
            *columns("ratio", gain="Gain", low="From", high="To"),
            Column("pairs", "Pairs", "count"),
        ),
        [
            (s.knob, s.outcome, g.ratio - 1, less_one(g.low), less_one(g.high), g.pairs)
            for _, s, g in drawn
        ],
        wide=True,
    )
