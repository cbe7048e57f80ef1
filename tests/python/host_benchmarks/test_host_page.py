"""The page of ``netsonde host``: the figures of the terminal, and the curve as it was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from host_made import disturbed, hint_of
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.host_benchmarks import plan
from netsonde.host_benchmarks.figures import (
    ClockFigures,
    ClockTable,
    SleepFigures,
    SleepTable,
    spread,
)
from netsonde.host_benchmarks.kernel import OFFERS, Ceiling, Offers
from netsonde.host_benchmarks.page import hint_plot, sections_of, write_host_page
from netsonde.host_benchmarks.parts import Found
from netsonde.host_benchmarks.work_figures import (
    WorkTables,
    context_switch_figures,
    copy_figures,
    noise_figures,
)

QUIPS = [20e6, 20e6, 10e6, 10e6, 2e6, 4e6]
MEMORY = [1000, 30_000, 40_000, 1 << 20, (1 << 20) + 40, 1 << 24]


def made() -> list[Found]:
    """A host of which every figure is known."""
    cost = spread(np.array([20, 25, 30, 45]))
    clocks = (
        ClockFigures("monotonic", 4, cost, 1.0, 20.0, 10, 0, None),
        ClockFigures("counter", 4, None, None, None, 0, 0, "nobody knows this CPU"),
        ClockFigures("system_call", 4, spread(np.full(4, 300)), 1.0, 20.0, 10, 0, None),
    )
    slept = spread(np.full(100, 60_000))
    return [
        ClockTable("h<1>", "x86_64", "tsc", {}, 20.0, clocks),
        SleepTable("h<1>", 50_000, (SleepFigures("nanosleep", 1000, 100, slept),)),
        WorkTables(
            "h<1>",
            noise_figures(disturbed(100, 50_000)),
            (copy_figures(4096, "cache to cache", np.array([800, 1000, 4000]), 10),),
            context_switch_figures([0, 1], *(np.full(9, n) for n in (1000, 7000, 50_000))),
            (hint_of(QUIPS, MEMORY),),
        ),
        Offers("h<1>", {name: "" if name == "ipv6" else "refused" for name in OFFERS}, ("bbr",)),
        Ceiling("h<1>", 8e9, 1e6, None, 9000.0, 8000.0, None, None),
    ]


def test_every_part_has_its_table() -> None:
    found = {section.id: section for one in made() for section in sections_of(one)}
    assert list(found) == [
        *("clocks", "sleeps", "noise", "copies", "threads", "hint", "kernel", "ceiling")
    ]
    rows = {name: section.table.rows for name, section in found.items() if section.table}
    assert rows["clocks"][0] == ("CLOCK_MONOTONIC", 1.0, 20.0, 20.0, 27.5, 30.0, 45.0)
    assert rows["clocks"][1][3:] == (None,) * 4
    assert rows["sleeps"][0][1:4] == (1000, 60_000, 60_000)
    assert rows["sleeps"][0][-1] == 59_000
    assert rows["copies"] == [(4096, "cache to cache", 100.0, pytest.approx(40.96))]
    assert [time_ns for _, time_ns in rows["threads"]] == [1000, 2500, 25_000]
    assert rows["hint"][0][1:4] == pytest.approx((20.0, 10.0, 3.0))
    assert rows["kernel"][0] == ("IPv6", "yes")
    assert rows["kernel"][1][1] == "no: refused"
    assert rows["ceiling"][0][1] == "8.000 Gbit/s"


def test_the_curve_is_what_was_measured() -> None:
    plot = hint_plot([hint_of(QUIPS, MEMORY)])
    assert plot is not None
    over_time, over_memory = plot.panels
    (curve,) = over_time.curves
    assert curve.x == [1000.0 * 4**i for i in range(6)]
    assert curve.y == pytest.approx(QUIPS)
    assert over_memory.curves[0].x == MEMORY
    assert [(mark.value, mark.label) for mark in over_memory.marks] == [
        (32_768.0, "L1D"),
        (1 << 20, "L2"),
    ]
    assert [row[-1] for row in plot.table.rows] == pytest.approx(QUIPS)


def test_the_page_says_what_stands_out_first(tmp_path: Path) -> None:
    write_host_page(made()[1:], tmp_path / "host.html")
    text = (tmp_path / "host.html").read_text()
    assert "<h1>What h&lt;1&gt; does alone</h1>" in text
    body = text[text.index("<main>") :]
    assert body.index("Waking a thread of another CPU takes 25 µs") < body.index("<table>")
    assert 'id="plot-hint-curves-2"' in body


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.worker
def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "HINT_SUBINTERVALS", 1 << 12)
    page = tmp_path / "host.html"
    shown = CliRunner().invoke(app, ["host", "--only", "hint", "--html", str(page)])
    assert shown.exit_code == 0, shown.output
    assert "HINT on local" in shown.stdout
    assert "HINT over time and memory" in page.read_text()
    shown = CliRunner().invoke(app, ["host", "--only", "kernel", "--html", str(tmp_path)])
    assert isinstance(shown.exception, UsageError)
    assert "cannot write" in str(shown.exception)
