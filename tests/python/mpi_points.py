"""Points of MPI operations with times that were made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from netsonde.records.data import Batch, EndData, Point, Run

US = 1_000


def operation_point(operation, size, median_us, *, ranks=4, number=1, spread=0.02, **parameters):
    """The slowest rank takes median_us in the median, the others a tenth less."""
    random = np.random.default_rng(number)
    times = median_us * US * random.lognormal(0.0, spread, 400)
    ends = {}
    for rank in range(ranks):
        share = 1.0 if rank == ranks - 1 else 0.9
        end = EndData(rank, f"h{rank}")
        end.series["duration_ns"] = (share * times).astype(np.int64)
        end.series["begin_ns"] = np.arange(400) * 1000 * US
        end.counters |= {"start_ns": 10**9, "end_ns": 10**12}
        ends[rank] = end
    given = {"message_bytes": size, "operation": operation, "ranks": ranks, "interval": 0.01}
    return Point(
        f"p{number:03d}",
        "mpi",
        "collective",
        given | parameters,
        "finished",
        ended_by="interval",
        batches=[Batch(0, ends)],
    )


def latency_point(size, median_us, number):
    random = np.random.default_rng(number)
    end = EndData(0, "h0", counters={"messages_sent": 400})
    end.series["round_trip_ns"] = (median_us * US * random.lognormal(0, 0.02, 400)).astype(np.int64)
    parameters = {"message_bytes": size, "interval": 0.01, "ranks": 4}
    return Point(
        f"p{number:03d}",
        "mpi",
        "latency",
        parameters,
        "finished",
        ended_by="interval",
        batches=[Batch(0, {0: end})],
    )


def made_run(*points):
    manifest = {"origin": "emulated", "path": {"kind": "lab"}, "hosts": {}}
    return Run(Path("runs/x"), manifest, list(points), finished=True)


def operations_run(times_us, ranks=4):
    """A run of (operation, size): median in us."""
    return made_run(
        *(
            operation_point(operation, size, us, ranks=ranks, number=i)
            for i, ((operation, size), us) in enumerate(times_us.items(), 1)
        )
    )
