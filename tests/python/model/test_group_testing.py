"""How many rounds group testing makes, and what it finds: the table of the methods page holds."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from group_testing_made import MARGIN, group_tested

from netsonde.model.group_testing import (
    LOOKS,
    MARGINS_FOUND,
    SCREEN_DEVIATIONS,
    rounds_of_look,
    rounds_to_screen,
)
from netsonde.model.node_links import Sight
from netsonde.model.tournament import most_rounds

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "all-pairs.md"
EXCESSES = (0.5, 1.0, 3.0)
SLOW = 3
SHORT_RUNS = 8
LONG_RUNS = 60
TABLE_RUNS = 40


def sight(spread: float, between: float = 0.02, meetings: float = 18.0) -> Sight:
    return Sight(spread, between, between, 5.0, meetings)


def operating_curve() -> dict[tuple[int, float], list[float]]:
    """Hosts and noise to the shares found of each excess and of false alarms, as the page says."""
    _, _, rest = PAGE.read_text().partition("| hosts | noise |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip().rstrip("%").strip() for cell in x.strip("|").split("|")] for x in lines]
    return {
        (int(row[0]), float(row[1]) / 100): [float(cell) / 100 for cell in row[2:6]] for row in rows
    }


def tolerance(share: float, runs: int) -> float:
    """Three deviations of the difference of two shares, one of ``TABLE_RUNS`` runs."""
    spread = max(share * (1 - share), 0.25 / TABLE_RUNS)
    return 3 * math.sqrt(spread * (1 / runs + 1 / TABLE_RUNS))


def shares(hosts: int, noise: float, first_seed: int, runs: int) -> tuple[list[float], float]:
    """Of runs with a slow host, in which it was named; and in which anything else was, of all."""
    found, alarms = [], 0
    for excess in EXCESSES:
        results = [
            group_tested(hosts, noise, {SLOW: excess}, first_seed + run) for run in range(runs)
        ]
        found.append(sum(("host", SLOW) in result.named for result in results) / runs)
    for run in range(runs):
        alarms += bool(group_tested(hosts, noise, {}, first_seed + run).named)
    return found, alarms / runs


def test_what_is_quiet_needs_no_more_rounds_than_planned():
    assert rounds_to_screen([(sight(0.05), MARGIN)], 64, 18) == 18
    assert rounds_of_look([(sight(0.05), MARGIN)], 1, 3, 18, 18) == 3
    assert rounds_of_look([(sight(0.05), MARGIN)], 2, 3, 21, 18) == 0


@pytest.mark.parametrize("spread", [0.3, 0.5, 1.0, 5.0])
def test_noise_asks_for_more_rounds_up_to_a_limit(spread):
    measures = [(sight(0.05), MARGIN), (sight(spread), MARGIN)]
    first = rounds_to_screen(measures, 1000, 30)
    assert first == min(
        most_rounds(30), max(30, math.ceil(sight(spread).meetings_for(0.5, SCREEN_DEVIATIONS)))
    )
    done = first
    for look in range(1, LOOKS + 1):
        more = rounds_of_look(measures, look, 3, done, 30)
        assert more >= (3 if look == 1 else 0)
        done += more
    assert rounds_of_look(measures, LOOKS, 3, done, 30) == 0
    assert done <= most_rounds(30) + 3


def test_nearly_all_pairs_are_all_pairs():
    assert rounds_to_screen([(sight(0.6), MARGIN)], 32, 15) == 31


def test_hosts_that_differ_by_themselves_ask_for_nothing():
    """More rounds would not tell them apart."""
    assert rounds_to_screen([(sight(0.5, between=0.4), MARGIN)], 1000, 30) == 30


def test_the_promised_meetings_are_enough():
    seen = sight(0.5)
    meetings = seen.meetings_for(MARGINS_FOUND * MARGIN)
    enough = Sight(seen.spread, seen.between, seen.between_least, seen.limit, meetings)
    assert enough.seen == pytest.approx(MARGINS_FOUND * MARGIN)


def test_some_of_the_operating_curve():
    noise = 1.0
    found, alarms = shares(64, noise, 100, SHORT_RUNS)
    stated = operating_curve()[64, noise]
    for share, wanted in zip(found, stated, strict=False):
        assert abs(share - wanted) <= tolerance(wanted, SHORT_RUNS)
    assert alarms <= 1 / SHORT_RUNS


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("hosts", "noise"), sorted(operating_curve()))
def test_the_operating_curve(hosts, noise):
    found, alarms = shares(hosts, noise, 1000, LONG_RUNS)
    *stated, _ = operating_curve()[hosts, noise]
    for share, wanted in zip(found, stated, strict=True):
        assert abs(share - wanted) <= tolerance(wanted, LONG_RUNS)
    assert alarms * LONG_RUNS <= 7  # 95 % of all times where the chance is 5 %: 3 expected at most
