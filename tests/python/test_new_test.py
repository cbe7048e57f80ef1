"""A test that is added as CONTRIBUTING.md says can be asked for, and its report tells its figures.
The worker of the test has it by another name."""

import json
from pathlib import Path

import pytest
from house_copy import HouseCopy

from netsonde.catalogue.known_figures import find_figure
from netsonde.catalogue.point import spec_type
from netsonde.catalogue.test import TESTS, Family
from netsonde.figures import compute  # noqa: F401  registers all that makes figures
from netsonde.figures.maker import MAKERS
from netsonde.study import measure  # noqa: F401  registers all that measures
from netsonde.study.series import MEASURERS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reference" / "transports.md"
NEXT = """    Test(
        "pingpong",
"""
ROW = """    Test(
        "knock",
        "knocks",
        Family.ROUND_TRIPS,
        main="round_trip_median_ns",
        tells=(("round_trip_median_ns", "knocked in"),),
        asked="latency",
        usual_size="32",
    ),
"""
BOUNDS = """        "netsonde.figures.bounds": names_of("is_bounds"),
"""
KNOCKS = """        "netsonde.figures.knocks": ("knock",),
"""
FIGURES_OF_KNOCKS = '''"""What knocks tell."""

from netsonde.figures.data import Figure
from netsonde.figures.maker import MAKERS, Maker


@MAKERS.of("knock")
def knock_figures(maker: Maker) -> list[Figure]:
    return maker.times("round_trip", maker.point.series("round_trip_ns"), "latency")
'''


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    add_row(house)
    house.add("figures/knocks.py", FIGURES_OF_KNOCKS)
    house.change("figures/maker.py", BOUNDS, BOUNDS + KNOCKS)
    return house


def add_row(house):
    house.change("catalogue/test.py", NEXT, ROW + NEXT)
    carried = 'tests=(*_PLAIN, "open_loop", *_MANY, *_COSTS)'
    house.change("catalogue/transport.py", carried, carried.replace('"open', '"knock", "open'))


def test_help_offers_it(house):
    said = " ".join(house.run("tcp", "--help").replace("│", " ").split())
    assert "One of latency, knock, pingpong, stream" in said


def test_the_schema_has_it(house):
    schema = json.loads(house.run("study", "schema"))
    assert "knock" in schema["$defs"]["MeasureTable"]["properties"]["test"]["enum"]


@pytest.mark.usefixtures("sonde_worker")
def test_a_command_measures_it_and_its_report_tells_it(house):
    said = house.run("tcp", "local", "knock", "--count", "50", "--out", "runs")
    assert "knocked in" in said or "TCP knock" in said
    (run,) = (house.folder / "runs").iterdir()
    (point,) = json.loads((run / "manifest.json").read_text())["points"]
    assert (point["test"], point["parameters"]["message_bytes"]) == ("knock", 32)
    house.run("report", str(run))
    assert "knocked in" in (run / "report.html").read_text()


@pytest.mark.usefixtures("sonde_worker")
def test_a_study_measures_it(house):
    assert '"point_finished"' in (house.measure(test="knock") / "journal.jsonl").read_text()


def test_another_transport_refuses_it(house):
    assert "knock is no test of transport udp" in house.run("udp", "local", "knock", fails=True)


def test_a_row_without_figures_is_refused_at_the_start(tmp_path):
    house = HouseCopy(tmp_path)
    add_row(house)
    said = house.run("report", "nowhere", fails=True)
    assert "nothing makes figures of the test knock" in said


@pytest.mark.parametrize("row", TESTS.values(), ids=TESTS)
def test_each_has_what_measures_it_its_figures_and_its_place_on_the_page(row):
    assert spec_type(row.name).__name__ != "PointSpec"
    assert MAKERS.get(row.name)
    assert row.is_simulated or MEASURERS.get(row.name)
    assert all(find_figure(name) for name in {name for name, _ in row.tells} | {row.main} - {""})
    if row.family in (Family.PROGRAM, Family.ROUNDS, Family.MODEL):
        return
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{row.name}`"))
    assert "](../methods/" in line
