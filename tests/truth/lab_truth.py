"""The harness of truth tests: a cluster that is known, and what moved in it.

::

    with scenario_lab(hosts=2, link={"rate": "100M", "delay": "1ms"}) as lab:
        ...measure...
        stats = switch_stats(lab)

Figures that need the machine's attention are measured by ``attempts``: again where they are wrong,
for the ends may have lacked time. Where no attempt is right the test fails, unless the switch
itself said of every one that it could not keep time; then it is skipped with that evidence.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, scenario_of

ROOT = os.geteuid() == 0
SETTLE_TIMEOUT_S = 60


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


@contextlib.contextmanager
def scenario_lab(**tables: Any) -> Iterator[Lab]:
    """A lab with a switch, from the tables of a scenario file."""
    with lab_up(lab_spec(scenario_of({"links": "switch", **tables}))) as lab:
        yield lab


def attempts(measure: Callable[[], tuple[list[str], dict[str, Any]]], most: int = 3) -> None:
    """measure gives what is wrong, in words, and the switch's stats of that run."""
    honest = []
    for _ in range(most):
        problems, stats = measure()
        if not problems:
            return
        if stats["honest"]["valid"]:
            honest += problems
    if honest:
        pytest.fail("; ".join(honest))
    late = 100 * stats["honest"]["late_share"]
    pytest.skip(f"this machine cannot play the scenario: {late:.1f} % of the frames were late")


def settle(lab: Lab, is_settled: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The switch's stats as soon as they are as wanted."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        stats = switch_stats(lab)
        if is_settled(stats):
            return stats
        assert time.monotonic() < deadline, "the switch did not settle"
        time.sleep(0.05)


def links_of(stats: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["name"]: link for link in stats["links"]}
