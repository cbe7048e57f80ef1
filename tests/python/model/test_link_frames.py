"""Frames of messages on the link itself, header by header, against sizes counted by hand."""

import pytest

from netsonde.model.goodput import LINE, expected_wire_link, link_goodput_bit_per_s
from netsonde.model.packets import link_frames


@pytest.mark.parametrize(
    ("payload", "sizes"),
    [
        (0, [22]),
        (1, [23]),
        (1492, [1514]),
        (1493, [1514, 23]),
        (2984, [1514, 1514]),
        (3000, [1514, 1514, 38]),
    ],
)
def test_each_frame_has_22_bytes_of_headers(payload: int, sizes: list[int]) -> None:
    frames = link_frames(payload)
    assert [frame.bytes for frame in frames] == sizes
    assert sum(frame.payload_bytes for frame in frames) == payload
    counted = expected_wire_link(10, payload)
    assert (counted.packets, counted.bytes) == (10 * len(sizes), 10 * sum(sizes))


def test_a_short_frame_takes_the_least_of_a_line() -> None:
    assert link_frames(1)[0].wire_bytes() == 84
    assert link_frames(1492)[0].wire_bytes() == 1538


def test_goodput_is_what_headers_leave() -> None:
    assert link_goodput_bit_per_s(1e9, 1492, framing=LINE) == pytest.approx(1e9 * 1492 / 1538)
    assert link_goodput_bit_per_s(1e9, 100, fragment_bytes=50) == pytest.approx(1e9 * 100 / 192)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="payload"):
        link_frames(-1)
    with pytest.raises(ValueError, match="messages"):
        expected_wire_link(-1, 64)
