"""Skips tests of frames on the link where this process may send none."""

from __future__ import annotations

import socket

import pytest


def require_frames() -> None:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        pytest.skip(f"no frames may be sent here: {error}")
