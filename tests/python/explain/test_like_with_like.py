"""Whatever is put side by side differs in the factor in question and in nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from factorial_runs import factorial_run

import netsonde
from netsonde.explain.data import Finding
from netsonde.explain.table import explain
from netsonde.figures.alike import FACTORS
from netsonde.figures.compute import figures_of
from netsonde.records.data import Point

SOURCES = Path(netsonde.__file__).parent
KEYS = {"alike.py", "keys.py", "sweeps.py"}
"""Of sweeps: a plan's, whose points must be measured for as long as each other too."""
RUNS = 200
PARTS = 8
EFFORT = {"interval", "cap_ns", "ranks_vary"}
USUAL = {"options.no_delay": True, "options.wait": "block", "options.placement": "free"}


def raw_aspects(point: Point) -> dict[str, object]:
    """Everything of a point, read without the function under test."""
    found: dict[str, object] = {"transport": point.transport, "test": point.test}
    for name, value in point.parameters.items():
        if name == "options":
            found |= {f"options.{n}": v for n, v in value.items()}
        elif name not in EFFORT:
            found[name] = value
    return {n: v for n, v in found.items() if USUAL.get(n) != v}


def allowed(factor: str) -> set[str]:
    by_name = {f.name: f.aspects for f in FACTORS}
    return {a for name in factor.split(" and ") for a in by_name.get(name, {name})}


def unlike(finding: Finding, points: dict[str, Point]) -> set[str]:
    """Aspects in which the sides of a finding differ and must not; launches of a side may."""
    sides = [[raw_aspects(points[p]) for p in side] for side in finding.sides]
    everything = [own for side in sides for own in side]
    names = {n for own in everything for n in own}
    differing = {n for n in names if len({repr(own.get(n)) for own in everything}) > 1}
    launches = {tuple(sorted(str(own.get("launch")) for own in side)) for side in sides}
    wrong = differing - allowed(finding.factor) - {"launch"}
    return wrong | ({"launch"} if len(launches) > 1 and "launch" in differing - allowed(
        finding.factor) else set())  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_findings_over_random_factorial_runs_pair_only_what_differs_in_their_factor(part):
    compared: Counter[str] = Counter()
    for seed in range(part, RUNS, PARTS):
        run = factorial_run(seed)
        points = {point.id: point for point in run.points}
        for finding in explain(run, figures_of(run)):
            assert bool(finding.sides) == bool(finding.factor)
            if finding.sides:
                compared[finding.kind] += 1
                assert unlike(finding, points) == set(), (seed, finding.claim)
    assert compared["layers"]
    assert compared["mpi-guidelines"]


def test_what_is_alike_is_decided_in_one_place():
    own_idea = re.compile(
        r"parameters\.items\(\)|but_for\(|sorted\([a-z.]*parameters|given\.get\(name\) for"
    )
    sources = [*(SOURCES / "explain").glob("*.py"), *(SOURCES / "figures").glob("*.py")]
    assert {s.name for s in sources if own_idea.search(s.read_text("utf-8"))} == KEYS
