"""More ranks than CPUs: what rank 0 holds does not grow with the number of samples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpi_needed import require_mpi
from netsonde.figures.compute import figures_of_point, find
from netsonde.launch.mpi import open_mpi
from netsonde.ranks.summaries import summary_of
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch

CROWDED = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "4",
}
"""Ranks that wait let others have their CPU."""
FEW, MORE = 8, 40
BYTES_A_REPETITION = 5 * 8 * 2
"""Of the five series with a value for each repetition, as base64, and some room."""


@pytest.fixture(autouse=True)
def mpi_here() -> None:
    require_mpi()


def resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+)", status)
    assert found is not None
    return 1024 * int(found[1])


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(32, marks=pytest.mark.timeout(120)),
        pytest.param(256, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
def test_what_rank_0_holds_does_not_grow_with_all_samples(ranks):
    fields = {"test": "collective", "operation": "allreduce", "message_bytes": 8,
              "keep_samples": 0, "system_counters": False}  # fmt: skip
    with open_mpi(None, ranks, environment=CROWDED, timeout_s=200) as session:
        process = session.place().processes[0]
        held, handed, batches = [], [], []
        for index, count in enumerate((FEW, MORE)):
            records = session.run({**fields, "count": count}, 300)
            held.append(resident_bytes(process))
            repeated = [r for r in records if r["record"] == "series" and r["total"] == count]
            handed.append(sum(len(record["values"]) for record in repeated))
            batches.append(decode_batch(index, records))
    assert [sorted(batch.ends) for batch in batches] == [[0], [0]]
    assert handed[1] <= MORE * BYTES_A_REPETITION
    # A 64th of what the samples of all ranks would need, and what any allocator may keep.
    assert held[1] - held[0] <= 2 * 8 * ranks * MORE // 64 + (2 << 20)
    summary = summary_of(batches[1])
    assert summary is not None
    assert (summary.ranks, summary.durations.total) == (ranks, ranks * MORE)
    asked = {"message_bytes": 8, "operation": "allreduce"}
    figures = figures_of_point(Point("p1", "mpi", "collective", asked, batches=batches))
    duration = find(figures, "rank_duration_median_ns", "p1")
    assert duration is not None
    assert duration.samples == ranks * (FEW + MORE)
