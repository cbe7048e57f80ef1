"""Parameters fitted to observations whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from netsonde.model.buffers import BurstLoss, fit_buffer
from netsonde.model.fit import Observation, Observed, fit_platform
from netsonde.model.foretold import in_a_stream, round_trip
from netsonde.model.platform import Architecture
from netsonde.model.views import hockney

SIZES = (64, 128, 256, 512, 1000, 1492)
TRUTH = {
    "send_overhead": (7800.0, 3.0),
    "send_gap": (3600.0, 80.0),
    "receive_gap": (4200.0, 80.0),
    "receive_overhead": (10_000.0, 11.0),
    "latency": (13_000.0, 160.0),
}
EMPTY = Observed("known", "", 1492, 8, 1e8, 2, 8, "simulated")


def truth(name: str, size: int) -> float:
    start, per_byte = TRUTH[name]
    return start + per_byte * size


def observed(seed: int, scatter_ns: float, busy: bool = True) -> Observed:
    draw = np.random.default_rng(seed)

    def one(kind: str, size: int, value: float) -> Observation:
        return Observation(kind, size, value + draw.normal(0.0, scatter_ns), "runs/known")  # type: ignore[arg-type]

    found = []
    for size, _ in product(SIZES, range(4)):
        work = truth("receive_overhead", size)
        sending = truth("send_overhead", size)
        found += [
            one("send_overhead", size, sending),
            one("send_gap", size, truth("send_gap", size)),
            one("receive_gap", size, truth("receive_gap", size)),
            one("one_way", size, sending + work + truth("latency", size)),
        ]
        found += [one("busy_host", size, sending + work)] if busy else []
    return replace(EMPTY, observations=found)


def test_what_has_no_error_is_found_as_it_is() -> None:
    fitted = fit_platform(observed(1, 0.0))
    for name in TRUTH:
        for size in (1, 700, 1492):
            assert fitted.platform.at(name, size) == pytest.approx(truth(name, size), rel=1e-6)
    assert fitted.platform.at("user_overhead", 700) == 0.0
    assert fitted.notes == []
    assert fitted.platform.cost("latency").origin.run == "runs/known"


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of send overhead, whose errors are those of its own points: 95 of 100."""
    hits = 0
    for seed in range(400):
        cost = fit_platform(observed(seed, 30.0)).platform.cost("send_overhead")
        assert cost.fit is not None
        interval = cost.fit.intervals["per_byte_ns"]
        hits += interval.low <= TRUTH["send_overhead"][1] <= interval.high
    assert 0.925 <= hits / 400 <= 0.975


@pytest.mark.parametrize("times", [1, 2, 3])
def test_how_often_a_packet_is_on_the_wire_is_told_by_l(times: int) -> None:
    """A byte takes 80 ns on the wire at 100 Mbit/s; nothing that only adds to L counts."""
    draw = np.random.default_rng(times)
    known = observed(1, 0.0)
    changed = [
        replace(
            one,
            time_ns=one.time_ns
            + (times * (38 + 8 + one.size_bytes) * 80 + 40_000 if one.kind == "one_way" else 0)
            - (truth("latency", one.size_bytes) if one.kind == "one_way" else 0)
            + draw.normal(0.0, 200.0),
        )
        for one in known.observations
    ]
    seen = replace(known, observations=changed, serialisations=None)
    assert fit_platform(seen).platform.serialisations == times
    assert fit_platform(replace(seen, serialisations=5)).platform.serialisations == 5


def test_what_cannot_be_told_apart_is_in_l_and_said() -> None:
    fitted = fit_platform(observed(1, 0.0, busy=False))
    whole = truth("receive_overhead", 1000) + truth("latency", 1000)
    assert fitted.platform.at("latency", 1000) == pytest.approx(whole)
    assert fitted.platform.at("receive_overhead", 1000) == 0.0
    assert any("O_r and U_r are within L" in note for note in fitted.notes)
    # What only needs the sum of all is as it would be.
    apart = hockney(fit_platform(observed(1, 0.0)).platform)
    together = hockney(fitted.platform)
    assert together.alpha_ns == pytest.approx(apart.alpha_ns)
    assert together.beta_ns == pytest.approx(apart.beta_ns)


def test_g_r_is_g_s_where_nothing_flooded_a_host() -> None:
    every = observed(1, 0.0)
    some = [one for one in every.observations if one.kind != "receive_gap"]
    fitted = fit_platform(replace(every, observations=some))
    assert fitted.platform.cost("receive_gap").origin.kind == "derived"
    assert fitted.platform.at("receive_gap", 700) == pytest.approx(truth("send_gap", 700))


def test_alpha_and_beta_of_whole_messages() -> None:
    messages = [(size, 25_000.0 + 8.5 * size) for size in (1, 1000, 10_000, 100_000, 1_000_000)]
    fitted = fit_platform(replace(EMPTY, messages=messages))
    line = fitted.platform.messages
    assert line is not None
    assert line.alpha_ns == pytest.approx(25_000.0)
    assert line.beta_ns == pytest.approx(8.5)
    assert (
        fitted.message_intervals["beta_ns"].low <= 8.5 <= fitted.message_intervals["beta_ns"].high
    )


def test_nothing_to_fit_is_refused() -> None:
    few = [one for one in observed(1, 0.0).observations if one.size_bytes < 200]
    with pytest.raises(ValueError, match="no parameter can be fitted"):
        fit_platform(replace(EMPTY, observations=few))


@pytest.mark.parametrize("architecture", ["input", "output", "shared"])
def test_bursts_name_the_architecture_and_its_buffer(architecture: Architecture) -> None:
    """Eq. (A.2) with B_L = 60 at a port, or in all."""
    bursts = []
    for sources, sinks in ((4, 1), (8, 2), (12, 3), (12, 2)):
        held = 60 * {"input": sources, "output": sinks, "shared": 1}[architecture]
        for packets in (4000, 8000, 16_000, 32_000):
            ratio = sinks / sources + held / packets
            bursts.append(BurstLoss(sources, sinks, packets, ratio, "runs/bursts"))
    notes: list[str] = []
    found = fit_buffer(bursts, notes)
    assert found is not None
    assert found.told_apart
    assert found.architecture == architecture
    assert found.packets == pytest.approx(60.0)
    assert notes == []


def test_bursts_of_one_shape_do_not_name_it() -> None:
    bursts = [BurstLoss(4, 1, k, 0.25 + 60 / k, "runs/bursts") for k in (1000, 2000, 4000)]
    notes: list[str] = []
    found = fit_buffer(bursts, notes)
    assert found is not None
    assert not found.told_apart
    assert found.packets == pytest.approx(60.0)
    assert "do not tell the switch's architecture" in notes[0]
    assert fit_buffer([replace(one, received_ratio=1.0) for one in bursts], notes) is None


def test_a_send_that_waits_for_its_message_is_not_taken_apart() -> None:
    found = [
        Observation(kind, size, 50_000.0 + 100.0 * size, "run")
        for size in SIZES
        for kind in ("send_series", "one_way")
    ]
    messages = [(size, 50_000.0 + 100.0 * size) for size in SIZES]
    fitted = fit_platform(replace(EMPTY, observations=found, messages=messages))
    assert not {"latency", "send_overhead"} & fitted.platform.costs.keys()
    assert any("cannot be told apart" in note for note in fitted.notes)
    assert round_trip(fitted.platform, 1000).time_ns == pytest.approx(300_000.0)
    with pytest.raises(ValueError, match="does not say its send overhead"):
        in_a_stream(fitted.platform, 1000)  # whose messages need not wait for each other


def test_methods_lie_beside_each_other() -> None:
    found = [
        Observation(kind, size, start + 0.5 * size, "run")  # type: ignore[arg-type]
        for size in SIZES
        for kind, start in (
            ("send_series", 2_000.0),
            ("send_call", 2_500.0),
            ("send_overhead", 3_000.0),
            ("receive_call", 700.0),
            ("arrival", 4_000.0),
            ("receive_work", 6_000.0),
            ("flooded", 12_000.0),
            ("one_way", 100_000.0),
        )
    ]
    fitted = fit_platform(replace(EMPTY, observations=found))
    costs, others = fitted.platform.costs, fitted.platform.others
    assert costs["send_overhead"].at(64) == pytest.approx(2_032.0)
    assert [cost.start_ns for cost in others["send_overhead"]] == [
        pytest.approx(2_500.0),
        pytest.approx(3_000.0),
    ]
    assert costs["user_overhead"].start_ns == pytest.approx(700.0)
    assert costs["receive_overhead"].start_ns == pytest.approx(4_000.0)
    # What the kernel's times have of both, less U_r.
    assert others["receive_overhead"][0].start_ns == pytest.approx(5_300.0)
    assert costs["send_gap"].origin.source == "as g_r"
    whole = sum(
        costs[name].at(700) for name in ("send_overhead", "latency", "receive_overhead")
    ) + costs["user_overhead"].at(700)
    assert whole == pytest.approx(100_350.0)
    assert {cost.origin.run for cost in costs.values()} == {"run"}
