"""``netsonde model measure``: a run of all that parameters are fitted to, and the fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from netsonde.errors import HostError, UsageError
from netsonde.host_benchmarks.measure_work import measure_work
from netsonde.host_benchmarks.plan import make_work_plan
from netsonde.hosts import parse_hosts
from netsonde.launch.worker import start_worker
from netsonde.model.fit import Fitted, fit_platform
from netsonde.modelling.plan import Plan, burst_blocks, measured_blocks, study_content
from netsonde.platforms.document import parse_platform, platform_document
from netsonde.platforms.observed import observe, write_copies
from netsonde.study.execute import Outcome, Progress, start_study
from netsonde.study.spec import StudySpec

Copies = list[tuple[str, int, float]]


def measure(
    plan: Plan,
    parent: Path,
    command: Sequence[str],
    progress: Progress,
    *,
    rate_bit_per_s: float | None,
    name: str,
    only_bursts: bool = False,
    notice: Callable[[str], None] = lambda _: None,
) -> tuple[Fitted, Path]:
    """Measures into a new run directory, and fits the platform to it. Points that failed are told
    to ``notice``. Raises HostError where nothing could be measured, UsageError where nothing can be
    fitted or nobody says the links' rate."""
    blocks = burst_blocks(plan) if only_bursts else measured_blocks(plan)
    copies = [] if only_bursts else measure_copies(plan)
    outcome = run_study(plan, "model-measure", blocks, parent, command, progress)
    for id_, why in outcome.failures.items():
        notice(f"{id_} failed: {why}")
    if copies:
        write_copies(outcome.directory, copies)
    return fit(outcome.directory, rate_bit_per_s, plan.packet_bytes, name), outcome.directory


def run_study(
    plan: Plan,
    name: str,
    blocks: Sequence[dict[str, object]],
    parent: Path,
    command: Sequence[str],
    progress: Progress,
) -> Outcome:
    """A run of some blocks. Raises HostError and UsageError as studies do."""
    spec = StudySpec.model_validate(study_content(plan, name, blocks))
    return start_study(spec, parent, command, progress)


def fit(directory: Path, rate_bit_per_s: float | None, packet_bytes: int, name: str) -> Fitted:
    """A platform that can be written and read again."""
    observed = observe([directory], rate_bit_per_s, packet_bytes, name)
    try:
        fitted = fit_platform(observed)
        where = "the measured platform"
        parse_platform(json.dumps(platform_document(fitted.platform)), where)
    except ValueError as error:
        raise UsageError(str(error)) from error
    about = f"measured over {directory.name}"[:500]
    return replace(fitted, platform=replace(fitted.platform, about=about))


def measure_copies(plan: Plan) -> Copies:
    """What copies take on the first host: M_ctc, M_ctm and M_mtm. Raises HostError."""
    host = parse_hosts(plan.hosts[:1])[0]
    try:
        with start_worker(host) as worker:
            tables = measure_work(worker, make_work_plan("copies", None))
    except HostError as error:
        raise HostError(f"copies of memory cannot be timed: {error}") from error
    return [(one.kind, one.size_bytes, one.copy_ns) for one in tables.copies]
