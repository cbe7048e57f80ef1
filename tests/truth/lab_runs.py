"""Whole runs over a cluster that is known (see lab_truth.py)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netsonde.lab.registry import start_named, take_down
from netsonde.lab.scenario import lab_spec, scenario_of
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

    def batch(self, point, records):
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


@contextlib.contextmanager
def named_lab(name: str, hosts: int, rate: str = "10M") -> Iterator[str]:
    """Hosts at a rate that a machine which others use emulates in time; how commands call them."""
    table = {"name": name, "hosts": hosts, "links": "switch", "link": {"rate": rate}}
    lab = start_named(lab_spec(scenario_of(table)))
    try:
        yield f"lab:{name}/h[1-{hosts}]"
    finally:
        take_down(lab)
