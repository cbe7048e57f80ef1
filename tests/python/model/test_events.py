"""Event strings of senders: the sample trace of Fig. 4.5, and chances that made-up senders have."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.events import (
    Run,
    count_events,
    mean_chances,
    parse_events,
)

SAMPLE = "P^6 N TO^2 P^2 N TO P^32 N P^6 N P^106 N TO P^13 N P^6"
runs = st.lists(
    st.builds(Run, st.sampled_from(["P", "N", "TO"]), st.integers(1, 1000)), min_size=1, max_size=50
)


def test_the_sample_trace() -> None:
    counts = count_events(parse_events(SAMPLE))
    assert counts.packs == 171
    assert counts.c == Fraction(6, 171)
    assert counts.severity == Fraction(3, 6)
    assert counts.f == Fraction(3, 4)
    assert counts.unlike == 0
    chances = counts.chances()
    assert (chances.c, chances.a, chances.f) == pytest.approx((6 / 171, 0.5, 0.75))


@given(runs)
def test_strings_come_back(given_runs: list[Run]) -> None:
    text = " ".join(f"{r.event}^{r.count}" for r in given_runs)
    parsed = parse_events(text)
    total = sum(run.count for run in given_runs)
    assert sum(run.count for run in parsed) == total
    counts = count_events(parsed)
    assert counts.packs + counts.nacks + counts.time_outs == total
    # Runs written apart and together say the same.
    apart = " ".join(" ".join([r.event] * r.count) for r in given_runs if total < 5000)
    if apart:
        assert count_events(parse_events(apart)) == counts


def test_transitions_that_the_states_do_not_have() -> None:
    assert count_events(parse_events("P TO P N^3 P")).unlike == 3
    assert count_events(parse_events("P N TO N P")).unlike == 1


def test_chances_of_a_made_up_sender_are_found() -> None:
    c, a, f = 0.03, 0.7, 0.6
    random = np.random.default_rng(5)
    state, events = "P", []
    for _ in range(60_000):
        events.append(state)
        u = random.random()
        if state == "P":
            state = "N" if u < c else "P"
        elif state == "N":
            state = "P" if u < a else "TO"
        else:
            state = "P" if u < f else "TO"
    found = mean_chances([" ".join(events)])
    assert found.c == pytest.approx(c, abs=0.003)
    assert found.a == pytest.approx(a, abs=0.04)
    assert found.f == pytest.approx(f, abs=0.06)


def test_senders_are_averaged_after_their_estimates() -> None:
    found = mean_chances(["P^10 N P^10", "P^40 N TO P^10"])
    assert found.c == pytest.approx((1 / 20 + 1 / 50) / 2)
    assert 1 - found.a == pytest.approx(0.5)
    assert found.f == 1.0  # of the one that had a timeout
    # A sender without any event but Packs has a c of 0.
    assert mean_chances(["P^10 N P^10", "P^10"]).c == pytest.approx(0.025)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "Q", "P^0", "P^", "P^-1", "P^99999999999999", "P^6N", "p^6", "TO ^2", "P^٣"],
)
def test_other_strings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_events(text)


def test_nothing_to_estimate() -> None:
    for text in ("P^5", "TO P^5", "N P^5"):
        with pytest.raises(ValueError, match="nothing to estimate"):
            count_events(parse_events(text)).chances()
    with pytest.raises(ValueError, match="nothing to estimate"):
        mean_chances(["P^5", "P^6"])
    with pytest.raises(ValueError, match="take a longer one"):
        count_events(parse_events("P^5 N TO^3")).chances()
