"""Run directories as large as wanted, that nobody measured: for what reading and reporting cost.

The format is the real one, written line by line, so that a journal larger than the memory can be
made. Values are drawn from a seeded generator: round trips with a skewed body, a tail and a
warm-up; streams of messages at nearly the link's rate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from netsonde.records.decode import encode_series
from netsonde.records.rundir import write_manifest

HOSTS = ("node1", "node2")
SIZES = (1, 64, 1024, 8192, 65536)
STREAM_BYTES = 8192
BIT_PER_S = 10e9
BASE_NS = {"tcp": 24_000.0, "udp": 21_000.0}
STARTED_NS = 5_000_000_000_000
Values = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """How large a run is: points, batches of each, values of all series of a batch together."""

    points: int
    batches: int
    values: int

    @property
    def total(self) -> int:
        return self.points * self.batches * self.values


def write_large_run(directory: Path, shape: Shape, seed: int = 1) -> int:
    """Writes a run of that shape into a new directory; returns how many values it holds.

    A third of the points each are TCP and UDP round trips and TCP streams. The values of a batch
    are drawn anew for each of the first points and then used again, which spares hours of drawing
    and none of the reading.
    """
    directory.mkdir(parents=True)
    random = np.random.default_rng(seed)
    points = [_point(i) for i in range(shape.points)]
    write_manifest(directory, _manifest(points, seed))
    drawn: dict[tuple[str, int], list[Any]] = {}
    written = 0
    with (directory / "journal.jsonl").open("wb") as file:
        for number, point in enumerate(points):
            _entry(file, "point_started", point=point["id"], attempt=1, time_utc="2026-01-01")
            for batch in range(shape.batches):
                key = (point["transport"] + point["test"], (number // 3 + batch) % 8)
                if key not in drawn:
                    drawn[key] = _series(point, shape.values, random)
                written += sum(record["count"] for record in drawn[key])
                records = _around(drawn[key], point, number * shape.batches + batch)
                _entry(file, "batch", point=point["id"], attempt=1, batch=batch, records=records)
            _entry(
                file,
                "point_finished",
                **{"point": point["id"], "attempt": 1, "ended_by": "interval"},
                checks={"samples": {"equal": True, "messages": 1, "samples": 1}},
            )
        _entry(file, "run_finished")
    return written


def _entry(file: Any, kind: str, **fields: Any) -> None:
    line = json.dumps({"entry": kind, **fields}, separators=(",", ":"))
    file.write(line.encode() + b"\n")


def _point(number: int) -> dict[str, Any]:
    transport, test = (("tcp", "latency"), ("udp", "latency"), ("tcp", "stream"))[number % 3]
    size = STREAM_BYTES if test == "stream" else SIZES[number // 3 % len(SIZES)]
    options = {"label": f"variant {number // 15}"} if number >= 15 else {}
    return {
        "id": f"p{number + 1:05d}",
        "transport": transport,
        "test": test,
        "parameters": {"message_bytes": size, "cap_ns": 2_000_000_000, **options},
    }


def _manifest(points: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    facts = {
        "os.kernel": "6.1.0",
        "cpu.count": 2,
        "clock.source": "tsc",
        "interface.eth0.mtu": 1500,
    }
    return {
        "format": 1,
        "name": "large",
        "started_utc": "2026-01-01T12:00:00+00:00",
        "origin": "real",
        "command": ["netsonde", "study", "run", "large.toml"],
        "seed": seed,
        "versions": {"netsonde": "0.1.0"},
        "path": {"kind": "network", "rate_bit_per_s": BIT_PER_S},
        "hosts": {name: {**facts, "host.name": name} for name in HOSTS},
        "points": points,
    }


def _series(point: dict[str, Any], count: int, random: np.random.Generator) -> list[Any]:
    size = int(point["parameters"]["message_bytes"])
    if point["test"] == "latency":
        values = _round_trips(
            BASE_NS[point["transport"]] + 16 * size / BIT_PER_S * 1e9, count, random
        )
        return _records(0, "round_trip_ns", values)
    step_ns = size * 8e9 / BIT_PER_S * 1.06
    gaps = step_ns * random.gamma(20.0, 1 / 20.0, count // 2)
    arrivals = np.cumsum(gaps).astype(np.int64)
    return [
        *_records(0, "sent_ns", np.maximum(arrivals - 30_000, 0)),
        *_records(1, "received_ns", arrivals),
    ]


def _round_trips(base_ns: float, count: int, random: np.random.Generator) -> Values:
    body = base_ns * (1.0 + random.gamma(2.0, 0.02, count))
    slow = random.random(count) < 0.004
    body[slow] += random.pareto(1.4, int(slow.sum())) * 40_000.0
    body[: count // 50] *= 1.5
    return np.minimum(body, base_ns + 9e6).astype(np.int64)


def _records(rank: int, name: str, values: Values) -> list[Any]:
    return encode_series(rank, HOSTS[rank], name, "ns", values)


def _around(series: list[Any], point: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The series of a batch with what both ends report beside them."""
    size = int(point["parameters"]["message_bytes"])
    names = {record["name"]: record for record in series}
    first = next(iter(names.values()))
    messages = int(first["total"])
    lasted_ns = 50_000_000
    records = []
    for rank, host in enumerate(HOSTS):
        about = {"request": number, "rank": rank, "host": host}
        begin_ns = STARTED_NS + number * 2 * lasted_ns
        records.append(_snapshot(about, "before", begin_ns, number))
        records += [record for record in series if record["rank"] == rank]
        counters = {
            **{"start_ns": begin_ns + 200_000, "end_ns": begin_ns + lasted_ns - 200_000},
            **{"messages_sent": messages, "bytes_sent": messages * size, "calls_sent": messages},
            **{"messages_received": messages, "bytes_received": messages * size},
            **{"unanswered": 0, "late_answers": 0, "last_send_ns": lasted_ns, "cpu": rank},
            "sync_round_trip_ns": 30_000,
        }
        records.append({"record": "counters", **about, "values": counters})
        records.append(_snapshot(about, "after", begin_ns + lasted_ns, number + 1))
        done = {"ended_by": "count"}
        records.append({"record": "done", **about, "verb": "run", "values": done})
    return records


def _snapshot(about: dict[str, Any], phase: str, time_ns: int, grown: int) -> dict[str, Any]:
    """With as many counters as a real host of two CPUs has: some six hundred."""
    names = [
        *(f"cpu.{c}.{k}" for c in ("0", "1", "all") for k in ("user", "system", "idle", "softirq")),
        *(f"interface.{i}.{k}" for i in ("eth0", "lo") for k in _INTERFACE),
        *(f"netstat.TcpExt.Counter{i}" for i in range(250)),
        *(f"snmp.Tcp.Counter{i}" for i in range(150)),
        *(f"connection.test.value{i}" for i in range(150)),
    ]
    values = {name: 1_000_000 + 977 * i + 13 * grown for i, name in enumerate(names)}
    values["system.jiffies_per_s"] = 100
    return {
        **{"record": "snapshot", **about, "phase": phase},
        **{"time_ns": time_ns, "cost_ns": 600_000, "values": values},
    }


_INTERFACE = tuple(
    f"{way}_{what}" for way in ("rx", "tx") for what in ("packets", "bytes", "dropped", "errors")
)
