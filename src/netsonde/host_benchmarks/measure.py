"""Asks a worker for the clocks and sleeps of its host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netsonde.errors import HostError
from netsonde.host_benchmarks.figures import (
    ClockTable,
    SleepFigures,
    SleepTable,
    clock_figures,
    spread,
)
from netsonde.host_benchmarks.plan import CLOCKS, NOTHING, HostPlan
from netsonde.launch.worker import Worker
from netsonde.limits import limit_s
from netsonde.records.data import Series
from netsonde.records.decode import decode_series
from netsonde.stats.quantiles import quantile

FACTS_TIMEOUT_S = limit_s("host-facts")
READINGS_TIMEOUT_S = limit_s("host-clock")  # a million readings at 10 µs are 10 s
LATENESS_S = 0.05  # of a sleep, on a host of slow ticks and busy CPUs
SPARE_S = 10.0


def measure_clocks(worker: Worker, plan: HostPlan) -> ClockTable:
    """Reads every clock as often as planned. Raises HostError."""
    facts = host_facts(worker)
    alone_ns, _ = _read(worker, NOTHING, plan.readings)
    reading_ns = quantile(alone_ns, 0.5)
    found = []
    for clock in CLOCKS:
        call_ns, values = _read(worker, clock, plan.readings)
        found.append(clock_figures(clock, call_ns, reading_ns, values))
    return ClockTable(
        worker.host_name,
        str(facts.get("cpu.architecture", "")),
        facts.get("clock.source"),
        worker.hello["clock"],
        reading_ns,
        tuple(found),
    )


def measure_sleeps(worker: Worker, plan: HostPlan) -> SleepTable:
    """Sleeps as planned, one call after the other. Raises HostError."""
    found = []
    slack_ns = 0
    for call, asked_ns in plan.sleeps:
        timeout_s = 2 * plan.count * (asked_ns / 1e9 + LATENESS_S) + SPARE_S
        slept_ns, values = ask(
            worker, "sleep", "slept_ns", timeout_s, call=call, asked_ns=asked_ns, count=plan.count
        )
        _require(len(slept_ns) == plan.count, worker, "slept less often than it was asked to")
        slack_ns = int(values["timer_slack_ns"])
        found.append(SleepFigures(call, asked_ns, plan.count, spread(slept_ns)))
    return SleepTable(worker.host_name, slack_ns, tuple(found))


def _read(worker: Worker, clock: str, readings: int) -> tuple[Series, dict[str, Any]]:
    call_ns, values = ask(
        worker, "read_clock", "call_ns", READINGS_TIMEOUT_S, clock=clock, count=readings
    )
    missing = values["present"] and len(call_ns) != readings
    _require(not missing, worker, f"read {clock} less often than it was asked to")
    return call_ns, values


def host_facts(worker: Worker) -> dict[str, Any]:
    """What the worker says of its host."""
    facts: dict[str, Any] = {}
    for record in worker.request("facts", FACTS_TIMEOUT_S):
        if record["record"] == "facts":
            facts.update(record["values"])
    return facts


def ask(
    worker: Worker, verb: str, series: str, timeout_s: float, **fields: object
) -> tuple[Series, dict[str, Any]]:
    """A series of a request's answer, and the values of its ``done``."""
    found, values = ask_series(worker, verb, (series,), timeout_s, **fields)
    return found[series], values


def ask_series(
    worker: Worker, verb: str, names: Sequence[str], timeout_s: float, **fields: object
) -> tuple[dict[str, Series], dict[str, Any]]:
    """Several series of a request's answer by name, and the values of its ``done``."""
    records = worker.request(verb, timeout_s + SPARE_S, timeout_ns=round(timeout_s * 1e9), **fields)
    found = {}
    for name in names:
        pieces = [r for r in records if r["record"] == "series" and r["name"] == name]
        _require(bool(pieces), worker, f"answered {verb} without {name}")
        found[name] = decode_series(pieces)
    return found, records[-1]["values"]


def _require(so: bool, worker: Worker, otherwise: str) -> None:
    if not so:
        raise HostError(f"{worker.host_name}: the worker {otherwise}")
