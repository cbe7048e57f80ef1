"""Ranks bound to CPUs, batches that ranks summarise, and clocks by other methods: with real
ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi_program import SUPPRESSIONS

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.figures.clock_quality import clock_quality
from netsonde.launch.mpi import open_mpi
from netsonde.launch.worker import WorkerError
from netsonde.ranks.clocks import clock_method, common_start, rank_leads
from netsonde.ranks.summaries import summary_of
from netsonde.records.decode import decode_batch

pytestmark = [pytest.mark.worker]
ALLOWED = sorted(os.sched_getaffinity(0))
COLLECTIVE = {"test": "collective", "operation": "allreduce", "message_bytes": 64, "count": 60}


@pytest.fixture(autouse=True)
def mpi_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={SUPPRESSIONS}:print_suppressions=0")
    require_mpi()


def processors_of(process: int) -> str:
    status = Path(f"/proc/{process}/status").read_text()
    return next(line for line in status.splitlines() if line.startswith("Cpus_allowed_list")).split(
        "\t"
    )[1]


def test_every_host_says_what_its_clock_is() -> None:
    """Resolution, cost and calibration, as of the ends of a connection."""
    with open_mpi(None, 2) as session:
        (facts,) = session.facts().values()
    assert facts["clock_source"] in ("cycle_counter", "monotonic")
    assert 0 < facts["clock_tick_ns"] < 1000
    assert 0 < facts["clock_resolution_ns"] < 1000
    assert 0 < facts["clock_cost_ns"] < 10_000
    assert facts["clock_reason"]
    if "clock_processors" in facts:  # on a busy host nobody saw two CPUs at once
        assert 0 <= facts["clock_apart_least_ns"] <= facts["clock_apart_most_ns"]


def test_ranks_are_bound_to_the_processors_that_are_named() -> None:
    last = ALLOWED[-1]
    with open_mpi(None, 2, pin=[last], share=True) as session:
        (facts,) = session.facts().values()
        assert facts["mpi.binding"] == f"rank 0 on {last}, rank 1 on {last}"
    with pytest.raises(HostError, match=r"CPU 1023 was asked for, and a process on .* may use"):
        open_mpi(None, 1, pin=[1023])


def test_ranks_are_bound_where_they_say() -> None:
    ranks = len(ALLOWED) + 1
    with open_mpi(None, ranks, pin="all", share=True) as session:
        places = session.place("all", share=True)
        assert places.processors == (*ALLOWED, ALLOWED[0])
        assert [processors_of(p) for p in places.processes] == [str(c) for c in places.processors]
        assert session.facts()["local"]["mpi.binding"].startswith(f"rank 0 on {ALLOWED[0]}, rank 1")
        assert [session.opened[r]["processor"] for r in range(ranks)] == list(places.processors)
        batch = decode_batch(0, session.run(COLLECTIVE, 30))
        assert [batch.ends[r].counters["cpu"] for r in range(ranks)] == list(places.processors)
        moved = [end.difference("process.migrations") for end in batch.ends.values()]
        assert set(moved) <= {0, None}
        left = session.place("not_zero", share=True).processors
        assert set(left) == set(ALLOWED) - {0}
        free = session.place()
        assert not free.are_bound
        assert len({processors_of(p) for p in free.processes}) == 1
        assert "mpi.binding" not in session.facts()["local"]
        assert not any("processor" in told for told in session.opened.values())


def test_more_ranks_than_processors_are_refused_unless_they_share() -> None:
    ranks = len(ALLOWED) + 1
    with pytest.raises(HostError, match=f"{ranks} ranks are on the machine of .*share"):
        open_mpi(None, ranks, pin="all")


@pytest.mark.parametrize(("start", "count"), [("barrier", 60), ("window", 20)])
def test_a_batch_of_too_many_samples_is_summarised(start: str, count: int) -> None:
    fields: dict[str, Any] = {
        **COLLECTIVE, "count": count, "start": start, "clocks": "apart", "check_data": True
    }  # fmt: skip
    with open_mpi(None, 3) as session:
        kept = decode_batch(0, session.run({**fields, "keep_samples": 3 * count}, 60))
        assert summary_of(kept) is None
        assert sorted(kept.ends) == [0, 1, 2]
        batch = decode_batch(0, session.run({**fields, "keep_samples": 3 * count - 1}, 60))
    found = summary_of(batch)
    assert found is not None
    assert sorted(batch.ends) == [0], "the first rank of a host speaks for the others"
    assert batch.ends[0].after is not None
    assert (found.ranks, len(found.completion_ns), found.durations.total) == (3, count, 3 * count)
    assert (found.late_ns is not None) == (start == "window")
    assert found.uncertainty_ns > 0
    slow = found.slow_duration_ns.max(axis=1)
    late = 0 if found.late_ns is None else found.late_ns[found.slow_index]
    assert (found.completion_ns[found.slow_index] <= slow + late).all()
    assert found.completion_ns[found.slow_index[0]] == found.completion_ns.max()
    assert found.rank_ns["rank_max_ns"].max() == pytest.approx(
        found.durations.quantile(1.0), rel=0.01
    )
    assert (found.start_spread_ns >= 0).all()
    # Who entered last in the slowest repetitions, by their raw entries.
    for place, repetition in enumerate(found.slow_index):
        entered = found.slow_begin_ns[place]
        assert entered[found.last_in[repetition]] == entered.max()
        spread = entered.max() - entered.min()
        assert found.start_spread_ns[repetition] == pytest.approx(spread, abs=2)
    start_of = common_start(batch)
    assert start_of is not None
    assert np.isin(start_of.last_out, [0, 1, 2]).all()


@pytest.mark.parametrize("method", ["tree", "offset", "jones_koenig", "wtime"])
def test_every_method_puts_ranks_on_one_clock(method: str) -> None:
    clock = {"test": "clock", "message_bytes": 0, "count": 4, "interval_ns": 1_000_000,
             "clocks": "apart", "clock": method}  # fmt: skip
    with open_mpi(None, 3) as session:
        compared = decode_batch(0, session.run(clock, 60))
        timed = decode_batch(0, session.run({**COLLECTIVE, "clocks": "apart", "clock": method}, 60))
    assert clock_method(compared) == clock_method(timed) == method
    quality = clock_quality(compared)
    assert quality is not None
    assert [rank.rank for rank in quality.ranks] == [0, 1, 2]
    assert len(quality.error_ns)
    # Bounds are certain, but for two programs' readings of one clock.
    if method != "jones_koenig":  # a line through few exchanges may leave their bounds
        assert np.abs(quality.error_ns).max() <= quality.uncertainty_ns + 1000
    if method == "jones_koenig":
        assert {end.counters.get("clock_parent") for end in compared.ends.values()} == {None, 0}
        assert len(compared.ends[2].series["clock_at_ns"]) == 4 * 16
    leads = rank_leads(timed)
    assert sorted(leads) == [0, 1, 2]
    if method == "wtime":
        assert all(lead.uncertainty_ns == 0 for lead in leads.values())
    spread = common_start(timed)
    assert spread is not None
    assert (spread.spread_ns >= 0).all()


def test_windows_do_not_go_with_wtime() -> None:
    with open_mpi(None, 1) as session, pytest.raises(WorkerError, match="do not go together"):
        session.run({**COLLECTIVE, "start": "window", "clock": "wtime"}, 30)
