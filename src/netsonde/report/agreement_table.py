"""Techniques of other tools beside netsonde's: tables for page and terminal, and the plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from netsonde.figures.agreement import WITHIN, Agreement, Compared, agreements
from netsonde.figures.side_by_side import Spread
from netsonde.report.against import SIZE_AXIS, TEST_AND_SIZE, Between, curve, size_place
from netsonde.report.lookup import Study, what_was_measured
from netsonde.report.plot import Axis, Cell, Column, Curve, Mark, Panel, Plot, columns, tabled
from netsonde.report.quantity import format_value
from netsonde.report.theme import SERIES, Look, series_look

OURS_FIRST = "netsonde"
_STYLES = {"agrees": "green", "differs": "yellow"}


def print_agreements(study: Study, console: Console) -> bool:
    """Each test with netsonde's own figure, and under it a line for every tool; then how the tools
    that differ explain it. Whether there was anything."""
    found = agreements(study.run, study.figures)
    explained: dict[tuple[str, str], str] = {}
    for compared in found:
        ours = compared.ours
        console.print(
            Text(what_was_measured(compared.example), style="bold"),
            Text(f"  netsonde {format_value(ours.median, 'time_ns')}{_interval_ns(ours)}"),
        )
        for tool in compared.tools:
            console.print(Text(_line(tool), style=_STYLES.get(tool.verdict, "")))
            if tool.verdict == "differs":
                explained.setdefault((tool.tool, tool.part), tool.explanation)
    if found:
        words = (
            f"figure (round trips whole), × over netsonde's of {found[0].ours.n} passes, verdict, "
            "and the parts of ×: by the tool's definition × by its way. Agrees: 95 % interval "
            f"within {WITHIN:.0%} of 1"
        )
        console.print(Padding(Text(words, style="dim"), (0, 0, 0, 0), expand=False))
    for (name, _), sentence in explained.items():
        console.print(Padding(Text(f"{name}: {sentence}", style="dim"), (0, 0, 0, 2), expand=False))
    return bool(found)


def _line(tool: Agreement) -> str:
    value = format_value(tool.value_ns, "time_ns")
    ratio = f"{_times(tool.ratio.median)} ×{_interval(tool.ratio)}"
    parts = f"{_times(tool.definition)} × {_times(tool.way)}"
    return f"  {tool.tool:<9}{value:>9}  {ratio:<22}{tool.verdict:<13}{parts}"[:80]


def _times(ratio: float) -> str:
    if ratio >= 100:
        return f"{ratio:.0f}"
    return f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.2g}"


def _interval(spread: Spread) -> str:
    if spread.low is None or spread.high is None:
        return ""
    return f" [{_times(spread.low)}, {_times(spread.high)}]"


def _interval_ns(spread: Spread) -> str:
    if spread.low is None or spread.high is None:
        return ""
    return f" [{format_value(spread.low, 'time_ns')}, {format_value(spread.high, 'time_ns')}]"


def techniques(study: Study) -> Plot | None:
    """Every technique's figure over message size, one panel for each test, and its ratio to
    netsonde's."""
    found = agreements(study.run, study.figures)
    if not found:
        return None
    panels = list[Panel]()
    tests = dict.fromkeys(what_was_measured(c.example, with_size=False) for c in found)
    for test in tests:
        own = sorted(
            (c for c in found if what_was_measured(c.example, with_size=False) == test),
            key=lambda c: c.example.message_bytes,
        )
        panels += [_times_panel(test, own), _ratio_panel(test, own)]
    every = [tool for compared in found for tool in compared.tools]
    agree = sum(tool.verdict == "agrees" for tool in every)
    differ = sum(tool.verdict == "differs" for tool in every)
    return tabled(
        "techniques",
        "Techniques of other tools beside netsonde's",
        "The figure that each tool is quoted by, of repetitions that were made its way, as it "
        "corresponds to netsonde's median (round trips whole); on the right over netsonde's, with "
        "95 % intervals over passes. The table takes each ratio apart: what the tool's definition "
        "makes of the same repetitions, and what its way of measuring makes of netsonde's figure.",
        f"Of {len(every)} comparisons {agree} agree within {WITHIN:.0%}, {differ} differ and "
        f"{len(every) - agree - differ} are not decided.",
        panels,
        _COLUMNS,
        _rows(found),
        methods=("other-tools#",),
        heading="Techniques of other tools",
    )


_COLUMNS = (
    *TEST_AND_SIZE,
    Column("tool", "Tool"),
    Column("value_ns", "Its figure", "time_ns"),
    *columns("number", ratio="× netsonde's", ratio_low="From", ratio_high="To"),
    *columns("number", definition_ratio="By definition ×", way_ratio="By its way ×"),
    *columns("text", verdict="Verdict", explanation="Why"),
)


def _rows(found: list[Compared]) -> Iterator[tuple[Cell, ...]]:
    for compared in found:
        test, size = what_was_measured(compared.example, with_size=False), compared.example
        ours = compared.ours
        yield (test, size.message_bytes, OURS_FIRST, ours.median, 1.0, *(None,) * 4, "", "")
        yield from [
            (
                test,
                size.message_bytes,
                tool.tool,
                tool.value_ns,
                tool.ratio.median,
                tool.ratio.low,
                tool.ratio.high,
                tool.definition,
                tool.way,
                tool.verdict,
                tool.explanation if tool.verdict == "differs" else "",
            )
            for tool in compared.tools
        ]


def _tools(own: list[Compared]) -> list[str]:
    return list(dict.fromkeys(tool.tool for compared in own for tool in compared.tools))


def _of(compared: Compared, name: str) -> Agreement | None:
    return next((tool for tool in compared.tools if tool.tool == name), None)


def _times_panel(test: str, own: list[Compared]) -> Panel:
    ours = [(size_place(c.example.message_bytes), Between(c.ours.median)) for c in own]
    curves = [
        curve(OURS_FIRST, ours, Look(SERIES[0]), width=2.4),
        *_of_tools(own, lambda tool: Between(tool.value_ns)),
    ]
    return Panel(test, SIZE_AXIS, Axis("time", "time_ns", log=True), curves)


def _ratio_panel(test: str, own: list[Compared]) -> Panel:
    return Panel(
        f"{test}: over netsonde's",
        SIZE_AXIS,
        Axis("times netsonde's", "number", log=True),
        _of_tools(own, lambda tool: Between(tool.ratio.median, tool.ratio.low, tool.ratio.high)),
        [Mark("y", 1.0, OURS_FIRST)],
    )


def _of_tools(own: list[Compared], value: Callable[[Agreement], Between]) -> list[Curve]:
    """A curve for each tool, of a value at each size, broken where a size has none."""
    missing = Between(None)
    found = {name: [_of(compared, name) for compared in own] for name in _tools(own)}
    sizes = [size_place(compared.example.message_bytes) for compared in own]
    return [
        curve(
            name,
            zip(sizes, [missing if tool is None else value(tool) for tool in tools], strict=True),
            series_look(place, SERIES[1:]),
        )
        for place, (name, tools) in enumerate(found.items())
    ]
