"""Which hosts a study gives up, and whether points can be measured at the same time.

Two rules of a study of several pairs of hosts, as pure as they can be: the one question that they
ask of the world, whether a host still answers, is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from netsonde.errors import HostError
from netsonde.study.plan import PlannedPoint

FAILURES_IN_A_ROW = 3
"""So many failed points one after the other, and the path itself is taken to be broken."""

Pair = tuple[str, ...]


def pair_of(point: PlannedPoint) -> Pair:
    """The two hosts of a point; none where the study has but one path."""
    return tuple(point.parameters.get("between", ()))


class Failures:
    """Counts failed points in a row for each pair of hosts, and says what is given up for them.

    ``problem_of``: why nothing can be started on a host, or None. ``drop``: a dead host is dropped,
    else the study ends. ``planned``: how many points are to be measured.
    """

    def __init__(
        self, problem_of: Callable[[str], str | None], *, drop: bool, points: Sequence[PlannedPoint]
    ) -> None:
        self._problem_of = problem_of
        self._drop = drop
        self._in_a_row: dict[Pair, int] = {}
        self._open = [pair_of(point) for point in points]
        self.hosts: dict[str, str] = {}
        self.pairs: dict[Pair, str] = {}

    def note(self, point: PlannedPoint, error: str | None) -> list[str]:
        """Takes note of how a point ended. Returns the hosts that are dropped from now on.

        Raises HostError where the study is to stop.
        """
        pair = pair_of(point)
        if error is None:
            self._in_a_row[pair] = 0
            return []
        self._in_a_row[pair] = self._in_a_row.get(pair, 0) + 1
        if not pair or not self._drop:
            if self._in_a_row[pair] == min(FAILURES_IN_A_ROW, self._open.count(pair)):
                raise HostError(error)
            return []
        found = {name: self._problem_of(name) for name in pair if name not in self.hosts}
        dead = {name: problem for name, problem in found.items() if problem is not None}
        self.hosts |= dead
        if not dead and self._in_a_row[pair] == FAILURES_IN_A_ROW:
            self.pairs[pair] = error
        if all(self.why_not(other) is not None for other in self._open):
            raise HostError(f"no two hosts are left to measure between: {error}")
        return list(dead)

    def why_not(self, pair: Pair) -> str | None:
        """Why nothing is measured between two hosts any more, as a sentence, or None."""
        for name in pair:
            if name in self.hosts:
                return f"{name} was dropped: {self.hosts[name]}"
        if pair in self.pairs:
            return (
                f"{pair[0]} and {pair[1]} were dropped after {FAILURES_IN_A_ROW} failed points in "
                f"a row, the last because {self.pairs[pair]}"
            )
        return None


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
    return int(point.parameters.get("launch", 1))


def _crosses(pair: Iterable[str], places: Mapping[str, str]) -> bool:
    """Whether frames between the two take an uplink; a host that nobody described is at none."""
    known = {places.get(name) for name in pair}
    return len(known) > 1
