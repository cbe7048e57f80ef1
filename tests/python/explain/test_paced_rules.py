"""Datagrams that were to go at a rate and went slower: what is said, when a place is to blame."""

import numpy as np
import pytest
from test_fault_rules import S, end, found, point, use

ASKED = {"rate_bit_per_s": 50_000_000, "message_bytes": 1472}


def paced(rate, delays_ns, growth=None, batches=6, arrived_in=1.0):
    """A paced stream of some batches of a second that left at a rate; ``delays_ns`` of each tenth
    of a batch's datagrams, which took so many seconds to arrive."""
    ends = []
    for _ in range(batches):
        count = int(rate / 8 / 1472)
        times = {"start_ns": 0, "end_ns": S, "drained_ns": S, "clock_group": 1}
        sent = np.linspace(0, S, count, dtype=np.int64)
        delay = np.repeat(np.asarray(delays_ns, np.int64), count // len(delays_ns) + 1)[:count]
        here = times | {"bytes_sent": count * 1472, "messages_sent": count}
        there = times | {"end_ns": int(arrived_in * S), "drained_ns": int(arrived_in * S)}
        there |= {"bytes_received": count * 1472, "messages_received": count, "lost": 0}
        arrived = {"received_ns": sent + delay, "sequence": np.arange(count)}
        ends.append(
            (
                end(0, "h1", here, growth or {}, {"sent_ns": sent}),
                end(1, "h2", there, growth or {}, arrived),
            )
        )
    return point("udp", "stream", ends, parameters=ASKED)


QUICK = [50_000] * 10
QUEUED = [50_000] + [200_000_000] * 9
AT_TIMES = [50_000] * 5 + [30_000_000] * 5


def said(measured):
    kinds = ("bottleneck", "slower-than-asked")
    return [finding for kind in kinds for finding in found(measured, kind=kind)]


def test_a_stream_behind_a_standing_queue_names_a_bottleneck():
    (finding,) = said(paced(6e6, QUEUED))
    assert (finding.kind, finding.place) == ("bottleneck", "sender kernel or network")
    assert "5.994 Mbit/s" in finding.claim
    assert "50.00 Mbit/s" in finding.claim


def test_datagrams_that_left_at_their_rate_and_pile_up_name_it_too():
    piled = paced(50e6, range(50_000, 10**9, 5 * 10**7), arrived_in=2.0)
    (finding,) = said(piled)
    assert finding.kind == "bottleneck"
    assert not said(paced(50e6, QUICK, arrived_in=2.0))


@pytest.mark.parametrize("delays", [QUICK, AT_TIMES], ids=["quick", "late at times"])
def test_without_a_standing_queue_only_the_figure_is_said(delays):
    (finding,) = said(paced(6e6, delays))
    assert finding.kind == "slower-than-asked"


def test_a_processor_that_holds_an_end_is_no_place_on_the_way():
    worked = use(99) | {"process.user_ns": 8 * S // 10, "process.migrations": 9}
    (finding,) = said(paced(6e6, QUEUED, worked))
    assert finding.kind == "slower-than-asked"


def test_a_stream_that_keeps_its_rate_has_nothing_said():
    assert not said(paced(48e6, QUEUED))
    assert not said(paced(48e6, QUICK))
