"""Schedules' times by three models, of schedules whose time is a formula."""

import pytest

from netsonde.model.along import MODELS, by_hockney, by_packets, completion
from netsonde.model.convolved import Message
from netsonde.model.foretold import gather, one_way
from netsonde.model.platform import Cost, Platform
from netsonde.model.views import hockney, loggp

PLATFORM = Platform(
    "made",
    "",
    1000,
    1e8,
    {
        "send_overhead": Cost(2_000.0),
        "send_gap": Cost(3_000.0, 80.0),
        "latency": Cost(40_000.0, 160.0),
        "receive_gap": Cost(3_000.0, 80.0),
        "receive_overhead": Cost(3_000.0),
        "user_overhead": Cost(1_000.0),
    },
)
TREE = [Message(s, n, n + (1 << s)) for s in range(3) for n in range(1 << s)]


def sized(messages, size):
    return [Message(one.step, one.sender, one.receiver, size) for one in messages]


@pytest.mark.parametrize("size", [1, 700, 1000, 40_000])
def test_a_binomial_tree_is_three_messages_behind_each_other(size):
    line, long = hockney(PLATFORM, 8), loggp(PLATFORM, 1, 8)
    messages = sized(TREE, size)
    expected = {
        "Hockney": 3 * line.time_ns(size),
        "LogGP": 3 * long.time_ns(size),
        "packets": 3 * one_way(PLATFORM, size, 8).time_ns,
    }
    for name, costs in MODELS.items():
        found = completion(messages, 8, costs(PLATFORM, 8))
        assert found.time_ns == pytest.approx(expected[name])
        assert sum(found.terms.values()) == pytest.approx(found.time_ns)


def test_a_ring_is_as_many_messages_as_it_has_steps():
    ring = [Message(s, n, (n + 1) % 5, 600) for s in range(4) for n in range(5)]
    found = completion(ring, 5, by_hockney(PLATFORM, 5))
    assert found.time_ns == pytest.approx(4 * hockney(PLATFORM, 5).time_ns(600))
    assert found.largest == "alpha"


def test_a_gather_in_one_step_waits_for_the_receiver():
    """Eq. (2.6) with the packets of all: one comes as soon as it can, the others g_r apart."""
    star = [Message(0, n, 7, 500) for n in range(7)]
    found = completion(star, 8, by_packets(PLATFORM, 8))
    expected = gather(PLATFORM, 500, 1, 7)
    assert found.time_ns == pytest.approx(expected.time_ns)
    told = {name: value for name, value in expected.terms.items() if value}
    assert {name: value for name, value in found.terms.items() if value} == pytest.approx(told)


def test_a_scatter_in_one_step_waits_for_the_sender():
    star = [Message(0, 0, n, 500) for n in range(1, 5)]
    found = completion(star, 5, by_packets(PLATFORM, 5))
    gap = PLATFORM.at("send_gap", 500, 5)
    assert found.time_ns == pytest.approx(one_way(PLATFORM, 500, 5).time_ns + 3 * gap)


@pytest.mark.parametrize("messages", [[], [Message(0, 0, 9, 1)]])
def test_schedules_that_there_are_not(messages):
    with pytest.raises(ValueError, match=r"expected 1\.\.|beyond the 4"):
        completion(messages, 4, by_hockney(PLATFORM, 4))
