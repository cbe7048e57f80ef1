"""Techniques beside each other: the same repetitions agree, known differences are explained."""

from __future__ import annotations

import io

import numpy as np
import pytest
from mpi_points import made_run
from rich.console import Console

from netsonde.figures.agreement import PRINCIPAL, agreements
from netsonde.figures.compute import figures_of
from netsonde.peers.mpi_techniques import MPI_TECHNIQUES, MPI_TOOLS
from netsonde.peers.mpi_told import MAKERS
from netsonde.records.data import Batch, EndData, Point
from netsonde.report.agreement_table import print_agreements, techniques
from netsonde.report.lookup import Study

US = 1_000
COUNT = 400
PASSES = 6


def ends_of(stays_us, gap_us=0.0, seed=0):
    """Ranks of one clock that enter together and stay so long, one repetition right after the other
    but for a gap; 1 % of noise that all ranks share."""
    noise = np.random.default_rng(seed).normal(1.0, 0.01, COUNT)
    slowest = max(stays_us) * noise
    enter = np.concatenate([[0.0], np.cumsum(slowest + gap_us)[:-1]])
    ends = {}
    for rank, stay in enumerate(stays_us):
        end = EndData(rank, "h0", counters={"start_ns": 0, "end_ns": 10**12, "clock_group": 0})
        end.series["begin_ns"] = (enter * US).astype(np.int64)
        end.series["duration_ns"] = (stay * noise * US).astype(np.int64)
        ends[rank] = end
    return ends


def point_of(number, test, ends, size=8, **more):
    parameters = {"message_bytes": size, "interval": 0.01, "ranks": 2, **more}
    if test == "collective":
        parameters["operation"] = "bcast"
    name = f"p{number:03d}"
    return Point(name, "mpi", test, parameters, "finished", batches=[Batch(0, ends)])


def collective_run(ours_us, theirs, gap_us=0.0):
    """Six passes of netsonde's own way and of each tool's: stays of the ranks, us."""
    points = list[Point]()
    for number in range(1, PASSES + 1):
        points.append(
            point_of(len(points), "collective", ends_of(ours_us, 5.0, number), **{"pass": number})
        )
        for tool, stays in theirs.items():
            ends = ends_of(stays, gap_us, 50 + number)
            more = {"like": tool, "warm_up": 0, "count": COUNT, "pass": number}
            points.append(point_of(len(points), "collective", ends, **more))
    return made_run(*points)


def latency_run(us=10.0):
    points = list[Point]()
    for number in range(1, PASSES + 1):
        for tool in (None, *(tool for tool, test in MPI_TECHNIQUES if test == "latency")):
            random = np.random.default_rng(len(points))
            end = EndData(0, "h0", counters={"messages_sent": COUNT})
            end.series["round_trip_ns"] = (us * US * random.normal(1, 0.01, COUNT)).astype(np.int64)
            more = {"pass": number}
            more |= {"like": tool, "warm_up": 1, "count": COUNT} if tool else {}
            points.append(point_of(len(points), "latency", {0: end}, **more))
    return made_run(*points)


def by_tool(run):
    (compared,) = agreements(run, figures_of(run))
    return {tool.tool: tool for tool in compared.tools}


def test_every_technique_has_a_figure_that_it_is_quoted_by():
    assert set(PRINCIPAL) == {key for key in MAKERS if key[1] in ("latency", "collective")}
    assert all(tool in MPI_TOOLS for tool, _ in PRINCIPAL)


def test_round_trips_without_a_tail_agree_whoever_measures():
    found = by_tool(latency_run())
    assert set(found) == {tool for tool, test in MPI_TECHNIQUES if test == "latency"}
    for tool in found.values():
        assert tool.verdict == "agrees", tool.tool
        assert tool.value_ns == pytest.approx(10 * US, rel=0.02)


def test_ranks_that_leave_together_agree_in_every_technique():
    tools = [tool for tool, test in MPI_TECHNIQUES if test == "collective"]
    found = by_tool(collective_run((20, 20, 20), dict.fromkeys(tools, (20, 20, 20))))
    assert {name: tool.verdict for name, tool in found.items()} == dict.fromkeys(tools, "agrees")


def test_an_early_root_is_a_matter_of_definition():
    found = by_tool(collective_run((2, 20, 20, 20), {"osu": (2, 20, 20, 20)}))
    osu = found["osu"]
    assert osu.verdict == "differs"
    assert osu.ratio.median == pytest.approx((2 + 60) / 4 / 20, rel=0.01)
    assert osu.definition == pytest.approx(osu.ratio.median, rel=0.02)
    assert osu.way == pytest.approx(1, abs=0.02)
    assert osu.part == "definition"
    assert "mean of each rank" in osu.explanation


def test_repetitions_that_take_less_are_a_matter_of_the_way():
    found = by_tool(collective_run((20, 20), {"reprompi": (10, 10)}))
    assert found["reprompi"].ratio.median == pytest.approx(0.5, rel=0.02)
    assert found["reprompi"].part == "way"
    assert "400 repetitions after 0 of warm-up" in found["reprompi"].explanation


@pytest.mark.parametrize("passes", range(1, 13))
def test_the_parts_are_those_of_the_ratio_that_is_shown(passes):
    """Whatever the passes: on a busy machine each has another ratio, for another reason."""
    random = np.random.default_rng(passes)
    points = list[Point]()
    for number in range(1, passes + 1):
        ours, slow, fast = np.exp(random.normal(3, 1.5, 3))
        points.append(point_of(2 * number, "collective", ends_of((ours, ours)), **{"pass": number}))
        more = {"like": "osu", "warm_up": 0, "count": COUNT, "pass": number}
        points.append(point_of(2 * number + 1, "collective", ends_of((fast, slow)), **more))
    osu = by_tool(made_run(*points))["osu"]
    assert osu.definition * osu.way == pytest.approx(osu.ratio.median)
    if passes % 2:  # then there is a pass in the middle, and its parts are shown
        own = [by_tool(made_run(*points[i : i + 2]))["osu"] for i in range(0, 2 * passes, 2)]
        middle = sorted(own, key=lambda found: found.ratio.median)[passes // 2]
        assert osu.definition == pytest.approx(middle.definition)


def test_few_passes_have_no_interval():
    run = collective_run((20, 20), {"osu": (20, 20)})
    run.points = [p for p in run.points if p.parameters["pass"] < 3]
    assert by_tool(run)["osu"].verdict == "no interval"


def test_nothing_is_compared_without_netsonde_s_own():
    run = collective_run((20, 20), {"osu": (20, 20)})
    run.points = [p for p in run.points if "like" in p.parameters]
    assert agreements(run, figures_of(run)) == []
    assert techniques(Study(run, figures_of(run))) is None


def test_terminal_and_report_show_value_ratio_and_verdict():
    run = collective_run((2, 20, 20, 20), {"osu": (2, 20, 20, 20), "reprompi": (2, 20, 20, 20)})
    study = Study(run, figures_of(run))
    out = io.StringIO()
    assert print_agreements(study, Console(file=out, width=80, highlight=False))
    lines = out.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    osu = next(line for line in lines if line.startswith("  osu "))
    assert "15.5" in osu
    assert "0.78" in osu.split("×")[0]
    assert "differs" in osu
    assert any("reprompi" in line and "agrees" in line for line in lines)
    plot = techniques(study)
    rows = {row[2]: row for row in plot.table.rows}
    assert rows["osu"][9] == "differs"
    assert rows["netsonde"][3] == pytest.approx(20 * US, rel=0.02)
    assert {curve.label for curve in plot.panels[0].curves} == {"netsonde", "osu", "reprompi"}
