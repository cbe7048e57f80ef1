"""Disturbance, copies, context switches and HINT: from samples that are known to figures."""

from __future__ import annotations

import numpy as np
import pytest
from host_made import QUANTUM_NS, disturbed, hint_of

from netsonde.errors import UsageError
from netsonde.host_benchmarks.judge_work import judge_work
from netsonde.host_benchmarks.plan import PARTS, make_work_plan, parse_parts
from netsonde.host_benchmarks.show_work import work_document, work_lines
from netsonde.host_benchmarks.work_figures import (
    WorkTables,
    context_switch_figures,
    copy_figures,
    noise_figures,
)


def test_the_share_and_the_number_of_detours_are_what_was_put_in():
    noise = noise_figures(disturbed(100, 50_000))
    whole_s = (100_000 * QUANTUM_NS + 1000 * 50_000) / 1e9
    assert noise.detours_per_s == pytest.approx(1000 / whole_s)
    assert noise.share == pytest.approx(1000 * 50_000 / 1e9 / whole_s)
    assert noise.detours is not None
    assert (noise.detours.min_ns, noise.detours.max_ns) == (50_000, 50_000)
    assert noise.quantum.median_ns == QUANTUM_NS


def test_scatter_below_a_microsecond_is_no_detour():
    noise = noise_figures(disturbed(2, 999))
    assert (noise.share, noise.detours_per_s, noise.detours) == (0.0, 0.0, None)
    (judgement,) = judge_work(WorkTables("h1", noise))
    assert judgement.level == "good"
    assert "Nothing disturbed" in judgement.sentence


@pytest.mark.parametrize(
    ("every", "by_ns", "level"),
    [(10_000, 5000, "good"), (100, 5000, "note"), (10, 5000, "warning")],
)
def test_disturbance_is_judged_by_its_share(every, by_ns, level):
    (judgement,) = judge_work(WorkTables("h1", noise_figures(disturbed(every, by_ns))))
    assert judgement.level == level
    assert "5 µs (median)" in judgement.sentence


def test_a_copys_rate_is_bytes_over_the_time_of_one():
    copy = copy_figures(4096, "cache to cache", np.array([800, 1000, 4000]), 10)
    assert copy.copy_ns == 100
    assert copy.byte_per_s == pytest.approx(40.96e9)


def test_a_switch_is_half_a_round_trip_without_its_calls():
    alone, same = np.full(9, 1000), np.full(9, 7000)
    found = context_switch_figures([0, 1], alone, same, np.full(9, 50_000))
    assert (found.calls_ns, found.switch_ns, found.wake_ns) == (1000, 2500, 25_000)
    assert context_switch_figures([0], alone, same, None).wake_ns is None
    assert context_switch_figures([0], alone, np.full(9, 1500), None).switch_ns == 0.0
    (judgement,) = judge_work(WorkTables("h1", context_switches=found))
    assert "Waking a thread of another CPU takes 25 µs" in judgement.sentence


def test_regimes_of_hint_are_where_the_memory_fits():
    memory = [1000, 30_000, 40_000, 1 << 20, (1 << 20) + 40, 1 << 24]
    hint = hint_of([20e6, 20e6, 10e6, 10e6, 2e6, 4e6], memory)
    assert [regime.level for regime in hint.regimes] == ["l1d", "l2", "memory"]
    assert [regime.quips for regime in hint.regimes] == pytest.approx([20e6, 10e6, 3e6])
    flat = hint_of([5e6] * 6, memory)
    assert flat.net_quips == pytest.approx(5e6 * 5 * np.log(4))


def test_tables_fit_80_columns_and_the_document_has_all_of_it():
    tables = WorkTables(
        "a-host-with-a-very-long-name.of-a-very-long-domain.example.org",
        noise_figures(disturbed(100, 50_000_000)),
        tuple(
            copy_figures(size, "memory to memory", np.full(3, 10**9), 1) for size in (64, 1 << 25)
        ),
        context_switch_figures([0, 1], np.full(3, 10**6), np.full(3, 10**9), np.full(3, 10**9)),
        (hint_of([2e8] * 3, [1000, 10**5, 10**8]),),
    )
    lines = work_lines(tables)
    assert max(map(len, lines)) <= 80
    assert any("memory at" in line for line in lines)
    content = work_document(tables)
    assert set(content) == {"host", "noise", "copies", "context_switches", "hint", "judgements"}
    assert len(content["hint"][0]["quips"]) == 3
    assert work_lines(WorkTables("h1")) == []


def test_only_says_what_is_done():
    assert parse_parts(None) == PARTS
    assert parse_parts("hint, clocks") == ("clocks", "hint")
    plan = make_work_plan("clocks,noise", "20ms")
    assert (plan.noise_quanta, plan.copies, plan.threads, plan.hint_subintervals) == (
        2000,
        False,
        False,
        0,
    )
    assert make_work_plan("clocks", None).is_empty
    with pytest.raises(UsageError, match="is none of clocks"):
        parse_parts("clock")
