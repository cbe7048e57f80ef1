"""What is asked of one point, by the family of its test: fields with types, and a journal's table
of parameters from them and back.

None is what was not asked for. Units are the last part of a name, as in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.endpoints import DATAGRAMS
from netsonde.catalogue.stored import Stored
from netsonde.catalogue.test import Family, test_row
from netsonde.errors import UsageError
from netsonde.reductions import USUAL, USUAL_DATATYPE
from netsonde.units import bytes_in_words

Pair = tuple[int, int]
Scalar = bool | int | float | str
SpecType = TypeVar("SpecType", bound="PointSpec")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Stored):
    """Options of the connection: those that netsonde itself asks for by name; the others only the
    workers know. ``busy`` is the hosts' other work, ``mtu`` of the links, bytes."""

    mtu: int | None = None
    busy: str | None = None
    buffer: int | None = None
    receive_buffer: int | None = None
    target_buffer: int | None = None
    busy_poll_us: int | None = None
    pacing: int | None = None
    segment_offload: bool | None = None
    kernel_times: bool | None = None
    endpoint: str | None = None
    reliable: bool | None = None
    trespass: str | None = None
    depth: bool | None = None
    placement: str | None = None
    origin_cpu: int | None = None
    target_cpu: int | None = None

    @property
    def has_datagrams(self) -> bool:
        """Whether messages go over an endpoint that may lose them."""
        return self.endpoint == DATAGRAMS

    @property
    def sets_buffers(self) -> bool:
        return any(b is not None for b in (self.buffer, self.receive_buffer, self.target_buffer))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PointSpec(Stored):
    """What a point of any family may have.

    ``cap_ns`` is how long it is measured at most, ``interval`` until which share of itself its
    median is known, ``intervals`` the same of further quantiles, ``count`` how many repetitions in
    their place. ``between`` are its two hosts, of several; ``without`` those of its hosts that were
    gone, and ``label_before`` the label that it had with them. ``launch`` and ``pass_number`` count
    from 1. ``mpi`` and ``ranks`` say which job of MPI; ``ranks_vary`` where the study has several
    numbers of them, ``ppn`` how many a host has, ``pair`` the two of a test between two.
    ``perturbed_bytes`` of a size beside another one; ``refine`` is how many sizes may be added, and
    ``refined`` the round in which a point was. A pair that is measured to find the slowest one has
    ``scout``, the number of its block, and points with the pair that was found ``sought``, the same
    number. ``like`` is the tool that it is measured as, ``tool`` the one that measured it.
    """

    message_bytes: int
    cap_ns: int = 0
    interval: float = 0.0
    intervals: Mapping[str, float] | None = None
    options: Options | None = None
    operation: str | None = None
    call_bytes: int | None = None
    like: str | None = None
    tool: str | None = None
    count: int | None = None
    rate_bit_per_s: int | None = None
    label: str | None = None
    streams: int | None = None
    check_data: bool | None = None
    refine: int | None = None
    timer_overhead: str | None = None
    warm_up: int | None = None
    clock: str | None = None
    mpi: str | None = None
    launch: int | None = None
    ranks: int | None = None
    ranks_vary: bool | None = None
    pair: Pair | None = None
    scout: int | None = None
    sought: int | None = None
    pass_number: int | None = None
    perturbed_bytes: int | None = None
    refined: int | None = None
    ppn: int | None = None
    between: tuple[str, ...] | None = None
    without: tuple[str, ...] | None = None
    label_before: str | None = None

    @property
    def chosen(self) -> Options:
        """The options of the connection; none where there is no table of them."""
        return self.options or Options()

    @property
    def asked_bytes(self) -> int:
        """The size that was asked for: of one message."""
        return self.message_bytes

    def of(self, family: type[SpecType]) -> SpecType:
        """This, where only one family can be meant."""
        if not isinstance(self, family):
            raise TypeError(f"{type(self).__name__} is no {family.__name__}")
        return self

    def but_for(self, *keys: str) -> dict[str, Any]:
        """The table without these keys: what points have in common that differ in nothing else."""
        return {key: value for key, value in self.to_json().items() if key not in keys}

    def asked_of_worker(self) -> dict[str, Any]:
        """The fields of a request that are those of the point as they are."""
        written = self.to_json()
        return {key: written[key] for key in ASKED if key in written}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RoundTrips(PointSpec):
    """A message there and back, one at a time. ``echo`` is what the target sends back: other memory
    than the message came into; None for the same."""

    echo: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Streams(PointSpec):
    """As much as goes. ``outstanding``: messages of MPI on their way at once. ``omit_ns``: a first
    part that iperf3's figures leave out."""

    outstanding: int | None = None
    omit_ns: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenLoop(PointSpec):
    """Messages at fixed times: a share of what the path answers."""

    load_ratio: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Generated(PointSpec):
    """Traffic that nobody answers."""

    port: int = 0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Bounds(PointSpec):
    """What limits a transport, beside messages."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pattern(PointSpec):
    """Flows between many hosts: the first so many of those that are named, None for all."""

    hosts: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Costs(PointSpec):
    """What a message costs its hosts."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EveryPair(PointSpec):
    """Round trips of each of ``hosts`` with each, itself too. ``pairs``: isolated, where no host is
    in two pairs at a time, or together, all at once; None for both."""

    hosts: int = 0
    pairs: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AskedSchedule(Stored):
    """One of our schedules, as ranks are asked for it: ``family/name``, and what it has a use
    for."""

    algorithm: str
    fan_out: int | None = None
    segment_bytes: int | None = None
    window: int | None = None
    uplink_buffer_packets: tuple[int, ...] | None = None
    port_buffer_packets: int | None = None
    root_buffer_packets: int | None = None
    permutation: str | None = None
    hierarchy: tuple[int, ...] | None = None
    remap: bool | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AskedFrames(Stored):
    """Frames of the link that carry a schedule's messages, as ranks are asked for them."""

    reliable: bool = False
    driver: str | None = None
    wait: str | None = None
    fragment_bytes: int | None = None
    window_packets: int | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Collective(PointSpec):
    """An operation of MPI. ``schedule`` is that of ours which does it, as ranks are asked for it,
    ``frames`` what carries its messages if not MPI, ``library_algorithm`` the library's that it is
    told to take; neither: the library's own way. ``total_bytes`` are of all ranks' parts,
    ``windows`` the bounds within which windows adapt."""

    total_bytes: int | None = None
    root: int | None = None
    rotate_root: bool | None = None
    uneven: bool | None = None
    pattern: str | None = None
    distance: int | None = None
    partners: tuple[Pair, ...] | None = None
    window: int | None = None
    schedule: AskedSchedule | None = None
    frames: AskedFrames | None = None
    library_algorithm: str | None = None
    reduction: str | None = None
    datatype: str | None = None
    cache: str | None = None
    cache_bytes: int | None = None
    align_bytes: int | None = None
    overlap: bool | None = None
    polls: int | None = None
    both_timers: bool | None = None
    start: str | None = None
    windows: Mapping[str, int] | None = None
    clocks: str | None = None
    keep_samples: int | None = None

    @property
    def asked_bytes(self) -> int:
        """Of all ranks' parts together, where that was asked for."""
        return self.message_bytes if self.total_bytes is None else self.total_bytes

    @property
    def by_algorithm(self) -> str:
        """The name of our schedule that does it, or of the library's algorithm that it is told to
        take; empty for the library's own way."""
        if self.library_algorithm is not None:
            return f"library:{self.library_algorithm}"
        return self.schedule.algorithm.partition("/")[2] if self.schedule else ""

    @property
    def reduced_by(self) -> str:
        """The name of what joins the words of all ranks, in operations that do."""
        return self.reduction or USUAL

    @property
    def joined_datatype(self) -> str:
        """Of what the words are made that it joins."""
        return self.datatype or USUAL_DATATYPE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClockReadings(PointSpec):
    """Clocks compared."""

    clocks: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Threads(PointSpec):
    """Round trips of several threads."""

    threads: int
    thread_level: str | None = None
    communicators: str | None = None
    echo: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProgramFigure(Stored):
    """A number in a program's output, by a regular expression with one group around it."""

    pattern: str
    unit: str | None = None
    better: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Program(PointSpec):
    """Runs of a user's own program at ``where``, an end; ``message_bytes`` is 0 where it has no
    sizes."""

    name: str = ""
    command: tuple[str, ...] = ()
    where: str = ""
    timeout_ns: int = 0
    environment: Mapping[str, str] | None = None
    figures: Mapping[str, ProgramFigure] | None = None

    @property
    def in_words(self) -> str:
        """``mg at the origin``, with the size where it has one."""
        of = f", {bytes_in_words(self.message_bytes)}" if self.message_bytes else ""
        return f"{self.name} at the {self.where}{of}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AllPairs(PointSpec):
    """A round in which all hosts meet in pairs: ``round`` of a tournament, or ``pairs`` that are
    given one by one. ``steps`` are what each batch measures, and from which end; ``at_once`` is how
    many pairs are measured at the same time."""

    steps: tuple[tuple[str, int], ...] = ()
    time_ns: int = 0
    loss_bytes: int = 0
    loss_rate_bit_per_s: int = 0
    stream_bytes: int = 0
    at_once: int | None = None
    hosts: int = 0
    tournament_seed: int | None = None
    round: int | None = None
    pairs: tuple[Pair, ...] | None = None

    @property
    def in_words(self) -> str:
        """``all pairs, round 3``, or of those that were added to follow up a suspicion."""
        return (
            "all pairs, once more" if self.pairs is not None else f"all pairs, round {self.number}"
        )

    @property
    def number(self) -> int:
        """Of a round of a tournament, from 1."""
        return (self.round or 0) + 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Simulation(PointSpec):
    """A simulated cluster. ``swept`` are the scenario's keys that tell it from others,
    ``leaf_hosts`` how many a lowest switch has, ``buffer_packets`` those of the bottleneck.
    ``compared`` is the figure that ``published`` is of; ``formula_value`` what ``formula`` says."""

    swept: Mapping[str, Scalar] | None = None
    hosts: int = 0
    scenario: str = ""
    runs: int = 0
    payload_bytes: int = 0
    slot_ns: float = 0.0
    senders: int | None = None
    packets: int | None = None
    block_packets: int | None = None
    window: int | None = None
    timeout_slots: float | None = None
    buffer_packets: int | None = None
    leaf_hosts: int | None = None
    both_ways_bit_per_s: int | None = None
    compared: str | None = None
    published: float | None = None
    published_prediction: float | None = None
    formula: str | None = None
    source: str | None = None
    reason: str | None = None
    formula_value: float | None = None


ASKED = tuple(name for row in BLOCK.values() for name in row.wire)
"""Keys of a point that are fields of a request as they are."""
SPECS: dict[Family, type[PointSpec]] = {
    Family.ROUND_TRIPS: RoundTrips,
    Family.STREAMS: Streams,
    Family.OPEN_LOOP: OpenLoop,
    Family.GENERATED: Generated,
    Family.BOUNDS: Bounds,
    Family.PATTERN: Pattern,
    Family.OPERATIONS: Collective,
    Family.CLOCKS: ClockReadings,
    Family.THREADS: Threads,
    Family.COSTS: Costs,
    Family.PROGRAM: Program,
    Family.ROUNDS: AllPairs,
    Family.ALL_PAIRS: EveryPair,
    Family.MODEL: Simulation,
}


def spec_type(test: str) -> type[PointSpec]:
    """What is asked of points of a test; of one that only another version knows, the fields that
    all have."""
    family = test_row(test).family
    return PointSpec if family is None else SPECS[family]


def spec_of(test: str, content: Mapping[str, Any]) -> PointSpec:
    """From a point's table in a run. Raises UsageError where a value is of another type."""
    try:
        return spec_type(test).from_json(content)
    except UsageError as error:
        raise UsageError(f"a point of test {test}: {error}") from error
