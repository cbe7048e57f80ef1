"""A run of all pairs made by hand: every measure of every round, with known faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from netsonde.catalogue.point import AllPairs
from netsonde.figures.all_pairs import pairs_of_round
from netsonde.model.tournament import round_count
from netsonde.records.data import ALL_PAIRS, Batch, EndData, Point, Run, Snapshot
from netsonde.study.all_pairs import steps_of

MS = 1_000_000
SENT = 250


def made_run(
    hosts: int,
    *,
    late: dict[int, float] | None = None,
    slow: dict[int, float] | None = None,
    lossy: dict[int, float] | None = None,
    slow_pair: tuple[int, int] | None = None,
    delayed: dict[int, float] | None = None,
    clock_error_ms: float = 0.0,
    switches: dict[str, list[str]] | None = None,
    follow_ups: int = 3,
    checks: dict[str, Any] | None = None,
) -> Run:
    """``late``: ms that a host adds to round trips but the fastest; ``slow``: the share of the rate
    that it carries; ``lossy``: the share that it loses of what it receives; ``delayed``: ms more
    that all takes that it sends. Clocks differ by a second a host, and host 1's is known wrongly,
    within its bounds, by ``clock_error_ms``."""
    chance = np.random.default_rng(1)
    points = []
    steps = steps_of(("latency", "one-way", "loss", "throughput"))
    for number in range(round_count(hosts) + follow_ups):
        parameters: dict[str, Any] = {"message_bytes": 16, "hosts": hosts, "steps": steps}
        parameters |= {"tournament_seed": 1, "round": number % round_count(hosts), "options": {}}
        parameters |= {"cap_ns": 10**9, "interval": 0.01}
        if number >= round_count(hosts):
            pairs = pairs_of_round(AllPairs.from_json(parameters))
            if slow_pair is not None:
                pairs = [slow_pair, *(p for p in pairs if not set(p) & set(slow_pair))]
            parameters["pairs"] = pairs
        batches = []
        for index, (measure, turn) in enumerate(steps):
            ends: dict[int, EndData] = {}
            for place, pair in enumerate(pairs_of_round(AllPairs.from_json(parameters))):
                a, b = pair[::-1] if turn else pair
                made = _ends(
                    chance, measure, place, a, b, late or {}, slow or {}, lossy or {}, slow_pair
                )
                if measure == "one-way":
                    _delay(chance, made, delayed or {}, clock_error_ms)
                ends |= made
            batches.append(Batch(index, ends))
        point = Point(f"p{number:03d}", ALL_PAIRS, ALL_PAIRS, parameters, "finished", "duration")
        point.batches = batches
        point.checks = checks or {}
        points.append(point)
    manifest = {
        "origin": "emulated",
        "name": "made",
        "seed": 1,
        "started_utc": "2026-01-01T00:00:00+00:00",
        "command": ["netsonde"],
        "versions": {},
        "path": {"kind": "network", "rate_bit_per_s": None},
        "hosts": {},
        ALL_PAIRS: {
            "hosts": [f"h{number}" for number in range(hosts)],
            "switches": switches or {},
            "switches_from": "a file" if switches else "",
            "infer": False,
            "margin": 0.25,
            "loss_margin": 0.003,
            "false_alarms": 0.05,
            "follow_ups": follow_ups,
        },
    }
    return Run(Path("/nowhere"), manifest, points, True)


def _ends(chance, measure, place, a, b, late, slow, lossy, slow_pair) -> dict[int, EndData]:
    origin, target = EndData(2 * place, f"h{a}"), EndData(2 * place + 1, f"h{b}")
    if measure == "latency":
        own = sum(late.get(host, 0.0) for host in (a, b))
        own += 5.0 if slow_pair is not None and {a, b} == set(slow_pair) else 0.0
        times = 2.0 + chance.normal(0, 0.05, 40).clip(-0.1, None)
        times[1:] += own
        origin.series["round_trip_ns"] = (times * MS).astype(np.int64)
    elif measure == "one-way":
        origin.counters["messages_sent"] = SENT
        target.counters["lost"] = int(chance.binomial(SENT, lossy.get(b, 0.0)))
    else:
        share = min(slow.get(a, 1.0), slow.get(b, 1.0)) * (1 + chance.normal(0, 0.02))
        target.counters |= {
            "bytes_received": round(1_000_000 * share),
            "start_ns": 0,
            "end_ns": 100 * MS,
            "sync_round_trip_ns": 0,
        }
        for phase, count in (("before", 0), ("after", 700)):
            values = {
                "connection.test.data_segs_out": count,
                "connection.test.total_retrans": 0,
            }
            setattr(origin, phase, Snapshot(phase, count, 0, values))
    return {2 * place: origin, 2 * place + 1: target}


def _delay(chance, ends: dict[int, EndData], delayed, clock_error_ms) -> None:
    """Departures and arrivals of datagrams that take 1 ms or more, and what is known of clocks."""
    origin, target = ends.values()
    a, b = (int(end.host.removeprefix("h")) for end in (origin, target))
    sent = np.arange(SENT, dtype=np.int64) * (100 * MS // SENT)
    delay = ((1.0 + delayed.get(a, 0.0) + chance.exponential(0.02, SENT)) * MS).astype(np.int64)
    arrived = np.sort(chance.permutation(SENT)[: SENT - target.counters["lost"]])
    origin.series |= {"sent_ns": sent}
    target.series |= {"received_ns": sent[arrived] + delay[arrived], "sequence": arrived}
    for host, end in ((a, origin), (b, target)):
        lead = host * 1000 * MS
        wrong = round(clock_error_ms * MS) if host == 1 else 0
        end.counters |= {"start_ns": lead, "end_ns": lead + 100 * MS, "clock_group": host}
        end.series |= {
            "clock_at_ns": np.array([lead, lead + 100 * MS]),
            "clock_low_ns": np.full(2, lead + wrong - abs(wrong)),
            "clock_high_ns": np.full(2, lead + wrong + abs(wrong)),
        }
