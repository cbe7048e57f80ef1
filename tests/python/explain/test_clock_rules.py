"""Rules about clocks: what is too short for them, and which cannot be trusted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netsonde.explain.clock_rules import CLOCK_COSTS
from netsonde.explain.table import explain
from netsonde.figures.compute import figures_of_point
from netsonde.records.data import Run

sys.path.insert(0, str(Path(__file__).parent.parent))
from rank_records import rank_batch, rank_point

FACTS = {"clock_resolution_ns": 10.0, "clock_cost_ns": 10.0, "clock_source": "cycle_counter"}


def said(kind, stay_us=100.0, **facts):
    """What is found of a broadcast between h0, which is as usual, and h1."""
    batch = rank_batch([[0.0] * 60] * 2, [[stay_us] * 60] * 2)
    point = rank_point("bcast", batch, size=0)
    hosts = {"h0": FACTS, "h1": FACTS | facts}
    manifest = {"origin": "real", "hosts": hosts, "path": {"kind": "hosts"}}
    run = Run(Path(), manifest, [point], finished=True)
    return [f for f in explain(run, figures_of_point(point)) if f.kind == kind]


def test_an_operation_that_is_short_for_the_clock():
    (found,) = said("short-for-the-clock", stay_us=0.01)
    assert found.level == "warning"
    assert (
        "a repetition takes 10.00 ns, and reading the clock 10.00 ns: that is the clock's"
        in found.evidence
    )
    (found,) = said("short-for-the-clock", stay_us=0.021)
    assert found.evidence.endswith("reading the clock 10.00 ns.")
    assert found.points == ("p001",)
    assert not said("short-for-the-clock", stay_us=CLOCK_COSTS * 0.0101)
    # The clock of every rank counts, not that of rank 0 alone.
    (found,) = said("short-for-the-clock", stay_us=0.2, clock_cost_ns=31.0)
    assert "reading the clock 31.00 ns" in found.evidence
    (found,) = said("short-for-the-clock", stay_us=0.2, clock_resolution_ns=41.7)
    assert "a step of the clock 41.70 ns" in found.evidence


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        (
            {
                "clock_source": "monotonic",
                "clock_reason": "the kernel distrusts the counter: its clocks are hpet, "
                "without tsc",
            },
            "note",
        ),
        (
            {
                "clock_source": "monotonic",
                "clock_reason": "the counters of CPUs 0 and 4 differ by at least 900 ns",
                "clock_processors": "0,4",
                "clock_apart_least_ns": 900.0,
                "clock_apart_most_ns": 1100.0,
            },
            "warning",
        ),
        ({"clock_processors": "0,1", "clock_apart_least_ns": 0.0, "clock_apart_most_ns": 60.0}, ""),
        ({"clock_source": "monotonic", "clock_reason": "no cycle counter is known"}, ""),
    ],
)
def test_a_counter_that_is_not_trusted_is_told_with_its_reason(facts, level):
    found = said("counter-distrusted", **facts)
    assert [f.level for f in found] == ([level] if level else [])
    if level:
        assert found[0].claim.startswith("h1: the cycle counter cannot be trusted")
        assert facts["clock_reason"] in found[0].evidence
    # How far counters are apart is each host's own: it makes no two of them unlike.
    assert not any("clock_apart" in f.evidence for f in said("unlike-hosts", **facts))
