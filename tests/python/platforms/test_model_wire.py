"""``netsonde model frames`` and ``model buffer``: printed figures come out, counts add up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.platforms.wire import Seen, Way, frames_answer


def asked(*words: str) -> dict[str, Any]:
    outcome = CliRunner().invoke(app, ["model", *words, "--json"], catch_exceptions=False)
    found: dict[str, Any] = json.loads(outcome.output)
    return found


def test_the_printed_buffers_of_a_long_fat_pipe() -> None:
    found = asked("buffer", "--rate", "1G", "--round-trip", "2.9ms", "--buffer", "10k")
    assert found["bandwidth_delay_bytes"] == 362_500
    assert found["recommended_buffer_bytes"] == 725_000
    assert found["window_limited_bit_per_s"] == pytest.approx(14.12e6, rel=1e-3)


def test_the_printed_counts_of_fragments() -> None:
    counts = ("--frames-received", "294110", "--whole", "89870", "--sent", "244061")
    found = asked("frames", "4k", *counts)
    assert found["frame_bytes"] == [1514, 1514, 1178]
    assert found["fragments_dropped"] == 24500
    assert found["datagrams_lost"] == 244061 - 89870
    assert found["frames_missing"] == 3 * 244061 - 294110
    assert asked("frames", "40k")["frames_per_message"] == 28


@given(
    size=st.integers(0, 65507),
    mtu=st.integers(576, 9000),
    ipv6=st.booleans(),
    vlan=st.booleans(),
    loss=st.floats(0, 1),
)
def test_fragments_carry_the_whole_message_once(
    size: int, mtu: int, ipv6: bool, vlan: bool, loss: float
) -> None:
    way = Way("udp", max(mtu, 1280) if ipv6 else mtu, ipv6, vlan)
    found = frames_answer(str(size), way, 10**9, Seen(frame_loss=loss)).document
    assert sum(found["payload_bytes"]) == size
    headers = 18 if vlan else 14
    assert max(found["frame_bytes"]) <= way.mtu_bytes + headers
    assert found["line_bytes"] >= sum(found["frame_bytes"]) + 24 * found["frames_per_message"]
    # One lost fragment loses all of them.
    assert found["lost_ratio"] >= loss - 1e-12
    assert 0 <= found["lost_ratio"] <= 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("frames", "100k"), "a datagram of IPv4 holds 0..65507"),
        (("frames", "4k", "--sent", "3"), "--sent goes with --frames-received"),
        (("frames", "4k", "--whole", "3"), "go together"),
        (("frames", "4k", "--transport", "sctp"), "udp or tcp is expected"),
        (("frames", "4k", "--transport", "tcp", "--frame-loss", "1%"), "sends again"),
        (
            ("frames", "4k", "--frames-received", "9", "--whole", "1", "--sent", "2"),
            "2 datagrams are 6 frames",
        ),
        (("buffer", "--rate", "0", "--round-trip", "1ms"), "rate"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], sentence: str) -> None:
    outcome = CliRunner().invoke(app, ["model", *words])
    assert isinstance(outcome.exception, UsageError), outcome.output
    assert sentence in str(outcome.exception)


@pytest.mark.parametrize("size", ["0", "1472", "4k", "64000"])
def test_lines_fit_a_terminal(size: str) -> None:
    counts = ("--frames-received", "600000", "--whole", "9000", "--sent", "24061")
    words = [*counts] if size == "4k" else ["--rate", "100G", "--frame-loss", "0.1%"]
    words = [*words, "--sent", "600000"] if size == "4k" else words
    outcome = CliRunner().invoke(app, ["model", "frames", size, *words], catch_exceptions=False)
    assert all(len(line) <= 80 for line in outcome.output.splitlines()), outcome.output
