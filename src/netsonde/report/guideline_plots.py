"""MPI's performance guidelines: each against each size, as a map."""

from __future__ import annotations

from netsonde.figures.guidelines import Compared, compare_guidelines
from netsonde.report.lookup import Study
from netsonde.report.plot import Axis, Cell, Column, Heat, Panel, Plot, Table
from netsonde.report.quantity import size_text

ROWS_MOST = 24


def guidelines(study: Study) -> Plot | None:
    """By how much each left side is slower than its right side, at every size."""
    compared = compare_guidelines(study.run, study.figures)
    own = [c for c in compared if c.kind == "composition"]
    if not own:
        return None
    violated = [c for c in compared if c.is_violated]
    return Plot(
        "collectives-guidelines",
        "MPI operations: performance guidelines",
        "The time of the operation on the left of each line over that of those on its right, which "
        "do the same, where each rank's part has so many bytes. Coloured: more than 1 beyond the "
        "95 % intervals and a tenth, so that something is to be gained. The table also has the "
        "guidelines over sizes: a larger message takes no less time, and no longer than in parts.",
        f"{len(violated)} of {len(compared)} guidelines are violated.",
        [_panel(own)],
        Table(
            "collectives_guidelines",
            "MPI operations: performance guidelines",
            (
                Column("kind", "Kind"),
                Column("guideline", "Guideline"),
                Column("message_bytes", "Size", "size"),
                Column("left_ns", "Left", "time_ns"),
                Column("right_ns", "Right", "time_ns"),
                Column("gain_ratio", "To be gained", "ratio"),
                Column("certain_gain_ratio", "Certain", "ratio"),
                Column("violated", "Violated"),
            ),
            [_row(c) for c in sorted(compared, key=lambda c: -c.gain)],
        ),
        wide=True,
    )


def _panel(own: list[Compared]) -> Panel:
    rows = list(dict.fromkeys(c.words for c in own))[:ROWS_MOST]
    sizes = sorted({c.part_bytes for c in own})
    found = {(c.words, c.part_bytes): c for c in own}
    shares: list[list[float | None]] = []
    words: list[list[str]] = []
    for row in rows:
        cells = [found.get((row, size)) for size in sizes]
        shares.append([None if c is None else float(c.is_violated) * min(1, c.gain + 0.3)
                       for c in cells])  # fmt: skip
        words.append(["" if c is None else f"{1 / (1 - c.gain):.2f}" for c in cells])
    heat = Heat(
        [size_text(size) for size in sizes], rows, shares, words, palest=0.0, meaning="to be gained"
    )
    height = 110 + 26 * len(rows)
    return Panel("", Axis("part of each rank", "text"), Axis("", "text"), heat=heat, height=height)


def _row(c: Compared) -> tuple[Cell, ...]:
    return (
        c.kind,
        c.words,
        c.left.message_bytes,
        c.left.value,
        c.right_ns,
        c.gain,
        c.certain_gain,
        "yes" if c.is_violated else "no",
    )
