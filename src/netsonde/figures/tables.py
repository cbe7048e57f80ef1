"""A run as Parquet tables: points, figures, samples, snapshots.

The journal stays the truth; the tables are made from it and may be made again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from netsonde.errors import UsageError
from netsonde.figures.data import Figure
from netsonde.figures.headlines import Headline, Headlines
from netsonde.figures.judgements import Judgement
from netsonde.records.data import Run, Series

SAMPLES_SCHEMA = {
    "point": pl.Categorical,
    "batch": pl.Int32,
    "rank": pl.Int32,
    "series": pl.Categorical,
    "index": pl.Int64,
    "value": pl.Int64,
}


def write_tables(run: Run, figures: Sequence[Figure], directory: Path) -> list[Path]:
    """Writes ``tables/*.parquet``; returns the paths."""
    tables = {
        "points": points_table(run),
        "figures": figures_table(figures, Headlines(run.points, figures).all),
        "samples": samples_table(run),
        "snapshots": snapshots_table(run),
    }
    paths = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            path = directory / f"{name}.parquet"
            with path.open("wb") as file:  # its name may be one that the library does not take
                table.write_parquet(file)
            paths.append(path)
    except (OSError, pl.exceptions.PolarsError) as error:  # a full disk may be either
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot write tables to {directory}: {why}") from error
    return paths


def points_table(run: Run) -> pl.DataFrame:
    """One row per point; parameters and checks as JSON text."""
    return pl.DataFrame(
        [
            {
                "point": p.id,
                "transport": p.transport,
                "test": p.test,
                "operation": p.operation,
                "message_bytes": p.message_bytes,
                "status": p.status,
                "ended_by": p.ended_by,
                "error": p.error,
                "batches": len(p.batches),
                "parameters": json.dumps(p.parameters),
                "checks": json.dumps(p.checks),
            }
            for p in run.points
        ],
        infer_schema_length=None,
    )


def figures_table(figures: Sequence[Figure], headlines: Sequence[Headline] = ()) -> pl.DataFrame:
    """One row per figure, its fields as columns; with headlines, also one for each of several
    points, and ``basis`` and ``launches`` of every row. Where a row is of one point, that is
    ``within`` its launch."""
    of_several = [headline for headline in headlines if len(headline.figures) > 1]
    rows = [asdict(f) for f in figures]
    if headlines:
        basis = ["none" if f.low is None else "within" for f in figures]
        rows = [{**row, "basis": b, "launches": 1} for row, b in zip(rows, basis, strict=True)]
        rows += [
            {
                **asdict(h.figure),
                "confidence": h.over.confidence,
                "basis": h.basis,
                "launches": h.over.launches,
            }
            for h in of_several
        ]
    return pl.DataFrame(rows, infer_schema_length=None)


def headlines_table(headlines: Sequence[Headline]) -> pl.DataFrame:
    """One row per figure and condition, over its launches; ``points`` is a list."""
    return pl.DataFrame([h.as_json() for h in headlines], infer_schema_length=None)


def findings_table(findings: Sequence[Any]) -> pl.DataFrame:
    """One row per finding; ``points`` is a list."""
    return pl.DataFrame(
        [{**asdict(f), "points": list(f.points)} for f in findings], infer_schema_length=None
    )


def requirements_table(judgements: Sequence[Judgement]) -> pl.DataFrame:
    """One row per requirement and point; ``points`` is a list, values are in the figure's unit."""
    names = ("label", "verdict", "value", "low", "high", "launches")
    return pl.DataFrame(
        [
            {
                "figure": j.requirement.figure,
                "at_least": j.requirement.at_least,
                "at_most": j.requirement.at_most,
                **{name: getattr(j, name) for name in names},
                "points": list(j.points),
            }
            for j in judgements
        ],
        schema={
            "figure": pl.String,
            "at_least": pl.Float64,
            "at_most": pl.Float64,
            "label": pl.String,
            "verdict": pl.String,
            "value": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
            "launches": pl.Int64,
            "points": pl.List(pl.String),
        },
    )


def samples_table(
    run: Run, series: Set[str] | None = None, points: Set[str] | None = None
) -> pl.DataFrame:
    """Every sample: point, batch, rank, series, index, value; of the series and points that are
    named, where any are."""
    parts = [
        _samples(point.id, batch.index, end.rank, name, values)
        for point in run.points
        if points is None or point.id in points
        for batch in point.batches
        for end in batch.ends.values()
        for name, values in end.series.items()
        if series is None or name in series
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SAMPLES_SCHEMA)


def _samples(point: str, batch: int, rank: int, name: str, values: Series) -> pl.DataFrame:
    return (
        pl.DataFrame({"index": np.arange(len(values)), "value": values})
        .with_columns(
            point=pl.lit(point, pl.Categorical),
            batch=pl.lit(batch, pl.Int32),
            rank=pl.lit(rank, pl.Int32),
            series=pl.lit(name, pl.Categorical),
        )
        .select(SAMPLES_SCHEMA.keys())
    )


def snapshots_table(run: Run) -> pl.DataFrame:
    """Every snapshot value that changed over its batch: before, after and the difference."""
    rows = []
    for point in run.points:
        for batch in point.batches:
            for end in batch.ends.values():
                if end.before is None or end.after is None:
                    continue
                for name, growth in end.differences().items():
                    if growth:
                        rows.append(
                            {
                                "point": point.id,
                                "batch": batch.index,
                                "rank": end.rank,
                                "host": end.host,
                                "name": name,
                                "before": end.before.values[name],
                                "after": end.after.values[name],
                                "difference": growth,
                            }
                        )
    return pl.DataFrame(
        rows,
        schema={
            "point": pl.String,
            "batch": pl.Int32,
            "rank": pl.Int32,
            "host": pl.String,
            "name": pl.String,
            "before": pl.Int64,
            "after": pl.Int64,
            "difference": pl.Int64,
        },
    )
