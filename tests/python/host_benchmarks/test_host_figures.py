"""Clocks and sleeps: from samples to figures, tables and sentences; bad options."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from netsonde.errors import HostError, UsageError
from netsonde.host_benchmarks.figures import ClockTable, SleepTable
from netsonde.host_benchmarks.judge import judge_clocks, judge_sleeps
from netsonde.host_benchmarks.measure import measure_clocks, measure_sleeps
from netsonde.host_benchmarks.plan import CALL_UNITS_NS, CLOCKS, HostPlan, make_plan, short_time
from netsonde.host_benchmarks.show import (
    WIDTH,
    clock_document,
    clock_lines,
    sleep_document,
    sleep_lines,
)
from netsonde.records.decode import encode_series

READING_NS = 10
COUNTER = {"source": "cycle_counter", "reason": "an example"}
USUAL_COST_NS = {
    "counter": 10,
    "process_cputime": 250,
    "thread_cputime": 180,
    "system_call": 120,
}


class MadeWorker:
    """A host whose clocks cost what ``costs`` says, and whose sleeps end so late."""

    host_name = "h1"

    def __init__(self, late_ns: int = 55_000, slack_ns: int = 50_000) -> None:
        self.hello = {"clock": COUNTER}
        self.costs = dict.fromkeys(CLOCKS, 25) | USUAL_COST_NS
        self.values: dict[str, dict[str, Any]] = {}
        self.lost = 0
        self.late_ns = late_ns
        self.slack_ns = slack_ns

    def request(self, verb: str, timeout_s: float, **fields: Any) -> list[dict[str, Any]]:
        assert timeout_s > 0
        if verb == "facts":
            values = {"cpu.architecture": "x86_64", "clock.source": "tsc"}
            return [{"record": "facts", "values": values}, {"record": "done", "values": {}}]
        assert timeout_s > fields["timeout_ns"] / 1e9
        series, samples, values = getattr(self, verb)(**fields)
        samples = samples[: len(samples) - self.lost]
        return [
            *encode_series(0, "h1", series, "ns", samples),
            {"record": "done", "values": values},
        ]

    def read_clock(self, clock: str, count: int, timeout_ns: int) -> tuple[str, Any, Any]:
        assert timeout_ns < 10**12
        cost_ns = 0 if clock == "nothing" else self.costs[clock]
        samples = np.full(count, READING_NS + cost_ns, dtype=np.int64)
        if clock != "nothing":
            samples[0] += 10 * count  # one that was interrupted: ten more on average
        values = {"present": True, "steps": count, "steps_back": 0}
        if clock != "nothing":
            values |= {"smallest_step_ns": cost_ns, "stated_resolution_ns": 1.0}
        return "call_ns", samples, values | self.values.get(clock, {})

    def sleep(self, call: str, asked_ns: int, count: int, timeout_ns: int) -> tuple[str, Any, Any]:
        assert asked_ns % CALL_UNITS_NS[call] == 0
        assert timeout_ns > asked_ns * count
        slept_ns = asked_ns + self.late_ns + np.arange(count, dtype=np.int64)
        return "slept_ns", slept_ns, {"timer_slack_ns": self.slack_ns}


def clocks_of(worker: MadeWorker, readings: int = 1000) -> ClockTable:
    return measure_clocks(worker, HostPlan(readings, 0, ()))  # type: ignore[arg-type]


def sleeps_of(worker: MadeWorker, plan: HostPlan | None = None) -> SleepTable:
    return measure_sleeps(worker, plan or make_plan(1000, None, None, None))  # type: ignore[arg-type]


def said(judgements: list[Any]) -> dict[str, str]:
    """The sentences by level, joined."""
    found: dict[str, str] = {}
    for judgement in judgements:
        found[judgement.level] = found.get(judgement.level, "") + judgement.sentence + " "
    return found


# Figures.


def test_the_reading_in_between_is_taken_off():
    table = clocks_of(MadeWorker())
    assert table.reading_ns == READING_NS
    cost = table.clock("monotonic").cost
    assert (cost.min_ns, cost.median_ns, cost.max_ns) == (25, 25, 10_025)
    assert cost.mean_ns == pytest.approx(35)
    assert table.clock("monotonic").smallest_step_ns == 25
    assert [clock.clock for clock in table.clocks] == list(CLOCKS)
    assert all(clock.readings == 1000 for clock in table.clocks)


def test_no_cost_is_below_nothing():
    worker = MadeWorker()
    worker.costs["counter"] = -3
    assert clocks_of(worker).clock("counter").cost.min_ns == 0


def test_a_sleep_by_hand():
    (sleep,) = sleeps_of(MadeWorker(55_000), HostPlan(1, 100, (("nanosleep", 10_000),))).sleeps
    assert (sleep.slept.min_ns, sleep.slept.max_ns) == (65_000, 65_099)
    assert sleep.slept.mean_ns == sleep.slept.median_ns == pytest.approx(65_049.5)
    assert sleep.slept.p99_ns == pytest.approx(65_098.01)
    assert sleep.late_ns == pytest.approx(55_049.5)


def test_an_answer_with_too_few_samples_is_refused():
    worker = MadeWorker()
    worker.lost = 1
    with pytest.raises(HostError, match="h1: the worker read nothing less often"):
        clocks_of(worker)
    with pytest.raises(HostError, match="h1: the worker slept less often"):
        sleeps_of(worker)


# Tables.


def test_the_tables_fit_80_columns():
    worker = MadeWorker(late_ns=123_456_789)
    worker.values["counter"] = {"present": False, "absent_because": "no counter " * 20}
    worker.costs["system_call"] = 9_999_999
    for lines in (clock_lines(clocks_of(worker)), sleep_lines(sleeps_of(worker))):
        assert max(map(len, lines)) <= WIDTH


def test_what_the_table_of_clocks_says():
    worker = MadeWorker()
    worker.values["monotonic_coarse"] = {"smallest_step_ns": 4e6, "stated_resolution_ns": 4e6}
    lines = clock_lines(clocks_of(worker))
    assert lines[0] == "Clocks of h1, 1000 readings each"
    rows = {line.split("  ")[0]: line.split() for line in lines}
    assert rows["counter (TSC)"][-4:] == ["10.0", "10.0", "20.0", "10010"]
    assert rows["CLOCK_MONOTONIC"][1:] == ["1", "ns", "25", "ns", "25.0", "25.0", "35.0", "10025"]
    assert rows["CLOCK_MONOTONIC_COARSE"][1:5] == ["4", "ms", "4", "ms"]
    table = lines[4 : lines.index("", 4)]
    assert [len(row) for row in table] == [WIDTH] * len(CLOCKS)
    assert table[-1].startswith("(a system call)")


def test_a_missing_counter_is_a_row_without_figures_and_a_sentence():
    worker = MadeWorker()
    worker.values["counter"] = {"present": False, "absent_because": "this CPU has none"}
    lines = clock_lines(clocks_of(worker))
    assert next(line for line in lines if line.startswith("counter")).split()[-4:] == ["–"] * 4
    assert "There is no counter to read: this CPU has none." in lines


def test_what_the_table_of_sleeps_says():
    lines = sleep_lines(sleeps_of(MadeWorker()))
    assert lines[0] == "Sleeps of h1, 100 of each"
    row = next(line for line in lines if line.split()[:3] == ["usleep", "10", "µs"])
    assert row.split()[3:] == [*("65.05", "µs") * 2, *("65.10", "µs") * 2, "55.05", "µs"]
    # poll counts in ms: 1 and 10 µs cannot be asked of it.
    assert len([line for line in lines if line.startswith("poll")]) == 3
    assert len([line for line in lines if line.startswith("select")]) == 5


def test_the_documents_are_json_with_everything():
    worker = MadeWorker()
    clocks = json.loads(json.dumps(clock_document(clocks_of(worker))))
    assert {c["clock"] for c in clocks["clocks"]} == set(CLOCKS)
    assert clocks["clocks"][0]["name"] == "counter (TSC)"
    assert clocks["judgements"]
    sleeps = json.loads(json.dumps(sleep_document(sleeps_of(worker))))
    assert sleeps["timer_slack_ns"] == 50_000
    assert len(sleeps["sleeps"]) == 4 * 5 + 3
    assert sleeps["sleeps"][0]["late_median_ns"] == pytest.approx(55_049.5)
    assert sleeps["judgements"]


# Sentences.


def test_a_clock_of_the_vdso_is_told_from_a_system_call():
    worker = MadeWorker()
    assert (
        "without entering the kernel (vDSO): 25 ns against 120 ns"
        in said(judge_clocks(clocks_of(worker)))["good"]
    )
    worker.costs["monotonic"] = 118
    sentences = said(judge_clocks(clocks_of(worker)))
    assert "as much as a system call (118 ns against 120 ns)" in sentences["warning"]
    assert "keeps time by tsc" in sentences["warning"]


def test_dear_coarse_and_backward_clocks_are_named():
    worker = MadeWorker()
    notes = said(judge_clocks(clocks_of(worker)))["note"]
    assert "CLOCK_PROCESS_CPUTIME_ID (250 ns) costs more than 200 ns" in notes
    assert "THREAD" not in notes
    worker.values["monotonic"] = {"smallest_step_ns": 976_500.0}
    worker.values["realtime"] = {"steps_back": 1}
    worker.values["monotonic_raw"] = {"steps_back": 2}
    sentences = said(judge_clocks(clocks_of(worker)))
    assert (
        "CLOCK_MONOTONIC moves in steps of 976.5 µs: a time below 4.883 s" in sentences["warning"]
    )
    assert "CLOCK_MONOTONIC_RAW went back 2 times" in sentences["bad"]
    assert "CLOCK_REALTIME went back once" in sentences["note"]


def test_a_counter_that_is_not_trusted_is_said():
    worker = MadeWorker()
    worker.hello = {"clock": {"source": "monotonic", "reason": "its rate changed"}}
    notes = said(judge_clocks(clocks_of(worker)))["note"]
    assert "The counter is not used for timing: its rate changed." in notes


@pytest.mark.parametrize(
    ("late_ns", "slack_ns", "level", "words"),
    [
        (55_000, 50_000, "note", "of which up to 50 µs are the timer slack"),
        (55_000, 1, "note", "Short sleeps end 55.05 µs late (median)."),
        (4_000, 50_000, "note", "Short sleeps end 4.05 µs late (median)."),
        (9_000_000, 50_000, "warning", "timers move with the kernel's tick"),
        (9_000_000, 50_000, "note", "the latest came 9 ms after its time"),
        (-600, 50_000, "bad", "nanosleep returned 600 ns before the 1 µs"),
    ],
)
def test_late_sleeps_are_explained(late_ns, slack_ns, level, words):
    sentences = said(judge_sleeps(sleeps_of(MadeWorker(late_ns, slack_ns))))
    assert words in sentences[level]


def test_sleeps_that_are_long_say_nothing_of_short_ones():
    plan = HostPlan(1, 10, (("poll", 10_000_000),))
    assert judge_sleeps(sleeps_of(MadeWorker(), plan)) == []


# Options.


def test_the_usual_plan():
    plan = make_plan(100_000, None, None, None)
    assert (plan.readings, plan.count) == (100_000, 100)
    assert [ns for call, ns in plan.sleeps if call == "nanosleep"] == [0, 1000, 10**4, 10**7, 10**8]
    assert 55e9 < plan.asked_ns < 56e9


def test_each_sleep_is_planned_once():
    plan = make_plan(1, "0,10us,10us,1.5us", 5, "usleep,usleep,nanosleep")
    assert plan.sleeps == (
        *(("usleep", 0), ("usleep", 10_000)),
        *(("nanosleep", 0), ("nanosleep", 10_000), ("nanosleep", 1500)),
    )
    assert make_plan(1, "none", None, None).sleeps == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"readings": 0}, "--readings 0 is not between 1 and 1000000"),
        ({"readings": 1_000_001}, "--readings 1000001"),
        ({"count": 0}, "--count 0 is not between 1 and 10000"),
        ({"count": 10_001}, "--count 10001"),
        ({"sleeps": "soon"}, "--sleeps soon: duration 'soon' is not a duration"),
        ({"sleeps": ""}, "--sleeps : duration ''"),
        ({"sleeps": "2s"}, "--sleeps 2s: 2.000 s is longer than the most, 1.000 s"),
        ({"sleeps": ",".join("0" * 21)}, "--sleeps names 21 sleeps; 20 are the most"),
        ({"calls": "nanosleep,nap"}, "--calls 'nap' is none of nanosleep, usleep"),
        ({"calls": "poll", "sleeps": "1us"}, "--calls poll cannot sleep for any of --sleeps 1us"),
        ({"sleeps": "none", "count": 5}, "--count 5 is for sleeps, and --sleeps none"),
        ({"sleeps": "none", "calls": "poll"}, "--calls poll is for sleeps, and --sleeps none"),
        ({"sleeps": "1s", "count": 500}, "--sleeps 1s with --count 500 would sleep for 2500 s"),
    ],
)
def test_bad_options_are_refused(options, words):
    given = {"readings": 100, "sleeps": None, "count": None, "calls": None} | options
    with pytest.raises(UsageError) as caught:
        make_plan(**given)
    assert words in str(caught.value)


def test_times_in_short():
    given = [0, 0.476, 1, 250.26, 999.99, 1000, 976_500, 1e9]
    texts = ["0", "0.476 ns", "1 ns", "250.3 ns", "1000 ns", "1 µs", "976.5 µs", "1 s"]
    assert [short_time(ns) for ns in given] == texts
