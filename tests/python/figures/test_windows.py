"""Windows: who counts as late, what of a point is left, and what is said of it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from planned_points import planned_point
from rank_records import rank_batch, rank_point
from rich.console import Console

from netsonde.errors import HostError
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of_point, find
from netsonde.figures.windows import windows_kept
from netsonde.ranks.repetitions import (
    KEPT_SHARE,
    LATE_NS,
    LATE_SHARE,
    is_late,
    late_after_ns,
    repetition_times_ns,
)
from netsonde.records.data import Run
from netsonde.report.lookup import Study
from netsonde.report.point_table import point_rows
from netsonde.report.terminal import print_summary
from netsonde.study import series
from netsonde.study.measure import measure_point

PLAN = {"window_ns": 200_000, "window_slack_ns": 400_000, "windows_at_once": 4}


def windowed(late_us, stay_us=1000.0, late_after_ns=LATE_NS, late_most_ns=None):
    """Two ranks; the second one's lateness is given."""
    n = len(late_us)
    made = rank_batch([[0.0] * n] * 2, [[stay_us] * n] * 2, late_us=[[0.1] * n, list(late_us)])
    if late_most_ns is not None:
        made.ends[0].counters.update(late_after_ns=late_after_ns, late_most_ns=late_most_ns, **PLAN)
    return made


def run_of(tmp_path, *points):
    run = Run(
        tmp_path, {"origin": "real", "hosts": {}, "path": {"kind": "loopback"}}, list(points),
        finished=True,
    )  # fmt: skip
    return run, [figure for point in points for figure in figures_of_point(point)]


def test_what_counts_as_late_stays_within_its_bounds_and_is_widened_only_where_it_must():
    """Over many latenesses, stays and bounds."""
    draw = np.random.default_rng(17)
    for _ in range(300):
        stay_us = float(draw.choice([20, 200, 2000, 20_000]))
        late_us = draw.exponential(float(draw.choice([0.2, 2, 20, 200])), 60)
        asked, most = int(draw.choice([0, 1000, 5000])), int(draw.choice([5000, 100_000]))
        batch = windowed(late_us, stay_us, asked, most)
        found = late_after_ns(batch)
        whole = stay_us * 1000 + np.median(np.maximum(late_us, 0.1)) * 1000
        assert asked <= found <= max(asked, min(most, LATE_SHARE * whole * 1.2))
        in_time = np.maximum(np.round(late_us * 1000), 100)
        if np.mean(in_time <= asked) >= KEPT_SHARE:
            assert found == asked
        if found > asked:
            assert np.mean(in_time <= found / 2) < KEPT_SHARE, "half of it would have done"
        assert (is_late(batch) == (in_time > found)).all()
        assert len(repetition_times_ns(batch)) == int((in_time <= found).sum())


def test_a_run_that_says_nothing_of_bounds_is_judged_as_it_was():
    late = windowed([0.5, 0.9, 1.1, 50, 60, 70, 80])
    assert late_after_ns(late) == LATE_NS
    assert is_late(late).tolist() == [False, False, True, True, True, True, True]


@pytest.mark.parametrize(("in_time", "said"), [(15, True), (49, True), (50, False), (100, False)])
def test_figures_of_few_repetitions_say_so_wherever_they_stand(tmp_path, in_time, said):
    batch = windowed([0.5] * in_time + [5000.0] * (100 - in_time), late_most_ns=LATE_NS)
    point = rank_point("bcast", batch, start="window")
    run, figures = run_of(tmp_path, point)
    assert find(figures, "late_ratio", "p001").value == pytest.approx(1 - in_time / 100)
    found = [f for f in explain(run, figures) if f.kind == "windows-missed"]
    assert bool(found) == said
    output = io.StringIO()
    print_summary(run, figures, found, Console(file=output, width=80))
    assert (f"† of {in_time}% of 100 repetitions" in output.getvalue()) == said
    printed = next(line for line in output.getvalue().splitlines() if line.startswith("bcast"))
    assert (" †" in printed) == said
    (row,) = point_rows(Study(run, figures))
    assert all(words.endswith("†") == said for words in row.figures if "median" in words)
    assert any(f"† of {in_time}% of" in check.text for check in row.checks) == said
    if said:
        assert found[0].level == "warning"
        assert f"only {in_time}% of 100 repetitions" in found[0].claim
        assert "4 at once, 400.0 µs after" in found[0].evidence


def test_a_bound_that_was_widened_is_told(tmp_path):
    batch = windowed([8.0] * 90 + [900.0] * 10, late_most_ns=100_000)
    kept = windows_kept(rank_point("bcast", batch))
    assert (kept.asked_ns, kept.after_ns, kept.share) == (1000, 8000, 0.9)
    run, figures = run_of(tmp_path, rank_point("bcast", batch, start="window"))
    (found,) = [f for f in explain(run, figures) if f.kind == "windows-missed"]
    assert found.level == "note"
    assert "up to 8.000 µs" in found.claim


class Made:
    """A session that answers with batches made beforehand, the last one again and again."""

    def __init__(self, *batches):
        self.batches = list(batches)
        self.asked = []

    def run(self, fields, _timeout_s):
        self.asked.append(fields)
        return [self.batches.pop(0) if len(self.batches) > 1 else self.batches[0]]


@pytest.mark.parametrize(
    "parameters", [{"count": 40}, {}, {"count": 40, "warm_up": 10, "like": "reprompi"}]
)
def test_no_repetition_in_time_is_a_failed_point_and_not_an_empty_one(monkeypatch, parameters):
    monkeypatch.setattr(series, "decode_batch", lambda _, records: records[0])
    missed: Any = Made(windowed([5000.0] * 40))
    given = {"message_bytes": 8, "cap_ns": 10_000_000, "interval": 0.01, "start": "window",
             "windows": {"late_ns": 2000}, **parameters}  # fmt: skip
    kept = []
    words = r"in none of \d+ repetitions.* came 5.000 ms late.*--start"
    point = planned_point("mpi", "collective", given)
    with pytest.raises(HostError, match=words):
        measure_point(missed, point, lambda number, _: kept.append(number))
    assert kept, "what was measured is kept"
    assert missed.asked[0]["windows"] == {"late_ns": 2000}
