"""Whole runs over a cluster that is known, and their attempts (see lab_truth.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netsonde.records.data import Run
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.spec import StudySpec


class Silent:
    """The progress of a study that nobody watches."""

    def start(self, directory, points):
        pass

    def point(self, point):
        pass

    def done(self, point, error):
        pass

    def notice(self, text):
        pass


def run_over(folder: Path, scenario: str, measure: list[dict[str, Any]], **fields: Any) -> Run:
    """A run over a lab of that scenario file, in a new folder."""
    folder.mkdir()
    file = folder / "net.toml"
    file.write_text(scenario)
    place = {"path": {"kind": "lab"}, "lab": {"scenario": str(file)}}
    spec = StudySpec.model_validate({"seed": 1, **place, "measure": measure, **fields})
    outcome = start_study(spec, folder, ["test"], Silent())
    assert not outcome.failures
    return open_run(outcome.directory)


def right_run(folder: Path, measure: Callable[[Path], tuple[Run, list[str]]], most: int = 3) -> Run:
    """The first run of which nothing is wrong; measure gives one and what is wrong, in words.
    Skipped where nothing but a switch that was late each time can be blamed."""
    honest: list[str] = []
    for attempt in range(most):
        run, problems = measure(folder / str(attempt))
        if not problems:
            return run
        checks = [point.checks["lab"] for point in run.points]
        honest += problems if all(check["valid"] for check in checks) else []
    if honest:
        pytest.fail("; ".join(honest))
    late = max(check["late_share"] for check in checks)
    pytest.skip(f"this machine cannot play the scenario: {late:.1%} of the frames were late")
