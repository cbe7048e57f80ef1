"""The effects of experiments as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from netsonde.explain.probe import Effect

STYLES = {"faster": "green", "slower": "yellow", "equal": "", "undecided": "dim"}


def effects_table(effects: Sequence[Effect]) -> Table:
    """One line for each change; fits 80 columns."""
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column("changed", no_wrap=True)
    table.add_column("times as fast", justify="right", no_wrap=True)
    table.add_column("what follows", ratio=1)
    for effect in effects:
        table.add_row(effect.label, _ratio(effect), _follows(effect), style=STYLES[effect.verdict])
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
