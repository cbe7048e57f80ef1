"""Clusters of what is near each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netsonde.stats.arrays import FloatArray


def average_linkage(distance: FloatArray) -> list[tuple[int, int, float]]:
    """The merges of average linkage over symmetric distances, shape (n, n), the nearest first: a
    member of either cluster, and how far apart the clusters are on average.

    Each cluster's nearest one is followed until two are each other's, which is the same tree as by
    looking for the nearest of all: F. Murtagh, The Computer Journal 26, 1983.
    """
    hosts = len(distance)
    apart = distance.astype(np.float64)
    np.fill_diagonal(apart, np.inf)
    sizes = np.ones(hosts)
    merges: list[tuple[int, int, float]] = []
    chain: list[int] = []
    while len(merges) < hosts - 1:
        if not chain:
            chain = [int(np.argmax(sizes > 0))]
        last = chain[-1]
        nearest = int(np.argmin(apart[last]))
        # Of several that are equally near the one that it came from, or the chain would not end.
        if len(chain) > 1 and apart[last, chain[-2]] <= apart[last, nearest]:
            nearest = chain[-2]
        if len(chain) < 2 or nearest != chain[-2]:
            chain.append(nearest)
            continue
        del chain[-2:]
        merges.append((nearest, last, float(apart[last, nearest])))
        _merge(apart, sizes, nearest, last)
    return sorted(merges, key=lambda merge: merge[2])


def _merge(apart: FloatArray, sizes: FloatArray, into: int, gone: int) -> None:
    """One cluster of two: its distances are the means over all its members."""
    weights = sizes[[into, gone]] / (sizes[into] + sizes[gone])
    row = weights[0] * apart[into] + weights[1] * apart[gone]
    row[[into, gone]] = np.inf
    apart[into], apart[:, into] = row, row
    apart[gone], apart[:, gone] = np.inf, np.inf
    sizes[into], sizes[gone] = sizes[into] + sizes[gone], 0


def joined(hosts: int, merges: Sequence[tuple[int, int, float]]) -> list[list[int]]:
    """The hosts that the merges put together."""
    group = np.arange(hosts)
    for one, other, _ in merges:
        group[group == group[other]] = group[one]
    return [np.flatnonzero(group == label).tolist() for label in np.unique(group)]
