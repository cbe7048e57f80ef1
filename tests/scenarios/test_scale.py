"""Large runs: as fast and as small as docs/methods/scale.md says, and the same figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.large_run import Shape, write_large_run
from bench.scale import cost_of, line

from netsonde.figures.compute import figures_of
from netsonde.records.decode import decode_batch
from netsonde.records.rundir import open_run
from netsonde.stats.arrays import as_samples
from netsonde.stats.independence import effective_at_value
from netsonde.stats.quantiles import quantile, quantile_interval
from netsonde.stats.warmup import find_steady_part

MILLION = Shape(points=10, batches=2, values=50_000)
HUGE = (Shape(100, 10, 100_000), Shape(10_000, 1, 10_000))
MEMORY_BYTES = 4e9


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("scale") / "run"
    assert write_large_run(directory, MILLION) == MILLION.total == 10**6
    return directory


def test_the_short_way_reads_what_the_plain_one_does(million: Path) -> None:
    run = open_run(million)
    batches = {point.id: iter(point.batches) for point in run.points}
    with (million / "journal.jsonl").open() as journal:
        for text in journal:
            entry = json.loads(text)
            if entry["entry"] != "batch":
                continue
            plain = decode_batch(entry["batch"], entry["records"])
            found = next(batches[entry["point"]])
            for rank, end in plain.ends.items():
                other = found.ends[rank]
                assert end.series.keys() == other.series.keys()
                for name, values in end.series.items():
                    np.testing.assert_array_equal(values, other.series[name])
                assert end.before == other.before
                assert end.differences() == other.differences()
    assert all(next(rest, None) is None for rest in batches.values())


def test_figures_are_those_of_the_plain_way(million: Path) -> None:
    run = open_run(million)
    figures = {(f.point, f.name): f for f in figures_of(run)}
    for point in (p for p in run.points if p.test == "latency"):
        samples = point.series("round_trip_ns")
        steady = samples[find_steady_part(samples).begin :]
        for name, q in (("median", 0.5), ("p99", 0.99)):
            figure = figures[point.id, f"round_trip_{name}_ns"]
            effective = effective_at_value(as_samples(steady), quantile(steady, q))
            interval = quantile_interval(steady, q, n_eff=effective)
            assert figure.value == quantile(steady, q)
            assert figure.effective_samples == pytest.approx(effective)
            bounds = (interval.low, interval.high) if interval else (None, None)
            assert (figure.low, figure.high) == bounds


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", HUGE, ids=lambda s: f"{s.points}-points")
def test_a_hundred_million_values_stay_workable(
    tmp_path: Path, shape: Shape, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory decides; how long it takes is printed, since others may use the machine."""
    directory = tmp_path / "run"
    write_large_run(directory, shape)
    cost = cost_of(directory)
    with capsys.disabled():
        print(f"\n{line(shape, cost)}")
    assert cost.values == 10**8
    assert cost.report_peak_bytes < MEMORY_BYTES
    assert cost.page_bytes < 40e6
