"""Leads along a tree of comparisons: simulated clocks of known offset and drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.clock import Link, Method, OffsetBounds, leads_of

S = 1_000_000_000


@dataclass(frozen=True)
class Clock:
    """Shows true time plus an offset that grows."""

    offset_ns: int = 0
    drift: float = 0.0

    def shows(self, true_ns: int) -> int:
        return true_ns + self.offset_ns + round(self.drift * true_ns)


def compare(own: Clock, parent: Clock, instants: list[int], way_ns: int = 2000) -> OffsetBounds:
    """Bounds as of exchanges whose ways both took way_ns."""
    at = [own.shows(t) for t in instants]
    lead = [own.shows(t) - parent.shows(t) for t in instants]
    return OffsetBounds(
        np.array(at), np.array([v - way_ns for v in lead]), np.array([v + way_ns for v in lead])
    )


def spans(clocks: dict[int, Clock]) -> dict[int, tuple[int, int]]:
    return {rank: (clock.shows(S), clock.shows(11 * S)) for rank, clock in clocks.items()}


CLOCKS = st.builds(
    Clock, st.integers(-S, S), st.floats(-100e-6, 100e-6, allow_nan=False, allow_infinity=False)
)


@given(st.lists(CLOCKS, min_size=3, max_size=3))
def test_offsets_and_drifts_are_found_along_the_way(others: list[Clock]):
    clocks = {0: Clock(), **dict(enumerate(others, 1))}
    instants = [S, 11 * S]
    # 3 compares with 2, 2 with 0; 1 reads the clock of 2.
    clocks[1] = clocks[2]
    links = {
        1: Link(2),
        2: Link(0, compare(clocks[2], clocks[0], instants)),
        3: Link(2, compare(clocks[3], clocks[2], instants)),
    }
    for method in ("bounds", "ends"):
        leads = leads_of(links, spans(clocks), method)
        for rank, clock in clocks.items():
            for true_ns in (S, 6 * S, 11 * S):
                own_ns = clock.shows(true_ns)
                found = float(leads[rank].at(np.array([own_ns]))[0])
                assert abs(found - (own_ns - true_ns)) < 10, (method, rank)
        assert leads[3].uncertainty_ns >= leads[2].uncertainty_ns >= 1999


def test_without_a_drift_only_the_first_comparison_counts():
    clock = Clock(5000, 50e-6)
    links = {1: Link(0, compare(clock, Clock(), [S, 11 * S]))}
    both = {0: (S, 11 * S), 1: (clock.shows(S), clock.shows(11 * S))}
    lead = leads_of(links, both, "offset")[1]
    truth = clock.shows(11 * S) - 11 * S
    assert lead.first_ns == pytest.approx(clock.shows(S) - S, abs=2)
    assert truth - lead.last_ns == pytest.approx(500_000, abs=100)


def test_a_way_that_does_not_reach_rank_0_is_refused():
    both = dict.fromkeys(range(4), (0, S))
    with pytest.raises(ValueError, match="rank 2 was not compared up to rank 0"):
        leads_of({2: Link(3), 3: Link(2)}, both)
    with pytest.raises(ValueError, match="rank 1 was not compared up to rank 0"):
        leads_of({1: Link(3)}, both)


METHODS: tuple[Method, ...] = ("bounds", "ends", "offset", "fit")


def waited(own: Clock, parent: Clock, draw: np.random.Generator, waits: bool) -> OffsetBounds:
    """The 10 fastest of 100 exchanges at each of 6 instants over 5 s. Ways of 2 us wait some us,
    and on a busy host one of them, always the same, waits tens of us at most of the instants."""
    at, low, high, taken = [], [], [], []
    for instant in np.linspace(S, 6 * S, 6).astype(int):
        there, back = (2000 + draw.exponential(3000, 100) for _ in range(2))
        if waits and draw.random() < 0.8:
            there += 40_000 + draw.exponential(20_000, 100)
        for k in np.argsort(there + back)[:10]:
            asked = int(instant) + int(k) * 200_000
            came, heard = asked + int(there[k]), asked + int(there[k]) + int(back[k])
            taken.append(heard - asked)
            at.append(own.shows(asked + (heard - asked) // 2))
            low.append(own.shows(asked) - parent.shows(came))
            high.append(own.shows(heard) - parent.shows(came))
    return OffsetBounds(np.array(at), np.array(low), np.array(high))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_stated_covers_the_truth_by_every_method(method: Method):
    """Fixed beforehand: all leads in all 40 cases, of hosts that are idle and of hosts that are
    busy, and of a rank whose parent is not rank 0 as well."""
    draw = np.random.default_rng(20261123)
    beyond = []
    for case in range(40):
        own, between = (
            Clock(int(draw.integers(-S, S)), float(draw.uniform(-100e-6, 100e-6))) for _ in "ab"
        )
        links = {
            1: Link(0, waited(between, Clock(), draw, case % 2 == 1)),
            2: Link(1, waited(own, between, draw, case % 3 == 1)),
        }
        both = {r: (c.shows(S), c.shows(6 * S)) for r, c in enumerate((Clock(), between, own))}
        for rank, lead in leads_of(links, both, method).items():
            shown = (Clock(), between, own)[rank]
            for true_ns in np.linspace(S, 6 * S, 11).astype(int).tolist():
                there = np.array([shown.shows(true_ns)])
                off = float(lead.at(there)[0]) - float(there[0] - true_ns)
                if abs(off) > lead.uncertainty_ns + 3:  # stamps are whole ns
                    beyond.append((case, rank, off, lead.uncertainty_ns))
    assert not beyond, f"{len(beyond)} are off by more than is stated, as {beyond[0]}"


@pytest.mark.parametrize("method", METHODS)
def test_a_clock_that_was_set_meanwhile_is_known_no_better_than_it_was_set(method: Method):
    """No line fits. What is stated must cover the lead at every instant that was compared."""
    at = np.arange(1, 12) * S
    lead = np.where(at < 6 * S, 0, 400_000)
    bounds = OffsetBounds(at, lead - 2000, lead + 2000)
    found = leads_of({1: Link(0, bounds)}, {0: (S, 11 * S), 1: (S, 11 * S)}, method)[1]
    assert np.abs(found.at(at) - lead).max() <= found.uncertainty_ns <= 500_000
