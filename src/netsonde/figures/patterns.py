"""What many flows did between the common start and the last arrival."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from netsonde.figures.global_time import ends_ns, round_ends_ns, round_starts_ns, starts_ns
from netsonde.figures.throughput import origin_elapsed_ns
from netsonde.records.data import Batch, EndData

TIMEOUT_COUNTER = "netstat.TcpExt.TCPTimeouts"


def round_times_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Of each round: from the first origin's start to the last message at any target. A batch
    without rounds is one."""
    return np.asarray(flow_times_ns(batches).max(axis=1))


def rounds_span_ns(batch: Batch) -> float:
    """From the start of a batch's first round to the end of its last."""
    ends = max(float(found[-1]) for found in round_ends_ns(batch).values())
    return ends - min(float(found[0]) for found in round_starts_ns(batch).values())


def round_lead_needed_ns(batch: Batch, lead_ns: int) -> float:
    """How long it took, in nine rounds of ten, until all origins knew the start of the next round,
    where that was lead_ns later; lead_ns itself where the batch has but one."""
    waited = [
        end.series["round_waited_ns"][1:]
        for end in batch.ends.values()
        if "round_waited_ns" in end.series
    ]
    if not waited or not len(waited[0]):
        return float(lead_ns)
    return float(np.quantile(lead_ns - np.min(waited, axis=0), 0.9))


def start_spreads_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Of each round: from the first origin's start to the last origin's."""
    starts = [np.stack(list(round_starts_ns(batch).values())) for batch in batches]
    return np.concatenate([found.max(axis=0) - found.min(axis=0) for found in starts])


def shared_host(batch: Batch) -> str:
    """The host that is an end of every flow of incast, converge and outcast; one of them where
    there is one flow, "" where none is."""
    ends = batch.ends
    flows = [{ends[r].host, ends[r + 1].host} for r in sorted(ends) if r % 2 == 0 and r + 1 in ends]
    return min(set.intersection(*flows), default="") if len(flows) > 1 else ""


def flow_sent_bit_per_s(batch: Batch) -> list[float]:
    """Payload that each flow's origin handed to the kernel, over its own time."""
    origins = [end for rank, end in sorted(batch.ends.items()) if rank % 2 == 0]
    datagrams = any("lost" in end.counters for end in batch.ends.values())
    return [
        8e9 * end.counters.get("bytes_sent", 0) / max(origin_elapsed_ns(end, datagrams), 1.0)
        for end in origins
        if "start_ns" in end.counters
    ]


def received_bytes(batch: Batch) -> int:
    """What all targets together received."""
    return sum(end.counters.get("bytes_received", 0) for end in batch.ends.values())


def time_outs(batches: Sequence[Batch]) -> npt.NDArray[np.int64] | None:
    """How often a retransmission timer ran out at the origins' hosts in each round; None where it
    was not counted in all of them.

    The kernel counts for a whole host (TcpExt TCPTimeouts), so that each host counts once.
    """
    found = [_time_outs(batch) for batch in batches]
    known = [counted for counted in found if counted is not None]
    return np.concatenate(known) if known and len(known) == len(found) else None


def _time_outs(batch: Batch) -> npt.NDArray[np.int64] | None:
    """Of the rounds of a batch. Of several origins on a host, the one that looked last counts."""
    hosts: dict[str, npt.NDArray[np.int64]] = {}
    for end in batch.ends.values():
        if end.rank % 2:
            continue
        so_far = _time_outs_so_far(end)
        if so_far is None:
            return None
        hosts[end.host] = np.maximum(hosts[end.host], so_far) if end.host in hosts else so_far
    return np.asarray(np.sum([np.diff(counts, prepend=0) for counts in hosts.values()], axis=0))


def _time_outs_so_far(end: EndData) -> npt.NDArray[np.int64] | None:
    """At the end of each round, since before the first; a batch without rounds is one."""
    if "round_start_ns" in end.series:
        grown = end.series.get("round_time_outs")
        return None if grown is None else np.cumsum(grown)
    difference = end.difference(TIMEOUT_COUNTER)
    return None if difference is None else np.array([difference], dtype=np.int64)


def flow_times_ns(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Rounds x flows: from the first origin's start to each flow's last message."""
    parts = []
    for batch in batches:
        begun = np.min(list(round_starts_ns(batch).values()), axis=0)
        ended = np.stack([ends for _, ends in sorted(round_ends_ns(batch).items())], axis=1)
        parts.append(ended - begun[:, np.newaxis])
    return np.concatenate(parts)


def flow_throughputs_bit_per_s(batches: Sequence[Batch]) -> npt.NDArray[np.float64]:
    """Of each flow: what its target received, over the flow's times in all rounds."""
    moved = [
        [end.counters.get("bytes_received", 0) for _, end in sorted(batch.ends.items())][1::2]
        for batch in batches
    ]
    return np.asarray(8e9 * np.sum(moved, axis=0) / flow_times_ns(batches).sum(axis=0))


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
