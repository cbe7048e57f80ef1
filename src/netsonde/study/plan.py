"""From a study to its points, in the random order in which they are measured."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from types import MappingProxyType
from typing import Any

from netsonde.catalogue.named import Asked
from netsonde.catalogue.options.block_rules import OPEN_LOOP_LEAST_BYTES, TAGGED_BYTES
from netsonde.catalogue.options.mpi import MOST_KEPT
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.catalogue.point import (
    Options,
    PointSpec,
    Program,
    ProgramFigure,
    spec_of,
    spec_type,
)
from netsonde.catalogue.test import test_row
from netsonde.catalogue.transport import transport_row
from netsonde.errors import UsageError
from netsonde.operations import Operation, operations, parse_pattern
from netsonde.patterns import MOST_OF_ALL_PAIRS
from netsonde.peers.mpi_techniques import settings
from netsonde.records.data import ALL_PAIRS, PROGRAM
from netsonde.study.all_pairs import all_pairs_points, many_hosts
from netsonde.study.measure_table import MeasureTable
from netsonde.study.mpi_keys import pairs_of, part_bytes, thread_ways
from netsonde.study.program_table import LEAST_RUNS, SIZE_WORD, ProgramTable
from netsonde.study.spec import TIMED_TESTS, StudySpec
from netsonde.study.values import MESSAGE_LIMIT_BYTES

POINTS_LIMIT = 100_000
BATCH_NS = 100_000_000
"""Wanted length of a batch of repetitions: long against its snapshots (a few ms), short against
the time cap, so that the stopping rule is asked often."""
SETTLE_NS = 40_000_000
"""For so long the ends of sockets exchange frames before each batch of round trips or of a stream:
on a virtual machine a CPU that has just read the counters is woken sooner than one that
waited, for so long (docs/methods/bench.md)."""
STREAM_BATCHES = 8
"""Batches that a stream's time cap is divided into: six are the fewest with a 95 % interval of the
median."""
STREAM_BATCH_LEAST_NS = 50_000_000
DISCARD_PORT = 9
"""Where datagrams go that nobody is to answer (RFC 863)."""
SCOUT_NS = 200_000_000
"""For so long at most each pair is measured that may be the slowest one."""


@dataclass(frozen=True)
class PlannedPoint(Asked):
    """One point: what is measured, and how long at most."""

    id: str
    transport: str
    test: str
    spec: PointSpec

    @property
    def parameters(self) -> dict[str, Any]:
        """What is asked for, as the table of a run."""
        return self.spec.to_json()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> PlannedPoint:
        """From its table in a manifest. Raises UsageError."""
        test = content["test"]
        spec = spec_of(test, content["parameters"])
        return cls(content["id"], content["transport"], test, spec)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "transport": self.transport,
            "test": self.test,
            "parameters": self.parameters,
        }


def plan_points(spec: StudySpec) -> list[PlannedPoint]:
    """Every point in the order of the study; ids are p001, p002, ..."""
    asked: list[tuple[str, str, PointSpec]] = []
    for block in spec.measure:
        for transport in block.transports:
            for operation in (*block.operations,) or (None,):
                for point in _points_of(spec, block, transport, operation):
                    asked += [(transport, block.test, own) for own in _between(spec, point)]
    for program in spec.program:
        for size, end in product((*(program.sizes or ()),) or (None,), program.ends):
            asked.append((PROGRAM, PROGRAM, _program(spec, program, size, end)))
    asked += [(ALL_PAIRS, ALL_PAIRS, own) for own in all_pairs_points(spec)]
    return numbered(asked, 0)


def numbered(asked: Iterable[tuple[str, str, PointSpec]], before: int) -> list[PlannedPoint]:
    """Points with their ids, behind so many others; of each its transport, test and spec."""
    return [
        PlannedPoint(f"p{number:03d}", transport, test, spec)
        for number, (transport, test, spec) in enumerate(asked, before + 1)
    ]


def _between(spec: StudySpec, point: PointSpec) -> list[PointSpec]:
    """The point for each pair of hosts, where the study has several."""
    if not spec.path.between:
        return [point]
    return [
        replace(
            point,
            between=(origin, target),
            label=", ".join(filter(None, (f"{origin} to {target}", point.label))),
        )
        for origin, target in spec.path.between
    ]


def _points_of(
    spec: StudySpec, block: MeasureTable, transport: str, operation: str | None
) -> Iterator[PointSpec]:
    """Each point of a block's transport and operation."""
    sizes = _sizes_of(operation, block.sizes)
    if block.kind.is_all_pairs:  # where there is no empty message, the least one stands for it
        least = transport_row(transport).least_bytes
        sizes = list(dict.fromkeys(max(size, least) for size in sizes))
    shifts = perturbed(sizes, block.perturb, *_limits(transport, block))
    around = list(product((*block.mtu,) or (None,), (*block.background_load,) or (None,)))
    loads = (*block.loads,) or (None,)
    jobs = [
        {**job, **pair, **again}
        for job in _jobs(spec, transport)
        for pair in _pairs(spec, block, job.get("ranks", 0))
        for again in _passes(spec, block)
    ]
    amongs = (*block.among,) or (None,)
    ppns = (*spec.mpi.ppn,) if transport_row(transport).has_ranks and spec.mpi.ppn else (None,)
    ways = thread_ways(block.threads, block.like) if block.threads else [{}]
    for (mtu, busy), (size, shift), load, job, ppn, way, among in product(
        around, shifts, loads, jobs, ppns, ways, amongs
    ):
        if block.excludes(transport, size, operation):
            continue
        if block.rank_pair == "slowest" and (size, shift) != shifts[0]:
            continue  # measured when the slowest partner is known
        own = {**job, **way, "perturbed_bytes": shift or None, "load_ratio": load, "ppn": ppn}
        if block.kind.is_all_pairs:
            own |= _every_pair(spec, block, transport, job, among)
        elif among is not None:
            own |= _some_hosts(spec, block, among)
        point = spec_of_block(spec, block, transport, operation, size, mtu, busy, own)
        yield _as_scout(point) if point.scout is not None else point


def _jobs(spec: StudySpec, transport: str) -> list[dict[str, Any]]:
    """How many ranks an MPI job has, and what tells it from the others, where there are several:
    every launch of each."""
    if not transport_row(transport).has_ranks:
        several = spec.launches > 1
        return [{"launch": n} for n in range(1, spec.launches + 1)] if several else [{}]
    table = spec.mpi
    launches = table.launch_count
    sizes: list[dict[str, Any]] = [
        {"ranks": number} | ({"ranks_vary": True} if len(table.ranks) > 1 else {})
        for number in table.ranks
    ]
    if len(table.mpi) == 1 and launches == 1:
        return sizes
    return [
        {"mpi": name, "launch": launch, **size}
        for name, launch, size in product(table.mpi, range(1, launches + 1), sizes)
    ]


def _shared_out(warm_up: int, count: int, threads: int) -> dict[str, int]:
    """A tool that is followed gives its threads their shares of its repetitions."""
    own = warm_up // threads
    return {"warm_up": own, "count": own + max(1, (count - warm_up) // threads)}


def _pairs(spec: StudySpec, block: MeasureTable, ranks: int) -> list[dict[str, Any]]:
    """What tells the pairs of ranks from each other, where a block asks for several."""
    if not isinstance(block.rank_pair, str):
        return [{}]
    pairs = pairs_of(block.rank_pair, ranks)
    scout = {"scout": spec.measure.index(block)} if block.rank_pair == "slowest" else {}
    return [{"pair": pair, **scout} for pair in pairs]


def _passes(spec: StudySpec, block: MeasureTable) -> list[dict[str, Any]]:
    """What tells the passes from each other, where one launch measures a block several times."""
    if block.passes == 1 or spec.mpi.launch_count > 1:
        return [{}]
    return [{"pass_number": number} for number in range(1, block.passes + 1)]


def _as_scout(point: PointSpec) -> PointSpec:
    """Short, and by netsonde's own way: it only finds who is slow."""
    return replace(
        point,
        cap_ns=min(point.cap_ns, SCOUT_NS),
        like=None,
        warm_up=None,
        count=None,
        refine=None,
        call_bytes=None,
        check_data=None,
    )


def longest_ns(point: PlannedPoint) -> int:
    """How long a point may be measured, starting and ending not counted."""
    asked = point.spec
    if not isinstance(asked, Program):
        return asked.cap_ns
    if asked.count is not None:
        return asked.count * asked.timeout_ns
    return max(asked.cap_ns, (LEAST_RUNS - 1) * asked.timeout_ns) + asked.timeout_ns


def _every_pair(
    spec: StudySpec,
    block: MeasureTable,
    transport: str,
    job: Mapping[str, Any],
    among: int | None,
) -> dict[str, Any]:
    """How many hosts, or ranks, are to meet, and the label that says so where there are several
    numbers. Raises UsageError where there are not so many."""
    there = int(job["ranks"]) if transport_row(transport).has_ranks else many_hosts(spec)
    if among is not None and among > there:
        raise UsageError(f"all pairs among {among} hosts are asked for, and there are {there}")
    hosts = among or there
    if not 2 <= hosts <= MOST_OF_ALL_PAIRS:
        raise UsageError(
            f"all pairs are of 2 to {MOST_OF_ALL_PAIRS} hosts, and {hosts} are given; of more, "
            "[tournament] with mode = 'group-testing' finds who is slow"
        )
    return _labelled(block, hosts)


def _some_hosts(spec: StudySpec, block: MeasureTable, among: int) -> dict[str, Any]:
    """The same of flows. Raises UsageError."""
    there = many_hosts(spec)
    if among > there:
        raise UsageError(f"{block.test} among {among} hosts are asked for, and there are {there}")
    return _labelled(block, among)


def _labelled(block: MeasureTable, hosts: int) -> dict[str, Any]:
    if len(block.among) < 2:
        return {"hosts": hosts}
    return {"hosts": hosts, "label": ", ".join(filter(None, (f"{hosts} hosts", block.label)))}


def _sizes_of(operation: str | None, sizes: list[int]) -> list[int]:
    fixed = operations()[operation].fixed_bytes if operation is not None else None
    return sizes if fixed is None else [fixed]


def perturbed(sizes: list[int], by: int, least: int, most: int) -> list[tuple[int, int]]:
    """Each size N, and N - by and N + by: pairs of size and shift, bytes, in the order of N.

    Without those outside of least..most and those that are there already, and none where the next
    size is not more than by + 1 away, as NetPIPE does: they would meet its own.
    """
    pairs = list[tuple[int, int]]()
    seen = set(sizes)
    for size, following in zip_longest(sizes, sizes[1:]):
        is_apart = following is None or abs(following - size) > by + 1
        for shift in (-by, 0, by) if by and is_apart else (0,):
            beside = size + shift
            if shift == 0 or (least <= beside <= most and beside not in seen):
                seen.add(beside)
                pairs.append((beside, shift))
    return pairs


def _limits(transport: str, block: MeasureTable) -> tuple[int, int]:
    """The least and the largest message, bytes."""
    carrier = transport_row(transport)
    least = OPEN_LOOP_LEAST_BYTES if test_row(block.test).is_open_loop else 1
    if block.options.authenticated and carrier.counts_datagrams:
        least = TAGGED_BYTES
    return least, carrier.most_bytes or MESSAGE_LIMIT_BYTES


def spec_of_block(
    spec: StudySpec,
    block: MeasureTable,
    transport: str,
    operation: str | None,
    size: int,
    mtu: int | None = None,
    busy: str | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
) -> PointSpec:
    """A point of a block; ``told`` are the fields that tell it from others of that size."""
    known = operations()[operation] if operation is not None else None
    ranks = told.get("ranks")
    total = None
    # Every one of these tools hands a message over in one call.
    call_bytes = block.call if block.like is None else size
    like = _as_an_mpi_tool(block, transport, operation, size)
    if "warm_up" in like and told.get("threads", 1) > 1:
        like |= _shared_out(like["warm_up"], like["count"], told["threads"])
    if known is not None and ranks is not None and block.size_of == "total":
        size = part_bytes(size, ranks, known)
        total = size * ranks
    fields = {
        "message_bytes": size,
        "cap_ns": block.cap or spec.cap,
        "interval": spec.relative_precision,
        "intervals": dict(spec.relative_precisions) if _has_quantiles(spec, block) else None,
        "options": _options(block, transport, mtu, busy),
        "operation": operation,
        "call_bytes": call_bytes,
        "like": block.like,
        "omit_ns": block.omit,
        "count": block.count,
        "rate_bit_per_s": block.rate,
        "label": _label(block, mtu, busy),
        "streams": block.streams if block.streams > 1 else None,
        "port": (block.port or DISCARD_PORT) if block.kind.is_unanswered else None,
        "check_data": block.check_data or None,
        "pairs": block.pairs,
        "refine": block.refine or None,
        "windows": block.windows.parameters() if block.windows is not None else None,
        "total_bytes": total,
        **_of_algorithm(block, known, size),
        **_of_operation(block),
        **block.of_ranks,
        **like,
        **told,
    }
    asked = {name: value for name, value in fields.items() if value is not None}
    return spec_type(block.test)(**asked)


def _of_algorithm(
    block: MeasureTable, operation: Operation | None, message_bytes: int
) -> dict[str, Any]:
    """Which way an operation is to go, where it is not its library's to choose."""
    if operation is None or block.algorithm is None:
        return {}
    from netsonde.schedules.algorithms import (  # late, with the schedules
        frames_of,
        library_of,
        schedule_of,
    )

    return {
        "schedule": schedule_of(block.algorithm, operation, message_bytes),
        "frames": frames_of(block.algorithm, operation),
        "library_algorithm": library_of(block.algorithm),
    }


def _options(block: MeasureTable, transport: str, mtu: int | None, busy: str | None) -> Options:
    """Of the connection, with what the links and the hosts have meanwhile."""
    has_ranks = transport_row(transport).has_ranks
    given = {} if has_ranks else block.options.model_dump(exclude_none=True)
    own = {STUDY_OPTIONS[key].run_key: value for key, value in given.items()}
    return replace(Options.from_json(own), mtu=mtu, busy=busy)


def _has_quantiles(spec: StudySpec, block: MeasureTable) -> bool:
    """Whether the block's points go on until further quantiles than the median are known."""
    return bool(spec.relative_precisions) and block.test in TIMED_TESTS


def _as_an_mpi_tool(
    block: MeasureTable, transport: str, operation: str | None, size: int
) -> dict[str, Any]:
    if block.like is None or not transport_row(transport).has_ranks:
        return {}
    # Its figure is made from every sample.
    keep = {"keep_samples": MOST_KEPT} if block.kind.is_operation else {}
    return {**settings(block.like, block.test, operation, size, block.count), **keep}


def _label(block: MeasureTable, mtu: int | None, busy: str | None) -> str | None:
    """The block's own, with the MTU and the hosts' other work where there are several."""
    varied = (
        f"MTU {mtu}" if len(block.mtu) > 1 else None,
        f"background load {busy}" if len(block.background_load) > 1 else None,
    )
    return ", ".join(filter(None, (*varied, block.label))) or None


def _program(spec: StudySpec, block: ProgramTable, size: int | None, end: str) -> Program:
    command = block.command
    if size is not None:
        command = [word.replace(SIZE_WORD, str(size)) for word in command]
    return Program(
        message_bytes=size or 0,
        cap_ns=block.cap or spec.cap,
        interval=spec.relative_precision,
        options=Options(),
        name=block.shown_name,
        command=tuple(command),
        where=end,
        timeout_ns=block.timeout,
        environment=block.environment,
        figures={
            name: ProgramFigure(pattern=f.pattern, unit=f.unit, better=f.better)
            for name, f in block.figures.items()
        },
        count=block.count,
        label=block.label,
    )


def _of_operation(block: MeasureTable) -> dict[str, Any]:
    pattern, distance = parse_pattern(block.pattern) if block.pattern is not None else (None, 1)
    return {
        "root": block.root if isinstance(block.root, int) else None,
        "rotate_root": block.root == "rotate" or None,
        "pattern": pattern,
        "distance": distance if distance > 1 else None,
    }


def in_order(points: Sequence[PlannedPoint], seed: int) -> list[PlannedPoint]:
    """The points in the order of measurement: random, so that drift of the machine does not
    follow size or transport, and the same for the same seed; those of a later round after all of
    the rounds before, in an order of their own.

    The points of one MPI job stay together. The first launches of all MPIs come first, in random
    order, then the second ones in another, so that drift does not follow the MPI either; so with
    launches of the other transports, each of which has all points once.
    """
    order: list[PlannedPoint] = []
    for number in sorted({round_of(point) for point in points}):
        members = [point for point in points if round_of(point) == number]
        random.Random(seed + number).shuffle(members)
        order += _by_job(members, random.Random(seed + number))
    return order


Job = tuple[int, str, int]


def _by_job(points: Sequence[PlannedPoint], chance: random.Random) -> list[PlannedPoint]:
    """Launch by launch. Points without a job of their own go with any one, of their launch if they
    have one."""
    jobs = sorted({job for point in points if (job := job_of(point)) is not None})
    chance.shuffle(jobs)
    jobs.sort(key=lambda job: job[0])
    members: dict[Job, list[PlannedPoint]] = {job: [] for job in jobs}
    alone: dict[int, list[PlannedPoint]] = {}
    for point in points:
        launch = point.spec.launch
        fitting = [job for job in jobs if launch is None or job[0] == launch]
        job = job_of(point) or (chance.choice(fitting) if fitting else None)
        (alone.setdefault(launch or 1, []) if job is None else members[job]).append(point)
    order: list[PlannedPoint] = []
    for number in sorted({*alone, *(job[0] for job in jobs)}):
        order += alone.get(number, [])
        order += [point for job in jobs if job[0] == number for point in members[job]]
    return order


def job_of(point: PlannedPoint) -> Job | None:
    """Launch, MPI and number of ranks, where the study has several of any; the MPI's name is empty
    where there is but one launch of one."""
    asked = point.spec
    if not point.carrier.has_ranks or (asked.launch is None and asked.ranks_vary is None):
        return None
    return asked.launch or 1, asked.mpi or "", asked.ranks or 0


def round_of(point: PlannedPoint) -> int:
    """0 for the points of the study, 1, 2, ... for those that were added later."""
    return int(point.spec.sought is not None) if point.spec.refined is None else point.spec.refined
