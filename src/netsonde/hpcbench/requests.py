"""Settings as what the workers are asked for: options of their sockets, fields of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsonde.hpcbench.options import MOST_RATE_BIT_PER_S, Mode, Settings
from netsonde.study.quality import CLASSES

TESTS: dict[Mode, str] = {
    "round_trip": "latency",
    "ping_pong": "pingpong",
    "stream": "stream",
    "both_ways": "duplex",
    "generator": "stream",
}


OUTSTANDING_MOST = 16
OUTSTANDING_BYTES = 64 << 20
"""How many messages of an MPI stream that does not block are on their way at once, and in how many
bytes, where they are at least two. Hpcbench says neither."""


def socket_options(settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the client's and of the server's worker.

    Linux doubles the size of a buffer that is asked for and reports the double; so half of it is
    asked for, and what is reported equals what the user wrote (Hpcbench, section 4.1.3).
    """
    both: dict[str, Any] = {"wait": "ready" if settings.ready else "block"}
    if settings.quality is not None:
        both["traffic_class"] = CLASSES[str(settings.quality)]
    if settings.carrier.has_connection:
        both["no_delay"] = settings.no_delay
        if settings.cork:
            both["cork"] = True
        if settings.segment_bytes is not None:
            both["max_segment_bytes"] = settings.segment_bytes
        if settings.file is not None:
            both["sending"] = "sendfile"
    client = {} if settings.file is None else {"file": str(Path(settings.file).absolute())}
    return (
        {**both, **client, **_buffer(settings.buffer_bytes)},
        {**both, **_buffer(settings.server_buffer_bytes)},
    )


def _buffer(size_bytes: int | None) -> dict[str, int]:
    if size_bytes is None:
        return {}
    return {"send_buffer_bytes": size_bytes // 2, "receive_buffer_bytes": size_bytes // 2}


def run_fields(settings: Settings, size_bytes: int) -> dict[str, Any]:
    """The fields of a run of messages of one size, without how many or how long."""
    fields: dict[str, Any] = {"test": TESTS[settings.mode], "message_bytes": size_bytes}
    if settings.call_bytes is not None:
        fields["call_bytes"] = settings.call_bytes
    if settings.rate_bit_per_s is not None:
        fields["rate_bit_per_s"] = settings.rate_bit_per_s
    elif settings.mode == "generator":
        fields["rate_bit_per_s"] = MOST_RATE_BIT_PER_S  # faster than any host sends
    if settings.carrier.has_ranks:
        fields["clock"] = "wtime"  # as Hpcbench's: MPI's own timer
    if settings.carrier.has_ranks and settings.ready and settings.mode == "stream":
        fields["outstanding"] = outstanding(size_bytes)
    if settings.mode in ("stream", "both_ways", "generator"):
        fields["record_messages"] = False  # only totals are shown, and a test may be long
    if not settings.log_system:
        fields["system_counters"] = False  # only -c looks at them
    return fields


def outstanding(size_bytes: int) -> int:
    """Messages of this size on their way at once, in an MPI stream that does not block."""
    return max(2, min(OUTSTANDING_MOST, OUTSTANDING_BYTES // size_bytes))


def changed_buffers(settings: Settings, opened: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """A sentence for each buffer that the system made smaller or larger than was asked for."""
    found = []
    asked = ((0, "client", settings.buffer_bytes), (1, "server", settings.server_buffer_bytes))
    for rank, end, size_bytes in asked:
        for way in ("send", "receive"):
            got = opened.get(rank, {}).get(f"{way}_buffer_bytes")
            if size_bytes is None or got is None or got == size_bytes // 2 * 2:
                continue
            cut = got < size_bytes
            why = "the most that it allows" if cut else "the least that it gives"
            found.append(
                f"the {end}'s system {'cut' if cut else 'raised'} the {way} buffer from "
                f"{size_bytes} to {got} bytes, {why}"
            )
    return found
