"""An operation of MPI that is added as CONTRIBUTING.md says can be asked for, and its report tells
it. The worker of the test has it by another name."""

import json

import pytest
from house_copy import HouseCopy

from mpi_needed import require_mpi
from netsonde.launch.binaries import find_worker

NEXT = """    Operation("gather", "collective", _EACH, rooted=True, schedules="gather"),
"""
ROW = """    Operation("tell_all", "collective", _MESSAGE, rooted=True),
"""
WORKER = """#!/bin/sh
sed -u 's/"tell_all"/"bcast"/g' | "{worker}" "$@" | sed -u 's/"bcast"/"tell_all"/g'
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.change("operations.py", NEXT, ROW + NEXT)
    return house


def test_the_list_has_it(house):
    assert "tell_all" in house.run("mpi", "--list")


def test_a_run_measures_it_and_its_report_tells_it(house):
    _, worker = require_mpi()
    house.workers = house.folder / "workers"
    house.workers.mkdir()
    (house.workers / "sonde-mpi").write_text(WORKER.format(worker=worker))
    (house.workers / "sonde-mpi").chmod(0o755)
    (house.workers / "sonde-worker").symlink_to(find_worker("sonde-worker"))
    house.run("mpi", "tell_all", "-n", "2", "--sizes", "64", "--count", "50", "--out", "runs")
    (run,) = (house.folder / "runs").iterdir()
    (point,) = json.loads((run / "manifest.json").read_text())["points"]
    assert point["parameters"]["operation"] == "tell_all"
    house.run("report", str(run))
    assert "tell_all" in (run / "report.html").read_text()
