"""Figures or samples as CSV or JSON lines. Samples are written batch by batch."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from netsonde.csv_rows import write_rows
from netsonde.export.source import FIGURE_COLUMNS, Cell, Source
from netsonde.records.stream import stream_batches

SAMPLE_COLUMNS = ("point", "batch", "rank", "host", "series", "index", "value")
_AT_ONCE = 10_000
Rows = Iterable[Sequence[Cell]]


def sample_rows(source: Source) -> Iterator[tuple[Cell, ...]]:
    """All samples of a run, one batch of which is in memory at a time."""
    for point, batch in stream_batches(source.directory):
        for end in batch.ends.values():
            for name, values in end.series.items():
                place = (point, batch.index, end.rank, end.host, name)
                yield from ((*place, index, value) for index, value in enumerate(values.tolist()))


def write_csv(source: Source, file: IO[bytes], samples: bool) -> None:
    """A heading and a row for each figure or sample; nothing stands for what is not known."""
    columns, rows = _rows(source, samples)

    def as_text(part: Rows) -> str:
        text = io.StringIO()
        write_rows(text, part)
        return text.getvalue()

    file.write(as_text([columns]).encode())
    _write(rows, file, as_text)


def write_jsonl(source: Source, file: IO[bytes], samples: bool) -> None:
    """One JSON object on each line."""
    columns, rows = _rows(source, samples)

    def as_text(part: Rows) -> str:
        return "".join(
            f"{json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)}\n"
            for row in part
        )

    _write(rows, file, as_text)


def _rows(source: Source, samples: bool) -> tuple[Sequence[str], Rows]:
    if samples:
        return SAMPLE_COLUMNS, sample_rows(source)
    return FIGURE_COLUMNS, source.figure_rows()


def _write(rows: Rows, file: IO[bytes], as_text: Callable[[Rows], str]) -> None:
    part: list[Sequence[Cell]] = []
    for row in rows:
        part.append(row)
        if len(part) == _AT_ONCE:
            file.write(as_text(part).encode())
            part.clear()
    file.write(as_text(part).encode())
