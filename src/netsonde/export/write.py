"""From a format's name to its files, or to standard output."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from netsonde.errors import UsageError
from netsonde.export.source import Source
from netsonde.names import require_text
from netsonde.report.files import document
from netsonde.report.page import page
from netsonde.report.plots import all_plots

FOLDER = "export"
STREAMS = ("csv", "json", "jsonl", "openmetrics", "junit", "pair-rows")
"""Formats that go to standard output where no file is named."""
FILES = {"parquet": "parquet", "html": "html", "pdf": "pdf", "pivot": "csv"}
"""Formats of one file, and how its name ends where none is given."""
FOLDERS = ("gnuplot", "hdr")
"""Formats that are a file or two for each plot or point."""
FORMATS = (*STREAMS, *FILES, *FOLDERS)
WITH_SAMPLES = ("csv", "jsonl", "parquet")


def export_run(
    directory: Path, format: str, out: Path | None = None, samples: bool = False
) -> list[Path]:
    """Writes a run in a format, and returns what was written; nothing where that is standard
    output.

    ``out`` is a file, a folder for gnuplot and hdr; ``-`` is standard output. ``samples`` instead
    of figures, for csv, jsonl and parquet: read and written batch by batch. Raises UsageError for
    another format, where samples cannot be had in it, where the directory is no run, and where
    nothing can be written.
    """
    if format not in FORMATS:
        raise UsageError(f"format {format!r} is not known; choose one of {', '.join(FORMATS)}")
    if samples and format not in WITH_SAMPLES:
        raise UsageError(
            f"samples go into {', '.join(WITH_SAMPLES)}, not {format}; leave --samples out"
        )
    source = Source(directory)
    to_stdout = out is not None and str(out) == "-"
    if to_stdout and format not in STREAMS:
        raise UsageError(f"{format} does not go to standard output; name a file with --out")
    if format in STREAMS and (out is None or to_stdout):
        _write(format, source, sys.stdout.buffer, samples)
        return []
    target = out or _place(directory, format, samples)
    if format == "parquet" and samples:
        require_text(target, "the library that writes Parquet in pieces needs")
    try:
        return _into_files(source, format, target, samples)
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}; choose another with --out"
        ) from error


def _place(directory: Path, format: str, samples: bool) -> Path:
    """Where a format goes in the run directory."""
    if format in FOLDERS:
        return directory / FOLDER / format
    stems = {"parquet": "samples" if samples else "figures", "pivot": "pivot"}
    stem = stems.get(format, "report")
    return directory / FOLDER / f"{stem}.{FILES[format]}"


def _into_files(source: Source, format: str, target: Path, samples: bool) -> list[Path]:
    if format == "gnuplot":
        from netsonde.export.gnuplot import write_gnuplot

        return write_gnuplot(list(all_plots(source.study)), target)
    if format == "hdr":
        from netsonde.export.histograms import write_histograms

        return write_histograms(source, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        if format == "parquet":
            from netsonde.export.tables import write_parquet

            write_parquet(source, part, samples)
        elif format == "pivot":
            from netsonde.export.pivot import write_pivot

            write_pivot(source, target, part)
        elif format == "pdf":
            from netsonde.report.pdf import write_pdf

            write_pdf(source.run, source.figures, source.findings, part)
        else:
            with part.open("wb") as file:
                _write(format, source, file, samples)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return [target]


def _write(format: str, source: Source, file: IO[bytes], samples: bool) -> None:
    """A format of text. What each needs is imported for it alone."""
    match format:
        case "csv" | "jsonl":
            from netsonde.export.rows import write_csv, write_jsonl

            (write_csv if format == "csv" else write_jsonl)(source, file, samples)
        case "json":
            file.write(document(source.study, source.findings))
        case "openmetrics":
            from netsonde.export.openmetrics import openmetrics

            file.write(openmetrics(source))
        case "junit":
            from netsonde.export.findings import junit

            file.write(junit(source).encode())
        case "pair-rows":
            from netsonde.export.pivot import write_pairs

            write_pairs(source, file)
        case "html":
            file.write(page(source.run, source.figures, source.findings).encode())
