"""Figures of what limits a transport that is told of memory, of made samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netsonde.figures.compute import figures_of
from netsonde.records.data import Batch, EndData, Point, Run


def made(test: str, ends: dict[int, EndData], **told: int) -> dict[str, float]:
    options = {"operation": "write", "trespass": "foreign-read"} if test == "protection" else {}
    point = Point("p001", "fabric", test, {"message_bytes": 64, "options": options})
    point.batches = [Batch(0, ends)]
    point.opened = {0: dict(told)}
    manifest = {"origin": "real", "path": {"kind": "network"}, "hosts": {}, "name": "n"}
    run = Run(Path("run"), {**manifest, "seed": 1, "started_utc": "", "points": []}, [point], True)
    return {figure.name: figure.value for figure in figures_of(run)}


def end(rank: int, **counters: int) -> EndData:
    data = EndData(rank, f"h{rank + 1}")
    data.counters.update(counters)
    return data


def test_registrations_have_their_median_and_limits_are_told() -> None:
    origin = end(0)
    origin.series["register_ns"] = np.arange(100, 201, dtype=np.int64)
    origin.series["release_ns"] = np.full(101, 40, np.int64)
    found = made("bounds", {0: origin}, max_message_bytes=1472, inject_bytes=64)
    assert found["registration_median_ns"] == 150
    assert found["release_median_ns"] == 40
    assert found["largest_message_bytes"] == 1472
    assert found["injected_most_bytes"] == 64


def test_a_provider_without_a_limit_tells_none() -> None:
    origin = end(0)
    origin.series["register_ns"] = origin.series["release_ns"] = np.full(20, 40, np.int64)
    assert "largest_message_bytes" not in made("bounds", {0: origin}, max_message_bytes=2**63 - 1)


def test_what_got_through_is_seen_at_either_end() -> None:
    read = made("protection", {0: end(0, attempts=1, refused=0, reached=1), 1: end(1, reached=0)})
    assert (read["trespass_refused_ratio"], read["trespass_reached_ratio"]) == (0, 1)
    wrote = made("protection", {0: end(0, attempts=1, refused=0, reached=0), 1: end(1, reached=1)})
    assert wrote["trespass_reached_ratio"] == 1
    kept = made("protection", {0: end(0, attempts=1, refused=1, reached=0), 1: end(1, reached=0)})
    assert (kept["trespass_refused_ratio"], kept["trespass_reached_ratio"]) == (1, 0)
