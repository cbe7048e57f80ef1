"""A point measured again and again, as it was and with one thing changed at a time.

The plan of ``netsonde explain --probe``: what is changed is in :mod:`netsonde.experiments`, what
follows from it in :mod:`netsonde.explain.probe`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from netsonde.catalogue.launcher import HERE, is_closed
from netsonde.catalogue.options.sockets import options_of
from netsonde.catalogue.test import names_of
from netsonde.errors import UsageError
from netsonde.experiments import BASE_LABEL, EXPERIMENTS
from netsonde.records.data import Point, Run
from netsonde.study.measure_table import MeasureTable
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec

REPETITIONS = 8
"""Of each: the fewest whose interval is useful where ten things are compared at once."""
CAP_NS = 500_000_000
FIXED_BUFFER_BYTES = 1 << 20
ENLARGED = 4
HEADERS_BYTES = {"ipv4": 40, "ipv6": 60}
LEAST_SEGMENT_BYTES = 88
BUSY_POLL_US = 50
BATCH = 16
CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
PROBED = (*names_of("is_stream"), *names_of("is_round_trip"), *names_of("is_operation"))

Change = tuple[str, dict[str, Any], dict[str, Any]]
"""A label, options, and keys of the block."""


def choose_point(run: Run, wanted: str | None, ranked: tuple[str, ...] = ()) -> Point:
    """The point to be probed: the one that was named, else the first of ``ranked`` (points of the
    findings, the most important first) that can be, else the first that can. Raises UsageError."""
    points = {point.id: point for point in run.points}
    if wanted is not None:
        if wanted not in points:
            raise UsageError(f"{run.directory} has no point {wanted}; it has {_span(list(points))}")
        _require_probed(points[wanted])
        return points[wanted]
    for name in (*ranked, *points):
        if name in points and points[name].measured and points[name].test in PROBED:
            return points[name]
    raise UsageError(f"{run.directory} has no point that can be probed ({', '.join(PROBED)})")


def _require_probed(point: Point) -> None:
    if point.test not in PROBED:
        what = "a program" if point.kind.is_program else f"test {point.test}"
        raise UsageError(f"{point.id} is {what}; what can be probed is {', '.join(PROBED)}")


def _span(names: list[str]) -> str:
    return f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names) or "none"


def probe_study(
    run: Run,
    spec: StudySpec,
    point: Point,
    repetitions: int,
    *,
    other_work: bool = True,
    cap_ns: int = CAP_NS,
) -> StudySpec:
    """The study of the experiments: the point as it was and with each change, so many times, in
    random order. ``other_work``: hosts can be given some. Raises UsageError where the point is not
    in the study any more."""
    block = _block_of(spec, point)
    own = {
        **block.model_dump(exclude_none=True),
        "transports": [point.transport],
        "sizes": [point.message_bytes],
        "operations": [point.operation] if point.operation is not None else [],
        "mtu": [point.mtu_bytes] if point.mtu_bytes is not None else [],
        "loads": [],
        "perturb": 0,
        "refine": 0,
        "size_of": "each",
        "cap": min(point.spec.cap_ns, cap_ns),
    }
    busy = point.spec.chosen.busy
    own["background_load"] = [busy] if busy is not None else []
    options = {key: value for key, value in own.pop("options").items() if value is not None}
    changes = list(_changes(run, spec, point, block))
    if other_work and busy is None:
        changes += [
            (EXPERIMENTS[f"busy_{end}"].label, {}, {"background_load": [f"{end}=100%"]})
            for end in ("origin", "target")
        ]
    blocks = [
        {**own, **keys, "label": label, "options": {**options, **changed}}
        for label, changed, keys in [(BASE_LABEL, {}, {}), *changes]
    ]
    content = spec.model_dump(exclude_none=True)
    content["name"] = f"probe-{spec.name}"[:64]
    content["measure"] = blocks * repetitions
    content["program"] = []
    content["require"] = []  # of what is as it was, not of what is changed
    content["launches"] = 1  # the repetitions are in their place
    content["seed"] = None
    content["mpi"]["launches"] = None
    content["mpi"]["ranks"] = [point.spec.ranks or 2]
    content["mpi"]["mpi"] = [point.spec.mpi or spec.mpi.mpi[0]]
    content["mpi"]["ppn"] = [] if point.spec.ppn is None else [point.spec.ppn]
    return StudySpec.model_validate(content)


def _block_of(spec: StudySpec, point: Point) -> MeasureTable:
    """The block that the point is of; for a size that was added later, one of its test."""
    number = 0
    for block in spec.measure:
        alone = spec.model_copy(update={"measure": [block], "program": []})
        number += len(plan_points(alone))
        if point.id.removeprefix("p").isdecimal() and int(point.id[1:]) <= number:
            return block
    for block in spec.measure:
        if point.transport in block.transports and point.test == block.test:
            return block
    raise UsageError(f"{point.id} is not in the study of {point.transport} {point.test}")


def _changes(run: Run, spec: StudySpec, point: Point, block: MeasureTable) -> Iterator[Change]:
    options = block.options
    if not point.carrier.has_ranks:
        for name, changed in _options_changed(run, spec, point, block):
            if set(changed) <= set(options_of(point.transport)):
                label, braces, _ = EXPERIMENTS[name].label.partition("{}")
                yield label + (changed["congestion_control"] if braces else ""), changed, {}
        if os.geteuid() == 0 and options.busy_poll_us is None:
            yield EXPERIMENTS["busy_polling"].label, {"busy_poll_us": BUSY_POLL_US}, {}


def _options_changed(
    run: Run, spec: StudySpec, point: Point, block: MeasureTable
) -> Iterator[tuple[str, dict[str, Any]]]:
    options = block.options
    if point.kind.is_stream or point.message_bytes > FIXED_BUFFER_BYTES:
        yield from _buffers(block)
    if point.carrier.has_connection and point.kind.is_stream:
        # With options, segments carry 12 bytes less; half of either is far enough away.
        most = run.mtu_bytes(point) - HEADERS_BYTES[spec.path.family]
        segment = (options.max_segment or most) // 2
        if segment >= LEAST_SEGMENT_BYTES:
            yield "smaller_segments", {"max_segment": segment}
        yield from _other_congestion_controls(run, point)
    if point.carrier.has_connection and not options.no_delay:
        yield "no_delay", {"no_delay": True, "cork": None}
    if options.wait == "block" and options.sending in (None, "copy"):
        yield "spinning", {"wait": "spin"}
    is_own_call = (options.datagrams_per_call or 1) == 1 and block.rate is None
    if point.carrier.counts_datagrams and point.kind.is_one_way_stream and is_own_call:
        yield "batches", {"datagrams_per_call": BATCH}
    if options.origin_cpu is None and options.target_cpu is None:
        yield _placed(spec, options.placement)


def _buffers(block: MeasureTable) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = {
        name: getattr(block.options, name)
        for name in ("buffer", "receive_buffer", "target_buffer")
        if getattr(block.options, name) is not None
    }
    if asked:
        yield "larger_buffers", {name: ENLARGED * value for name, value in asked.items()}
    else:
        yield "fixed_buffers", {"buffer": FIXED_BUFFER_BYTES}


def _other_congestion_controls(run: Run, point: Point) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those of this machine's kernel, where it is the origin's."""
    if (run.manifest.get("path") or {}).get("kind") not in ("lab", "loopback"):
        return
    try:
        available = CONGESTION_CONTROLS.read_text().split()
    except OSError:
        return
    in_use = point.opened.get(0, {}).get("congestion_control")
    for other in available:
        if other != in_use:
            yield "other_congestion", {"congestion_control": other}


def _placed(spec: StudySpec, placement: str) -> tuple[str, dict[str, Any]]:
    here = spec.path.kind in ("auto", "lab", "loopback") or is_closed(spec.path.target)
    if not here and spec.path.target != HERE.word:
        return "pinned", {"origin_cpu": 0, "target_cpu": 0}
    cpus = sorted(os.sched_getaffinity(0))
    if placement == "apart" or len(cpus) < 2:
        return "together", {"origin_cpu": cpus[0], "target_cpu": cpus[0]}
    return "apart", {"origin_cpu": cpus[0], "target_cpu": cpus[1]}
