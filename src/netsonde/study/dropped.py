"""Which hosts a study gives up, and whether points can be measured at the same time.

Two rules of a study of several hosts, as pure as they can be: the one question that they
ask of the world, whether a host still answers, is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from netsonde.errors import HostError
from netsonde.study.plan import PlannedPoint

FAILURES_IN_A_ROW = 3
"""So many failed points one after the other, and the path itself is taken to be broken."""

ASKED_AT_ONCE = 8

Pair = tuple[str, ...]


def pair_of(point: PlannedPoint) -> Pair:
    """The two hosts of a point; none where the study has but one path."""
    return point.spec.between or ()


class Failures:
    """Counts failed points in a row for each set of hosts, and says what is given up for them.

    ``problem_of``: why nothing can be started on a host, or None. ``drop``: a dead host is dropped,
    else the study ends. ``points`` are to be measured; ``members`` has the hosts of one: a pair,
    all of a pattern or an MPI program, or none where it is not known.
    """

    def __init__(
        self,
        problem_of: Callable[[str], str | None],
        *,
        drop: bool,
        points: Sequence[PlannedPoint],
        members: Callable[[PlannedPoint], Pair] = pair_of,
    ) -> None:
        self._problem_of = problem_of
        self._drop = drop
        self._members = members
        self._in_a_row: dict[Pair, int] = {}
        self._open = [members(point) for point in points]
        self._has_pairs_only = all(pair_of(point) for point in points)
        self.hosts: dict[str, str] = {}
        self.pairs: dict[Pair, str] = {}

    def note(self, point: PlannedPoint, error: str | None) -> list[str]:
        """Takes note of how a point ended. Returns the hosts that are dropped from now on.

        Raises HostError where the study is to stop.
        """
        members = self._members(point)
        if error is None:
            self._in_a_row[members] = 0
            return []
        self._in_a_row[members] = self._in_a_row.get(members, 0) + 1
        is_lasting = self._in_a_row[members] == min(FAILURES_IN_A_ROW, self._open.count(members))
        dead = self._dead_of(members) if self._drop else {}
        self.hosts |= dead
        if not dead and not (pair_of(point) and self._drop):
            if is_lasting:
                raise HostError(error)
            return []
        if not dead and self._in_a_row[members] == FAILURES_IN_A_ROW:
            self.pairs[members] = error
        if self._has_pairs_only and all(self.why_not(other) is not None for other in self._open):
            raise HostError(f"no two hosts are left to measure between: {error}")
        return list(dead)

    def _dead_of(self, members: Pair) -> dict[str, str]:
        problems = problems_of([n for n in members if n not in self.hosts], self._problem_of)
        # What is said of a dropped host names it already.
        return {name: words.removeprefix(f"{name}: ") for name, words in problems.items()}

    def why_not(self, pair: Pair) -> str | None:
        """Why nothing is measured between two hosts, or among many, any more, as a sentence, or
        None."""
        for name in pair:
            if name in self.hosts:
                return f"{name} was dropped: {self.hosts[name]}"
        if pair in self.pairs:
            return (
                f"{pair[0]} and {pair[1]} were dropped after {FAILURES_IN_A_ROW} failed points in "
                f"a row, the last because {self.pairs[pair]}"
            )
        return None


def problems_of(names: Sequence[str], problem_of: Callable[[str], str | None]) -> dict[str, str]:
    """Of hosts that have one, why nothing can be started there; several are asked at once."""
    if not names:
        return {}
    with ThreadPoolExecutor(min(ASKED_AT_ONCE, len(names)), "ask host") as callers:
        problems = list(callers.map(problem_of, names))
    return {name: p for name, p in zip(names, problems, strict=True) if p is not None}


def groups_at_once(
    points: Sequence[PlannedPoint], most: int, places: Mapping[str, str]
) -> list[list[PlannedPoint]]:
    """The points, in their order, in groups of at most so many that are measured at the same time.

    Points of one group have no host in common, are of the same launch, and are between two hosts
    each. ``places`` are the switches of the hosts that the study describes: of points across
    uplinks there is but one in a group, since nobody knows which uplinks it takes.
    """
    waiting = list(points)
    groups: list[list[PlannedPoint]] = []
    while waiting:
        group = [waiting.pop(0)]
        taken = set(pair_of(group[0]))
        for point in list(waiting) if most > 1 and taken else ():
            if len(group) == most:
                break
            pair = pair_of(point)
            if not pair or taken & set(pair) or _launch(point) != _launch(group[0]):
                continue
            if _crosses(pair, places) and any(_crosses(pair_of(p), places) for p in group):
                continue
            group.append(point)
            taken |= set(pair)
            waiting.remove(point)
        groups.append(group)
    return groups


def _launch(point: PlannedPoint) -> int:
    return point.spec.launch or 1


def _crosses(pair: Iterable[str], places: Mapping[str, str]) -> bool:
    """Whether frames between the two take an uplink; a host that nobody described is at none."""
    known = {places.get(name) for name in pair}
    return len(known) > 1
