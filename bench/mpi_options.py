"""What an option of MPI tests changes that it is not about: ``python -m bench.mpi_options``.

Each option alone and every two that go together, between two ranks on two hosts of a lab with a
link of 100 Mbit/s. All settings are points of one study, in random order in each of its launches,
with several points without options among them; a ratio is one of launches
(docs/methods/options.md).
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from bench.options import LEAST_ROUNDS, Effect, summary
from netsonde.figures.compute import figures_of
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Run
from netsonde.records.rundir import open_run
from netsonde.stats.compare import ratio_interval
from netsonde.study.measure_table import MeasureTable
from netsonde.study.spec import StudySpec, to_toml

LAUNCHES = 9
WITHOUT = 4
"""So many points of each test without options."""
LIMIT_S = 3600
TESTS: tuple[dict[str, Any], ...] = (
    {"test": "latency", "sizes": [64], "count": 400},
    {"test": "stream", "sizes": [65_536], "count": 24},
    {"test": "collective", "operations": ["allreduce"], "sizes": [1024], "count": 400},
    {"test": "collective", "operations": ["ibcast"], "sizes": [1024], "count": 400},
)
# Not here: cache = "flush" and "rotate", which take buffers larger than the last-level cache.
SETTINGS: tuple[dict[str, Any], ...] = (
    {"check_data": True},
    {"start": "window"},
    {"start": "none"},
    {"clock_method": "offset"},
    {"clock_method": "jones_koenig"},
    {"compare_clocks": "apart"},
    {"keep": 100},
    {"cache": "fresh"},
    {"align": 64},
    {"overlap": True},
)
UNMEASURED = {"keep", "overlap"}
"""Overlap needs all its samples."""
MEASURES = {
    "round_trip_median_ns": "round trip",
    "throughput_bit_per_s": "throughput",
    "completion_median_ns": "completion",
}
PACKETS = "packets"
Values = defaultdict[tuple[str, str], defaultdict[str, dict[int, float]]]
"""By test and measure, by label, the value of each launch."""
ABOUT: dict[str, tuple[tuple[str, ...], str]] = {
    "check_data": ((), "before and after each repetition, outside of the time"),
    "start": (("completion",), "ranks that do not begin together wait for each other"),
    "clock_method": ((), "between batches"),
    "compare_clocks": ((), "between batches"),
    "keep": ((), "behind the timed part"),
    "cache": (("completion",), "data comes from memory"),
    "align": (("completion",), "copies of data that is at another place in a line or page"),
    "overlap": (("completion",), "its repetitions are others: they come behind a computation"),
}
"""Of each option, what it may change and why; it leaves everything else as it is."""


def named(options: dict[str, Any]) -> str:
    return "-".join(f"{name}={value}" for name, value in options.items())


def settings(pairs: bool) -> list[dict[str, Any]]:
    """Each option alone, or every two."""
    if not pairs:
        return list(SETTINGS)
    both = [a | b for a, b in itertools.combinations(SETTINGS, 2) if not a.keys() & b.keys()]
    return [o for o in both if not o.keys() >= UNMEASURED]


def blocks(chosen: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Those of a study that has all settings in all tests that take them."""
    without = [{"label": f"without {i}"} for i in range(WITHOUT)]
    for test in TESTS:
        for options in (*without, *({"label": named(o)} | o for o in chosen)):
            block = {"transports": ["mpi"], **test, **options}
            try:
                MeasureTable.model_validate(block)
            except ValidationError:
                continue  # the test has no such option, or the two do not go together
            yield block


def study_of(chosen: Sequence[dict[str, Any]], launches: int) -> StudySpec:
    return StudySpec.model_validate(
        {
            "name": "mpi-options",
            "path": {"kind": "lab"},
            "lab": {"hosts": 2, "rate": "100M"},
            "mpi": {"ranks": [2], "hosts": ["h1", "h2"], "launches": launches},
            "measure": list(blocks(chosen)),
        }
    )


def measured(study: StudySpec) -> tuple[Run, list[Figure]]:
    """The run of a study and its figures. Raises CalledProcessError, TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="netsonde-options-") as folder:
        file = Path(folder, "study.toml")
        file.write_text(to_toml(study))
        command = [sys.executable, "-m", "netsonde", "study", "run", str(file), "-q"]
        subprocess.run([*command, "--out", folder], check=True, timeout=LIMIT_S)
        (manifest,) = Path(folder).glob("*/manifest.json")
        run = open_run(manifest.parent)
        figures = figures_of(run)  # reads what the points have, while the folder is there
        return run, figures


def values_of(run: Run, figures: Sequence[Figure]) -> Values:
    """By test, measure and label the values of all launches."""
    points = {point.id: point for point in run.points}
    found: Values = defaultdict(lambda: defaultdict(dict))

    def keep(point: Point, measure: str, value: float) -> None:
        launches = found[point.operation or point.test, measure][point.label or ""]
        launches[point.spec.launch or 1] = value

    for figure in figures:
        if figure.name in MEASURES and figure.point in points:
            keep(points[figure.point], MEASURES[figure.name], figure.value)
    for point in run.points:
        if point.test == "stream":
            keep(point, PACKETS, packets(point))
    return found


def packets(point: Point) -> float:
    """Frames that both hosts sent on their way, in all batches of a point."""
    return float(
        sum(
            value
            for batch in point.batches
            for end in batch.ends.values()
            for name, value in end.differences().items()
            if name.endswith(".tx_packets") and not name.startswith("interface.lo.")
        )
    )


def effects(found: Values, chosen: Sequence[dict[str, Any]]) -> Iterator[Effect]:
    """Of each setting in each test, over launches; without is the median of its points there."""
    for (test, measure), by_label in found.items():
        base = [by_label[label] for label in by_label if label.startswith("without")]
        for options in chosen:
            own = by_label.get(named(options), {})
            both = sorted(number for number in own if all(number in b for b in base))
            if both:
                without = [float(np.median([b[number] for b in base])) for number in both]
                ratio = ratio_interval([own[number] for number in both], without)
                is_meant = any(measure in ABOUT[name][0] for name in options)
                yield Effect(named(options), test, measure, ratio, is_meant)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mpi_options", description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="every two options together")
    parser.add_argument("--launches", type=int, default=LAUNCHES, help=f"{LEAST_ROUNDS} or more")
    given = parser.parse_args(arguments)
    chosen = settings(given.pairs)
    run, figures = measured(study_of(chosen, max(LEAST_ROUNDS, given.launches)))
    summary(effects(values_of(run, figures), chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
