"""Findings one after the other for a terminal of 80 columns, each with all that is said of it; and
the effects of experiments as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from netsonde.catalogue.method import method_command
from netsonde.explain import Finding, Silent
from netsonde.explain.probe import Effect
from netsonde.records.data import Run
from netsonde.report.verdict_order import LEVELS

STYLES = {"bad": "bold red", "warning": "bold yellow", "note": "bold blue", "good": "bold green"}
COMMAND = ": netsonde "
"""What advice has before a command of ours."""
INDENT, TOLD = 3, 15
LEAST_WIDTH = 20


def print_findings(
    run: Run, findings: Sequence[Finding], silent: Sequence[Silent], console: Console
) -> None:
    """Prints findings in their order, numbered, and rules that could not judge."""
    if not findings:
        console.print(Text(f"Nothing was found in {run.directory} that needs words."))
    for number, finding in enumerate(findings, 1):
        _print_one(number, finding, console)
    if silent:
        console.print(Text("Rules that could not judge, and what they lack", style="bold"))
        for rule in silent:
            begin = Text(f"  {rule.rule}: ", style="bold")
            _hanging(begin, "; ".join(rule.lacks), console, INDENT + 1)


def _print_one(number: int, finding: Finding, console: Console) -> None:
    level = f"{LEVELS[finding.level]}: "
    begin = Text.assemble((f"{number}. ", "bold"), (level, STYLES[finding.level]))
    _hanging(begin, finding.claim, console, INDENT)
    words, _, command = finding.advice.partition(COMMAND)
    told = {
        "where": finding.place,
        "evidence": finding.evidence,
        "confidence": finding.confidence,
        "do": words,
        "points": _points(finding.points),
        "more": method_command(finding.docs) if finding.docs else "",
    }
    for name, value in told.items():
        if value:
            label = Text(f"{' ' * INDENT}{name:<{TOLD - INDENT}}", style="dim")
            _hanging(label, value, console, TOLD)
        if name == "do" and command:  # to be copied, so it is not broken
            console.print(Text(f"{' ' * TOLD}{COMMAND[2:]}{command}"), soft_wrap=True)
    console.print()


def _hanging(begin: Text, words: str, console: Console, indent: int) -> None:
    """Words behind a beginning, further lines indented; nothing behind the last word of a line."""
    filler = " " * max(0, len(begin) - indent)
    width = max(LEAST_WIDTH, console.width - indent)
    lines = textwrap.wrap(filler + words, width, break_long_words=False, break_on_hyphens=False)
    first = lines[0].removeprefix(filler) if lines else ""
    console.print(Text.assemble(begin, first), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(" " * indent + line), soft_wrap=True)


def _points(points: Sequence[str], most: int = 8) -> str:
    more = f" and {len(points) - most} more" if len(points) > most else ""
    return f"{' '.join(points[:most])}{more}"


EFFECT_STYLES = {"faster": "green", "slower": "yellow", "equal": "", "undecided": "dim"}


def effects_table(effects: Sequence[Effect]) -> Table:
    """One line for each change; fits 80 columns."""
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column("changed", no_wrap=True)
    table.add_column("times as fast", justify="right", no_wrap=True)
    table.add_column("what follows", ratio=1)
    for effect in effects:
        table.add_row(
            effect.label, _ratio(effect), _follows(effect), style=EFFECT_STYLES[effect.verdict]
        )
    return table


def _ratio(effect: Effect) -> str:
    if effect.ratio is None:
        return "-"
    if effect.low is None or effect.high is None:
        return f"{effect.ratio:.3g}"
    return f"{effect.ratio:.3g} ({effect.low:.3g}-{effect.high:.3g})"


def _follows(effect: Effect) -> str:
    if effect.failed:
        return f"could not be measured: {effect.failed}"
    return effect.meaning or ("not decided" if effect.verdict == "undecided" else "")
