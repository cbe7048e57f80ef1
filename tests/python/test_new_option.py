"""An option of sockets that is added as CONTRIBUTING.md says can be asked for and varied, and its
report tells it. The worker of the test has its wire key already."""

import json
import re

import pytest
from house_copy import HouseCopy

NEXT = """    Option(
        "no_delay",
"""
ROW = """    Option(
        "cut_at",
        Size(88, 65535),
        "Where segments are cut.",
        wire=("max_segment_bytes",),
        of=_TCP,
        flag=Flag("--cut-at", "SIZE", "Cut segments at so many bytes."),
        label="cut at",
        listed=True,
    ),
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.change("catalogue/options/sockets.py", NEXT, ROW + NEXT)
    return house


def test_help_offers_it(house):
    said = " ".join(house.run("tcp", "--help").split())
    assert "--cut-at SIZE Cut segments at so many bytes." in said


def test_the_schema_has_it(house):
    schema = json.loads(house.run("study", "schema"))
    found = schema["$defs"]["OptionsTable"]["properties"]["cut_at"]
    assert found["description"] == "Where segments are cut."


@pytest.mark.usefixtures("sonde_worker")
def test_a_command_varies_it_and_its_report_shows_it(house):
    words = ("--cut-at", "1000,2000", "--sizes", "64", "--count", "50", "--out", "runs")
    house.run("tcp", "local", "latency", *words)
    (run,) = (house.folder / "runs").iterdir()
    points = json.loads((run / "manifest.json").read_text())["points"]
    assert [p["parameters"]["options"]["cut_at"] for p in points] == [1000, 2000]
    opened = re.findall(r'"max_segment_bytes":(\d+)', (run / "journal.jsonl").read_text())
    assert {1000 - 12, 2000 - 12} <= set(map(int, opened))  # timestamps take 12
    house.run("report", str(run))
    assert "cut at 1000" in (run / "report.html").read_text()


def test_another_transport_refuses_it(house):
    with pytest.raises(AssertionError, match="cut_at"):
        house.measure("icmp", more="[measure.options]\ncut_at = 64\n")
