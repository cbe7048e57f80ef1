"""Hosts below switches: which pairs cross which link between switches, given or inferred.

A group is what hangs below a switch, at any level. A pair crosses the link above a group where
exactly one of its hosts is in it, so a tree of switches is a set of groups, one within another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from netsonde.stats.linkage import average_linkage, joined

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
INFERRED_MOST = 4096
"""Hosts whose groups are inferred: the method needs all pairs of them in memory."""
GAP_LEAST = 1.2
"""The nearest hosts of different groups are so many times as far from each other as the groups'
own hosts, or no groups are inferred."""
MEASURED_LEAST = 0.9
"""A share of all pairs that must have been measured, so that groups can be inferred."""


@dataclass(frozen=True)
class Groups:
    """``members[g, i]``: whether host i hangs below switch g, shape (groups, hosts); the largest
    first. No two have the same hosts, and none has all or a single one."""

    names: tuple[str, ...]
    members: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.names)

    def classes_of(self, origin: Integers, target: Integers) -> Integers:
        """How many links between switches each pair crosses, shape (pairs,)."""
        if not len(self):
            return np.zeros(len(origin), dtype=np.int64)
        leaves, leaf_of = np.unique(self.members.T, axis=0, return_inverse=True)
        crossings = (leaves[:, None, :] != leaves[None, :, :]).sum(axis=2)
        leaf_of = leaf_of.reshape(-1)
        return np.asarray(crossings[leaf_of[origin], leaf_of[target]], dtype=np.int64)


def no_groups(hosts: int) -> Groups:
    return Groups((), np.zeros((0, hosts), dtype=np.bool_))


def groups_of(hosts: Sequence[str], switches: Mapping[str, Sequence[str]]) -> Groups:
    """Of switches and the hosts below each, those that split the hosts. Where two have the same
    hosts the first one stands for both: their links are in one row."""
    place = {name: number for number, name in enumerate(hosts)}
    rows: dict[bytes, tuple[str, npt.NDArray[np.bool_]]] = {}
    for name, below in switches.items():
        row = np.zeros(len(hosts), dtype=np.bool_)
        row[[place[host] for host in below if host in place]] = True
        if 1 < row.sum() < len(hosts):
            rows.setdefault(row.tobytes(), (name, row))
    ordered = sorted(rows.values(), key=lambda item: (-int(item[1].sum()), item[0]))
    if not ordered:
        return no_groups(len(hosts))
    return Groups(tuple(name for name, _ in ordered), np.array([row for _, row in ordered]))


def inferred_groups(distance: Reals) -> list[list[int]]:
    """Groups of hosts that are near each other, by a matrix of least round trips, shape (n, n).

    Clusters of average linkage (R. Sokal, C. Michener, 1958), cut where the height of the merges
    grows most. None where that is by less than ``GAP_LEAST``, where there is but one, or where too
    few pairs were measured. A host by itself is in no group.
    """
    hosts = len(distance)
    known = np.isfinite(distance) & ~np.eye(hosts, dtype=np.bool_)
    if not 4 <= hosts <= INFERRED_MOST or known.sum() < MEASURED_LEAST * hosts * (hosts - 1):
        return []
    filled = np.where(known, distance, np.median(distance[known]))
    filled = np.minimum(filled, filled.T)
    np.fill_diagonal(filled, 0.0)
    merges = average_linkage(filled)
    heights = np.array([height for _, _, height in merges])
    ratios = heights[1:] / np.maximum(heights[:-1], 1e-9)
    # The last merges join what is far away from all others, such as one host behind a long link:
    # where they split off single hosts only, the cut below them is the one between groups.
    for cut in np.argsort(-ratios):
        if ratios[cut] < GAP_LEAST:
            return []
        found = joined(hosts, merges[: cut + 1])
        groups = [members for members in found if len(members) > 1]
        if len(groups) > 1 and sum(map(len, groups)) >= hosts / 2:
            return sorted(groups)
    return []
