"""What other MPI benchmarks would have said of a point that netsonde measured: pure functions.

Every tool's figure is computed from when each rank entered and left each repetition. A tool that
times a whole loop is followed by the time from the first entry of a rank to its last exit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from netsonde.peers.mpi_techniques import (
    MPPTEST_AVERAGES,
    SKAMPI_ERROR,
    SKAMPI_LEAST,
)
from netsonde.peers.said import Told, tell
from netsonde.ranks.clocks import common_repetitions
from netsonde.ranks.repetitions import has_summary, is_late, repetition_times_ns
from netsonde.ranks.times import is_message, rank_times
from netsonde.records.data import Batch, Point
from netsonde.stats.means import least_of_means, standard_error, trimmed_mean
from netsonde.stats.quantiles import quantile

Times = npt.NDArray[np.float64]
COMPLETION_MEAN, COMPLETION_MEDIAN = "completion_mean_ns", "completion_median_ns"


def mpi_told(point: Point) -> list[Told]:
    """The figures of the tool; none where nothing was measured, or not every sample was kept."""
    maker = MAKERS.get((point.spec.like or "", point.test))
    if maker is None or not point.batches or any(has_summary(b) for b in point.batches):
        return []
    return list(maker(point))


def rank_means_ns(point: Point) -> Times:
    """Mean over the repetitions after the warm-up of what each rank was inside; shape (ranks,)."""
    return np.asarray(_stays(point).mean(axis=1), np.float64)


def loop_means_ns(point: Point) -> Times:
    """From each rank's first entry after the warm-up to its last exit, over the number of
    repetitions; shape (ranks,)."""
    enter, leave = _stamps(point)
    return np.asarray((leave[:, -1] - enter[:, 0]) / enter.shape[1], np.float64)


def best_loop_mean_ns(point: Point, averages: int) -> float:
    """The same for rank 0, of so many consecutive parts; the least."""
    enter, leave = _stamps(point)
    parts = np.array_split(np.arange(enter.shape[1]), min(averages, enter.shape[1]))
    return min(float(leave[0, p[-1]] - enter[0, p[0]]) / len(p) for p in parts)


def until_accurate(values: Times, share: float = SKAMPI_ERROR, least: int = SKAMPI_LEAST) -> Times:
    """The first values, as many as it takes until their standard error is at most ``share`` of
    their mean; all where that is never so."""
    for count in range(min(least, len(values)), len(values)):
        first = values[:count]
        if standard_error(first) <= share * float(first.mean()):
            return first
    return values


def _stays(point: Point) -> Times:
    """Shape (ranks, repetitions), ns, after the warm-up."""
    batch = point.batches[0]
    rows = [batch.ends[rank].series["duration_ns"] for rank in sorted(batch.ends)]
    return np.stack(rows)[:, _warm_up(point) :].astype(np.float64)


def _stamps(point: Point) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """When each rank entered and left, by its own clock; shapes (ranks, repetitions), ns."""
    batch = point.batches[0]
    ends = [batch.ends[rank].series for rank in sorted(batch.ends)]
    enter = np.stack([series["begin_ns"] for series in ends])
    leave = enter + np.stack([series["duration_ns"] for series in ends])
    first = _warm_up(point)
    return enter[:, first:], leave[:, first:]


def _warm_up(point: Point) -> int:
    return point.spec.warm_up or 0


def _round_trips(point: Point) -> Times:
    return point.series("round_trip_ns")[_warm_up(point) :].astype(np.float64)


def _us(ns: float) -> str:
    return f"{ns / 1e3:.2f}"


def _osu_collective(point: Point) -> Iterator[Told]:
    columns = {"mean": "Avg Latency(us)", "min": "Min Latency(us)", "max": "Max Latency(us)"}
    yield from _over_ranks("osu_completion", columns, rank_means_ns(point), point)


_OF_RANKS = {"min": "t_min[usec]", "max": "t_max[usec]", "mean": "t_avg[usec]"}
"""As IMB and PMB head their columns."""


def _imb_collective(point: Point) -> Iterator[Told]:
    yield from _over_ranks("imb_rank", _OF_RANKS, rank_means_ns(point), point)


def _pmb_collective(point: Point) -> Iterator[Told]:
    yield from _over_ranks("pmb_rank", _OF_RANKS, loop_means_ns(point), point)


def _over_ranks(
    prefix: str, columns: Mapping[str, str], means: Times, point: Point
) -> Iterator[Told]:
    values = {"min": float(means.min()), "max": float(means.max()), "mean": float(means.mean())}
    samples = _stays(point).shape[1]
    for name, heading in columns.items():
        words = f"{_us(values[name])} {heading}"
        yield tell(f"{prefix}_{name}_ns", values[name], samples, words, differs=prefix)


def _skampi_collective(point: Point) -> Iterator[Told]:
    batch = point.batches[0]
    values = repetition_times_ns(_after(batch, _warm_up(point))).astype(np.float64)
    yield from _skampi(values, "skampi_completion", COMPLETION_MEDIAN)


def _skampi_latency(point: Point) -> Iterator[Told]:
    yield from _skampi(_round_trips(point), "skampi_round_trip", "round_trip_median_ns")


def _skampi(values: Times, prefix: str, beside: str) -> Iterator[Told]:
    if not len(values):
        return
    used = until_accurate(values)
    mean, error = trimmed_mean(used), standard_error(used)
    told = f"{error / 1e3:.1f}" if len(used) > 1 else "n/a"
    words = f"{mean / 1e3:.1f} {told} {len(used)}"
    yield tell(f"{prefix}_trimmed_mean_ns", mean, len(used), words, differs=prefix)
    if len(used) > 1:
        words = f"{error / 1e3:.1f} standard error"
        name = f"{prefix}_error_ns"
        yield tell(name, error, len(used), words, differs="skampi_error", beside=beside)


def _mpptest_collective(point: Point) -> Iterator[Told]:
    best = best_loop_mean_ns(point, MPPTEST_AVERAGES)
    yield tell("mpptest_completion_best_ns", best, _stamps(point)[0].shape[1], f"{_us(best)} us")


def _mpptest_latency(point: Point) -> Iterator[Told]:
    trips = _round_trips(point)
    best = least_of_means(trips, min(MPPTEST_AVERAGES, len(trips))) / 2.0
    yield tell("mpptest_one_way_best_ns", best, len(trips), f"{_us(best)} us")


def _mpbench_collective(point: Point) -> Iterator[Told]:
    common = common_repetitions(point.batches[0])
    if common is None:
        return
    first = _warm_up(point)
    taken = common.leave_ns.max(axis=0) - common.enter_ns[0]
    mean = float(taken[first:].mean())
    count = len(taken) - first
    yield tell("mpbench_completion_mean_ns", mean, count, f"{_us(mean)} us")
    if point.message_bytes and mean > 0:
        rate = point.message_bytes * 8e9 / mean
        yield tell("mpbench_bandwidth_bit_per_s", rate, count, f"{rate / 8e6:.3f} MB/sec")


def _reprompi_collective(point: Point) -> Iterator[Told]:
    batch = _after(point.batches[0], _warm_up(point))
    windowed = any("late_ns" in end.series for end in batch.ends.values())
    if windowed:
        common = common_repetitions(batch)
        if common is None:
            return
        times = (common.leave_ns.max(axis=0) - common.enter_ns.min(axis=0))[~is_late(batch)]
    else:
        times = repetition_times_ns(batch).astype(np.float64)
    if not len(times):
        return
    differs = "reprompi_windows" if windowed else "reprompi_barrier"
    for name, value, beside in (
        ("mean", float(times.mean()), COMPLETION_MEAN),
        ("median", quantile(times, 0.5), COMPLETION_MEDIAN),
        ("min", float(times.min()), "completion_min_ns"),
        ("max", float(times.max()), "completion_max_ns"),
    ):
        words = f"{value / 1e9:.10f} {name}_runtime_sec"
        yield tell(f"reprompi_{name}_ns", value, len(times), words, differs=differs, beside=beside)


def _after(batch: Batch, repetitions: int) -> Batch:
    """The batch without its first repetitions; clocks and counters stay."""
    per_repetition = ("begin_ns", "duration_ns", "late_ns")
    ends = {}
    for rank, end in batch.ends.items():
        series = {
            name: values[repetitions:] if name in per_repetition else values
            for name, values in end.series.items()
        }
        ends[rank] = type(end)(rank, end.host, series, end.counters, end.before, end.after)
    return Batch(batch.index, ends)


def _mpibench_collective(point: Point) -> Iterator[Told]:
    """Of messages the mean of all, each one way; of collectives that of the slowest process."""
    try:
        times = rank_times(point).without_first(_warm_up(point))
    except ValueError:
        return
    if not times.times_ns.size:
        return
    by_message = is_message(str(point.operation))
    values = times.times_ns[~np.isnan(times.times_ns)] if by_message else times.slowest_ns
    mean = float(values.mean())
    words = f"{mean / 1e3:.3f} mean, us"
    differs = "mpibench_messages" if by_message else "mpibench_collective"
    yield tell("mpibench_mean_ns", mean, len(values), words, differs=differs)


def _with_bandwidth(
    maker: Callable[[Point], Iterator[Told]], tool: str, time: str, mega: int, ways: int = 1
) -> Callable[[Point], Iterator[Told]]:
    """The tool's figures, and the size over one way, in its megabytes. ``time``: the figure that is
    the time of so many ways."""

    def both(point: Point) -> Iterator[Told]:
        found = list(maker(point))
        yield from found
        for said in found:
            if said.name == time and said.value > 0 and point.message_bytes:
                rate = ways * point.message_bytes * 8e9 / said.value
                yield tell(
                    f"{tool}_bandwidth_bit_per_s",
                    rate,
                    said.samples,
                    f"{rate / 8 / mega:.2f} MB/s of {mega} bytes",
                    differs="one_way_bandwidth",
                    beside=said.beside,
                    part="half of " if ways == 2 else "",
                )

    return both


def _half_round_trip(tool: str, words: str) -> Callable[[Point], Iterator[Told]]:
    def maker(point: Point) -> Iterator[Told]:
        trips = _round_trips(point)
        one_way = float(trips.mean()) / 2.0
        said = f"{_us(one_way)} {words}"
        yield tell(f"{tool}_one_way_mean_ns", one_way, len(trips), said, differs="half_round_trip")

    return maker


def _osu_stream(point: Point) -> Iterator[Told]:
    """Of the messages after the warm-up: from when the last one before them had been begun to when
    the receiver had said that all have come."""
    origin = point.batches[0].ends[0]
    sent, first = origin.series.get("sent_ns"), _warm_up(point)
    if sent is None or not 0 < first < len(sent):
        return
    ended = origin.counters["end_ns"] - origin.counters["start_ns"]
    elapsed = float(ended - sent[first - 1])
    count = len(sent) - first
    rate = count * point.message_bytes * 8e9 / elapsed if elapsed > 0 else 0.0
    words = f"{rate / 8e6:.2f} Bandwidth (MB/s)"
    yield tell("osu_bandwidth_bit_per_s", rate, count, words)


def _osu_threads(point: Point) -> Iterator[Told]:
    """From thread 0's first message after the warm-up to the end of the last thread, over a
    thread's number of messages, two for each round trip."""
    series = point.batches[0].ends[0].series
    first = series["round_trip_ns"][series["thread"] == 0]
    counted = len(first) - _warm_up(point)
    if counted < 1:
        return
    begin = int(series["thread_begin_ns"][0]) + int(first[: _warm_up(point)].sum())
    one_way = (int(series["thread_end_ns"].max()) - begin) / (2.0 * counted)
    words = f"{_us(one_way)} Latency (us)"
    samples = len(series["round_trip_ns"])
    yield tell("osu_one_way_mean_ns", one_way, samples, words, differs="osu_threads")


MAKERS: Mapping[tuple[str, str], Callable[[Point], Iterator[Told]]] = {
    ("osu", "latency"): _half_round_trip("osu", "Latency (us)"),
    ("osu", "stream"): _osu_stream,
    ("osu", "threads"): _osu_threads,
    ("osu", "collective"): _osu_collective,
    ("imb", "latency"): _with_bandwidth(
        _half_round_trip("imb", "t[usec]"), "imb", "imb_one_way_mean_ns", 10**6
    ),
    ("imb", "collective"): _imb_collective,
    ("pmb", "latency"): _with_bandwidth(
        _half_round_trip("pmb", "t[usec]"), "pmb", "pmb_one_way_mean_ns", 1 << 20
    ),
    ("pmb", "collective"): _pmb_collective,
    ("skampi", "latency"): _with_bandwidth(
        _skampi_latency, "skampi", "skampi_round_trip_trimmed_mean_ns", 1 << 20, ways=2
    ),
    ("skampi", "collective"): _skampi_collective,
    ("mpptest", "latency"): _with_bandwidth(
        _mpptest_latency, "mpptest", "mpptest_one_way_best_ns", 10**6
    ),
    ("mpptest", "collective"): _mpptest_collective,
    ("mpbench", "latency"): _with_bandwidth(
        _half_round_trip("mpbench", "us"), "mpbench", "mpbench_one_way_mean_ns", 1 << 20
    ),
    ("mpbench", "collective"): _mpbench_collective,
    ("reprompi", "collective"): _reprompi_collective,
    ("mpibench", "collective"): _mpibench_collective,
}
