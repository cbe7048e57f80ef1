"""A finding that is added as CONTRIBUTING.md says is in what a run is explained by, and in its
report."""

import json

import pytest
from house_copy import HouseCopy

FUNCTION = '''"""Rules about the time of day."""

from __future__ import annotations

from netsonde.explain.data import Finding, Seen


def measured_at_all(seen: Seen) -> list[Finding]:
    """That something was measured."""
    measured = [point for point in seen.run.points if point.batches]
    return [
        Finding("note", "Something was measured.", f"{len(measured)} point", points=(point.id,))
        for point in measured[:1]
    ]


def nothing(seen: Seen) -> list[Finding]:
    """Nothing; a run without a stream over UDP is told why."""
    return []
'''
LAST_ROW = """    Rule("warm-up", "path_rules.warming_up", (needs.STREAM,), "likely"),
"""
ROWS = """    Rule("measured-at-all", "day_rules.measured_at_all"),
    Rule("never-alone", "day_rules.nothing", (needs.UDP_STREAM,), "likely"),
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.add("explain/day_rules.py", FUNCTION)
    house.change("explain/table.py", LAST_ROW, LAST_ROW + ROWS)
    return house


@pytest.mark.usefixtures("sonde_worker")
def test_a_run_is_explained_by_it(house):
    run = house.measure()
    explained = json.loads(house.run("explain", str(run), "--json"))
    (found,) = [f for f in explained["findings"] if f["kind"] == "measured-at-all"]
    assert found["docs"] == "explain#measured-at-all"
    assert (found["confidence"], found["points"]) == ("certain", ["p001"])
    assert "never-alone" in {silent["rule"] for silent in explained["silent"]}
    assert "Something was measured." in house.run("explain", str(run))
    assert "Something was measured." in (run / "report.html").read_text()
