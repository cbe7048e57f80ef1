"""All pairs, alone and all at once, in the report and where two runs are compared."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from every_pair_made import ranks_point, run_of
from report_browser import Browser

from netsonde.compare.all_pairs import lines_of_pairs, words_on_hosts
from netsonde.compare.data import Circumstance
from netsonde.figures.compute import figures_of
from netsonde.figures.pair_sets import beside_each_other, ways_of
from netsonde.records.data import Point
from netsonde.report.every_pair_plots import bubbles, plots_beside, plots_of_every_pair
from netsonde.report.lookup import Study
from netsonde.report.page import Section, write_sections_page

HOSTS = ("n1", "n2", "n3", "n4", "n5", "n6")
SIZES = (0, 1000, 100_000)
RATIO = 0.72
TABLES = tomllib.loads((Path(__file__).parents[1] / "published" / "dasgupta_2001.toml").read_text())


def made_run(factor=1.0, numbers=(2, 4, 6), transport="mpi"):
    """Round trips that grow with size, number of hosts and company; n1 to n2 takes twice as long,
    and everything ``factor`` times."""
    points: list[Point] = []
    for number in numbers:
        for size in SIZES:

            def trips(company, a, b, size=size, number=number):
                base = (1000 + size / 10) * (2 if company == "together" else 1) * number
                pair = 2 if (a, b) == (0, 1) else 0.1 if a == b else 1
                return [base * pair * factor] * 2

            points.append(ranks_point(trips, HOSTS[:number], size, id_=f"p{len(points) + 1:03d}"))
    return run_of(*(replace(point, transport=transport) for point in points))


@pytest.fixture(scope="module")
def compared():
    return beside_each_other(ways_of(made_run()), ways_of(made_run(RATIO)))


def plots_by_id(plots):
    return {plot.id: plot for plot in plots}


def test_the_report_has_size_hosts_and_each_matrix():
    run = made_run()
    plots = plots_by_id(plots_of_every_pair(Study(run, figures_of(run))))
    assert len(plots) == 2 + 3 * 3 * 2
    sizes = plots["all-pairs-sizes"]
    times, ratio = sizes.panels
    assert [curve.label for curve in ratio.curves] == ["2 hosts", "4 hosts", "6 hosts"]
    assert ratio.curves[0].y == pytest.approx([2.0] * 3)
    assert len(times.curves) == 6
    latency, rate, everybody = plots["all-pairs-hosts"].panels
    assert everybody.curves[0].y == [
        pytest.approx(n * y) for n, y in zip((2, 4, 6), rate.curves[0].y, strict=True)
    ]
    assert latency.curves[0].x == [2, 4, 6]
    assert latency.curves[0].y == pytest.approx([3000, 4000, 6000])  # an outlier but of two hosts
    assert rate.curves[0].y == sorted(rate.curves[0].y, reverse=True)
    rows = [row for row in sizes.table.rows if row[2] == 6]
    assert all(row[10] == 1 for row in rows)  # n1 to n2 is left out
    assert next(row for row in rows if row[3] == 0)[11] is None  # no rate of empty messages
    one = next(plot for plot in plots.values() if "6 hosts, alone, 1000" in plot.title)
    assert len(one.table.rows) == 36
    assert [row[:2] for row in one.table.rows if row[6]] == [("n1", "n2")]


def test_the_ratio_of_two_runs_has_a_curve_for_each_number_of_hosts(compared):
    plots = plots_by_id(plots_beside(compared))
    for panel in plots["all-pairs-ratio"].panels:
        assert [curve.label for curve in panel.curves] == ["2 hosts", "4 hosts", "6 hosts"]
        for curve in panel.curves:
            assert curve.y == pytest.approx([RATIO] * 3, abs=0.001)
    words = {row[-1] for row in plots["all-pairs-ratio"].table.rows}
    assert words == {"28 % less time, 39 % more rate"}
    latency, rate, _ = plots["all-pairs-hosts"].panels
    assert [curve.label for curve in latency.curves] == [
        *("MPI, before, alone", "MPI, before, all at once"),
        *("MPI, after, alone", "MPI, after, all at once"),
    ]
    assert len(rate.curves) == 4


def test_a_terminal_of_eighty_columns_has_the_ratios_from_whom_to_whom(compared):
    lines = list(lines_of_pairs(compared, ()))
    assert "All pairs, MPI: after over before" in lines
    assert "  2 hosts, alone, 0 bytes: 28 % less time, 39 % more rate" in lines
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["n6", *["72"] * 6]


def test_where_hosts_differ_too_the_ratio_is_not_said_to_be_the_networks(compared):
    changed = Circumstance("fact", "cpu.model", "one", "another", decisive=True)
    option = Circumstance("option", "mtu", "1500", "9000", decisive=True)
    assert not any("hosts differ" in line for line in lines_of_pairs(compared, (option,)))
    (line,) = (s for s in words_on_hosts((option, changed)))
    assert line == (
        "The hosts differ as well (cpu.model): whether the network or they are the reason for a "
        "ratio of all pairs, these runs cannot tell."
    )
    assert " ".join(line.split()) in " ".join(
        " ".join(lines_of_pairs(compared, (changed,))).split()
    )


def test_two_ways_that_differ_are_held_together_where_each_run_has_one():
    (two,) = beside_each_other(
        ways_of(made_run(numbers=(4,))), ways_of(made_run(2.0, (4,), transport="tcp"))
    )
    assert (two.before.name, two.after.name) == ("MPI", "TCP")


def path_of(browser, curve):
    return browser.value(
        f"document.querySelectorAll('.curve')[{curve}].querySelector('path').getAttribute('d')"
    )


def radii(browser, curve):
    path = path_of(browser, curve)
    return [float(radius) for radius in re.findall(r"[aA]([\d.]+)", path)][::2]


def test_the_area_of_a_bubble_is_its_time_in_both_networks(browser: Browser, tmp_path, compared):
    """Radii as the page draws them."""
    pair = next(p for p in compared[0].pairs if p.place == (6, 1000, "together"))
    layers = [("before", pair.before.means_ns), ("after", pair.after.means_ns)]
    panel = bubbles("Both", HOSTS, layers)
    (plot, *_) = plots_beside(compared)
    path = tmp_path / "page.html"
    plot = replace(plot, panels=[panel], choice="")
    write_sections_page(path, "Made", "for a test", [Section("one", "One", plots=[plot])])
    browser.show(1000)
    browser.open(path)
    assert browser.complaints() == []
    before, after = radii(browser, 0), radii(browser, 1)
    assert len(before) == len(after) == 36
    heights = [float(y) for y in re.findall(r"M[\d.]+[ ,]([\d.]+)", path_of(browser, 0))]
    assert heights[0] < heights[-1]  # who is first in a map is first here
    times = pair.before.means_ns.ravel()
    largest = max(before)
    assert before[1] == largest  # n1 to n2
    for radius, time in zip(before, times, strict=True):
        assert (radius / largest) ** 2 == pytest.approx(time / times.max(), abs=0.01)
    for first, second in zip(before, after, strict=True):
        assert (second / first) ** 2 == pytest.approx(RATIO, abs=0.02)
    assert "before: largest 26.40 µs, smallest 1.320 µs; after: " in panel.note


def test_the_printed_figures_are_drawn_again(tmp_path):
    """Figures 4.3 to 4.13 of P. Dasgupta's study from its tables: delay, rate, ratio, latency."""

    def run_of_column(rows, column, by_hosts=False):
        return run_of(
            *(
                ranks_point(
                    lambda _c, _a, _b, row=row: [2e9 * row[column]],
                    [f"torc{n}" for n in range(1, (row[0] if by_hosts else 8) + 1)],
                    0 if by_hosts else row[0],
                    id_=f"p{number:03d}",
                    pairs="together",
                )
                for number, row in enumerate(rows, 1)
            )
        )

    drawn = []
    for name, before, after, by_hosts in (
        ("encoding", 1, 2, False),
        ("routing", 2, 1, False),
        ("latency", 1, 2, True),
        ("latency_clusters", 1, 2, True),
    ):
        rows = TABLES[name]["rows"]
        runs = [run_of_column(rows, column, by_hosts) for column in (before, after)]
        plots = plots_by_id(plots_beside(beside_each_other(*map(ways_of, runs))))
        if by_hosts:
            (latency,) = plots["all-pairs-hosts"].panels
            for curve, column in zip(latency.curves, (before, after), strict=True):
                assert curve.y == pytest.approx([2e9 * row[column] for row in rows])
        else:
            (panel,) = plots["all-pairs-ratio"].panels
            ratios = [row[after] / row[before] for row in rows]
            assert panel.curves[0].y == pytest.approx(ratios, rel=1e-6)
            assert panel.curves[0].x == [row[0] for row in rows]
        drawn += [Section(name, name, plots=list(plots.values())[:2])]
    write_sections_page(tmp_path / "drawn.html", "Again", "from tables", drawn)
    assert (tmp_path / "drawn.html").stat().st_size > 10_000
