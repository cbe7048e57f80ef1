"""Times as HdrHistogram's files: percentiles as text, and its log of version 2."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hdrh.log import HistogramLogWriter

from netsonde.export.buckets import Buckets, buckets_of, together
from netsonde.export.source import Source
from netsonde.ranks.repetitions import has_summary, repetition_times_ns
from netsonde.records.data import Batch
from netsonde.records.stream import stream_batches

_US = 1000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def write_histograms(source: Source, directory: Path) -> list[Path]:
    """``POINT.hgrm`` (percentiles, in microseconds) and ``POINT.hlog`` (a line for each batch, in
    nanoseconds) of every point with round trips, responses or completions; returns their paths.

    Values are kept to 3 significant digits; those beyond an hour count as an hour.
    """
    directory.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[tuple[int, Buckets]]] = {}
    for point, batch in stream_batches(source.directory):
        values = _times_ns(batch)
        if len(values):
            found.setdefault(point, []).append((batch.index, buckets_of(values)))
    return [path for point, batches in found.items() for path in _write(directory, point, batches)]


def _times_ns(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The repetitions of a batch; empty where it has no such times."""
    origin = batch.ends.get(0)
    if origin is not None and "response_ns" in origin.series:
        return origin.series["response_ns"]
    timed = has_summary(batch) or any("duration_ns" in e.series for e in batch.ends.values())
    if not timed and (origin is None or "round_trip_ns" not in origin.series):
        return np.empty(0, np.int64)
    return repetition_times_ns(batch)


def _write(directory: Path, point: str, batches: list[tuple[int, Buckets]]) -> Iterator[Path]:
    name = _NOT_IN_NAMES.sub("_", point)  # a run may come from anywhere
    percentiles = directory / f"{name}.hgrm"
    with percentiles.open("w", encoding="utf-8") as file:
        file.writelines(together(times for _, times in batches).percentiles(_US))
    yield percentiles
    log = directory / f"{name}.hlog"
    text = io.StringIO()
    writer = HistogramLogWriter(text)
    writer.output_log_format_version()
    writer.output_comment(
        f"[netsonde: {point}; nanoseconds; a line for each batch, one second each]"
    )
    writer.output_legend()
    for number, times in batches:
        begin_s = number + 1e-6  # 0 would stand for a time that is not known
        writer.output_interval_histogram(times.histogram(), begin_s, begin_s + 1, _US)
    log.write_text(text.getvalue(), encoding="utf-8")
    yield log
