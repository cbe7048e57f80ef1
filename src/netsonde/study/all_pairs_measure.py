"""One round of an all-pairs study, measured: every pair of it does the same at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netsonde.catalogue.point import AllPairs
from netsonde.catalogue.test import names_of
from netsonde.errors import HostError
from netsonde.launch.rounds import RoundSession
from netsonde.limits import limit_s
from netsonde.records.data import Batch
from netsonde.records.decode import decode_batch
from netsonde.study.all_pairs import carrier_of
from netsonde.study.plan import PlannedPoint
from netsonde.study.series import MEASURERS, Ending, KeepBatch

PILOT_COUNT = 8
"""Round trips before those that count: they find how many fit the time, and fill caches."""
COUNT_LEAST = 16
COUNT_MOST = 20_000
PATIENCE_S = limit_s("run-of-pairs")
FAILURES_KEPT = 1000
TCP_OPTIONS: dict[str, object] = {"no_delay": True}


@MEASURERS.of(*names_of("is_round"))
def measure_round(session: RoundSession, point: PlannedPoint, keep: KeepBatch) -> Ending:
    """All steps of a round, a batch each; the records of a pair that failed are not in it.

    Raises HostError where not a single pair could be measured.
    """
    asked = point.spec.of(AllPairs)
    batches = []
    for index, (measure, turn) in enumerate(asked.steps):
        records: list[dict[str, Any]] = []
        for numbers in _portions(len(session.pairs), asked.at_once):
            records += _step(session, asked, measure, turn, numbers, seed=index + 1)
        if records:
            keep(index, records)
            batches.append(decode_batch(index, records))
    if not batches:
        reason = next(iter(session.failed.values()), "every host has been dropped")
        raise HostError(f"no pair of this round could be measured: {reason}")
    return Ending("duration", batches)


def _portions(pairs: int, at_once: int | None) -> list[range]:
    size = min(pairs, at_once or pairs)
    return [range(first, min(first + size, pairs)) for first in range(0, pairs, max(1, size))]


def _step(
    session: RoundSession,
    asked: AllPairs,
    measure: str,
    turn: int,
    numbers: Sequence[int],
    seed: int,
) -> list[dict[str, Any]]:
    """The records of one measure of some pairs."""
    carrier = carrier_of(measure)
    options = TCP_OPTIONS if carrier.has_connection else {}
    opened = session.meet(numbers, turn, carrier.name, options)
    try:
        if not opened:
            return []
        common = {"seed": seed, "system_counters": False}
        time_ns = asked.time_ns
        timeout_s = PATIENCE_S + 4 * time_ns / 1e9
        requests: dict[int, dict[str, object]]
        if measure == "latency":
            requests = _round_trips(session, asked, opened, turn, common, timeout_s)
            timeout_s = 2 * timeout_s
        elif measure in ("loss", "one-way"):
            paced = {
                "test": "stream",
                "message_bytes": asked.loss_bytes,
                "rate_bit_per_s": asked.loss_rate_bit_per_s,
                "duration_ns": time_ns,
                "record_messages": measure == "one-way",
            }
            requests = {number: {**common, **paced} for number in opened}
        else:
            stream = {
                "test": "stream",
                "message_bytes": asked.stream_bytes,
                "duration_ns": time_ns,
                "record_messages": False,
            }
            requests = {number: {**common, **stream} for number in opened}
        run = session.run_timed_pairs if measure == "one-way" else session.run_pairs
        found = run(requests, turn, timeout_s)
        return [record for records in found.values() for record in records]
    finally:
        session.part(numbers, turn)


def _round_trips(
    session: RoundSession,
    asked: AllPairs,
    numbers: Sequence[int],
    turn: int,
    common: Mapping[str, object],
    timeout_s: float,
) -> dict[int, dict[str, object]]:
    """Requests for as many round trips as each pair makes in its time, by a few before."""
    test = {**common, "test": "latency", "message_bytes": asked.message_bytes}
    pilots = {number: {**test, "count": PILOT_COUNT} for number in numbers}
    requests: dict[int, dict[str, object]] = {}
    for number, records in session.run_pairs(pilots, turn, timeout_s).items():
        times = decode_batch(0, records).ends[2 * number].series.get("round_trip_ns")
        if times is None or not len(times):
            continue
        fitting = int(asked.time_ns / max(1.0, float(np.mean(times))))
        requests[number] = {**test, "count": min(max(fitting, COUNT_LEAST), COUNT_MOST)}
    return requests


def checks_of_round(
    session: RoundSession, batches: Sequence[Batch], hosts: Sequence[str]
) -> dict[str, Any]:
    """What a round has to tell of itself: hosts that no longer take part, and pairs of which some
    measure, or all, could not be had."""
    failed = dict(session.failed)
    measured = {rank // 2 for batch in batches for rank in batch.ends}
    for number, pair in enumerate(session.pairs):
        if number not in measured:
            failed.setdefault(pair, "nothing was answered")
    return {
        "round": {
            "pairs": len(session.pairs),
            "failed_pairs": [
                [hosts[a], hosts[b], reason]
                for (a, b), reason in list(failed.items())[:FAILURES_KEPT]
            ],
            "dropped": session.dropped,
        }
    }
