"""A transport that is added as CONTRIBUTING.md says can be asked for, and its report tells it.

The worker of the test has it by another name; tests/engine/worker_transports.cpp adds one there.
"""

import json
from pathlib import Path

import pytest
from house_copy import HouseCopy

from netsonde.catalogue.transport import TRANSPORTS, Ends
from netsonde.launch.binaries import find_worker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "transports.md"
NEXT = """    Transport(
        "mpi",
"""
ROW = """    Transport(
        "pipe",
        "PIPE",
        tests=_PLAIN,
        worker="sonde-worker",
        ends=Ends.PAIR,
        framing=Framing.SEGMENTS,
        needs=(Need("a kernel with pipes", "mkfifo"),),
        least_bytes=1,
        message="a message through a pipe",
        layer=5,
        summary="Measure pipes between this host and another.",
        examples=("pipe node7 latency",),
    ),
"""
WORKER = """#!/bin/sh
sed -u 's/"pipe"/"tcp"/g' | "{worker}" "$@" | sed -u 's/"tcp"/"pipe"/g'
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.change("catalogue/transport.py", NEXT, ROW + NEXT)
    house.play_worker("sonde-worker", WORKER.format(worker=find_worker("sonde-worker")))
    return house


def test_help_offers_it(house):
    assert "pipe Measure pipes between this host and another." in plain(house.run("--help"))
    said = plain(house.run("pipe", "--help"))
    assert "• netsonde pipe node7 latency" in said
    assert "--sizes SIZES Message sizes" in said


def plain(text):
    return " ".join(text.replace("│", " ").split())


def test_the_schema_has_it(house):
    schema = json.loads(house.run("study", "schema"))
    assert "pipe" in json.dumps(schema["$defs"]["MeasureTable"]["properties"]["transports"])


@pytest.mark.usefixtures("sonde_worker")
@pytest.mark.parametrize("test", ["latency", "stream"])
def test_a_command_measures_it_and_its_report_tells_it(house, test):
    words = ("--sizes", "1k", "--time", "300ms", "--out", f"runs-{test}")
    house.run("pipe", "local", test, *words)
    (run,) = (house.folder / f"runs-{test}").iterdir()
    (point,) = json.loads((run / "manifest.json").read_text())["points"]
    assert point["transport"] == "pipe"
    assert '"point_finished"' in (run / "journal.jsonl").read_text()
    house.run("report", str(run))
    assert f"PIPE {test}" in (run / "report.html").read_text()


@pytest.mark.usefixtures("sonde_worker")
def test_a_study_measures_it(house):
    assert '"point_finished"' in (house.measure("pipe") / "journal.jsonl").read_text()


def test_what_it_does_not_carry_is_refused(house):
    assert "incast is no test of transport pipe" in house.run("pipe", "a,b", "incast", fails=True)


@pytest.mark.parametrize("row", [r for r in TRANSPORTS.values() if r.ends is not Ends.OTHERWISE])
def test_each_stands_on_the_page_with_what_it_needs(row):
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{row.name}`"))
    for need in row.needs:
        assert need.what in line
        assert need.probe in line
