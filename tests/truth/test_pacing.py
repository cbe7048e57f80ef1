"""Paced datagrams: the rate that was asked for, and gaps near the interval."""

from __future__ import annotations

import os

import numpy as np
import pytest

from netsonde.launch.generator import open_generator
from netsonde.launch.local import LocalHost
from netsonde.records.decode import decode_batch
from netsonde.stats.datagrams import gaps_ns

MESSAGE_BYTES = 1460
SECONDS = 1.5
TOLERANCE = 0.01
GAP_TOLERANCE = 0.2
SIBLINGS = [pytest.param(rate, marks=pytest.mark.soak) for rate in (10**7, 10**8, 4 * 10**8)]
RATES = [10**6, 10**9, *SIBLINGS]


def times_sent_ns(rate_bit_per_s):
    """The times of all datagrams, from a CPU of its own."""
    options = {"cpu": max(os.sched_getaffinity(0))}
    with open_generator(LocalHost(), "127.0.0.1", 9, "ipv4", options, transport="udp") as session:
        fields = {
            "message_bytes": MESSAGE_BYTES,
            "rate_bit_per_s": rate_bit_per_s,
            "duration_ns": round(SECONDS * 1e9),
            "seed": 1,
            "timeout_ns": 10**10,
        }
        return decode_batch(0, session.run(fields, 12)).ends[0].series["sent_ns"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("rate_bit_per_s", RATES)
def test_a_rate_is_held(rate_bit_per_s, attempts):
    """After the first second; the gaps over all of it."""
    interval_ns = 8e9 * MESSAGE_BYTES / rate_bit_per_s
    for attempt in attempts(2, of=3):
        times = times_sent_ns(rate_bit_per_s)
        late = times[times >= 1e9]
        found = 8e9 * MESSAGE_BYTES * (len(late) - 1) / float(late[-1] - late[0])
        gap_p99 = float(np.quantile(gaps_ns(times), 0.99))
        attempt.found(rate=found / rate_bit_per_s, gap_p99=gap_p99 / interval_ns)
        with attempt:
            assert found == pytest.approx(rate_bit_per_s, rel=TOLERANCE)
            assert gap_p99 <= (1 + GAP_TOLERANCE) * interval_ns
