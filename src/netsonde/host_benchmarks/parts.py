"""What ``netsonde host`` measures, part after part: lines for a terminal, and a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from netsonde.host_benchmarks.figures import ClockTable, SleepTable
from netsonde.host_benchmarks.kernel import (
    Ceiling,
    Offers,
    ceiling_lines,
    kernel_offers,
    measure_ceiling,
    offer_lines,
)
from netsonde.host_benchmarks.measure import host_facts, measure_clocks, measure_sleeps
from netsonde.host_benchmarks.measure_work import measure_work, processors_of
from netsonde.host_benchmarks.plan import HostPlan, WorkPlan
from netsonde.host_benchmarks.show import clock_document, clock_lines, sleep_document, sleep_lines
from netsonde.host_benchmarks.show_work import work_document, work_lines
from netsonde.host_benchmarks.work_figures import WorkTables
from netsonde.launch.host import Host
from netsonde.launch.worker import Worker

Found = ClockTable | SleepTable | WorkTables | Offers | Ceiling


@dataclass(frozen=True)
class Part:
    """One part's tables, what they contain by name, and what was found, for a page."""

    lines: list[str]
    document: dict[str, Any]
    found: Found


def measure_parts(
    host: Host, worker: Worker, parts: Sequence[str], plan: HostPlan, work: WorkPlan
) -> Iterator[Part]:
    """Measures each when it is asked for; ``worker`` is one of the host's. Raises HostError."""
    if "clocks" in parts:
        clocks = measure_clocks(worker, plan)
        yield Part(clock_lines(clocks), {"clocks": clock_document(clocks)}, clocks)
    if plan.sleeps:
        sleeps = measure_sleeps(worker, plan)
        yield Part(sleep_lines(sleeps), {"sleeps": sleep_document(sleeps)}, sleeps)
    if not work.is_empty:
        tables = measure_work(worker, work)
        yield Part(work_lines(tables), {"work": work_document(tables)}, tables)
    if "kernel" in parts:
        offers = kernel_offers(worker)
        yield Part(offer_lines(offers), {"kernel": asdict(offers)}, offers)
    if "ceiling" in parts:
        cuts = not kernel_offers(worker).offers["segment_offload"]
        ceiling = measure_ceiling(host, len(processors_of(host_facts(worker))), cuts)
        yield Part(ceiling_lines(ceiling), {"ceiling": asdict(ceiling)}, ceiling)
