"""Predictions by name: the equations behind them, every algorithm, and what they refuse."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model import exchanges
from netsonde.model.collectives import FORMULAS
from netsonde.model.predict import ALGORITHMS, Options, compare, predict, usual_fan_out
from netsonde.model.transfers import tree_broadcast
from netsonde.platforms.read import preset

FE = preset("fe-326")
GAMMA = Options(gamma_ns=100.0)
WANTED = {
    "broadcast": {
        "linear",
        "binomial",
        "chain",
        "scatter-recursive-doubling",
        "scatter-ring",
        "tree",
    },
    "scatter": {"linear", "binomial"},
    "gather": {"linear", "binomial"},
    "barrier": {"dissemination", "tree"},
    "reduce": {"binomial", "rabenseifner"},
    "allreduce": {"recursive-doubling", "rabenseifner", "ring"},
    "allgather": {"recursive-doubling", "bruck", "ring"},
    "reduce-scatter": {"recursive-halving", "recursive-doubling", "pairwise"},
    "alltoall": {"bruck", "uncoordinated", "staggered", "shift", "pairwise-xor"}
    | {"pairwise", "synchronous-shuffle", "group-shuffle", "modified-shuffle"},
}


def test_every_algorithm_has_a_formula() -> None:
    for family, names in WANTED.items():
        assert {f"{family}/{name}" for name in names} <= set(ALGORITHMS)


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if n != "alltoall/modified-shuffle"])
@pytest.mark.parametrize("ranks", [2, 3, 16, 33])
def test_every_algorithm_is_predicted(name: str, ranks: int) -> None:
    found = [predict(FE, name, ranks, size, GAMMA) for size in (0, 1, 1492, 100_000)]
    times = [each.time_ns for each in found]
    assert all(math.isfinite(t) and t >= 0 for t in times)
    assert times == sorted(times)
    assert found[-1].formula


def test_a_complete_exchange_of_1_mib() -> None:
    found = predict(FE, "alltoall/group-shuffle", 16, 1 << 20, Options(fan_out=5))
    times, packets = FE.times(ranks=16), 703
    assert found.packets == packets
    assert found.time_ns == exchanges.group_ns(times, packets, 16, 5)
    assert found.least_ns == exchanges.least_exchange_ns(times, packets, 16)
    assert (found.equation, found.rounds) == ("5.4", 3)
    rate = found.node_byte_per_s
    assert rate == pytest.approx(15 * (1 << 20) / found.time_ns * 1e9)
    assert found.notes == ()
    assert predict(FE, "alltoall/group-shuffle", 16, 1 << 20) == found  # omega 5 is the usual one


@pytest.mark.parametrize("fan_out", [2, 3, 6])
def test_the_formula_of_a_group_shuffle_is_the_one_that_was_used(fan_out: int) -> None:
    """Seven processes have seven colours; what is printed gives the time."""
    found = predict(FE, "alltoall/group-shuffle", 7, 64 << 10, Options(fan_out=fan_out))
    steps = 6 if fan_out == 6 else 7
    assert found.formula.startswith("k g p +" if steps == 7 else "k g (p-1) +")
    times, packets = FE.times(None, 7), FE.packets(64 << 10)
    assert found.rounds is not None
    by_formula = packets * times.gap_ns * steps + found.rounds * exchanges.bubble_ns(times)
    assert found.time_ns == pytest.approx(by_formula)


def test_equations_by_name() -> None:
    size, p = 64 * 1492, 16
    times = FE.times(ranks=p)
    for name, time in (
        ("alltoall/shift", exchanges.shift_ns(times, 64, p)),
        ("alltoall/pairwise-xor", exchanges.pairwise_ns(times, 64, p, "xor")),
        ("alltoall/pairwise", exchanges.pairwise_ns(times, 64, p)),
        ("alltoall/synchronous-shuffle", exchanges.synchronous_ns(times, 64, p)),
        ("broadcast/tree", tree_broadcast(times, 64, p).time_ns),
    ):
        assert predict(FE, name, p, size).time_ns == time
    # Costs with alpha and beta stand beside where there are both.
    (other,) = predict(FE, "alltoall/shift", p, size).others
    assert other.formula == "(p-1) alpha + n beta"
    assert other.time_ns > predict(FE, "alltoall/shift", p, size).time_ns  # a rank's own part


def test_modified_shuffle_over_uplinks() -> None:
    size = 64 * 1492
    found = predict(FE, "alltoall/modified-shuffle", 32, size, Options(shape=(8, 4)))
    assert found.equation == "6.4"
    assert found.window == 3
    assert found.node_byte_per_s == pytest.approx(8.315e6, rel=1e-3)
    flat = predict(FE, "alltoall/modified-shuffle", 16, size, Options(shape=(16, 1)))
    assert (flat.equation, flat.window) == ("5.3", None)
    for shape in (None, (8, 2), (4, 4, 2)):
        with pytest.raises(ValueError, match="tree"):
            predict(FE, "alltoall/modified-shuffle", 32, size, Options(shape=shape))
    with pytest.raises(ValueError, match="no uplink"):
        predict(preset("fe-416"), "alltoall/modified-shuffle", 16, size, Options(shape=(8, 2)))


def test_both_forms_of_doubling() -> None:
    myrinet = preset("hydra-myrinet")
    found = predict(myrinet, "broadcast/scatter-recursive-doubling", 32, 12_288)
    (printed,) = found.others
    assert found.time_ns == pytest.approx(2 * printed.time_ns)
    assert "one phase" in printed.why


def test_a_family_is_ranked() -> None:
    found = compare(preset("hydra-myrinet"), "broadcast", 32, 64)
    assert found[0].algorithm == "broadcast/binomial"
    long = compare(preset("hydra-myrinet"), "broadcast", 32, 1 << 20)
    assert long[0].algorithm in ("broadcast/chain", "broadcast/scatter-recursive-doubling")
    times = [each.time_ns for each in long]
    assert times == sorted(times)
    assert "broadcast/tree" not in {each.algorithm for each in long}  # needs packets
    exchanged = compare(FE, "alltoall", 16, 64 * 1492)
    assert exchanged[0].algorithm == "alltoall/synchronous-shuffle"
    with pytest.raises(ValueError, match="no family"):
        compare(FE, "magic", 16, 1)
    with pytest.raises(ValueError, match="gamma"):
        compare(FE, "allreduce", 16, 1)


def test_warnings() -> None:
    short = predict(FE, "alltoall/shift", 16, 100)
    assert any("extrapolated" in note for note in short.notes)
    # Table 5.2 as it is: 39.5 < 123 < 154.4.
    assert not any("hinder" in n for n in predict(FE, "alltoall/shift", 16, 14920).notes)
    up = predict(preset("gedp-up"), "alltoall/shift", 4, 150_000)
    assert any("hinder" in note for note in up.notes)


def test_parts_shorter_than_what_was_measured_are_told() -> None:
    """1492 bytes in 16 parts; whole, they are a full packet."""
    parts = predict(FE, "allreduce/ring", 16, 1492, GAMMA)
    assert any("at 93 bytes" in note for note in parts.notes)
    whole = predict(FE, "allreduce/recursive-doubling", 16, 1492, GAMMA)
    assert not any("extrapolated" in note for note in whole.notes)
    assert any("at 1 bytes" in n for n in predict(FE, "barrier/tree", 16, 1 << 20).notes)


def test_a_chain_of_packets() -> None:
    """sqrt(n alpha / ((p-2) beta)) is 2009 bytes: in packets one. Without packets as it is."""
    assert "s 1492 bytes" in predict(FE, "broadcast/chain", 16, 44 * 1492).formula
    assert (
        "s 1000 bytes"
        in predict(FE, "broadcast/chain", 16, 9999, Options(segment_bytes=1000)).formula
    )
    found = predict(preset("hydra-myrinet"), "broadcast/chain", 16, 44 * 1492).formula
    best = math.sqrt(44 * 1492 * 15_000 / (14 * 5))
    assert f"s {math.ceil(best)} bytes" in found


def test_reductions_need_gamma() -> None:
    with pytest.raises(ValueError, match="gamma"):
        predict(FE, "reduce/binomial", 8, 1000)
    hydra = preset("hydra-ethernet")
    found = predict(hydra, "reduce-scatter/pairwise", 8, 100)
    assert found.time_ns == pytest.approx(7 * 97_000 + 700 * (1e3 / 11 + 100))


@given(st.integers(2, 300))
def test_the_usual_group_is_small(ranks: int) -> None:
    fan_out = usual_fan_out(ranks)
    assert 1 <= fan_out <= 5
    exchanges.shape_of_group(ranks, fan_out)
    assert (usual_fan_out(16), usual_fan_out(8)) == (5, 4)  # those of the source


def test_what_is_refused() -> None:
    for name, ranks, size, options, words in (
        ("alltoall/magic", 4, 1, None, "no algorithm"),
        ("alltoall/shift", 1, 1, None, "processes"),
        ("alltoall/shift", 10**9, 1, None, "processes"),
        ("alltoall/shift", 4, -1, None, "size"),
        ("alltoall/shift", 4, 1 << 50, None, "size"),
        ("alltoall/shift", 4, 1, Options(fan_out=2), "fan-out"),
        ("alltoall/group-shuffle", 4, 1, Options(fan_out=9), "fan-out"),
        ("broadcast/binomial", 4, 1, Options(segment_bytes=2), "segment"),
        ("broadcast/chain", 4, 1, Options(segment_bytes=-2), "segment"),
    ):
        with pytest.raises(ValueError, match=words):
            predict(FE, name, ranks, size, options)
    assert set(FORMULAS) <= set(ALGORITHMS)
