"""One thing for one thing: whatever says a figure of a run says the same value and interval."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
from all_pairs_made import made_run
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rich.console import Console
from study_made import Study as Drawn
from study_made import drawn_study

from netsonde.compare.directions import OF_ALL_PAIRS
from netsonde.compare.values import values_of
from netsonde.compare.verdicts import compare
from netsonde.explain.data import Seen
from netsonde.explain.rate_rules import link_share
from netsonde.export.findings import junit
from netsonde.export.openmetrics import openmetrics
from netsonde.export.source import FIGURE_COLUMNS, Source
from netsonde.export.tables import figure_frame
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.figures.headlines import Headlines, LaunchValue, over_launches
from netsonde.figures.judgements import judge
from netsonde.figures.requirements import requirements_of
from netsonde.opened import OpenedRun
from netsonde.records.data import Run
from netsonde.report import print_summary
from netsonde.report.files import document
from netsonde.report.key_figures import HEADINGS, MOST_ROWS, key_rows
from netsonde.report.lookup import Study
from netsonde.report.page import page_environment
from netsonde.report.quantity import format_value_and_interval
from netsonde.report.side_by_side import side_by_side
from netsonde.units import format_rate

STUDIES = 200
MAIN = {
    "latency": "round_trip_median_ns",
    "pingpong": "throughput_bit_per_s",
    "stream": "throughput_bit_per_s",
    "duplex": "throughput_sum_bit_per_s",
}
Ends = tuple[float, float | None, float | None]


class Made(Source):
    """What would be exported of a run that was never written."""

    def __init__(self, run: Run, figures: list[Figure]) -> None:
        self.directory, self.manifest = run.directory, run.manifest
        self.__dict__ |= {"run": run, "figures": figures, "findings": []}


class Opened(OpenedRun):
    def __init__(self, run: Run) -> None:
        self.run = run


@dataclass
class Truth:
    """What every condition of a study has to be said as: by the ids of its points."""

    run: Run
    drawn: Drawn
    figures: list[Figure]

    @cached_property
    def by_points(self) -> dict[tuple[tuple[str, ...], str], Ends]:
        own = {(f.point, f.name): f for f in self.figures}
        found = {}
        for (_, test, _), launches in self.drawn.conditions.items():
            ids = tuple(name for _, names in sorted(launches.items()) for name in names)
            for name in {MAIN[test], "round_trip_p99_ns", "lost_ratio"}:
                if (ids[0], name) in own:
                    each = [names for _, names in sorted(launches.items())]
                    found[ids, name] = expected([[own[i, name] for i in names] for names in each])
        return found


def expected(launches: list[list[Figure]]) -> Ends:
    """The median of launches; its interval from six on, beneath the span of all that is known."""
    if len(launches) == 1 and len(launches[0]) > 1:  # passes of one launch
        return expected([[figure] for figure in launches[0]])
    members = [found[0] for found in launches]
    assert all(len(found) == 1 for found in launches)
    values = sorted(figure.value for figure in members)
    middle = float(median(values))
    if len(values) == 1:
        return middle, members[0].low, members[0].high
    if len(values) >= 6:  # order statistics of six to eight leave out none
        return middle, values[0], values[-1]
    if any(figure.low is None for figure in members):
        return middle, None, None
    return middle, min(f.low for f in members), max(f.high for f in members)  # type: ignore[type-var]


def said_by(rows: list[dict[str, Any]]) -> dict[tuple[tuple[str, ...], str], Ends]:
    return {(tuple(h["points"]), h["figure"]): (h["value"], h["low"], h["high"]) for h in rows}


def studies() -> Iterator[Truth]:
    for seed in range(STUDIES):
        run, drawn = drawn_study(seed)
        if any(point.measured for point in run.points):
            yield Truth(run, drawn, figures_of(run))


@pytest.fixture(scope="module")
def truths() -> list[Truth]:
    return list(studies())


def test_all_launches_of_a_condition_and_no_others_make_a_headline(truths: list[Truth]) -> None:
    for truth in truths:
        for headline in Headlines(truth.run.points, truth.figures).all:
            if headline.key.figure in MAIN.values() and headline.points[0].startswith("p"):
                known = truth.by_points.get((headline.points, headline.key.figure))
                if known is not None:
                    assert (headline.value, headline.over.low, headline.over.high) == known
        ours = {h.points for h in Headlines(truth.run.points, truth.figures).all}
        assert {ids for ids, _ in truth.by_points} <= ours


def test_documents_exports_and_tables_say_the_headline(truths: list[Truth]) -> None:
    for number, truth in enumerate(truths):
        source = Made(truth.run, truth.figures)
        if number % 10 == 0:  # with all plots' tables
            told = json.loads(document(source.study, []))["headlines"]
            assert truth.by_points.items() <= said_by(told).items()
        opened = Opened(truth.run)
        opened.__dict__["_figures"] = truth.figures
        table = opened.headlines().to_dicts()
        assert truth.by_points.items() <= said_by(table).items()
        headlines = source.study.headlines
        names = {key: headlines.of(key[0][0], key[1]).name for key in truth.by_points}
        assert len(set(names.items())) == len({(names[key], key[1]) for key in names})
        rows = {
            (row["point"], row["name"]): (row["value"], row["low"], row["high"])
            for row in opened.figures().to_dicts()
        }
        exported = {
            (row["point"], row["figure"]): (row["value"], row["low"], row["high"])
            for row in figure_frame(source).to_dicts()
        }
        for key, known in truth.by_points.items():
            assert rows[names[key], key[1]] == known
            assert exported[names[key], key[1]] == known


def test_metrics_and_ci_documents_say_the_headline(truths: list[Truth]) -> None:
    for truth in truths[::5]:
        source = Made(truth.run, truth.figures)
        samples = {
            (family.name, sample.labels["point"]): sample.value
            for family in text_string_to_metric_families(openmetrics(source))
            for sample in family.samples
            if "point" in sample.labels
        }
        suite = ElementTree.fromstring(junit(source))
        properties = {p.get("name"): str(p.get("value")) for p in suite.iter("property")}
        assert float(str(suite.get("time"))) > 0
        for (ids, name), (value, low, _) in truth.by_points.items():
            headline = source.study.headlines.of(ids[0], name)
            assert headline is not None
            if name == "round_trip_median_ns":
                said = samples["netsonde_round_trip_median_seconds", headline.name]
                assert said == pytest.approx(value / 1e9)
                if low is not None:
                    said = samples["netsonde_round_trip_median_low_seconds", headline.name]
                    assert said == pytest.approx(low / 1e9)
            if name == MAIN[headline.key.test]:
                said_text = properties[f"figure.{headline.label}.{name}"]
                assert float(said_text.split()[0]) == pytest.approx(value)
                if low is not None:
                    assert float(said_text.split("(")[1].split()[0]) == pytest.approx(low)


def test_comparisons_and_requirements_say_the_headline(truths: list[Truth]) -> None:
    for truth in truths:
        headlines = Headlines(truth.run.points, truth.figures)
        values = values_of(truth.run).values
        for (ids, name), (value, _, _) in truth.by_points.items():
            headline = headlines.of(ids[0], name)
            assert headline is not None
            if name == MAIN[headline.key.test]:
                assert median(launch.value for launch in values[headline.key]) == value
        for judged in judge(truth.run, truth.figures, requirements_of(truth.run)):
            known = truth.by_points.get((judged.points, judged.requirement.figure))
            if known is not None:
                assert (judged.value, judged.low, judged.high) == known


def test_page_terminal_and_verdicts_say_the_headline(truths: list[Truth]) -> None:
    template = page_environment().get_template("key_figures.html.j2")
    for truth in truths:
        study = Study(truth.run, truth.figures)
        rows = key_rows(study)
        page = template.render(
            key=rows[:MOST_ROWS], key_headings=HEADINGS, more_key=0, of_pairs=False, points=True
        )
        out = io.StringIO()
        print_summary(truth.run, truth.figures, [], Console(file=out, width=160, highlight=False))
        has_table = "smallest message; fastest stream" in out.getvalue()
        for number, row in enumerate(rows):
            shown = [cell.headline for cell in row.cells if cell.headline]
            # A row is of one MPI, one option and one pair.
            for name in ("label", "mpi", "pair"):
                assert len({dict(h.key.parameters).get(name) for h in shown}) <= 1
            for cell in row.cells:
                if cell.headline is None or cell.value == "none":
                    continue
                known = truth.by_points.get((cell.headline.points, cell.headline.key.figure))
                assert known is not None
                assert known[0] == cell.headline.value
                value, interval = format_value_and_interval(as_figure(cell.headline.figure, known))
                assert cell.value == value
                assert not interval or cell.interval == interval
                if number < 6:
                    assert value in page
                    assert interval in page
                    assert not has_table or value in out.getvalue()
                    assert not has_table or interval in out.getvalue()
        for finding in link_share(Seen(truth.run, truth.figures)):
            assert finding.points
            rate, _, _ = truth.by_points[finding.points, "throughput_bit_per_s"]
            assert f"carries {format_rate(rate)}" in finding.claim


def as_figure(figure: Figure, known: Ends) -> Figure:
    return replace(figure, value=known[0], low=known[1], high=known[2])


def test_mpis_side_by_side_say_the_headline(truths: list[Truth]) -> None:
    seen = 0
    for truth in truths:
        study = Study(truth.run, truth.figures)
        found = side_by_side(study)
        texts = {
            format_value_and_interval(as_figure(headline.figure, known))
            for headline in study.headlines.all
            if (known := truth.by_points.get((headline.points, headline.key.figure)))
        }
        for row in found.rows if found else ():
            for cell in row.cells:
                if cell.share:
                    seen += 1
                    assert (cell.value, cell.interval) in texts
    assert seen > 100


def test_nothing_beside_a_size_is_a_headline(truths: list[Truth]) -> None:
    for truth in truths:
        beside = {p.id for p in truth.run.points if "perturbed_bytes" in p.parameters}
        for row in key_rows(Study(truth.run, truth.figures)):
            for cell in row.cells:
                assert cell.headline is None or not beside & set(cell.headline.points)


def test_a_condition_without_key_figures_has_no_row_of_dashes(truths: list[Truth]) -> None:
    """Sweeps have figures of every size together, and none for that table."""
    study = Study(truths[0].run, truths[0].figures)
    shown = [cell.headline for row in key_rows(study) for cell in row.cells if cell.headline]
    assert shown
    kept = shown[0]
    label = (*kept.key.parameters, ("label", '"a sweep"'))
    key = replace(kept.key, figure="start_up_ns", parameters=label)
    swept = replace(kept, key=key, is_of_points=False)
    made = SimpleNamespace(
        transports=[kept.key.transport], headlines=SimpleNamespace(all=[kept, swept])
    )
    (row,) = key_rows(cast(Study, made))
    assert (row.condition, kept in [cell.headline for cell in row.cells]) == ("", True)


def test_exported_columns_say_what_an_interval_is_of(truths: list[Truth]) -> None:
    for truth in truths[::10]:
        for cells in Made(truth.run, truth.figures).figure_rows():
            row = dict(zip(FIGURE_COLUMNS, cells, strict=True))
            assert row["basis"] in ("launches", "span", "within", "none")
            assert (row["basis"] == "none") == (row["low"] is None)


def test_a_study_of_five_launches_is_not_its_fastest() -> None:
    rates = (455e6, 358e6, 571e6, 670e6, 552e6)
    launches = [LaunchValue(n, v, 0.9 * v, 1.1 * v) for n, v in enumerate(rates, 1)]
    over = over_launches(launches)
    assert (over.value, over.basis, over.launches) == (552e6, "span", 5)
    assert (over.low, over.high) == pytest.approx((0.9 * 358e6, 1.1 * 670e6))
    assert over.confidence == 1 - 2**-4


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 12])
def test_a_span_holds_the_median_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(count)
    draws = random.standard_t(3, (4000, count))
    held = 0
    for row in draws:
        over = over_launches([LaunchValue(i, v, v, v) for i, v in enumerate(row, 1)])
        assert over.low is not None
        assert over.high is not None
        assert over.confidence is not None
        held += over.low <= 0.0 <= over.high
    assert held / len(draws) >= over.confidence - 3 * (0.25 / len(draws)) ** 0.5


def test_two_runs_of_all_pairs_are_compared_by_their_rounds() -> None:
    before, after = made_run(6), made_run(6, slow=dict.fromkeys(range(6), 0.5))
    found = compare([values_of(before)], [values_of(after)])
    (throughput,) = [f for f in found.figures if f.key.figure == "pairs_throughput_bit_per_s"]
    assert throughput.ratio == pytest.approx(0.5, rel=0.05)
    assert len(throughput.before.launches) == len(throughput.after.launches) == 5
    assert {f.key.figure for f in found.figures} == {f"pairs_{name}" for name in OF_ALL_PAIRS}
    headlines = Headlines(before.points, figures_of(before))
    assert headlines.by_key[throughput.key].value == throughput.before.median
    assert headlines.by_key[throughput.key].basis_in_words() == "span of 5 rounds"


def test_metrics_of_all_pairs_name_their_hosts() -> None:
    run = made_run(5)
    text = openmetrics(Made(run, figures_of(run)))
    families = {family.name: family for family in text_string_to_metric_families(text)}
    pairs = families["netsonde_pair_round_trip_seconds"].samples
    hosts = {(s.labels["from"], s.labels["to"]) for s in pairs}
    assert hosts >= {("h0", "h1"), ("h3", "h4")} or hosts >= {("h1", "h0"), ("h4", "h3")}
    assert len(hosts) == len(pairs)
