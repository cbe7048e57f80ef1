"""Points that may be put side by side: they differ in the factor in question and in nothing else.

Whatever holds one point beside another asks here, so that no rule and no figure has its own idea of
what is alike. How long and how often a point was measured tells nothing of what it was
(:data:`netsonde.figures.keys.EFFORT`), but its launch does: two launches are two connections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from netsonde.catalogue.options.endpoints import ENDPOINTS
from netsonde.catalogue.options.run_keys import study_key
from netsonde.catalogue.options.tasks import TASKS
from netsonde.figures.keys import EFFORT, texts_of
from netsonde.records.data import Point

USUAL_OPTIONS = {
    "options.no_delay": "true",
    "options.wait": '"block"',
    "options.placement": '"free"',
}
"""What a connection has where nobody asks: a transport without such options has been asked for no
others."""
_OWN = ("message_bytes", "operation", "launch", "pass")
"""Not how long or how often, and not what tells figures apart: what tells points apart."""


@dataclass(frozen=True)
class Factor:
    """What points that are put side by side may differ in: the names of aspects."""

    name: str
    aspects: frozenset[str]

    def __or__(self, other: Factor) -> Factor:
        return Factor(f"{self.name} and {other.name}", self.aspects | other.aspects)


def _factor(name: str, *aspects: str) -> Factor:
    return Factor(name, frozenset(aspects))


LAUNCH = _factor("launch", "launch")
PASS = _factor("pass", "pass")
MPI = _factor("MPI", "mpi")
RANKS = _factor("number of ranks", "ranks")
RANKS_PER_HOST = _factor("ranks on a host", "ppn")
_OF_ONE = tuple(row.run_key for row in (*TASKS, *ENDPOINTS))
TRANSPORT = _factor(
    "transport", "transport", "mpi", "ranks", "ppn", *(f"options.{key}" for key in _OF_ONE)
)
"""What only MPI has, or only tasks or endpoints have, belongs to it."""
OPERATION = _factor("operation", "operation")
SIZE = _factor("size", "message_bytes", "total_bytes", "perturbed_bytes")
PAIR = _factor("pair of ranks", "pair")
AT_ONCE = _factor("pairs at once", "test", "operation", "pattern", "distance", "partners")
CONGESTION_CONTROL = _factor("congestion control", "options.congestion_control", "label")
BUFFER = _factor(
    "buffer", *(f"options.{n}buffer" for n in ("", "receive_", "target_")), "label"
)  # fmt: skip
HOSTS = _factor("number of hosts", "hosts", "label")
THREADS = _factor("threads", "threads", "thread_level", "communicators", "warm_up")
TECHNIQUE = _factor(
    "technique",
    *("like", "warm_up", "start", "rotate_root", "outstanding", "cache", "call_bytes"),
    *("echo", "reduction", "datatype"),
)
WINDOW = _factor("window", "window", "swept.window", "label")
FACTORS = (
    *(LAUNCH, PASS, MPI, RANKS, RANKS_PER_HOST, TRANSPORT, OPERATION, SIZE, PAIR, AT_ONCE),
    *(CONGESTION_CONTROL, BUFFER, THREADS, TECHNIQUE, WINDOW),
)


def aspects(point: Point) -> dict[str, str]:
    """Everything that a point is by what was asked for, by name, as JSON text: its transport, its
    test and its parameters, options as ``options.buffer``."""
    own = {k: v for k, v in point.parameters.items() if k in _OWN or k not in EFFORT}
    given = {"transport": point.transport, "test": point.test, **own}
    if _has_options_of_its_own(point) and _repeats_options(point):
        given.pop("label", None)
    texts = texts_of(given, "options", "swept")
    if "total_bytes" in texts:
        texts.pop("message_bytes", None)  # it follows from that and the number of ranks
    return {name: text for name, text in texts.items() if text != USUAL_OPTIONS.get(name)}


def _has_options_of_its_own(point: Point) -> bool:
    return point.carrier.has_tasks or point.carrier.has_endpoints


def _repeats_options(point: Point) -> bool:
    """Whether a label says what such options say, and nothing else: ``raw, direct``."""
    options = point.spec.chosen.to_json()
    said = {str(options.get(key)) for key in _OF_ONE}
    return {part.split(": ")[-1] for part in (point.label or "").split(", ")} <= said


def condition(point: Point, *factors: Factor) -> str:
    """What is the same of points that differ in nothing but these factors."""
    free = frozenset[str]().union(*(factor.aspects for factor in factors))
    return json.dumps(sorted((n, v) for n, v in aspects(point).items() if n not in free))


def alike(points: Iterable[Point], *factors: Factor) -> list[list[Point]]:
    """The points in groups whose members differ in nothing but these factors, in their order."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(condition(point, *factors), []).append(point)
    return list(groups.values())


def differ_in(one: Point, other: Point) -> frozenset[str]:
    """The aspects in which two points differ."""
    ours, theirs = aspects(one), aspects(other)
    return frozenset(n for n in ours.keys() | theirs.keys() if ours.get(n) != theirs.get(n))


def the_factor(one: Point, other: Point, besides: Factor) -> Factor | None:
    """The only thing in which two points differ but for ``besides`` and what they are called: one
    of :data:`FACTORS`, or a single aspect. None where there are several, or none."""
    found = differ_in(one, other) - besides.aspects - {"label"}
    if not found:
        return None
    if len(found) == 1:
        return Factor(next(iter(found)), found)
    return next((factor for factor in FACTORS if found <= factor.aspects), None)


def told_apart(points: Iterable[Point], *factors: Factor) -> dict[str, str]:
    """By id, the aspects in which a point differs from the others in words, those of the factors
    left out; its label where that says all; empty where it differs in nothing."""
    free = frozenset[str]().union(*(factor.aspects for factor in factors))
    known = {
        point.id: {n: v for n, v in aspects(point).items() if n not in free} for point in points
    }
    names = {name for own in known.values() for name in own}
    apart = sorted(n for n in names if len({own.get(n) for own in known.values()}) > 1)
    words = {}
    for point_id, own in known.items():
        if "label" in apart:
            words[point_id] = json.loads(own.get("label", '""'))
            if len({k.get("label") for k in known.values()}) == len(known):
                continue
        others = [name for name in apart if name in own and name != "label"]
        told = [f"{study_key(name.split('.')[-1])} {_plain(own[name])}" for name in others]
        words[point_id] = ", ".join(filter(None, (words.get(point_id, ""), *told)))
    return words


def _plain(text: str) -> str:
    return text.translate(str.maketrans("", "", '"[]{}')).replace("_", " ")
