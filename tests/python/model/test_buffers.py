"""Buffers and their architecture from bursts of a switch that is known."""

from __future__ import annotations

import math

import pytest

from netsonde.model.buffers import BurstLoss, fit_buffer
from netsonde.patterns import burst_shapes, flows_of

SHAPES = ((2, 1), (4, 1), (6, 1), (4, 2), (6, 2))


def burst(architecture: str, packets: int, sources: int, sinks: int, each: int) -> BurstLoss:
    """As the emulated switch does it: whole packets, and one in transmission keeps its place."""
    sent = sources * each
    room = packets * {"input": sources, "output": sinks, "shared": 1}[architecture]
    free = sent * sinks / sources + room
    arrived = sent if sent <= free else math.floor(free) - sinks
    return BurstLoss(sources, sinks, sent, arrived / sent, "run")


def bursts(architecture: str, packets: int) -> list[BurstLoss]:
    found = []
    for sources, sinks in SHAPES:
        each = 32
        while burst(architecture, packets, sources, sinks, each).received_ratio == 1.0:
            each *= 2
        found += [
            burst(architecture, packets, sources, sinks, round(times * each))
            for times in (1, 1.5, 2, 3, 4)
        ]
    return found


@pytest.mark.parametrize(
    ("architecture", "packets"),
    [("input", 43), ("output", 95), ("output", 128), ("shared", 820), ("shared", 1990)],
)
def test_the_switches_of_the_literature(architecture: str, packets: int) -> None:
    notes: list[str] = []
    found = fit_buffer(bursts(architecture, packets), notes)
    assert found is not None
    assert (found.architecture, found.told_apart, notes) == (architecture, True, [])
    assert abs(round(found.packets) - packets) <= 1
    assert found.low <= found.packets <= found.high
    for (sources, sinks), fit in found.shapes.items():
        assert fit.is_even
        assert fit.drained == pytest.approx(sinks / sources, abs=0.02)


def test_one_sink_does_not_tell_a_shared_buffer_from_an_outputs() -> None:
    notes: list[str] = []
    one = [each for each in bursts("shared", 820) if each.sinks == 1]
    found = fit_buffer(one, notes)
    assert found is not None
    assert not found.told_apart
    assert any("two sinks" in note for note in notes)


def test_unequal_links_keep_their_own_slope() -> None:
    """Sinks three times as fast as sources."""
    losses = [BurstLoss(4, 1, k, 0.75 + 100 / k, "run") for k in (800, 1200, 1600, 2400)]
    found = fit_buffer(losses, [])
    assert found is not None
    fit = found.shapes[4, 1]
    assert not fit.is_even
    assert (fit.drained, fit.packets) == (pytest.approx(0.75), pytest.approx(100))


@pytest.mark.parametrize("hosts", range(3, 13))
def test_shapes_are_of_flows_that_there_are(hosts: int) -> None:
    flows = flows_of("bursts", hosts)
    for sources, sinks, chosen in burst_shapes(hosts):
        ends = [flows[number] for number in chosen]
        assert len({source for source, _ in ends}) == len(ends) == sources
        each = [sum(sink == one for _, sink in ends) for one in {sink for _, sink in ends}]
        assert len(each) == sinks
        assert len(set(each)) == 1  # as many sources for each
        assert not {source for source, _ in ends} & {sink for _, sink in ends}
        assert sources > sinks
