"""The lines above every file: what was measured, where, between whom, by which clock and data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import netsonde
from netsonde.catalogue.point import Collective, PointSpec
from netsonde.mpibench.options import Summing
from netsonde.mpibench.sets import FileSet
from netsonde.operations import operations
from netsonde.ranks.times import is_message, partners_in
from netsonde.records.carried import NODE, carried_by, carried_in_words
from netsonde.records.data import Point, Run
from netsonde.records.timer import costs_ns, is_taken_off
from netsonde.reductions import reduction_in_words
from netsonde.stats.quantiles import quantile, quantile_interval
from netsonde.units import format_rate

SHOWN = 16
"""Pairs, or ranks with their CPUs, on a line."""
SETTING = "mpi.environment."
_CLOCKS = {
    "tree": "compared along a tree, before and after each batch; a line through both",
    "offset": "compared once, before each batch, without a drift",
    "wtime": "MPI_Wtime, which is global in this MPI",
    "jones_koenig": "a line through many comparisons of each batch (Jones and Koenig)",
}


def head(run: Run, found: FileSet, summing: Summing, command: str) -> str:
    """Comment lines, the same above each file of a set."""
    point = found.points[0]
    spec = point.spec.of(Collective)
    chosen = "all" if summing.ranks is None else ", ".join(map(str, summing.ranks))
    factor = summing.outlier_factor
    rule = "none" if factor is None else f"more than {factor:g} times the mean of all"
    apart = [f"apart from other files of this run: {found.in_words}"] if found.apart else []
    lines = [
        f"netsonde mpibench, version {netsonde.__version__}",
        f"command: {command}",
        f"measured: {run.manifest.get('started_utc', '')}, {run.origin}, run {run.directory.name}",
        *apart,
        f"routine: {point.operation}, {_processes(point)}; start: "
        f"{spec.start or 'barrier'}; root: {_root(spec)}; launch: {spec.launch or 1}",
        *_reduction(spec),
        *_pairs(point, spec),
        *_network(run, found.points),
        *_hosts(run, point),
        _binding(point),
        f"clock: {_timer(run)} of each process; {_clock(spec)}",
        *_overhead(found, summing),
        _cache(spec),
        f"sizes: bytes, {summing.size_of}; repetitions: {_repetitions(found)}; warm-up left out: "
        f"{summing.warm_up} of them; processes: {chosen}; outliers: {rule}",
        "times in microseconds, MB of 10^6 bytes",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _processes(point: Point) -> str:
    count = len(point.batches[0].ends) if point.batches else point.spec.ranks or "?"
    each = point.spec.ppn
    return f"{count} processes" + (f", {each} on a host" if each else "")


def _root(spec: Collective) -> str:
    return "rotating" if spec.rotate_root else str(spec.root or 0)


def _reduction(spec: Collective) -> Iterator[str]:
    """By what words are joined, of operations that join any."""
    known = operations().get(str(spec.operation))
    if known is not None and known.reduces:
        yield f"reduction: {reduction_in_words(spec.reduced_by, spec.joined_datatype)}"


def _pairs(point: Point, spec: Collective) -> Iterator[str]:
    """Who is whose partner, of operations that have any."""
    if not is_message(str(point.operation)) or not point.batches:
        return
    pattern, distance = spec.pattern or "half", spec.distance
    named = "from a file" if pattern == "list" else pattern + (f":{distance}" if distance else "")
    to = partners_in(point.batches[0], pattern)
    both_ways = {(min(a, b), max(a, b)) for a, b in to.items() if to.get(b) == a}
    pairs = [f"{a}-{b}" for a, b in sorted(both_ways)]
    pairs += [f"{a}>{b}" for a, b in sorted(to.items()) if to.get(b) != a]
    more = len(pairs) - SHOWN
    yield f"pairs: {named}: {' '.join(pairs[:SHOWN])}" + (f" and {more} more" if more > 0 else "")


def _network(run: Run, points: Sequence[Point]) -> Iterator[str]:
    path = run.manifest.get("path") or {}
    rate = path.get("rate_bit_per_s")
    settings = _settings(run, points[0].spec)
    here = path.get("kind") in (NODE, "loopback")
    where = "this machine alone" if here else f"between hosts ({run.origin})"
    carried = carried_in_words(carried_by(points))
    yield (
        f"network: {where}"
        + (f", {format_rate(rate)}" if rate else "")
        + (f"; MPI goes over {carried}, as counters say" if carried else "")
    )
    if settings:
        yield "settings: " + " ".join(f"{name}={value}" for name, value in settings.items())


def _settings(run: Run, spec: PointSpec) -> dict[str, str]:
    """Variables of the MPI library in the processes' environment."""
    every = [_mpi_facts(run, spec), *(run.manifest.get("hosts") or {}).values()]
    return {
        name.removeprefix(SETTING): str(value)
        for facts in every
        for name, value in sorted(facts.items())
        if name.startswith(SETTING)
    }


def _mpi_facts(run: Run, spec: PointSpec) -> Mapping[str, Any]:
    """Those of one of several MPIs; elsewhere its facts are among the hosts'."""
    found: Mapping[str, Any] = (run.manifest.get("mpis") or {}).get(spec.mpi, {})
    return found


def _hosts(run: Run, point: Point) -> list[str]:
    """The hosts that the set's processes were on."""
    used = {end.host for batch in point.batches for end in batch.ends.values()}
    every: Mapping[str, Mapping[str, Any]] = run.manifest.get("hosts") or {}
    mine = {n: f for n, f in every.items() if used & {n, str(f.get("host.name", n))}} or every
    library = _mpi_facts(run, point.spec).get("mpi.library")
    return [
        f"host: {facts.get('host.name', name)}, {facts.get('cpu.model', 'processor not known')}, "
        f"{facts.get('cpu.count', '?')} CPUs, Linux {facts.get('os.kernel', '?')}; "
        f"MPI: {_one_line(library or facts.get('mpi.library', '?'))}"
        for name, facts in sorted(mine.items())
    ]


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def _binding(point: Point) -> str:
    bound = {rank: told["processor"] for rank, told in point.opened.items() if "processor" in told}
    if not bound:
        return "binding: processes are bound to no CPU by netsonde"
    words = [f"{rank} on {bound[rank]}" for rank in sorted(bound)[:SHOWN]]
    more = len(bound) - SHOWN
    return "binding: process " + ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _timer(run: Run) -> str:
    sources = {str(f.get("clock.source", "?")) for f in (run.manifest.get("hosts") or {}).values()}
    return " or ".join(sorted(sources)) or "?"


def _overhead(found: FileSet, summing: Summing) -> Iterator[str]:
    """What a reading of the timer takes, where it was measured, and whether times are without."""
    costs = costs_ns(e for p in found.points for b in p.batches for e in b.ends.values())
    if not len(costs):
        return
    ordered = np.sort(costs)
    interval = quantile_interval(ordered, 0.5, presorted=True)
    between = f" [{interval.low:.2f} to {interval.high:.2f}]" if interval else ""
    off = summing.without_timer or any(is_taken_off(point) for point in found.points)
    yield (
        f"timer: a reading takes {quantile(ordered, 0.5, presorted=True):.2f} ns{between}, the "
        f"median; it is {'taken off all times here' if off else 'in all times here'}"
    )


def _clock(spec: Collective) -> str:
    method = spec.clock or "tree"
    apart = "; one host's, as if they were several" if spec.clocks == "apart" else ""
    return _CLOCKS.get(method, method) + apart


def _cache(spec: Collective) -> str:
    size, offset = spec.cache_bytes, spec.align_bytes
    return (
        f"data: {spec.cache or 'warm'}"
        + (f", {size} bytes" if size else "")
        + (f"; buffers begin {offset} bytes behind a page" if offset else "")
    )


def _repetitions(found: FileSet) -> str:
    made = {p.spec.count for p in found.points if p.spec.count is not None}
    if len(made) == 1:
        return f"{made.pop()} of each size"
    return "as many as the time and the interval of the run took" if not made else "as told by size"
