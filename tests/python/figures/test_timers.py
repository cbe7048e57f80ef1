"""Two timers around the same calls, and what a reading takes, from records whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netsonde.explain.clock_rules import overhead_taken_off, timers_compared
from netsonde.explain.data import Finding, Seen
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.figures.timers import agreement, timers_of
from netsonde.records.data import Batch, EndData, Point, Run
from netsonde.records.decode import encode_series
from netsonde.records.rundir import open_run
from netsonde.records.timer import READINGS, without_overhead
from netsonde.report.clock_table import timers
from netsonde.report.lookup import Study

Times = npt.NDArray[np.int64]
STEP = 40.0
SPAN = {"start_ns": 10**9, "end_ns": 10**12, "clock_group": 0}


def two_peaks(count: int = 4000) -> Times:
    random = np.random.default_rng(3)
    near, far = random.normal(20_000, 400, count), random.normal(40_000, 800, count)
    return np.where(np.arange(count) % 4 == 0, far, near).round().astype(np.int64)


def coarse(times: Times) -> Times:
    return (np.rint(times / STEP) * STEP).astype(np.int64)


def run_of(clock: Times, wtime: Times, **parameters: Any) -> Run:
    begin = np.arange(len(clock)) * 10**6
    series = {"begin_ns": begin, "duration_ns": clock, "wtime_duration_ns": wtime}
    end = EndData(0, "h", series, dict(SPAN))
    given = {"message_bytes": 128, "operation": "send", "interval": 0.01, **parameters}
    point = Point("p001", "mpi", "collective", given, "finished", batches=[Batch(0, {0: end})])
    facts = {"mpi.wtick_ns": STEP, "clock_resolution_ns": 10.0}
    manifest = {"origin": "real", "path": {"kind": "loopback"}, "hosts": {"h": facts}}
    return Run(Path("runs/x"), manifest, [point], finished=True)


def by_name(run: Run) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures_of(run)}


def finding(run: Run) -> Finding:
    (found,) = timers_compared(Seen(run, figures_of(run)))
    return found


def test_a_coarser_timer_of_the_same_calls_agrees() -> None:
    clock = two_peaks()
    run = run_of(clock, coarse(clock))
    figures = by_name(run)
    mean = figures["timers_mean_difference_ns"]
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= 0 <= mean.high
    assert abs(mean.value) < 2
    assert abs(figures["timers_peak_difference_ns"].value) <= STEP / 2
    assert figures["timers_shared_ratio"].value > 0.9
    found = finding(run)
    assert found.level == "good"
    assert "give the same times" in found.claim
    assert "a step of the coarser timer, 40.00 ns" in found.evidence


def test_a_peak_that_moved_is_found_though_the_mean_hardly_does() -> None:
    """Each peak has calls that are told by the clock; those of the far one are 3 us longer."""
    clock = two_peaks()
    wtime = clock + np.where(clock > 30_000, 3000, -1000)
    found = timers_of(run_of(clock, wtime).points[0])
    assert found is not None
    assert [round(peak.shift_ns) for peak in found.peaks()] == [-1000, 3000]
    assert [round(peak.share, 2) for peak in found.peaks()] == [0.75, 0.25]
    figures = by_name(run_of(clock, wtime))
    assert abs(figures["timers_mean_difference_ns"].value) < 20
    assert figures["timers_peak_difference_ns"].value == 3000
    assert finding(run_of(clock, wtime)).level == "warning"


def test_a_timer_of_another_rate_differs() -> None:
    clock = two_peaks()
    run = run_of(clock, (clock * 1.05).astype(np.int64))
    assert by_name(run)["timers_mean_difference_ns"].value == pytest.approx(1250, rel=0.05)
    found = finding(run)
    assert found.level == "warning"
    assert found.advice


def test_few_calls_decide_nothing() -> None:
    clock = two_peaks(100)
    timers_found = timers_of(run_of(clock, coarse(clock)).points[0])
    assert timers_found is not None
    assert agreement(timers_found, STEP) == "open"
    assert finding(run_of(clock, coarse(clock))).level == "note"


def test_one_timer_alone_is_compared_with_nothing() -> None:
    clock = two_peaks()
    run = run_of(clock, clock)
    del run.points[0].batches[0].ends[0].series["wtime_duration_ns"]
    assert timers_of(run.points[0]) is None
    assert timers_compared(Seen(run, figures_of(run))) == []


def test_histograms_means_and_peaks_are_in_the_report() -> None:
    clock = two_peaks()
    run = run_of(clock, coarse(clock))
    plot = timers(Study(run, figures_of(run)))
    assert plot is not None
    assert [curve.label for curve in plot.panels[0].curves] == ["clock", "MPI_Wtime"]
    assert "agree" in plot.summary
    assert plot.table is not None
    assert [row[2] for row in plot.table.rows] == ["mean", "peak", "peak"]


def with_readings(reading_ns: float) -> Batch:
    """Ten calls of 1000 ns and more, and a timer that takes so long."""
    parts = np.full(25, round(100 * reading_ns))
    parts[3] *= 50  # somebody took the CPU meanwhile
    ends = {
        rank: EndData(
            rank,
            "h",
            {
                "begin_ns": np.arange(10) * 10_000,
                "duration_ns": np.arange(1000, 1010),
                READINGS: parts,
            },
            dict(SPAN),
        )
        for rank in (0, 1)
    }
    return Batch(0, ends)


def test_times_are_less_by_what_a_reading_took_and_never_below_nothing() -> None:
    batch = with_readings(24.6)
    found = without_overhead(batch)
    assert found.ends[1].series["duration_ns"].tolist() == list(range(975, 985))
    assert batch.ends[1].series["duration_ns"].tolist() == list(range(1000, 1010))
    assert without_overhead(with_readings(1005)).ends[0].series["duration_ns"].max() == 4
    bare = replace(batch.ends[0], series={"duration_ns": np.arange(3)})
    assert without_overhead(Batch(0, {0: bare})).ends[0].series["duration_ns"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("overhead", ["told", "off"])
def test_the_journal_keeps_times_as_they_were_measured(tmp_path: Path, overhead: str) -> None:
    parameters = {
        "message_bytes": 0,
        "operation": "barrier",
        "interval": 0.01,
        "timer_overhead": overhead,
    }
    point = {"id": "p001", "transport": "mpi", "test": "collective", "parameters": parameters}
    manifest = {"format": 1, "points": [point], "origin": "real", "path": {"kind": "loopback"}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    records = [
        record
        for rank, end in with_readings(24.6).ends.items()
        for name, values in end.series.items()
        for record in encode_series(rank, "h", name, "ns", values)
    ]
    records += [
        {"record": "counters", "request": 1, "rank": rank, "host": "h", "values": SPAN}
        for rank in (0, 1)
    ]
    journal = [
        {"entry": "point_started", "point": "p001", "attempt": 1},
        {"entry": "batch", "point": "p001", "attempt": 1, "batch": 0, "records": records},
    ]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in journal))
    run = open_run(tmp_path)
    taken = 25 if overhead == "off" else 0
    assert run.points[0].series("duration_ns").tolist() == [t - taken for t in range(1000, 1010)]
    figure = by_name(run)["timer_overhead_ns"]
    assert (figure.value, figure.samples) == (pytest.approx(24.6), 50)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low <= 24.6 <= figure.high < 26
    findings = list(overhead_taken_off(Seen(run, figures_of(run))))
    assert len(findings) == (1 if taken else 0)
    if taken:
        assert "a reading took 24.60 ns [2" in findings[0].claim


def test_nothing_that_was_taken_off_is_said() -> None:
    run = run_of(two_peaks(), two_peaks(), timer_overhead="off")
    (found,) = overhead_taken_off(Seen(run, figures_of(run)))
    assert found.level == "warning"
    assert "nothing was" in found.claim
