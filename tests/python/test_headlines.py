"""One thing for one thing: whatever says a figure of a run says the same value and interval."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
from all_pairs_made import made_run
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rich.console import Console
from study_made import SWEPT
from study_truth import MAIN, Ends, Said, Truth, truths_of

from netsonde.catalogue.test import TESTS
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
from netsonde.figures.headlines import Headline, Headlines, LaunchValue, over_launches
from netsonde.figures.judgements import judge
from netsonde.figures.requirements import requirements_of
from netsonde.opened import OpenedRun
from netsonde.records.data import Run
from netsonde.report.files import document
from netsonde.report.key_figures import HEADINGS, MOST_ROWS, key_rows
from netsonde.report.lookup import Study
from netsonde.report.page import page_environment
from netsonde.report.quantity import format_figure, format_value_and_interval
from netsonde.report.side_by_side import side_by_side
from netsonde.report.sweep_plots import swept as sweep_plot
from netsonde.report.terminal import print_summary
from netsonde.units import format_rate, value_in_words

STUDIES, USUAL_STUDIES = 200, 70
PARSED = 20
"""Every so manieth document is read by Prometheus's own parser as well, which takes its time."""
SAMPLE = re.compile(r"(\w+)\{(.*)\} (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
BASE_UNITS = {
    "_ns": ("_seconds", 1e-9),
    "_bit_per_s": ("_bits_per_second", 1.0),
    "_bytes": ("_bytes", 1.0),
    "_ratio": ("_ratio", 1.0),
}


class Made(Source):
    """What would be exported of a run that was never written."""

    def __init__(self, study: Study) -> None:
        run = study.run
        self.directory, self.manifest = run.directory, run.manifest
        self.__dict__ |= {"run": run, "figures": study.figures, "study": study, "findings": []}


class Opened(OpenedRun):
    def __init__(self, run: Run) -> None:
        self.run = run


@pytest.fixture(
    scope="module", params=[USUAL_STUDIES, pytest.param(STUDIES, marks=pytest.mark.soak)]
)
def truths(request: pytest.FixtureRequest) -> list[Truth]:
    return list(truths_of(request.param))


def test_the_studies_have_everything_in_them(truths: list[Truth]) -> None:
    several: Counter[str] = Counter()
    for truth in truths:
        given = [point.parameters for point in truth.run.points if point.measured]
        for name in ("launch", "label", "mpi", "pair", "pass", "perturbed_bytes"):
            several[name] += len({repr(own.get(name)) for own in given}) > 1
    assert min(several.values()) >= (3 if len(truths) <= USUAL_STUDIES else 10), several
    launches = Counter(len(names) for truth in truths for names, _ in truth.by_sweeps)
    assert launches.keys() >= set(range(1, 9))
    assert sum(bool(truth.by_sweeps) for truth in truths) > len(truths) * SWEPT / 2
    figures = {name for truth in truths for _, name in truth.by_sweeps}
    assert figures >= {"start_up_ns", "asymptotic_bit_per_s", "half_performance_bytes"}


def test_all_launches_of_a_condition_and_no_others_make_a_headline(truths: list[Truth]) -> None:
    for truth in truths:
        for headline in truth.study.headlines.all:
            if headline.key.figure in MAIN.values() and headline.points[0].startswith("p"):
                known = truth.by_points.get((headline.points, headline.key.figure))
                if known is not None:
                    assert (headline.value, headline.over.low, headline.over.high) == known
            if headline.points in truth.launches:
                assert headline.over.launches == truth.launches[headline.points]
            if not headline.is_of_points:
                assert (headline.points, headline.key.figure) in truth.by_sweeps
        ours = {(h.points, h.key.figure): _ends(h) for h in truth.study.headlines.all}
        assert truth.everything.items() <= ours.items()


def _ends(headline: Headline) -> Ends:
    return headline.value, headline.over.low, headline.over.high


def said_by(rows: list[dict[str, Any]]) -> Said:
    return {(tuple(h["points"]), h["figure"]): (h["value"], h["low"], h["high"]) for h in rows}


def names_of(truth: Truth) -> dict[tuple[tuple[str, ...], str], str]:
    """What stands for a condition where a table has one column for points."""
    found = ((key, truth.study.headlines.of(key[0][0], key[1])) for key in truth.everything)
    names = {key: headline.name for key, headline in found if headline}
    assert len(set(names.items())) == len({(name, key[1]) for key, name in names.items()})
    return names


def test_documents_say_the_headline(truths: list[Truth]) -> None:
    """With the tables of all plots; those of sweeps say each size of each launch."""
    for truth in truths:
        told = json.loads(document(truth.study, []))
        assert truth.everything.items() <= said_by(told["headlines"]).items()
        for headline in told["headlines"]:
            counted = truth.launches.get(tuple(headline["points"]))
            assert counted in (None, headline["launches"])
        swept = told["tables"].get("sweep", {"rows": ()})["rows"]
        measured = {
            (own.message_bytes, own.value, own.low, own.high)
            for (_, name), own in truth.own.items()
            if name == MAIN["latency"]
        }
        assert bool(swept) == bool(truth.by_sweeps)
        for _, size, time_ns, low_ns, high_ns, rate, _ in swept:
            assert (size, 2 * time_ns, 2 * low_ns, 2 * high_ns) in measured
            assert rate == pytest.approx(8e9 * size / time_ns)


def test_tables_and_exports_say_the_headline(truths: list[Truth]) -> None:
    for truth in truths:
        opened = Opened(truth.run)
        opened.__dict__ |= {"_figures": truth.figures, "_headlines": truth.study.headlines}
        assert truth.everything.items() <= said_by(opened.headlines().to_dicts()).items()
        rows = {
            (row["point"], row["name"]): (row["value"], row["low"], row["high"])
            for row in opened.figures().to_dicts()
        }
        exported = {
            (row["point"], row["figure"]): (row["value"], row["low"], row["high"])
            for row in figure_frame(Made(truth.study)).to_dicts()
        }
        for key, name in names_of(truth).items():
            assert rows[name, key[1]] == truth.everything[key]
            assert exported[name, key[1]] == truth.everything[key]


def metric_of(figure: str, bound: str = "") -> tuple[str, float]:
    """The name of a metric and its factor: ``netsonde_round_trip_median_low_seconds``, 1e-9."""
    ending = next(e for e in ("_bit_per_s", "_bytes", "_ratio", "_ns") if figure.endswith(e))
    unit, factor = BASE_UNITS[ending]
    return f"netsonde_{figure.removesuffix(ending)}{bound and f'_{bound}'}{unit}", factor


def samples_of(text: str) -> dict[tuple[str, str], float]:
    """By metric and point."""
    found = {}
    for line in text.splitlines():
        sample = None if line.startswith("#") else SAMPLE.fullmatch(line)
        if sample:
            name, labels, value = sample.groups()
            found[name, dict(LABEL.findall(labels)).get("point", "")] = float(value)
    return found


def test_metrics_say_the_headline(truths: list[Truth]) -> None:
    for number, truth in enumerate(truths):
        text = openmetrics(Made(truth.study)).decode()
        samples = samples_of(text)
        if number % PARSED == 0:
            parsed = {
                (sample.name, sample.labels.get("point", "")): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
            assert parsed == samples
        for key, point in names_of(truth).items():
            for bound, value in zip(("", "low", "high"), truth.everything[key], strict=True):
                name, factor = metric_of(key[1], bound)
                if value is None:
                    assert (name, point) not in samples
                else:
                    assert samples[name, point] == pytest.approx(value * factor, rel=1e-9)


def test_ci_documents_say_the_headline(truths: list[Truth]) -> None:
    for truth in truths:
        suite = ElementTree.fromstring(junit(Made(truth.study)))
        properties = {p.get("name"): str(p.get("value")) for p in suite.iter("property")}
        assert float(str(suite.get("time"))) > 0
        for (ids, name), (value, low, _) in truth.by_points.items():
            headline = truth.study.headlines.of(ids[0], name)
            assert headline is not None
            if name == MAIN[headline.key.test]:
                said_text = properties[f"figure.{headline.label}.{name}"]
                assert float(said_text.split()[0]) == pytest.approx(value)
                if low is not None:
                    assert float(said_text.split("(")[1].split()[0]) == pytest.approx(low)
        cases = [c for c in suite.iter("testcase") if "half_round_trip" in str(c.get("name"))]
        said = {str(c.findtext("system-out")).partition(": ")[2].split(" (")[0] for c in cases}
        halves = {value_in_words(own[0], "ns") for own in halves_of(truth).values()}
        assert said - {"not measured"} == halves


def halves_of(truth: Truth) -> Said:
    return {key: own for key, own in truth.by_sweeps.items() if key[1] == "half_round_trip_ns"}


def test_comparisons_and_requirements_say_the_headline(truths: list[Truth]) -> None:
    for truth in truths:
        values = values_of(truth.run)
        compared = {found.key: found for found in compare([values], [values]).figures}
        for (ids, name), (value, _, _) in truth.by_points.items():
            headline = truth.study.headlines.of(ids[0], name)
            assert headline is not None
            if name == MAIN[headline.key.test]:
                found = compared[headline.key]
                assert found.before.median == found.after.median == value
        halves = list(halves_of(truth).values())
        for judged in judge(truth.run, truth.figures, requirements_of(truth.run)):
            said = (judged.value, judged.low, judged.high)
            if judged.requirement.figure == "half_round_trip_ns":
                assert said in halves or judged.verdict == "unmeasured"
                halves.remove(said) if said in halves else None
            elif (judged.points, judged.requirement.figure) in truth.by_points:
                assert said == truth.by_points[judged.points, judged.requirement.figure]
        assert halves == []


def test_page_terminal_and_verdicts_say_the_headline(truths: list[Truth]) -> None:
    template = page_environment().get_template("key_figures.html.j2")
    for truth in truths:
        rows = key_rows(truth.study)
        page = template.render(
            key=rows[:MOST_ROWS],
            key_headings=HEADINGS,
            more_key=0,
            of_pairs=False,
            points=True,
            in_short=[],
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


def test_sweeps_on_the_page_are_of_one_launch_each(truths: list[Truth]) -> None:
    """What stands beside their plot names the launch, and their table has every size of it."""
    seen = 0
    for truth in truths:
        plot = sweep_plot(truth.study)
        assert (plot is not None) == bool(truth.by_sweeps)
        for names, figure in truth.by_sweeps if plot else ():
            if figure in ("half_round_trip_ns", "peak_bit_per_s"):
                for name in names:
                    assert plot is not None
                    assert format_figure(truth.own[name, figure]) in plot.summary
                    seen += 1
    assert seen > len(truths)


def as_figure(figure: Figure, known: Ends) -> Figure:
    return replace(figure, value=known[0], low=known[1], high=known[2])


def test_mpis_side_by_side_say_the_headline(truths: list[Truth]) -> None:
    seen = 0
    for truth in truths:
        study = truth.study
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
    assert seen > len(truths) / 2


def test_nothing_beside_a_size_is_a_headline(truths: list[Truth]) -> None:
    for truth in truths:
        beside = {p.id for p in truth.run.points if "perturbed_bytes" in p.parameters}
        for row in key_rows(truth.study):
            for cell in row.cells:
                assert cell.headline is None or not beside & set(cell.headline.points)


def test_a_condition_without_key_figures_has_no_row_of_dashes(truths: list[Truth]) -> None:
    """Sweeps have figures of every size together, and none for that table."""
    shown = [
        cell.headline for row in key_rows(truths[0].study) for cell in row.cells if cell.headline
    ]
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
        for cells in Made(truth.study).figure_rows():
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
    assert {f.key.figure for f in found.figures} == set(TESTS["all_pairs"].mains)
    headlines = Headlines(before.points, figures_of(before))
    assert headlines.by_key[throughput.key].value == throughput.before.median
    assert headlines.by_key[throughput.key].basis_in_words() == "span of 5 rounds"


def test_metrics_of_all_pairs_name_their_hosts() -> None:
    run = made_run(5)
    text = openmetrics(Made(Study(run, figures_of(run)))).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    pairs = families["netsonde_pair_round_trip_seconds"].samples
    hosts = {(s.labels["from"], s.labels["to"]) for s in pairs}
    assert hosts >= {("h0", "h1"), ("h3", "h4")} or hosts >= {("h1", "h0"), ("h4", "h3")}
    assert len(hosts) == len(pairs)
