"""A trace as one table: Parquet or CSV, a row for each sample, a column for each counter.

Done in pieces, so that a week needs little more memory than an hour.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from netsonde.csv_rows import harmless
from netsonde.errors import UsageError
from netsonde.names import require_text
from netsonde.trace.journal import Counter, Moment, TraceReader, read_trace, unix_ns
from netsonde.trace.place import is_table
from netsonde.trace.series import Column, Trace

VALUES_IN_A_PIECE = 4_000_000
"""32 MB of numbers."""

METADATA = "netsonde-trace"
OWN_COLUMNS: dict[str, Any] = {
    "host": pl.String,
    "time": pl.Datetime("ns", "UTC"),
    "since_ns": pl.Int64,
    "number": pl.Int64,
    "cost_ns": pl.Int64,
}
"""Those that are no counters: the time of day, from the beginning of the trace, the place on the
grid (none of the first and last sample outside it), and how long the reading took."""


def convert(folder: Path, target: Path) -> list[str]:
    """Writes a trace into target, whose suffix says as what; returns what was wrong with the trace.

    Raises UsageError where it cannot be read, or not be written there.
    """
    if not is_table(target):
        raise UsageError(f"{target} ends neither in .parquet nor in .csv")
    require_text(target, "the library that writes tables needs")
    problems: list[str] = []
    reader = TraceReader()
    part = target.with_name(target.name + ".part")
    try:
        with tempfile.TemporaryDirectory(prefix=target.name + ".", dir=target.parent) as pieces:
            files: list[Path] = []
            for piece in _pieces(folder, reader, problems):
                files.append(Path(pieces, f"{len(files):06}.parquet"))
                piece.write_parquet(files[-1], compression="lz4")
            if not files:
                raise UsageError(f"{folder} holds no sample yet")
            whole = pl.concat([pl.scan_parquet(file) for file in files], how="diagonal")
            if target.suffix == ".csv":
                _harmless(whole).sink_csv(part)
            else:
                whole.sink_parquet(
                    part,
                    metadata={METADATA: _metadata(reader, problems)},
                    # It is held in memory until it is whole.
                    row_group_size=max(1, VALUES_IN_A_PIECE // max(1, len(reader.counters))),
                )
        part.replace(target)
    except (OSError, pl.exceptions.PolarsError) as error:
        part.unlink(missing_ok=True)
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UsageError(f"cannot write {target}: {why}") from error
    return problems


def _harmless(table: pl.LazyFrame) -> pl.LazyFrame:
    """Text as every CSV file of netsonde has it; names of counters are text as well."""
    kinds = table.collect_schema()
    texts = [pl.col(name) for name, kind in kinds.items() if kind == pl.String]
    made = table.with_columns(text.map_batches(_harmless_texts, pl.String) for text in texts)
    return made.rename({name: harmless(name) for name in kinds})


def _harmless_texts(texts: pl.Series) -> pl.Series:
    return pl.Series(texts.name, [harmless(text) for text in texts], pl.String)


def _metadata(reader: TraceReader, problems: list[str]) -> str:
    return json.dumps(
        {
            "about": dict(reader.about),
            "counters": [asdict(counter) for counter in reader.counters],
            "missing": reader.missing,
            "problems": problems,
        }
    )


def _pieces(folder: Path, reader: TraceReader, problems: list[str]) -> Iterator[pl.DataFrame]:
    piece = _Piece(reader)
    for moment in read_trace(folder, reader, problems):
        piece.add(moment)
        if piece.rows * max(1, len(reader.counters)) >= VALUES_IN_A_PIECE:
            yield piece.table()
            piece = _Piece(reader)
    if piece.rows:
        yield piece.table()


class _Piece:
    """Rows that follow each other; what a counter was before the first of them is kept apart.

    Made before its first sample is read.
    """

    def __init__(self, reader: TraceReader) -> None:
        self._reader = reader
        self._before: list[int | None] = list(reader.values)
        self._changes: list[tuple[list[int], list[int | None]]] = []
        self._moments: list[Moment] = []
        self._unix_ns: list[int] = []

    @property
    def rows(self) -> int:
        return len(self._moments)

    def add(self, moment: Moment) -> None:
        reader = self._reader
        while len(self._changes) < len(reader.counters):
            self._changes.append(([], []))
        for slot in reader.changed:
            places, values = self._changes[slot]
            places.append(len(self._moments))
            values.append(reader.values[slot])
        self._moments.append(moment)
        self._unix_ns.append(unix_ns(reader, moment))

    def table(self) -> pl.DataFrame:
        moments = self._moments
        own: dict[str, list[Any]] = {
            "host": [str(self._reader.about.get("host", ""))] * len(moments),
            "time": self._unix_ns,
            "since_ns": [moment.since_ns for moment in moments],
            "number": [moment.number for moment in moments],
            "cost_ns": [moment.cost_ns for moment in moments],
        }
        columns = [pl.Series(name, own[name], dtype=kind) for name, kind in OWN_COLUMNS.items()]
        columns += [
            pl.Series(name, self._filled(slot), dtype=pl.Int64)
            for slot, name in enumerate(counter.name for counter in self._reader.counters)
            if name not in OWN_COLUMNS
        ]
        return pl.DataFrame(columns)

    def _filled(self, slot: int) -> pl.Series:
        places, values = self._changes[slot]
        before = self._before[slot] if slot < len(self._before) else None
        lengths = np.diff(np.array([0, *places, self.rows]))
        held = pl.Series([before, *values], dtype=pl.Int64)
        return held.gather(np.repeat(np.arange(len(held)), lengths))


def load_table(path: Path, wanted: Any = None) -> Trace:
    """A trace from the Parquet file that convert() wrote, or of it the counters that are wanted.

    Raises UsageError.
    """
    try:
        described = json.loads(pl.read_parquet_metadata(path)[METADATA])
        counters = [Counter(**one) for one in described["counters"]]
        counters = [c for c in counters if wanted is None or wanted(c.name)]
        table = pl.read_parquet(path, columns=[*OWN_COLUMNS, *(c.name for c in counters)])
    except KeyError as error:
        raise UsageError(f"{path} was not written by netsonde trace") from error
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UsageError(f"cannot read {path}: {why}") from error
    return Trace(
        str(path),
        str(described["about"].get("host", path.stem)),
        described["about"],
        table["since_ns"].to_numpy().astype(np.int64),
        table["time"].dt.epoch("ns").to_numpy().astype(np.int64),
        table["number"].fill_null(-1).to_numpy().astype(np.int64),
        table["cost_ns"].to_numpy().astype(np.int64),
        {c.name: _column(c, table[c.name]) for c in counters},
        described["missing"],
        described["problems"],
    )


def _column(counter: Counter, values: pl.Series) -> Column:
    return Column(
        counter,
        values.fill_null(0).to_numpy().astype(np.int64),
        values.is_not_null().to_numpy().astype(np.bool_),
    )
