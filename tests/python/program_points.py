"""Points of a user's own program, and of the network beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netsonde.records.data import Batch, EndData, Point, Run, Snapshot


def program_point(number, values, *, size=0, label=None, where="origin", **done):
    """A program whose runs give these values; each takes one second."""
    batches = []
    for index, value in enumerate(values):
        counters = {"cpu.all.user": 0, "system.jiffies_per_s": 100}
        end = EndData(
            0,
            "h1",
            done={
                "elapsed_ns": 10**9 + index,
                "exit_status": 0,
                "timed_out": False,
                "output_tail": f"rate {value}",
                "figure.rate": value,
                **done,
            },
            before=Snapshot("before", index * 10**9, 0, counters),
            after=Snapshot("after", (index + 1) * 10**9, 0, {**counters, "cpu.all.user": 190}),
        )
        batches.append(Batch(index, {0: end}))
    parameters = {
        "message_bytes": size,
        "cap_ns": 10**9,
        "interval": 0.01,
        "options": {},
        "name": "mg",
        "command": ["./mg"],
        "where": where,
        "timeout_ns": 10**9,
        "environment": {},
        "figures": {"rate": {"pattern": "rate (.*)", "unit": "Mop/s", "better": "higher"}},
        **({"label": label} if label else {}),
    }
    return Point(
        f"p{number:03d}",
        "program",
        "program",
        parameters,
        status="finished",
        ended_by="interval",
        batches=batches,
    )


def latency_point(number, size, microseconds, *, transport="tcp", label=None):
    end = EndData(0, "h1", counters={"messages_sent": 20})
    end.series["round_trip_ns"] = np.full(20, microseconds * 1000, np.int64)
    return Point(
        f"p{number:03d}",
        transport,
        "latency",
        {"message_bytes": size, "options": {}, **({"label": label} if label else {})},
        status="finished",
        batches=[Batch(0, {0: end})],
    )


def run_of(points, directory=Path("runs/x")):
    manifest = {
        "origin": "real",
        "path": {"kind": "network"},
        "hosts": {},
        "name": "x",
        "started_utc": "",
        "command": [],
        "seed": 1,
        "versions": {},
    }
    return Run(directory, manifest, points, True)
