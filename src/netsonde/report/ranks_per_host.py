"""Several ranks on a host against fewer: table for page and terminal, and the plot."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from netsonde.figures.headlines import Headline
from netsonde.figures.ranks_per_host import ALIKE, Packed, packed, verdicts_in_words
from netsonde.report.against import SIZE_AXIS, TEST_AND_SIZE, curve, size_place, times_axis
from netsonde.report.lookup import Study, mark_of_headline, what_was_measured
from netsonde.report.plot import Cell, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value_and_interval, list_in_words, times_text
from netsonde.report.theme import SERIES, series_look

PANELS_SHOWN = 6
ROWS_PRINTED = 24
_STYLES = {"slower": "yellow", "faster": "green"}


def found_of(study: Study) -> list[Packed]:
    return packed(study.run.points, study.headlines)


def label_of(one: Packed, *, with_size: bool = True) -> str:
    """What was measured, with its MPI where there are several; the ranks on a host stand apart."""
    spec = one.example.spec
    words = what_was_measured(one.example.but_for("ppn"), with_size=with_size)
    mpi = f"({spec.mpi})" if spec.mpi is not None else ""
    ranks = f"{spec.ranks} ranks" if spec.ranks is not None and not spec.ranks_vary else ""
    head = " ".join(filter(None, (words, mpi)))
    return ", ".join(filter(None, (head, ranks, one.example.label)))


def ratio_in_words(one: Packed) -> str:
    """``1.83 × [1.71, 1.95]``, or without an interval the reason."""
    value = f"{times_text(one.ratio.value)} ×"
    low, high = one.ratio.over.low, one.ratio.over.high
    if low is None or high is None:
        return f"{value} [{one.ratio.figure.why_no_interval or 'no interval'}]"
    return f"{value} [{times_text(low)}, {times_text(high)}]"


def summary_of(found: Sequence[Packed]) -> str:
    """``Of 6 tests with more ranks on a host, 4 are slower and 2 alike.``"""
    counts = verdicts_in_words(found)
    words = [f"{count} {word}" for word, count in counts.items() if count]
    return f"Of {len(found)} tests with more ranks on a host, {list_in_words(words)}."


def print_ranks_per_host(study: Study, console: Console) -> bool:
    """A line for each test; whether there was one."""
    found = found_of(study)
    if not found:
        return False
    console.print(Text(summary_of(found), style="bold"))
    table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in ("", "ranks a host", "times as long", "verdict"):
        table.add_column(name, overflow="fold")
    for one in found[:ROWS_PRINTED]:
        table.add_row(
            label_of(one),
            f"{one.several} against {one.fewest}",
            ratio_in_words(one),
            Text(one.verdict, style=_STYLES.get(one.verdict, "")),
        )
    console.print(table)
    if len(found) > ROWS_PRINTED:
        console.print(Text(f"{len(found) - ROWS_PRINTED} more are in the report", style="dim"))
    bases = sorted({one.ratio.basis_in_words() for one in found})
    console.print(Text(f"intervals: {list_in_words(bases)}; alike: within {ALIKE:.0%}", "dim"))
    return True


def against_fewest(study: Study) -> Plot | None:
    """How many times as long with several ranks on a host, against message size."""
    found = found_of(study)
    if not found:
        return None
    panels = dict[str, list[Packed]]()
    for one in found:
        panels.setdefault(f"{one.several} ranks a host against {one.fewest}", []).append(one)
    return tabled(
        "ranks-per-host",
        "Several ranks on a host against fewer",
        "Time with so many ranks on each host over that with the fewest, with as many ranks in "
        "all; above the line more ranks on a host are slower. Intervals at 95 %: over launches "
        "where there are six, else what the table says. An interval that crosses the line decides "
        f"nothing; one that lies within {ALIKE:.0%} of it is no difference. At most "
        f"{len(SERIES)} tests of a panel are drawn; the table has all.",
        summary_of(found),
        [_panel(title, own) for title, own in list(panels.items())[:PANELS_SHOWN]],
        (
            *TEST_AND_SIZE,
            *columns("count", fewest="Fewest on a host", several="On a host"),
            *columns("text", fewest_figure="With the fewest", several_figure="With so many"),
            *columns("number", times="Times as long", times_low="From", times_high="To"),
            *columns("text", basis="Interval of", verdict="Verdict"),
        ),
        [_row(study, one) for one in found],
        methods=("launches#ranks-on-a-host",),
    )


def _row(study: Study, one: Packed) -> tuple[Cell, ...]:
    return (
        label_of(one, with_size=False),
        one.example.message_bytes,
        one.fewest,
        one.several,
        *(_in_words(study, headline) for headline in (one.before, one.after)),
        *(one.ratio.value, one.ratio.over.low, one.ratio.over.high),
        one.ratio.basis_in_words(),
        one.verdict,
    )


def _in_words(study: Study, headline: Headline) -> str:
    value, interval = format_value_and_interval(headline.figure)
    mark = mark_of_headline(study, headline)
    return f"{value} [{interval or headline.figure.why_no_interval}]{mark}"


def _panel(title: str, own: Sequence[Packed]) -> Panel:
    tests: dict[str, list[Packed]] = {}
    for one in own:
        tests.setdefault(label_of(one, with_size=False), []).append(one)
    curves = [
        _curve(name, members, place)
        for place, (name, members) in enumerate(list(tests.items())[: len(SERIES)])
    ]
    axes = SIZE_AXIS, times_axis("times as long", curves)
    return Panel(title, *axes, curves, [Mark("y", 1.0, "as long")])


def _curve(name: str, members: Sequence[Packed], place: int) -> Curve:
    rising = sorted(members, key=lambda one: one.example.message_bytes)
    places = [(size_place(one.example.message_bytes), one.ratio.over) for one in rising]
    return curve(name, places, series_look(place))
