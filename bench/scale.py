"""What a large run costs: reading its journal, and making its report.

    python -m bench.scale                     10^8 values in 100 points, and in 10,000 points
    python -m bench.scale --shape 100x10x1e5  points x batches x values of a batch
    python -m bench.scale --exports           and each format that it can be exported in

Prints a line for each shape; the run directories are removed. Time and memory are those of the
processes that a user would start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.large_run import Shape, write_large_run
from netsonde.export.write import FORMATS

SHAPES = (Shape(100, 10, 100_000), Shape(10_000, 1, 10_000))
LONGEST_S = 1800.0
_INGEST = """
import sys, time
from pathlib import Path
from netsonde.records.rundir import open_run
begun, worked = time.perf_counter(), time.process_time()
run = open_run(Path(sys.argv[1]))
lasted_s, worked_s = time.perf_counter() - begun, time.process_time() - worked
values = sum(len(v) for p in run.points for b in p.batches for e in b.ends.values()
             for v in e.series.values())
print(values, lasted_s, worked_s)
"""


@dataclass(frozen=True)
class Cost:
    """``ingest_values_per_s``: from the journal to arrays in memory. Peaks are of resident memory.
    The CPU's seconds stand beside, since others may use the machine too."""

    values: int
    journal_bytes: int
    ingest_values_per_s: float
    ingest_values_per_processor_s: float
    ingest_peak_bytes: int
    report_s: float
    report_processor_s: float
    report_peak_bytes: int
    page_bytes: int


def cost_of(directory: Path) -> Cost:
    """Reads a run and makes its report, each in a process of its own."""
    read, _, _, ingest_peak = _measured([sys.executable, "-c", _INGEST, str(directory)])
    values, lasted_s, worked_s = read.split()
    command = [sys.executable, "-m", "netsonde", "report", str(directory)]
    _, report_s, processor_s, report_peak = _measured(command)
    return Cost(
        int(values),
        (directory / "journal.jsonl").stat().st_size,
        int(values) / float(lasted_s),
        int(values) / float(worked_s),
        ingest_peak,
        report_s,
        processor_s,
        report_peak,
        (directory / "report.html").stat().st_size,
    )


def _measured(command: list[str]) -> tuple[str, float, float, int]:
    """What it printed, how long it took, how long CPUs worked, the most memory it had."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    lasted_s = time.perf_counter() - begun
    return printed, lasted_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def line(shape: Shape, cost: Cost) -> str:
    gbytes = 1e9
    return (
        f"{cost.values:.3g} values in {shape.points} points, "
        f"journal {cost.journal_bytes / gbytes:.2f} GB: "
        f"ingest {cost.ingest_values_per_s / 1e6:.0f} million/s "
        f"({cost.ingest_values_per_processor_s / 1e6:.0f} for each second of a CPU), "
        f"{cost.ingest_peak_bytes / gbytes:.2f} GB; "
        f"report {cost.report_s:.1f} s ({cost.report_processor_s:.1f} s of CPUs), "
        f"{cost.report_peak_bytes / gbytes:.2f} GB, page {cost.page_bytes / 1e6:.1f} MB"
    )


def export_line(directory: Path, format: str) -> str:
    """What one export of a run costs, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="netsonde-export-") as temporary:
        command = [sys.executable, "-m", "netsonde", "export", str(directory), "--format", format]
        _, lasted_s, worked_s, peak = _measured([*command, "--out", f"{temporary}/{format}"])
    return f"  {format:<12} {lasted_s:5.1f} s ({worked_s:.1f} s of CPUs), {peak / 1e9:.2f} GB"


def _shape(text: str) -> Shape:
    points, batches, values = (int(float(part)) for part in text.split("x"))
    return Shape(points, batches, values)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.scale", description=__doc__)
    parser.add_argument("--shape", type=_shape, action="append", metavar="POINTSxBATCHESxVALUES")
    parser.add_argument("--exports", action="store_true", help="time the exports as well")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the runs in this directory")
    arguments = parser.parse_args()
    for number, shape in enumerate(arguments.shape or SHAPES):
        with tempfile.TemporaryDirectory(prefix="netsonde-scale-") as temporary:
            directory = (arguments.keep or Path(temporary)) / f"run-{number}"
            if not directory.exists():
                write_large_run(directory, shape)
            print(line(shape, cost_of(directory)), flush=True)
            for format in FORMATS if arguments.exports else ():
                print(export_line(directory, format), flush=True)


if __name__ == "__main__":
    main()
