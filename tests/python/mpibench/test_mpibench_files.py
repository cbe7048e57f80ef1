"""MPIBench's files from records whose figures are known."""

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rank_records import rank_batch, rank_point

from netsonde.errors import UsageError
from netsonde.mpibench.files import SUFFIXES, Written, _us, check_names, write_files
from netsonde.mpibench.heading import head
from netsonde.mpibench.measured import (
    NothingLeftError,
    column_of,
    histogram,
    measured,
    process_rows,
    summary_row,
)
from netsonde.mpibench.options import Summing
from netsonde.mpibench.sets import sets_of
from netsonde.records.data import Run

PLAIN = Summing(warm_up=0, parts=2, bins=4)


def bcast(size=64):
    """Rank 0 leaves early; rank 1 is the slowest, but in the last repetition, an outlier of
    rank 2."""
    begin = [[100 * i for i in range(4)]] * 3
    stay = [[2, 2, 2, 2], [10, 12, 14, 10], [4, 4, 4, 100]]
    return rank_point("bcast", rank_batch(begin, stay), size=size, ranks=3)


def rows(text):
    """The numbers of each block."""
    blocks = text.split("\n\n\n")
    return [
        [[float(word) for word in line.split()] for line in block.splitlines() if "#" not in line]
        for block in blocks
    ]


def test_a_collective_is_its_slowest_process():
    found = summary_row(measured(bcast(), PLAIN), parts=2)
    assert (found.values, found.outliers) == (4, 0)
    assert (found.min_ns, found.mean_ns, found.max_ns) == (10_000, 34_000, 100_000)
    assert found.least_mean_ns == 11_000  # of 10, 12 and of 14, 100
    assert found.trimmed_mean_ns == 13_000  # of 12 and 14
    assert found.all_mean_ns == pytest.approx((2 * 4 + 46 + 112) / 12 * 1e3)
    assert found.mbyte_per_s == pytest.approx(64 / 34)


def test_outliers_are_listed_and_left_out():
    found = measured(bcast(), Summing(warm_up=0, outlier_factor=2.0))
    assert found.values_ns[found.outlier].tolist() == [100_000]
    assert (found.value_rank[3], found.value_repetition[3]) == (2, 3)
    row = summary_row(found, 2)
    assert (row.values, row.outliers, row.mean_ns) == (3, 1, 12_000)
    assert histogram(found, PLAIN).total == 3


def test_a_subset_of_processes_and_a_warm_up():
    found = measured(bcast(), Summing(warm_up=1, ranks=(0, 2)))
    assert found.values_ns.tolist() == [4000, 4000, 100_000]
    assert process_rows(found) == [(0, 3, 2000, 2000, 2000), (2, 3, 4000, 36_000, 100_000)]
    with pytest.raises(UsageError, match="process 3 was not there; the last is 2"):
        measured(bcast(), Summing(ranks=(1, 3)))
    with pytest.raises(NothingLeftError, match="no repetition is left"):
        measured(bcast(), Summing(warm_up=4))


def test_messages_are_each_a_value():
    batch = rank_batch([[10, 110], [2, 113]], [[1, 20], [19, 1]])
    found = measured(rank_point("one_way", batch, pattern="pairs"), PLAIN)
    assert found.values_ns.tolist() == [11_000, 17_000]
    assert found.value_rank.tolist() == [1, 0]
    assert summary_row(found, 1).mean_ns == 14_000


def test_sizes_in_total():
    found = measured(
        rank_point("gather", rank_batch([[0], [0]], [[1], [2]]), size=50),
        Summing(warm_up=0, size_of="total"),
    )
    assert found.message_bytes == 100


def written(summing):
    sizes = [measured(bcast(size), summing) for size in (64, 256)]
    run = Run(Path("runs/x"), {"origin": "real", "hosts": {"h": {"mpi.library": "M"}}}, [], True)
    (found,) = sets_of([bcast(64), bcast(256)])
    return Written("bcast", sizes, summing, head(run, found, summing, "netsonde mpibench"))


def test_the_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summing = Summing(warm_up=0, outlier_factor=2.0, every=2, bins=5, parts=2)
    assert write_files("out", written(summing)) is None
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted("out" + s for s in SUFFIXES)
    text = {s: (tmp_path / f"out{s}").read_text() for s in SUFFIXES}
    (summary,) = rows(text[".summary"])
    assert [row[:5] for row in summary] == [[64, 3, 1, 10, 12], [256, 3, 1, 10, 12]]
    first, second = rows(text[".subsamples"])
    assert first == second == [[0, 2, 10, 4], [2, 2, 14, 4]]
    bins, _ = rows(text[".histograms"])
    assert len(bins) == 5
    assert sum(row[3] for row in bins) == 3
    assert "3 values, 0 below the bins, 0 above, 1 outliers" in text[".histograms"]
    (outliers,) = rows(text[".outliers"])
    assert outliers == [[64, 2, 3, 100, 2.94], [256, 2, 3, 100, 2.94]]
    processes, _ = rows(text[".processes"])
    assert processes[2] == [2, 4, 4, 28, 100]
    assert "MPI: M" in text[".summary"]
    assert write_files("out", written(summing)) == "out.1"
    assert (tmp_path / "out.1.summary").read_text() == text[".summary"]


def test_one_process_without_a_time_is_nan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    batch = rank_batch([[10, 110], [2, 113]], [[1, 20], [19, 1]])
    found = measured(rank_point("one_way", batch, pattern="pairs"), PLAIN)
    write_files("w", Written("one_way", [found], PLAIN, ""))
    (lines,) = rows((tmp_path / "w.subsamples").read_text())
    assert np.isnan(lines[0][1])
    assert lines[0][2] == 11
    script = (tmp_path / "w.gnu").read_text()
    assert "index 0" in script
    assert "mean + σ" in script


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
@pytest.mark.parametrize("summing", [PLAIN, Summing(warm_up=0, log_bins=True, bins=7)])
def test_gnuplot_draws_it_unedited(tmp_path, monkeypatch, summing):
    monkeypatch.chdir(tmp_path)
    name = "it's"  # a quote in the name
    write_files(name, written(summing))
    done = subprocess.run(
        ["gnuplot", f"{name}.gnu"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = (tmp_path / f"{name}.svg").read_text()
    assert "256 bytes" in drawn
    assert "against size" in drawn


def test_names_that_will_not_do(tmp_path):
    with pytest.raises(UsageError, match="not a folder"):
        check_names([str(tmp_path / "no" / "x")])


def test_the_standard_error_of_one_value_is_not_available() -> None:
    """0.000 would claim that it is known exactly."""
    one = SimpleNamespace(
        kept_ns=np.array([5_000.0]),
        message_bytes=64,
        outlier=np.zeros(1, np.bool_),
        times=SimpleNamespace(times_ns=np.array([[5_000.0]]), late=0, uncertainty_ns=0.0),
    )
    row = summary_row(one, 1)  # type: ignore[arg-type]
    assert np.isnan(row.error_ns)
    assert np.isnan(row.deviation_ns)
    assert _us(row.error_ns) == "n/a"
    assert _us(row.mean_ns) == "5.000"


def test_p95_stands_between_p90_and_p99_where_it_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for count, known in ((101, True), (15, False)):
        stay = list(range(1, count + 1))
        point = rank_point("bcast", rank_batch([stay, stay], [[1] * count, stay]), ranks=2)
        row = summary_row(measured(point, PLAIN), 2)
        found = (row.median_ns, row.p90_ns, row.p95_ns, row.p99_ns)
        assert found == ((51_000, 91_000, 96_000, 100_000) if known else (8000, 13_600, None, None))
        sizes = [measured(point, PLAIN)]
        write_files(f"out{count}", Written("bcast", sizes, PLAIN, ""))
        text = (tmp_path / f"out{count}.summary").read_text()
        heading = next(line for line in text.splitlines() if line.startswith("#Size")).split()
        values = text.splitlines()[-1].split()
        assert heading[column_of("P95") - 1] == "P95"
        assert values[column_of("P95") - 1] == ("96.000" if known else "nan")
    script = (tmp_path / "out101.gnu").read_text()
    assert "P95" not in script  # one size: nothing against size


def test_the_head_says_how_words_are_joined(tmp_path):
    batch = rank_batch([[0], [0]], [[1], [2]])
    for given, words in (
        ({}, "sum: MPI_SUM of unsigned integers, MPI's own, commutes"),
        ({"reduction": "null"}, "null: nothing is done, made by MPI_Op_create, commutes"),
        (
            {"reduction": "ordered"},
            "ordered: one map of integers after the other, made by MPI_Op_create, does not commute",
        ),
    ):
        point = rank_point("allreduce", batch, **given)
        run = Run(tmp_path, {"origin": "real", "hosts": {}}, [point], True)
        (found,) = sets_of([point])
        assert f"# reduction: {words}\n" in head(run, found, PLAIN, "netsonde mpibench")
    (found,) = sets_of([bcast()])
    assert "reduction" not in head(run, found, PLAIN, "netsonde mpibench")


def timed(readings_ns):
    """Two processes of 1000 ns and more; what a hundred readings of the timer took beside them."""
    point = rank_point("bcast", rank_batch([[0, 10], [0, 10]], [[1, 2], [2, 3]]), ranks=2)
    if readings_ns is not None:
        for end in point.batches[0].ends.values():
            end.series["timer_readings_ns"] = np.full(25, 100 * readings_ns)
    return point


def test_the_timers_overhead_is_taken_off_where_that_was_asked_for(tmp_path):
    without = Summing(warm_up=0, without_timer=True)
    assert measured(timed(30), PLAIN).values_ns.tolist() == [2000, 3000]
    assert measured(timed(30), without).values_ns.tolist() == [1970, 2970]
    with pytest.raises(UsageError, match="holds no readings of its timer"):
        measured(timed(None), without)
    for point, summing, words in (
        (timed(30), without, "takes 30.00 ns [30.00 to 30.00], the median; it is taken off all"),
        (timed(30), PLAIN, "takes 30.00 ns [30.00 to 30.00], the median; it is in all times here"),
        (timed(None), PLAIN, None),
    ):
        run = Run(tmp_path, {"origin": "real", "hosts": {}}, [point], True)
        (found,) = sets_of([point])
        text = head(run, found, summing, "netsonde mpibench")
        assert (words in text) if words else ("timer:" not in text)
