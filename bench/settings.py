"""Settings that all comparisons have in common."""

from __future__ import annotations

from collections.abc import Mapping

KIB = 1024
BUFFER_BYTES = 256 * KIB
BUFFERS: Mapping[str, object] = {
    "send_buffer_bytes": BUFFER_BYTES,
    "receive_buffer_bytes": BUFFER_BYTES,
}
COMMON_SETTINGS: Mapping[str, object] = {
    "buffer_bytes": BUFFER_BYTES,
    "wait": "block",
    "congestion_control": "the path's default",
}
