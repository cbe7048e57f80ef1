"""Users' own programs beside the network: which figures belong together, and whether they rise and
fall together. Definitions are in docs/methods/programs.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netsonde.catalogue.figure import Better
from netsonde.catalogue.known_figures import find_figure
from netsonde.catalogue.point import Program
from netsonde.catalogue.test import GIVEN
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.figures.data import Figure
from netsonde.records.data import Point, Scalar
from netsonde.stats.correlation import RankCorrelation, rank_correlation

ELAPSED = "elapsed_median_ns"
NETWORK = (
    ("latency", "round_trip_median_ns", -1),
    ("stream", "throughput_bit_per_s", 1),
)
"""Test, figure, and whether more of it is better (1) or worse (-1)."""
FRAMED = tuple(row.name for row in TRANSPORTS.values() if row.framing is not None)
"""Transports that a program may use itself."""


@dataclass(frozen=True)
class Relation:
    """A program's figure and one of the network under the same conditions.

    ``program`` is its name and end, ``pairs`` holds (the program's, the network's) medians.
    ``correlation`` is of better with better; None for fewer than three pairs, or where one of the
    two is the same in all.
    """

    program: str
    figure: str
    transport: str
    network: str
    pairs: tuple[tuple[Figure, Figure], ...]
    correlation: RankCorrelation | None


def is_good(run: Mapping[str, Scalar]) -> bool:
    """Whether a run of a program, as its ``done`` has it, ended by itself and with status 0."""
    return run.get("exit_status") == 0 and run.get("timed_out") is False


def program_figure(name: str) -> str:
    """The name of a program's own figure among all others."""
    return f"{GIVEN}{name}"


def better_of(point: Point, figure: str) -> Better:
    """Which way is better: of a program's own figure as its study says, of others as their rows."""
    if figure.startswith(GIVEN):
        asked = (point.spec.of(Program).figures or {}).get(figure.removeprefix(GIVEN))
        return "less" if asked is not None and asked.better == "lower" else "more"
    known = find_figure(figure)
    return "neither" if known is None else known.better


def network_beside(
    point: Point, points: Iterable[Point], figures: Sequence[Figure]
) -> dict[tuple[str, str], Figure]:
    """The network's figures under a program's conditions, by transport and name: the round trip of
    the smallest message, the throughput of the fastest stream.

    The same conditions are the same label, none being one too, and the same size where the program
    has one.
    """
    fitting = {p.id for p in points if _is_beside(point, p)}
    found: dict[tuple[str, str], Figure] = {}
    for test, name, sign in NETWORK:
        for figure in figures:
            if figure.name != name or figure.test != test or figure.point not in fitting:
                continue
            key = (figure.transport, name)
            known = found.get(key)
            if known is None or _comes_before(figure, known, sign):
                found[key] = figure
    order = [(t, name) for t in FRAMED for _, name, _ in NETWORK]
    return {key: found[key] for key in order if key in found}


def _is_beside(program: Point, other: Point) -> bool:
    if other.kind.is_program or other.spec.perturbed_bytes or other.flows > 1:
        return False
    size = program.message_bytes
    return other.label == program.label and size in (0, other.message_bytes)


def _comes_before(figure: Figure, known: Figure, sign: int) -> bool:
    if sign > 0:
        return figure.value > known.value
    return figure.message_bytes < known.message_bytes


def relations_of(points: Sequence[Point], figures: Sequence[Figure]) -> list[Relation]:
    """Every figure of every program with every figure of the network beside it, where the study
    varied a condition."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        spec = point.spec
        if isinstance(spec, Program) and any(f.point == point.id for f in figures):
            groups.setdefault((spec.name, spec.where), []).append(point)
    return [
        relation
        for (name, where), members in groups.items()
        if len({(p.label, p.message_bytes) for p in members}) > 1
        for relation in _relations(f"{name} at the {where}", members, points, figures)
    ]


def _relations(
    program: str, members: Sequence[Point], points: Sequence[Point], figures: Sequence[Figure]
) -> list[Relation]:
    beside = {p.id: network_beside(p, points, figures) for p in members}
    own = {p.id: {f.name: f for f in figures if f.point == p.id} for p in members}
    names = list(dict.fromkeys(name for found in own.values() for name in found))
    made = []
    for name in names:
        for transport, (_, network, sign) in ((t, n) for t in FRAMED for n in NETWORK):
            key = (transport, network)
            pairs = tuple(
                (own[p.id][name], beside[p.id][key])
                for p in members
                if name in own[p.id] and key in beside[p.id]
            )
            if pairs:
                better = -sign if better_of(members[0], name) == "less" else sign
                correlation = rank_correlation(
                    [better * ours.value for ours, _ in pairs], [its.value for _, its in pairs]
                )
                made.append(Relation(program, name, transport, network, pairs, correlation))
    return made
