"""``netsonde export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from netsonde.cli.of_runs import of_runs

Format = Literal[
    "csv",
    "json",
    "jsonl",
    "parquet",
    "openmetrics",
    "junit",
    "gnuplot",
    "hdr",
    "html",
    "pdf",
    "pivot",
    "pair-rows",
]


@of_runs
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    format: Annotated[
        Format,
        typer.Option(
            "--format",
            "-f",
            help="csv, jsonl, parquet: figures in rows; json: everything in one document; "
            "openmetrics: for Prometheus; junit: points, requirements and findings for CI; "
            "gnuplot: scripts and data; hdr: HdrHistogram's files; html, pdf: the report; "
            "pivot: all pairs with totals, as .csv, .html or .xlsx; pair-rows: each pair.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to; a folder for gnuplot and hdr. Else standard output for csv, json, "
            "jsonl, openmetrics, junit and pair-rows, and the run's folder export for the others.",
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option("--samples", help="Every sample instead of figures: csv, jsonl, parquet."),
    ] = False,
) -> None:
    """Write a run in the format of another program.

    Examples: `netsonde export runs/TIME-quickstart --format csv`,
    `netsonde export runs/TIME-quickstart --format openmetrics`,
    `netsonde export runs/TIME-quickstart --format parquet --samples -o samples.parquet`,
    `netsonde export runs/TIME-tcp-all-pairs --format pivot -o pivot.xlsx`
    """
    from netsonde.export import export_run  # late: statistics and plots take a second to load

    for path in export_run(directory, format, out, samples):
        typer.echo(path)
