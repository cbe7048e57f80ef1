"""What carried the messages between ranks of one node, told from the counters of its interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.within import CARRIED
from netsonde.records.data import EndData, Point

LEAST_HEADER_BYTES = 40
"""The least that comes with a packet: IPv4 and TCP without options."""
MOST_UNCOUNTED = 0.5
"""Where interfaces counted less than this share of what must have been sent, in any batch, messages
did not go over them. What others send meanwhile can only make it more."""
LOOPBACK_DEVICE = "lo"
FABRIC = "infiniband"


def sent_by_interface(ends: Iterable[EndData]) -> dict[str, int]:
    """Bytes that each interface, and each port of a fabric, of the ends' host sent meanwhile."""
    sent: dict[str, int] = {}
    for end in ends:
        for name, growth in end.differences().items():
            kind, _, rest = name.partition(".")
            interface, _, counter = rest.rpartition(".")
            if kind in ("interface", FABRIC) and counter == "tx_bytes":
                sent[interface] = sent.get(interface, 0) + growth
    return sent


def least_sent_bytes(ends: Sequence[EndData], payload_bytes: int) -> int:
    """What must have been sent: the payload, and the headers of at least one packet for each round
    trip or repetition."""
    packets = sum(
        len(end.series.get(name, ()))
        for end in ends
        for name in ("round_trip_ns", "duration_ns", "completion_ns")
    )
    return max(1, payload_bytes + packets * LEAST_HEADER_BYTES)


def carried_check(point: Point) -> dict[str, Any] | None:
    """What carried the messages of ranks that are on one host; None of all other points.

    ``by`` is a row of what is known to carry them: shared memory where, in any batch, no interface
    counted what must have been sent; what nobody counts where such a host has ports of a fabric,
    whose cards may send to themselves; loopback where its bytes moved in every batch. Numbers are
    those of the largest batch that says so.
    """
    hosts = {end.host for batch in point.batches for end in batch.ends.values()}
    is_alone = any(len(batch.ends) < 2 for batch in point.batches)
    if not point.carrier.has_ranks or len(hosts) != 1 or is_alone:
        return None
    found = [_counted(batch.ends[0]) for batch in point.batches if 0 in batch.ends]
    past = [each for each in found if each.share < MOST_UNCOUNTED]
    by, shown = CARRIED["unknown"], past or found
    if any(each.interface is None for each in found):
        shown = []
    elif past:
        by = CARRIED["inside" if any(each.has_fabric for each in found) else "memory"]
    elif all(each.share >= 1.0 and each.interface == LOOPBACK_DEVICE for each in found):
        by = CARRIED["loopback"]
    told = max(shown, key=lambda each: each.least_bytes, default=None)
    if told is None:
        return {"by": by.name}
    return {
        "by": by.name,
        "interface": told.interface,
        "interface_bytes": told.interface_bytes,
        "least_bytes": told.least_bytes,
    }


@dataclass(frozen=True)
class _Counted:
    """The interface of a batch that sent most, beside what must have been sent; None where there
    are no counters."""

    interface: str | None
    interface_bytes: int
    least_bytes: int
    has_fabric: bool

    @property
    def share(self) -> float:
        return self.interface_bytes / self.least_bytes


def _counted(end: EndData) -> _Counted:
    sent = sent_by_interface([end])
    # Of several that sent nothing, loopback is the one that would have.
    device = max(sent, key=lambda name: (sent[name], name == LOOPBACK_DEVICE), default=None)
    return _Counted(
        device,
        sent[device] if device else 0,
        least_sent_bytes([end], end.counters.get("bytes_sent", 0)),
        any(name.startswith(FABRIC) for name in end.differences()),
    )
