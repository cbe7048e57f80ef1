"""What many flows did between the common start and the last arrival."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from netsonde.figures.global_time import ends_ns, starts_ns
from netsonde.records.data import Batch

TIMEOUT_COUNTER = "netstat.TcpExt.TCPTimeouts"
LEAST_RETRANSMISSION_TIMEOUT_NS = 200_000_000
"""Linux's TCP_RTO_MIN: a sender that hears nothing waits so long (RFC 6298 asks for 1 s)."""


def round_times_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Of each batch: from the first origin's start to the last message at any target."""
    return np.array([max(ends_ns(b).values()) - min(starts_ns(b).values()) for b in batches])


def start_spreads_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Of each batch: from the first origin's start to the last origin's."""
    starts = [list(starts_ns(batch).values()) for batch in batches]
    return np.array([max(found) - min(found) for found in starts])


def received_bytes(batch: Batch) -> int:
    """What all targets together received."""
    return sum(end.counters.get("bytes_received", 0) for end in batch.ends.values())


def timeouts(batch: Batch) -> int | None:
    """How often a retransmission timer ran out at the origins' hosts; None where nobody counted.

    The kernel counts for a whole host (TcpExt TCPTimeouts), so that each host counts once.
    """
    hosts = {
        end.host: grown
        for end in batch.ends.values()
        if end.rank % 2 == 0 and (grown := end.difference(TIMEOUT_COUNTER)) is not None
    }
    return sum(hosts.values()) if hosts else None


def flow_times_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Batches x flows: from the first origin's start to each flow's last message."""
    rows = []
    for batch in batches:
        begun = min(starts_ns(batch).values())
        rows.append([end - begun for _, end in sorted(ends_ns(batch).items())])
    return np.array(rows)


def is_alone(batch: Batch) -> bool:
    """Whether the victim of a batch had no other flow beside it."""
    return not starts_ns(batch).keys() - {0}


def beside_bit_per_s(batch: Batch) -> float:
    """What the aggressors' targets received together, from the first start to the last arrival."""
    starts = [at for rank, at in starts_ns(batch).items() if rank != 0]
    ends = [at for rank, at in ends_ns(batch).items() if rank != 1]
    moved = sum(
        end.counters.get("bytes_received", 0)
        for end in batch.ends.values()
        if end.rank % 2 == 1 and end.rank != 1
    )
    return 8e9 * moved / (max(ends) - min(starts))
