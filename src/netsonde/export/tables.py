"""Figures or samples as Parquet. Samples are written batch by batch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from netsonde.export.source import FIGURE_COLUMNS, Source
from netsonde.records.stream import stream_batches

_ROWS_IN_A_PART = 4_000_000
FIGURE_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(FIGURE_COLUMNS, pl.String()),
    **dict.fromkeys(("message_bytes", "launch", "samples", "launches"), pl.Int64()),
    **dict.fromkeys(("value", "low", "high", "confidence", "effective_samples"), pl.Float64()),
}
SAMPLE_SCHEMA: dict[str, pl.DataType] = {
    "point": pl.String(),
    "batch": pl.Int32(),
    "rank": pl.Int32(),
    "host": pl.String(),
    "series": pl.String(),
    "index": pl.Int64(),
    "value": pl.Int64(),
}


def figure_frame(source: Source) -> pl.DataFrame:
    """All figures of a run."""
    return pl.DataFrame(source.figure_rows(), schema=FIGURE_SCHEMA, orient="row")


def sample_frames(source: Source) -> Iterator[pl.DataFrame]:
    """All samples of a run, a frame for each series of a batch."""
    for point, batch in stream_batches(source.directory):
        for end in batch.ends.values():
            for name, values in end.series.items():
                yield pl.DataFrame(
                    {"index": np.arange(len(values)), "value": values},
                    schema={"index": pl.Int64(), "value": pl.Int64()},
                ).select(
                    pl.lit(point).alias("point"),
                    pl.lit(batch.index, pl.Int32()).alias("batch"),
                    pl.lit(end.rank, pl.Int32()).alias("rank"),
                    pl.lit(end.host).alias("host"),
                    pl.lit(name).alias("series"),
                    "index",
                    "value",
                )


def write_parquet(source: Source, path: Path, samples: bool) -> None:
    """One Parquet file. Samples are gathered in parts on the disk, beside it, and put together."""
    if not samples:
        with path.open("wb") as file:
            figure_frame(source).write_parquet(file)
        return
    with tempfile.TemporaryDirectory(prefix=".parts-", dir=path.parent) as folder:
        waiting, rows, parts = [pl.DataFrame(schema=SAMPLE_SCHEMA)], 0, list[Path]()

        def keep() -> None:
            parts.append(Path(folder) / f"{len(parts):06d}.parquet")
            pl.concat(waiting).write_parquet(parts[-1])

        for frame in sample_frames(source):
            waiting.append(frame)
            rows += frame.height
            if rows >= _ROWS_IN_A_PART:
                keep()
                waiting, rows = [], 0
        if waiting:
            keep()
        pl.scan_parquet(parts).sink_parquet(path, maintain_order=True)
