"""The page of all pairs: hosts ranked, and one measure at a time, of runs whose fault is known."""

from __future__ import annotations

import re

import pytest
from all_pairs_made import made_run

from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.page import page
from netsonde.report.pair_plots import plots_of_pairs

FAULTY = 3
"""The host, of eight."""


def plots_of(run: Run):
    ranking, *choices = plots_of_pairs(Study(run, figures_of(run)))
    return ranking, {plot.id: plot for plot in choices}


@pytest.mark.parametrize(
    ("fault", "open_one", "manner"),
    [
        ({"slow": {FAULTY: 0.5}}, "pairs-throughput-bit-per-s", "slow"),
        ({"late": {FAULTY: 5.0}}, "pairs-round-trip-ns", "late"),
        ({"lossy": {FAULTY: 0.2}}, "pairs-lost-ratio", "loses"),
    ],
)
def test_the_fault_is_ranked_first_in_the_measure_that_is_open(fault, open_one, manner) -> None:
    run = made_run(8, **fault)
    ranking, choices = plots_of(run)
    assert [name for name, plot in choices.items() if plot.choice == "open"] == [open_one]
    assert {plot.choice for plot in choices.values()} == {"open", "folded"}
    assert ranking.table.columns[2].name == open_one.removeprefix("pairs-").replace("-", "_")
    first, *others = ranking.table.rows
    name = sorted(choices[open_one].table.rows[n][0] for n in range(8))[FAULTY]
    assert first[:2] == (1, name)
    assert first[4] == manner
    assert {row[4] for row in others} == {""}
    assert [row[0] for row in ranking.table.rows] == list(range(1, 9))
    beyond = [row[3] for row in ranking.table.rows]
    assert beyond == sorted(beyond, reverse=True)
    if manner == "slow":
        assert first[3] == pytest.approx(1.0, abs=0.2)  # half the rate is twice the time


def test_both_ways_are_drawn_where_they_differ() -> None:
    rates, _ = plots_of(made_run(8, slow={FAULTY: 0.5}))
    trips, _ = plots_of(made_run(8, late={FAULTY: 5.0}))
    assert [curve.label for curve in rates.panels[0].curves] == ["towards others", "from others"]
    assert [curve.label for curve in trips.panels[0].curves] == ["its pairs"]
    assert rates.panels[0].x.names == [row[1] for row in rates.table.rows]


def test_the_page_shows_one_measure_and_folds_the_others() -> None:
    run = made_run(8, slow={FAULTY: 0.5})
    figures = figures_of(run)
    text = page(run, figures, explain(run, figures))
    choice = re.findall(r'<details name="choice"( open)?><summary id="title-([\w-]+)">', text)
    assert [name for is_open, name in choice if is_open] == ["pairs-throughput-bit-per-s"]
    assert len(choice) >= 5
    assert text.count("<details><summary>The same as bubbles</summary>") >= 4
    assert '<p class="panel-title">The same as bubbles</p>' not in text
    assert "<details open><summary>Numbers of “Hosts, the worst first”</summary>" in text
