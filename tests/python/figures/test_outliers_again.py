"""Outliers over launches: planted ones come again, random ones do not, and both are said."""

from __future__ import annotations

import numpy as np
import pytest
from mpi_points import made_run

from netsonde.explain.data import Seen
from netsonde.explain.recurrence import outliers_again
from netsonde.figures.compute import figures_of
from netsonde.figures.recurrence import in_runs, recurrences
from netsonde.records.data import Batch, EndData, Point
from netsonde.report.lookup import Study
from netsonde.report.recurrence_plots import outliers_over_launches

US = 1_000
REPETITIONS = 400
RANKS = 3
LAUNCHES = 6


def launch_point(number, planted=(), count=REPETITIONS, accidents=8, seed=0):
    """Ranks of one clock that leave together 20 us after the last one came. ``planted``: (rank,
    repetition, ns) of delays; ``accidents``: so many more, of any rank, place and length."""
    random = np.random.default_rng(100 * seed + number)
    enter = np.arange(count) * 1000.0 * US + random.gamma(2.0, 300.0, (RANKS, count))
    places = random.choice(count, accidents, replace=False)
    for place in places:
        enter[random.integers(RANKS), place] += US * np.exp(random.uniform(np.log(60), np.log(900)))
    for rank, place, delay_ns in planted:
        enter[rank, place] += delay_ns
    leave = enter.max(axis=0) + 20 * US + random.gamma(2.0, 200.0, (RANKS, count))
    ends = {}
    for rank in range(RANKS):
        end = EndData(rank, "h0", counters={"start_ns": 10**9, "end_ns": 10**10, "clock_group": 0})
        end.series["begin_ns"] = enter[rank].astype(np.int64)
        end.series["duration_ns"] = (leave[rank] - enter[rank]).astype(np.int64)
        ends[rank] = end
    return point_of(number, Batch(0, ends))


def point_of(number, *batches):
    parameters = {
        **{"message_bytes": 8, "operation": "allreduce", "interval": 0.01, "ranks": RANKS},
        **{"mpi": "mpich", "launch": number},
    }
    name = f"p{number:03d}"
    return Point(name, "mpi", "collective", parameters, "finished", batches=list(batches))


def launches(**given):
    return made_run(*(launch_point(number, **given) for number in range(1, LAUNCHES + 1)))


def real(run):
    (found,) = recurrences(run)
    return [again for again in found.again if again.is_real]


def test_what_was_planted_at_a_place_comes_again_and_nothing_else():
    run = launches(planted=[(1, 251, 300 * US)])
    (found,) = recurrences(run)
    (again,) = [a for a in found.again if a.is_real and a.way == "place"]
    assert (again.what, again.hits, again.launches) == (251, LAUNCHES, LAUNCHES)
    assert again.expected < 1e-6
    marked = [o for o in found.outliers if any(a.way == "place" for a in found.ways(o))]
    assert [(o.place, o.rank) for o in marked] == [(251, 1)] * LAUNCHES
    assert len(found.outliers) >= LAUNCHES * 8


def test_random_outliers_are_accidents():
    """Of 40 runs in which nothing comes again, about as many are wrong as BY_CHANCE allows for."""
    wrong = sum(bool(real(launches(seed=seed))) for seed in range(40))
    assert wrong <= 6
    finding = next(
        found
        for seed in range(5)
        if not real(launches(seed=seed))
        for found in outliers_again(seen_of(launches(seed=seed)))
    )
    assert "by chance" in finding.claim


def test_a_rank_that_is_behind_most_of_them_is_named():
    random = np.random.default_rng(2)
    points = [
        launch_point(
            number,
            planted=[(2, int(place), int(random.uniform(100, 800)) * US)
                     for place in random.choice(REPETITIONS, 12, replace=False)],
            accidents=4,
        )
        for number in range(1, LAUNCHES + 1)
    ]  # fmt: skip
    (again,) = [a for a in real(made_run(*points)) if a.way == "rank"]
    assert (again.what, again.hits) == (2, LAUNCHES)
    assert again.expected == pytest.approx(RANKS * (1 / RANKS) ** LAUNCHES)


def test_a_value_that_every_launch_has_is_found():
    random = np.random.default_rng(4)
    points = [
        launch_point(
            number, planted=[(0, int(random.integers(REPETITIONS)), 4_000 * US)], accidents=2
        )
        for number in range(1, LAUNCHES + 1)
    ]
    (again,) = [a for a in real(made_run(*points)) if a.way == "value"]
    assert again.what == pytest.approx(4_020 * US, rel=0.05)
    assert again.hits == LAUNCHES


def test_places_that_only_some_launches_have_are_not_compared():
    points = [
        launch_point(number, planted=[(1, 390, 300 * US)], accidents=0) for number in range(1, 4)
    ]
    points.append(launch_point(4, count=200, accidents=0))
    (found,) = recurrences(made_run(*points))
    assert not [a for a in found.again if a.way == "place"]


def test_one_launch_has_nothing_to_compare_with():
    assert recurrences(made_run(launch_point(1))) == []


def seen_of(run):
    return Seen(run, figures_of(run))


def test_figures_finding_and_plot_say_the_same():
    run = launches(planted=[(1, 251, 300 * US), (1, 252, 300 * US)])
    seen = seen_of(run)
    shares = [f for f in seen.figures if f.name == "outliers_again_ratio"]
    assert len(shares) == LAUNCHES
    assert all(0 < f.value < 1 for f in shares)
    (finding,) = outliers_again(seen)
    assert "repetition 251–252 in 6 of 6 launches" in finding.evidence
    assert "same place" in finding.advice
    plot = outliers_over_launches(Study(run, seen.figures))
    again = [row for row in plot.table.rows if "place" in str(row[7])]
    assert {row[3] for row in again} == {251, 252}
    assert len(again) == 2 * LAUNCHES
    assert [mark.value for mark in plot.panels[0].marks] == [251, 252]
    assert any(row[7] == "no" for row in plot.table.rows)


def test_runs_of_places():
    assert in_runs([7, 3, 4, 5]) == [(3, 5), (7, 7)]
