"""What recording costs: pairs whose difference is known, and a real one that is short."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bench.__main__ import _wanted
from bench.peers import Route
from bench.recording import STREAMS, Recorded, lines, recording, summarised

from netsonde.errors import UsageError
from netsonde.launch.local import LocalHost


def found(added_ns: float, scatter_ns: float, pairs: int = 200) -> Recorded:
    draw = np.random.default_rng(4)
    without = 500 + draw.normal(0, 100, pairs)  # batches differ, the two of a pair hardly
    with_ns = without + added_ns + draw.normal(0, scatter_ns, pairs)
    return summarised("TCP 64 B", "sender", with_ns.tolist(), without.tolist())


def test_what_is_added_is_found_within_its_interval() -> None:
    one = found(12, 10)
    assert one.low_ns is not None
    assert one.high_ns is not None
    assert one.low_ns < 12 < one.high_ns < one.low_ns + 5
    assert one.pairs == 200
    assert one.without_ns == pytest.approx(500, abs=30)


@pytest.mark.parametrize(
    ("added_ns", "scatter_ns", "pairs", "met"),
    [(12, 10, 200, True), (50, 10, 200, False), (29, 100, 200, None), (12, 10, 3, None)],
)
def test_the_goal_is_met_missed_or_not_decided(
    added_ns: float, scatter_ns: float, pairs: int, met: bool | None
) -> None:
    one = found(added_ns, scatter_ns, pairs)
    assert one.met is met
    word = {True: "met", False: "missed", None: "not decided"}[met]
    assert word in lines([one])[1]
    assert all(len(line) <= 80 for line in lines([one]))


def test_it_is_chosen_by_its_name() -> None:
    assert _wanted(["recording"], "loopback") == []
    assert len(_wanted(["recording", "tcp-stream"], "loopback")) == 1
    with pytest.raises(UsageError, match="recording"):
        _wanted(["recordings"], "loopback")


@pytest.mark.usefixtures("sonde_worker")
def test_both_ends_of_every_stream_are_measured() -> None:
    host = LocalHost()
    seen = recording(Route("loopback", host, host, 0, 0, "cubic"), 0.1, random.Random(1))
    assert [(one.stream, one.end) for one in seen] == [
        (name, end) for name, _, _ in STREAMS for end in ("sender", "receiver")
    ]
    assert all(one.pairs >= 1 and one.without_ns > 0 for one in seen)
