"""What an algorithm will take on a platform: the packet equations where there are any, and costs
with alpha, beta and gamma for all others.

``size_bytes`` is the message of a broadcast, the vector of a reduce or allreduce, and in all other
families the part of one rank or, in alltoall, of one pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from netsonde.model import exchanges, transfers
from netsonde.model.collectives import (
    FORMULAS,
    PRINTED,
    best_segment_bytes,
    chain_counts,
    counts_of,
)
from netsonde.model.platform import PacketTimes, Platform, check_ranks
from netsonde.model.views import Hockney, hockney
from netsonde.model.windows import least_cross_time_s, ranks_of, uplink_loads

MOST_BYTES = 1 << 40
_OF_THE_WHOLE = ("broadcast", "reduce", "allreduce", "barrier")
"""Families whose size is that of the whole; of the others it is one part of p."""
_WHOLE = (
    "broadcast/linear",
    "broadcast/binomial",
    "broadcast/chain",
    "reduce/binomial",
    "allreduce/recursive-doubling",
)
"""Algorithms whose messages are never parts of the whole."""


@dataclass(frozen=True, slots=True)
class OtherForm:
    """The same algorithm by another formula, and why there is one."""

    formula: str
    time_ns: float
    why: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """``equation`` is the number in its source, None for costs with alpha and beta. ``least_ns`` is
    the bound of Eq. (5.1), of complete exchanges only. ``node_bytes`` is what a node sends, None
    where nodes send unequally. Bandwidths are decimal."""

    algorithm: str
    platform: str
    ranks: int
    size_bytes: int
    packets: int | None
    time_ns: float
    formula: str
    equation: str | None
    node_bytes: int | None = None
    least_ns: float | None = None
    rounds: int | None = None
    window: int | None = None
    others: tuple[OtherForm, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def node_byte_per_s(self) -> float | None:
        """What a node sends over the time."""
        if self.node_bytes is None or self.time_ns <= 0.0:
            return None
        return self.node_bytes * 1e9 / self.time_ns


@dataclass(frozen=True, slots=True)
class Options:
    """``fan_out``: of the group shuffle, None for :func:`usual_fan_out`. ``shape``: hosts at a leaf
    switch, leaf switches ..., of the modified shuffle. ``gamma_ns`` and ``segment_bytes``: None for
    the platform's, and for the best."""

    fan_out: int | None = None
    shape: tuple[int, ...] | None = None
    gamma_ns: float | None = None
    segment_bytes: int | None = None


_Exchange = Callable[[PacketTimes, int, int, Options], "_Exchanged"]


@dataclass(frozen=True, slots=True)
class _Exchanged:
    time_ns: float
    formula: str
    equation: str
    rounds: int


MOST_AT_ONCE = 5
"""Partners in a usual group."""


def usual_fan_out(ranks: int) -> int:
    """As many groups as :data:`MOST_AT_ONCE` partners each make, of equal size: omega 5 of 16
    processes and 4 of 8, as in section 5.4.1 of the source. The schedule has the same default."""
    check_ranks(ranks)
    groups = -(-(ranks - 1) // MOST_AT_ONCE)
    return -(-(ranks - 1) // groups)


def usual_segment_bytes(platform: Platform, ranks: int, size_bytes: int, options: Options) -> int:
    """Of a chain: what was asked for, or the best one; in whole packets where the platform has any.

    Raises ``ValueError`` for a segment that is not positive.
    """
    if options.segment_bytes is not None:
        if options.segment_bytes < 1:
            raise ValueError(f"a segment of {options.segment_bytes} bytes; expected 1 or more")
        return options.segment_bytes
    line = hockney(platform, ranks)
    best = best_segment_bytes(max(1, size_bytes), ranks, line.alpha_ns, line.beta_ns)
    if "send_gap" not in platform.costs:
        return math.ceil(best)
    return platform.packet_bytes * max(1, round(best / platform.packet_bytes))


def _shift(times: PacketTimes, packets: int, ranks: int, _: Options) -> _Exchanged:
    rounds = exchanges.shape_of_shift(ranks).rounds
    time = exchanges.shift_ns(times, packets, ranks)
    return _Exchanged(time, "(p-1) (k g + T_w)", "5.2", rounds)


def _pairs(pairing: exchanges.Pairing) -> _Exchange:
    def pairwise(times: PacketTimes, packets: int, ranks: int, _: Options) -> _Exchanged:
        rounds = exchanges.shape_of_pairwise(ranks, pairing).rounds
        time = exchanges.pairwise_ns(times, packets, ranks, pairing)
        return _Exchanged(time, "rounds (k g + T_w)", "5.2", rounds)

    return pairwise


def _synchronous(times: PacketTimes, packets: int, ranks: int, _: Options) -> _Exchanged:
    time = exchanges.synchronous_ns(times, packets, ranks)
    return _Exchanged(time, "k (p-1) g + T_w", "5.3", 1)


def _group(times: PacketTimes, packets: int, ranks: int, options: Options) -> _Exchanged:
    fan_out = options.fan_out or usual_fan_out(ranks)
    rounds = exchanges.shape_of_group(ranks, fan_out).rounds
    time = exchanges.group_ns(times, packets, ranks, fan_out)
    steps = "p" if exchanges.steps_of_group(ranks, fan_out) == ranks else "(p-1)"
    return _Exchanged(time, f"k g {steps} + rounds T_w, omega {fan_out}", "5.4", rounds)


_EXCHANGES: Mapping[str, _Exchange] = MappingProxyType(
    {
        "alltoall/shift": _shift,
        "alltoall/pairwise-xor": _pairs("xor"),
        "alltoall/pairwise": _pairs("colour"),
        "alltoall/synchronous-shuffle": _synchronous,
        "alltoall/group-shuffle": _group,
        "alltoall/modified-shuffle": _synchronous,
    }
)
_MESSAGES = ("message/one-way", "message/exchange")

ALGORITHMS: tuple[str, ...] = tuple(
    sorted({*FORMULAS, *_EXCHANGES, *_MESSAGES, "broadcast/chain", "broadcast/tree"})
)
"""Everything that :func:`predict` knows."""


def predict(
    platform: Platform, algorithm: str, ranks: int, size_bytes: int, options: Options | None = None
) -> Prediction:
    """The time of an algorithm. Raises ``ValueError`` for a name that is not in :data:`ALGORITHMS`,
    sizes or ranks out of range, and parameters that the platform lacks."""
    options = options or Options()
    if algorithm not in ALGORITHMS:
        raise ValueError(f"no algorithm is called {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    check_ranks(ranks)
    if not 0 <= size_bytes <= MOST_BYTES:
        raise ValueError(f"a size of {size_bytes} bytes; expected 0..{MOST_BYTES}")
    _check_options(algorithm, options)
    if algorithm in _EXCHANGES:
        found = _exchange(platform, algorithm, ranks, size_bytes, options)
    elif algorithm in _MESSAGES:
        found = _message(platform, algorithm, ranks, size_bytes)
    elif algorithm == "broadcast/tree":
        found = _tree(platform, ranks, size_bytes)
    else:
        found = _by_line(platform, algorithm, ranks, size_bytes, options)
    return replace(found, notes=(*found.notes, *_warnings(platform, found)))


def compare(
    platform: Platform, family: str, ranks: int, size_bytes: int, options: Options | None = None
) -> list[Prediction]:
    """All algorithms of a family that the platform can predict, the fastest first.

    An algorithm that lacks something is left out; its own prediction says what. Raises
    ``ValueError`` for a family that there is not, and where nothing can be predicted.
    """
    names = [name for name in ALGORITHMS if name.split("/")[0] == family]
    if not names:
        families = sorted({name.split("/")[0] for name in ALGORITHMS})
        raise ValueError(f"no family is called {family!r}; there are {', '.join(families)}")
    options = options or Options()
    found, problems = list[Prediction](), list[ValueError]()
    for name in names:
        if name == "alltoall/modified-shuffle" and options.shape is None:
            continue
        try:
            found.append(predict(platform, name, ranks, size_bytes, _for(name, options)))
        except ValueError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    return sorted(found, key=lambda each: each.time_ns)


def _for(algorithm: str, options: Options) -> Options:
    """The options that an algorithm takes."""
    return replace(
        options,
        fan_out=options.fan_out if algorithm == "alltoall/group-shuffle" else None,
        shape=options.shape if algorithm == "alltoall/modified-shuffle" else None,
        segment_bytes=options.segment_bytes if algorithm == "broadcast/chain" else None,
    )


def _check_options(algorithm: str, options: Options) -> None:
    for given, name, owner in (
        (options.fan_out, "a fan-out", "alltoall/group-shuffle"),
        (options.shape, "a tree of switches", "alltoall/modified-shuffle"),
        (options.segment_bytes, "a segment", "broadcast/chain"),
    ):
        if given is not None and algorithm != owner:
            raise ValueError(f"{name} is for {owner}; {algorithm} has none")


def _exchange(
    platform: Platform, algorithm: str, ranks: int, size_bytes: int, options: Options
) -> Prediction:
    packets = platform.packets(size_bytes)
    size = platform.packet_bytes if packets > 1 else max(1, size_bytes)
    times = platform.times(size, ranks)
    found = _EXCHANGES[algorithm](times, packets, ranks, options)
    least = exchanges.least_exchange_ns(times, packets, ranks)
    prediction = Prediction(
        algorithm,
        platform.name,
        ranks,
        size_bytes,
        packets,
        found.time_ns,
        found.formula,
        found.equation,
        node_bytes=size_bytes * (ranks - 1),
        least_ns=least,
        rounds=found.rounds,
        others=_other_forms(platform, algorithm, ranks, size_bytes),
    )
    if algorithm == "alltoall/modified-shuffle":
        return _over_uplink(platform, prediction, options)
    return prediction


def _over_uplink(platform: Platform, found: Prediction, options: Options) -> Prediction:
    """The longer of Eqs. (5.3) and (6.4), and the window."""
    shape = options.shape
    if shape is None or ranks_of(shape) != found.ranks:
        raise ValueError(
            f"alltoall/modified-shuffle needs a tree of {found.ranks} hosts, such as 8x2 for 16;"
            f" given {'none' if shape is None else 'x'.join(map(str, shape))}"
        )
    if platform.uplink is None:
        raise ValueError(f"platform {platform.name} has no uplink; choose one that has")
    if len(shape) != 2:
        raise ValueError("Eq. (6.4) knows two levels of switches; give a tree such as 8x2")
    buffer = platform.uplink.buffer.packets
    window = min((u.window for u in uplink_loads(shape, [buffer])), default=None)
    assert found.packets is not None
    if shape[1] == 1:
        return found
    crossing_ns = 1e9 * least_cross_time_s(
        1,
        found.packets * platform.packet_bytes,
        shape[0],
        found.ranks,
        platform.uplink.ceiling_byte_per_s,
    )
    if crossing_ns > found.time_ns:
        formula = "2 k b (p-d_1) d_1 / the uplink's ceiling"
        found = replace(found, time_ns=crossing_ns, formula=formula, equation="6.4")
    return replace(found, window=window)


def _message(platform: Platform, algorithm: str, ranks: int, size_bytes: int) -> Prediction:
    time, equation = transfers.message_ns(platform, size_bytes, ranks)
    formula = "O_s + (k-1) g + L + O_r + U_r"
    if equation == "3.1":
        formula = "O_s + L + k (O_r + U_r)"
    elif algorithm == "message/exchange":
        equation = "2.7"
    return Prediction(
        algorithm,
        platform.name,
        ranks,
        size_bytes,
        platform.packets(size_bytes),
        time,
        formula,
        equation,
        node_bytes=size_bytes,
    )


def _tree(platform: Platform, ranks: int, size_bytes: int) -> Prediction:
    packets = platform.packets(size_bytes)
    size = platform.packet_bytes if packets > 1 else max(1, size_bytes)
    copy = platform.costs.get("copy_cache_to_memory")
    copy_ns = 0.0 if copy is None else max(0.0, copy.at(size_bytes))
    found = transfers.tree_broadcast(platform.times(size, ranks), packets, ranks, copy_ns)
    formula = "ctm + lg p ((k-1) g + L + T_0)"
    if found.interferes:
        formula = "ctm + (lg p + k-1) T_0 + L lg p + (k-1)(lg p - 2) O_s"
    notes = () if copy is not None else ("The copy at the root (ctm) is not known and left out.",)
    return Prediction(
        "broadcast/tree",
        platform.name,
        ranks,
        size_bytes,
        packets,
        found.time_ns,
        formula,
        found.equation,
        notes=notes,
    )


def total_bytes(algorithm: str, ranks: int, size_bytes: int) -> int:
    """n of the cost formulas from the size of a part, see the module."""
    return size_bytes if algorithm.split("/")[0] in _OF_THE_WHOLE else size_bytes * ranks


def _by_line(
    platform: Platform, algorithm: str, ranks: int, size_bytes: int, options: Options
) -> Prediction:
    line = hockney(platform, ranks)
    total = total_bytes(algorithm, ranks, size_bytes)
    notes: tuple[str, ...] = ()
    if algorithm == "broadcast/chain":
        segment = usual_segment_bytes(platform, ranks, size_bytes, options)
        counts = chain_counts(total, ranks, segment)
        formula = f"(p-2 + n/s) (alpha + s beta), s {segment:.6g} bytes"
    else:
        counts = counts_of(algorithm, total, ranks)
        formula = FORMULAS[algorithm].formula
        notes = (FORMULAS[algorithm].note,) if FORMULAS[algorithm].note else ()
    gamma = 0.0
    if counts.reduced_bytes:
        gamma = _gamma(platform, options)
    return Prediction(
        algorithm,
        platform.name,
        ranks,
        size_bytes,
        None,
        counts.time_ns(line.alpha_ns, line.beta_ns, gamma),
        formula,
        None,
        node_bytes=size_bytes * (ranks - 1) if algorithm.startswith("alltoall/") else None,
        others=_printed_form(algorithm, ranks, total, line, gamma),
        notes=notes,
    )


def _gamma(platform: Platform, options: Options) -> float:
    if options.gamma_ns is not None:
        return options.gamma_ns
    if "reduction" not in platform.costs:
        raise ValueError(
            f"platform {platform.name} does not say how long joining a byte takes (gamma); give it"
        )
    return platform.costs["reduction"].per_byte_ns


def _printed_form(
    algorithm: str, ranks: int, total: int, line: Hockney, gamma_ns: float
) -> tuple[OtherForm, ...]:
    if algorithm not in PRINTED:
        return ()
    row = PRINTED[algorithm]
    both = [
        counts_of(algorithm, total, ranks, printed=printed).time_ns(
            line.alpha_ns, line.beta_ns, gamma_ns
        )
        for printed in (False, True)
    ]
    time = both[1]
    if math.isclose(*both, rel_tol=1e-9):
        return ()  # one and the same for this p
    return (OtherForm(row.formula, time, row.note),)


def _other_forms(
    platform: Platform, algorithm: str, ranks: int, size_bytes: int
) -> tuple[OtherForm, ...]:
    """Of exchanges that have both: the cost with alpha and beta."""
    if algorithm not in FORMULAS:
        return ()
    row = FORMULAS[algorithm]
    line = hockney(platform, ranks)
    counts = counts_of(algorithm, total_bytes(algorithm, ranks, size_bytes), ranks)
    time = counts.time_ns(line.alpha_ns, line.beta_ns)
    return (OtherForm(row.formula, time, row.note),)


def _warnings(platform: Platform, found: Prediction) -> tuple[str, ...]:
    if found.packets is None and "send_gap" not in platform.costs:
        return ()
    size = platform.packet_bytes
    if found.packets in (1, None):  # a short message is no full packet
        size = max(1, min(size, found.size_bytes))
    if found.algorithm.startswith("barrier/"):
        size = 1
    elif found.packets is None and found.algorithm not in _WHOLE:
        parts = total_bytes(found.algorithm, found.ranks, found.size_bytes)
        size = max(1, min(size, parts // found.ranks))
    said = []
    beyond = platform.beyond(size, found.ranks)
    if beyond:
        said.append(
            f"{', '.join(beyond)}: extrapolated, not measured at {size} bytes and {found.ranks}"
            " processes."
        )
    times = platform.times(size, found.ranks)
    if found.algorithm in _EXCHANGES and not times.is_full_duplex:
        said.append(
            "O_s + O_r + U_r < g < L does not hold: sends and receives hinder each other, and the"
            " equation may be too low."
        )
    return tuple(said)
