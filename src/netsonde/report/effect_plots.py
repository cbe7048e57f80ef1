"""Effects by the variance that they explain: a bar of points for a page, lines for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from netsonde.figures.attributed import Effects, effects_of
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Column, Curve, Panel, Plot, tabled
from netsonde.report.theme import series_look

TOGETHER, CHANCE = "factors together", "chance"


def effects(study: Study) -> Plot | None:
    """Shares of the variance, a panel for each design. None where nothing is a full design."""
    found = effects_of(study.run)
    return tabled(
        "effects",
        "What explains how much",
        "Shares of the variance of all points of a design: of each factor alone, of factors in "
        "company, and of chance between seeds or batches.",
        _in_words(found),
        [_panel(one, place) for place, one in enumerate(found)],
        (
            Column("where", "Of"),
            Column("figure", "Figure"),
            Column("factor", "Factor"),
            Column("share_ratio", "Share of the variance", "ratio"),
        ),
        [(one.where, one.figure, name, share) for one in found for name, share in shares(one)],
    )


def shares(one: Effects) -> list[tuple[str, float]]:
    """The factors by their weight, then what is left."""
    named = [(name.split(".")[-1].replace("_", " "), share) for name, share in one.found.factors]
    return [*named, (TOGETHER, one.found.together), (CHANCE, one.found.chance)]


def _panel(one: Effects, place: int) -> Panel:
    look = series_look(place)
    rows = shares(one)
    curve = Curve(
        one.where,
        [float(number) for number in range(len(rows))],
        [share for _, share in rows],
        look.colour,
        draw="points",
        symbol=look.symbol,
    )
    x = Axis("factor", "number", names=[name for name, _ in rows])
    return Panel(
        f"{one.where}: {one.figure}",
        x,
        Axis("share of the variance", "ratio", low=0, high=1),
        [curve],
    )


def _in_words(found: Sequence[Effects]) -> str:
    return "; ".join(
        f"{one.where}: " + ", ".join(f"{name} {share:.0%}" for name, share in shares(one))
        for one in found
    )


def print_effects(study: Study, console: Console) -> None:
    """A line for each design."""
    for one in effects_of(study.run):
        words = ", ".join(f"{name} {share:.0%}" for name, share in shares(one))
        console.print(Text(f"Variance of {one.figure} over {one.points} points: {words}"))
