"""Costs with alpha, beta and gamma: printed forms, corrected ones, and the points where they cross.

Times in us and bytes per us here, as in the source; the formulas do not care.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.collectives import (
    FORMULAS,
    PRINTED,
    best_segment_bytes,
    chain_counts,
    counts_of,
)

NETWORKS = {"myrinet": (15.0, 1 / 200), "ethernet": (97.0, 1 / 11), "gigabit": (90.0, 1 / 180)}
GAMMA = 0.1
BINOMIAL, DOUBLING, RING = (
    f"broadcast/{n}" for n in ("binomial", "scatter-recursive-doubling", "scatter-ring")
)


def crossover_bytes(
    first: str, second: str, ranks: int, alpha_ns: float, beta_ns: float, gamma_ns: float = 0.0
) -> float | None:
    """The n from which on ``second`` is faster than ``first``, both being lines over n; None where
    it never is."""

    def line(name: str) -> tuple[float, float]:
        start, end = (
            counts_of(name, n, ranks).time_ns(alpha_ns, beta_ns, gamma_ns) for n in (0.0, 1e6)
        )
        return start, (end - start) / 1e6

    (start, slope), (other_start, other_slope) = line(first), line(second)
    gained = slope - other_slope
    if gained <= 1e-12 * max(slope, other_slope):
        return 0.0 if abs(gained) <= 1e-12 * slope and other_start < start else None
    return max(0.0, (other_start - start) / gained)


@pytest.mark.parametrize(
    ("network", "ranks", "first", "second", "expected"),
    [
        ("myrinet", 8, BINOMIAL, DOUBLING, 7200),
        ("myrinet", 32, BINOMIAL, DOUBLING, 4898),
        ("ethernet", 8, BINOMIAL, DOUBLING, 2561),
        ("ethernet", 32, BINOMIAL, DOUBLING, 1742),
        ("gigabit", 8, BINOMIAL, DOUBLING, 38880),
        ("gigabit", 32, BINOMIAL, DOUBLING, 26449),
        ("myrinet", 8, BINOMIAL, RING, 16800),
        ("myrinet", 32, BINOMIAL, RING, 30367),
        ("ethernet", 8, BINOMIAL, RING, 5975),
        ("ethernet", 32, BINOMIAL, RING, 10801),
        ("gigabit", 8, BINOMIAL, RING, 90720),
        ("gigabit", 32, BINOMIAL, RING, 163984),
        ("myrinet", 8, "alltoall/bruck", "alltoall/shift", 3000),
        ("myrinet", 32, "alltoall/bruck", "alltoall/shift", 1625),
        ("ethernet", 8, "alltoall/bruck", "alltoall/shift", 1067),
        ("ethernet", 32, "alltoall/bruck", "alltoall/shift", 578),
        ("gigabit", 8, "alltoall/bruck", "alltoall/shift", 16200),
        ("gigabit", 32, "alltoall/bruck", "alltoall/shift", 8775),
    ],
)
def test_derived_crossovers(
    network: str, ranks: int, first: str, second: str, expected: int
) -> None:
    found = crossover_bytes(first, second, ranks, *NETWORKS[network])
    assert found is not None
    if first.startswith("alltoall"):
        found /= ranks  # for each destination
    assert found == pytest.approx(expected, abs=0.51)


@pytest.mark.parametrize(
    ("network", "ranks", "expected"),
    [
        ("myrinet", 8, 457),
        ("myrinet", 32, 1213),
        ("ethernet", 8, 1626),
        ("ethernet", 32, 4314),
        ("gigabit", 8, 2728),
        ("gigabit", 32, 7239),
    ],
)
def test_derived_crossovers_of_reductions(network: str, ranks: int, expected: int) -> None:
    names = ("reduce-scatter/recursive-doubling", "reduce-scatter/pairwise")
    found = crossover_bytes(*names, ranks, *NETWORKS[network], GAMMA)
    assert found == pytest.approx(expected, abs=0.51)


def test_no_crossover() -> None:
    """Ring never beats recursive doubling; the printed doubling beats binomial at any size."""
    alpha, beta = NETWORKS["gigabit"]
    assert crossover_bytes(DOUBLING, RING, 32, alpha, beta) is None
    assert crossover_bytes(RING, DOUBLING, 32, alpha, beta) == 0.0
    for size in (1.0, 1e3, 1e6):
        printed = counts_of(DOUBLING, size, 32, printed=True).time_ns(alpha, beta)
        assert printed < counts_of(BINOMIAL, size, 32).time_ns(alpha, beta)
        both = counts_of(DOUBLING, size, 32).time_ns(alpha, beta)
        assert both == pytest.approx(2 * printed)  # it covers one phase of two


@given(st.sampled_from(sorted(FORMULAS)), st.integers(1, 200), st.floats(0, 1e9))
def test_costs_are_lines_that_do_not_fall(name: str, ranks: int, size: float) -> None:
    zero, one, two = (counts_of(name, n, ranks) for n in (0.0, size, 2 * size))
    assert one.bytes == pytest.approx(two.bytes / 2)
    assert one.reduced_bytes == pytest.approx(two.reduced_bytes / 2)
    assert zero.messages == one.messages >= 0
    assert zero.bytes == 0
    if ranks == 1:
        assert (one.messages, one.bytes) == (0, 0)
    elif FORMULAS[name].family != "barrier" and size > 1:
        assert one.bytes > 0


@given(st.integers(2, 1000), st.floats(1, 1e9))
def test_no_algorithm_beats_what_must_move(ranks: int, size: float) -> None:
    """A rank has to send or receive all but its own part; ceil(lg p) messages, to hear of all."""
    share = (ranks - 1) / ranks * size
    for name in FORMULAS:
        counts = counts_of(name, size, ranks)
        if counts.reduced_bytes and "rabenseifner" in name and ranks & (ranks - 1):
            assert counts.bytes >= size
        elif FORMULAS[name].family != "barrier":
            # Halving among q < p ranks moves (q-1)/q n on top of what is folded.
            assert counts.bytes >= share * (1 - 1e-9)
        assert counts.messages >= math.floor(math.log2(ranks))
    for name in PRINTED:  # folding costs, and of powers of two there is nothing to fold
        both = [counts_of(name, size, ranks, printed=printed).bytes for printed in (False, True)]
        if ranks & (ranks - 1) == 0 and not name.startswith("broadcast"):
            assert both[0] == pytest.approx(both[1])


def test_formulas_as_printed() -> None:
    n, p = 1000.0, 8
    expected = {
        "broadcast/binomial": (3, 3000, 0),
        "broadcast/scatter-ring": (10, 1750, 0),
        "alltoall/bruck": (3, 1500, 0),
        "alltoall/pairwise-xor": (7, 1000, 0),
        "alltoall/uncoordinated": (7, 1000, 0),
        "reduce-scatter/recursive-halving": (3, 875, 875),
        "reduce-scatter/pairwise": (7, 875, 875),
        "reduce-scatter/recursive-doubling": (3, 2125, 2125),
        "allgather/bruck": (3, 875, 0),
        "allgather/recursive-doubling": (3, 875, 0),
        "allgather/ring": (7, 875, 0),
        "allreduce/recursive-doubling": (3, 3000, 3000),
        "allreduce/rabenseifner": (6, 1750, 875),
        "allreduce/ring": (14, 1750, 875),
        "reduce/rabenseifner": (6, 1750, 875),
        "barrier/dissemination": (3, 0, 0),
    }
    for name, values in expected.items():
        counts = counts_of(name, n, p)
        assert (counts.messages, counts.bytes, counts.reduced_bytes) == pytest.approx(values), name


ROUNDS = {
    "broadcast/binomial": (3, 3, 3, 4),
    "broadcast/scatter-recursive-doubling": (7, 7, 6, 8),
    "broadcast/scatter-ring": (7, 8, 10, 19),
    "scatter/binomial": (3, 3, 3, 4),
    "gather/binomial": (3, 3, 3, 4),
    "barrier/dissemination": (3, 3, 3, 4),
    "barrier/tree": (6, 6, 6, 8),
    "reduce/binomial": (3, 3, 3, 4),
    "reduce/rabenseifner": (5, 5, 6, 8),
    "allreduce/recursive-doubling": (4, 4, 3, 4),
    "allreduce/rabenseifner": (6, 6, 6, 8),
    "allreduce/ring": (8, 10, 14, 30),
    "allgather/recursive-doubling": (4, 4, 3, 4),
    "allgather/bruck": (3, 3, 3, 4),
    "allgather/ring": (4, 5, 7, 15),
    "reduce-scatter/recursive-halving": (4, 4, 3, 4),
    "reduce-scatter/recursive-doubling": (4, 4, 3, 4),
    "reduce-scatter/pairwise": (4, 5, 7, 15),
    "alltoall/bruck": (3, 3, 3, 4),
    "alltoall/shift": (4, 5, 7, 15),
    "alltoall/pairwise-xor": (7, 7, 7, 15),
    "alltoall/pairwise": (5, 5, 7, 15),
}
"""Rounds of the schedules of these names with 5, 6, 8 and 16 ranks, as `schedule check` counts."""


@pytest.mark.parametrize("name", ROUNDS)
def test_messages_are_the_rounds_of_the_schedules(name: str) -> None:
    found = tuple(counts_of(name, 1000.0, ranks).messages for ranks in (5, 6, 8, 16))
    assert found == ROUNDS[name]


def test_other_numbers_of_ranks() -> None:
    halving = counts_of("reduce-scatter/recursive-halving", 1200.0, 6)
    # One message of n to fold, two of halving among 4, one of a part back.
    assert halving.messages == 4
    assert halving.bytes == pytest.approx(1200 + 900 + 200)
    printed = counts_of("reduce-scatter/recursive-halving", 1200.0, 6, printed=True)
    assert (printed.messages, printed.bytes) == (5, 2400)
    assert printed.reduced_bytes == pytest.approx(1200 * (1 + 5 / 6))
    assert counts_of("alltoall/pairwise-xor", 600.0, 6).messages == 7
    assert counts_of("alltoall/pairwise", 500.0, 5).messages == 5
    assert counts_of("allgather/bruck", 600.0, 6).messages == 3
    # A part to fold, two doublings among 4, the whole back.
    assert counts_of("allgather/recursive-doubling", 600.0, 6).bytes == pytest.approx(
        100 + 450 + 600
    )
    doubling = counts_of("reduce-scatter/recursive-doubling", 600.0, 6)
    assert doubling.bytes == pytest.approx(600 + 1.25 * 600 + 100)
    assert doubling.reduced_bytes == pytest.approx(600 + 1.25 * 600)
    assert set(PRINTED) <= set(FORMULAS)


@given(st.integers(3, 500), st.floats(10, 1e7), st.floats(1, 1e5), st.floats(1e-3, 1e3))
def test_the_best_segment_is_the_best(ranks: int, n: float, alpha: float, beta: float) -> None:
    def time(segment: float) -> float:  # with any number of segments, also a broken one
        return (ranks - 2 + n / segment) * (alpha + segment * beta)

    best = best_segment_bytes(n, ranks, alpha, beta)
    if 1.0 < best < n:
        assert time(best) <= min(time(best * 1.1), time(best / 1.1)) * (1 + 1e-9)


def test_a_chain() -> None:
    assert chain_counts(1000, 5, 100) == chain_counts(950, 5, 100)
    counts = chain_counts(1000, 5, 100)
    assert (counts.messages, counts.bytes) == (13, 1300)
    assert chain_counts(1000, 5, 10**6).bytes == 4000  # one segment of the message
    assert chain_counts(1000, 1, 100).messages == 0
    with pytest.raises(ValueError, match="segment"):
        chain_counts(1000, 5, 0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="no cost formula is called 'broadcast/magic'"):
        counts_of("broadcast/magic", 1.0, 2)
    for size in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="expected 0 or more"):
            counts_of(BINOMIAL, size, 2)
    with pytest.raises(ValueError, match="processes"):
        counts_of(BINOMIAL, 1.0, 0)
