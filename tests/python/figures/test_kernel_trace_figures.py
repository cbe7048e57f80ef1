"""Kernel tracing: from what the programs counted to figures, tables and findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from netsonde.explain.data import Seen
from netsonde.explain.kernel_trace_rules import kernel_trace_findings
from netsonde.figures.compute import figures_of
from netsonde.figures.kernel_trace import PRECISION_BITS, kernel_trace_of
from netsonde.records.data import Batch, EndData, Point, Run, Snapshot
from netsonde.report.kernel_trace_table import print_kernel_traces, traces_of_points
from netsonde.report.lookup import Study
from netsonde.stats.histogram import LogLinearHistogram

MS = 1_000_000


def counted(layer: str, samples: list[int]) -> dict[str, int]:
    """What a snapshot says of these waits."""
    histogram = LogLinearHistogram.of(samples, precision_bits=PRECISION_BITS)
    filled = {f"depth.{layer}.bucket.{i}": int(n) for i, n in enumerate(histogram.counts) if n}
    return {
        f"depth.{layer}.count": len(samples),
        f"depth.{layer}.sum_ns": sum(samples),
        f"depth.{layer}.max_ns": max(samples, default=0),
        **filled,
    }


Opened = dict[int, dict[str, int | float | str | bool]]


def end(rank: int, number: int, **layers: list[int]) -> EndData:
    """An end of a batch; each batch adds the same to what was counted before."""
    before: dict[str, int] = {"depth.missed": 0, "depth.dropped": 0}
    after = dict(before)
    for layer, samples in layers.items():
        for name, value in counted(layer, samples).items():
            if name.endswith("max_ns"):
                before[name], after[name] = 0, value
                continue
            if number:
                before[name] = number * value
            elif "bucket" not in name:
                before[name] = 0
            after[name] = (number + 1) * value
    after |= {"depth.softirq.NET_RX.count": 10, "depth.softirq.NET_RX.sum_ns": 5000}
    after["depth.softirq.NET_RX.max_ns"] = 900
    data = EndData(rank, f"h{rank + 1}")
    data.before = Snapshot("before", 0, 0, before)
    data.after = Snapshot("after", 100 * MS, 0, after)
    before["depth.calls"], after["depth.calls"] = 250 * number, 250 * (number + 1)
    data.counters["messages_sent"] = 100
    data.series["round_trip_ns"] = np.full(100, 50_000, np.int64)
    return data


def run_of(point: Point) -> Run:
    manifest = {
        **{"origin": "real", "path": {"kind": "network"}, "hosts": {}},
        **{"name": "n", "seed": 1, "started_utc": "", "points": []},
    }
    return Run(Path("run"), manifest, [point], True)


def point_with(*batches: Batch, opened: Opened) -> Point:
    parameters = {"message_bytes": 64, "options": {"depth": True}}
    return Point(
        "p001", "tcp", "latency", parameters, "finished", opened=opened, batches=list(batches)
    )


DEEP: Opened = {0: {"depth": True}, 1: {"depth": True}}


def made(retransmits: dict[str, int] | None = None) -> Point:
    batches = []
    for number in range(2):
        origin = end(
            0,
            number,
            scheduler=[800_000] * 10,
            queue=[200_000] * 90 + [800_000] * 10,
            driver=[700] * 100,
            receive=[10_000] * 100,
        )
        for cause, count in (retransmits or {}).items():
            assert origin.after is not None
            origin.after.values[f"depth.retransmits.{cause}"] = count  # type: ignore[index]
        target = end(1, number, scheduler=[3000] * 10, queue=[900] * 100)
        batches.append(Batch(number, {0: origin, 1: target}))
    return point_with(*batches, opened=DEEP)


def test_batches_are_added_and_buckets_that_were_empty_before() -> None:
    trace = kernel_trace_of(made(), 0)
    assert trace is not None
    queue = trace.waits["queue"]
    assert (queue.count, queue.sum_ns) == (200, 2 * (90 * 200_000 + 10 * 800_000))
    assert queue.max_ns == 800_000
    assert sum(queue.buckets.values()) == 200
    # Within the eighth that a bucket may be off.
    assert queue.histogram.quantile(0.5) == pytest.approx(200_000, rel=0.125)
    assert queue.histogram.quantile(0.99) == pytest.approx(800_000, rel=0.125)
    assert trace.softirqs["NET_RX"].count == 20


def test_figures_are_of_each_end_and_layer() -> None:
    figures = {f.name: f.value for f in figures_of(run_of(made({"fast": 3})))}
    assert figures["origin_queue_wait_median_ns"] == pytest.approx(200_000, rel=0.125)
    assert figures["origin_queue_wait_max_ns"] == 800_000
    assert figures["target_queue_wait_median_ns"] == pytest.approx(900, rel=0.125)
    # 20 waits of 0.8 ms over the 200 messages that the origin sent.
    assert figures["origin_scheduler_wait_per_message_ns"] == 16 * MS / 200
    assert figures["origin_softirq_per_message_ns"] == 10_000 / 200
    assert figures["origin_system_calls_per_message"] == 500 / 200
    assert figures["retransmits_fast"] == 6
    assert figures["retransmits_time_out"] == 0
    assert "target_receive_wait_median_ns" not in figures


def test_without_kernel_tracing_there_are_no_figures_and_no_table() -> None:
    plain = end(0, 0)
    assert plain.before is not None
    assert plain.after is not None
    plain.before.values.clear()  # type: ignore[attr-defined]
    plain.after.values.clear()  # type: ignore[attr-defined]
    point = point_with(Batch(0, {0: plain}), opened={})
    point = replace(point, parameters=point.spec.but_for("options"))
    run = run_of(point)
    figures = figures_of(run)
    assert not any("wait" in f.name or "retransmits" in f.name for f in figures)
    assert traces_of_points(Study(run, figures)) == []
    assert kernel_trace_findings(Seen(run, figures)) == []


def claims(point: Point) -> list[str]:
    run = run_of(point)
    return [finding.claim for finding in kernel_trace_findings(Seen(run, figures_of(run)))]


def test_findings_name_the_cause_the_worker_and_the_layer() -> None:
    again, waited, held = claims(made({"time_out": 3, "fast": 1}))
    assert "8 segments were retransmitted, most after a timeout" in again
    assert "worker at the origin waited 16.00 ms" in waited
    assert "80.00 µs for each message" in waited
    assert "queueing discipline of the origin's device" in held


def test_short_waits_are_what_waking_takes() -> None:
    """However many: the CPU was free."""
    for waits in ([20_000] * 2000, [20_000] * 100 + [20 * MS]):  # and one is anything's
        ends = {rank: end(rank, 0, scheduler=waits) for rank in (0, 1)}
        assert claims(point_with(Batch(0, ends), opened=DEEP)) == []


def test_one_segment_is_one() -> None:
    point = made({"probe": 1})
    point.batches.pop()
    assert "1 segment was retransmitted, as a probe" in claims(point)[0]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("not_compiled", "without Clang or libbpf"),
        ("no_btf", "/sys/kernel/btf/vmlinux"),
        ("capability", "CAP_BPF"),
        ("refused", "(Operation not permitted)"),
    ],
)
def test_missing_kernel_tracing_is_said_once(reason: str, words: str) -> None:
    why: dict[str, int | float | str | bool] = {
        "depth": False,
        "depth_missing": reason,
        "depth_detail": "Operation not permitted",
    }
    (found,) = claims(without(why))
    assert words in found
    assert "the origin and the target" in found


def without(why: dict[str, int | float | str | bool]) -> Point:
    ends = {}
    for rank in (0, 1):
        ends[rank] = end(rank, 0)
        for taken in (ends[rank].before, ends[rank].after):
            assert taken is not None
            taken.values.clear()  # type: ignore[attr-defined]
    return point_with(Batch(0, ends), opened={0: why, 1: dict(why)})


def test_echoes_beside_others_miss_nothing() -> None:
    point = without({})
    point.transport = "icmp"
    assert claims(point) == []


def test_what_was_not_counted_is_said() -> None:
    point = made()
    after = point.batches[0].ends[0].after
    assert after is not None
    after.values["depth.missed"] = 5  # type: ignore[index]
    assert any("incomplete" in claim for claim in claims(point))


def test_the_tables_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(made({"fast": 3}))
    study = Study(run, figures_of(run))
    (table,) = traces_of_points(study)
    assert {row.end for row in table.rows} == {"origin", "target"}
    assert "Retransmitted segments: 6 shown by acknowledgements." in table.notes
    print_kernel_traces(study, Console(width=200, highlight=False, no_color=True), 3)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80, lines
    assert any("in the queue" in line and "800" in line for line in lines)
    medians = [row.cells[0] for row in table.rows if not row.name.startswith("Softirq")]
    assert medians
    assert all("±" in cell or "[no interval]" in cell for cell in medians)
