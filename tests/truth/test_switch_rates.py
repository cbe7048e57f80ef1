"""Over the lab's switch: goodput as the headers leave it, and every chance as it was set."""

from __future__ import annotations

import math

import pytest
from lab_truth import attempts, links_of, scenario_lab, settle

from netsonde.figures.throughput import stream_rates_bit_per_s
from netsonde.lab import permission_problem
from netsonde.lab.observe import switch_stats
from netsonde.launch.pair import open_pair
from netsonde.records.decode import decode_batch

PROBLEM = permission_problem()
pytestmark = [pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")]

LINE_BYTES = 1538  # of a full frame: 1500 with 14 of header, 4 of check sequence, 8 and 12 around
TCP_PAYLOAD_BYTES = 1448  # with the time stamps option
UDP_PAYLOAD_BYTES = 1472
TOLERANCE = 0.005


def stream(lab, transport, message_bytes, duration_s, rate_bit_per_s=None):
    """One batch from h1 to h2."""
    buffers = {"receive_buffer_bytes": 4 << 20} if transport == "udp" else {}
    own = {"congestion_control": "cubic"} if transport == "tcp" else buffers
    fields = {
        "test": "stream",
        "message_bytes": message_bytes,
        "call_bytes": message_bytes,
        "duration_ns": round(duration_s * 1e9),
    }
    if rate_bit_per_s:
        fields["rate_bit_per_s"] = rate_bit_per_s
    with open_pair(
        lab.hosts[0], lab.hosts[1], transport, options=own, target_options=buffers
    ) as session:
        return decode_batch(0, session.run(fields, 60))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("rate", "bit_per_s"), [("10M", 10e6), ("100M", 100e6), ("1G", 1e9)])
@pytest.mark.parametrize(
    ("transport", "message_bytes", "payload_bytes"),
    [("tcp", 131072, TCP_PAYLOAD_BYTES), ("udp", UDP_PAYLOAD_BYTES, UDP_PAYLOAD_BYTES)],
)
def test_goodput(rate, bit_per_s, transport, message_bytes, payload_bytes):
    allowed = bit_per_s * payload_bytes / LINE_BYTES
    # The buffer is larger than what UDP's sender has under way, so that nothing is lost.
    with scenario_lab(
        hosts=2,
        link={"rate": rate, "delay": "20us"},
        switch=[{"name": "s1", "buffer": "2M"}],
    ) as lab:

        def measure():
            batch = stream(lab, transport, message_bytes, 2.0)
            received = stream_rates_bit_per_s(batch)[1]
            problems = []
            if received != pytest.approx(allowed, rel=TOLERANCE):
                problems.append(f"{received:.0f} bit/s, allowed are {allowed:.0f}")
            return problems, switch_stats(lab, forget=True)

        attempts(measure)


def inside(count, frames, share):
    """Whether a count is within what chance allows (one in a million outside)."""
    spread = math.sqrt(frames * share * (1 - share))
    return abs(count - frames * share) <= 4.9 * spread + 1


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("settings", "counter", "share"),
    [
        ({"loss": "2%"}, "lost_random", 0.02),
        ({"loss_every": 50}, "lost_every", 0.02),
        ({"bit_errors": 1e-6}, "lost_bit_error", -math.expm1(8 * LINE_BYTES * math.log1p(-1e-6))),
        ({"burst": {"enter": "0.5%", "leave": "25%"}}, "lost_burst", 0.005 / 0.255),
        ({"duplicates": "2%"}, "duplicated", 0.02),
        ({"reorder": "2%", "reorder_delay": "2ms"}, "held_back", 0.02),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_chances_are_found_at_the_ends(settings, counter, share):
    """What the switch did, what netsonde counts, and what was asked for are the same."""
    with scenario_lab(
        hosts=2,
        seed=3,
        link={"rate": "100M", "delay": "100us"},
        switch=[{"name": "s1", "buffer": "2M"}],
        host=[{"name": "h2", "link": {"down": settings}}],
    ) as lab:
        before = links_of(switch_stats(lab))["h2"]["down"]
        batch = stream(lab, "udp", UDP_PAYLOAD_BYTES, 2.0, rate_bit_per_s=60_000_000)
        after = links_of(settle(lab, lambda stats: stats["loop"]["frames_inside"] == 0))["h2"][
            "down"
        ]
    did = after[counter] - before[counter]
    sent = batch.ends[0].counters["messages_sent"]
    found = batch.ends[1].counters
    # Loss in bursts of four scatters by more than single losses: by the square root of 2 * 4.
    frames = sent / 8 if counter == "lost_burst" else sent
    assert inside(did * frames / sent, frames, share)
    # The connections of control and of opening cross the line as well, a few frames in all.
    others = after["frames"] - before["frames"] - sent
    assert 0 <= others < 60
    if counter == "duplicated":
        assert 0 <= did - found["duplicates"] <= others
    elif counter == "held_back":
        assert 0 <= did - found["reordered"] <= others + 10  # the last have nobody behind them
    else:
        assert 0 <= did - found["lost"] <= others
        assert found["lost"] == sent - found["messages_received"]
