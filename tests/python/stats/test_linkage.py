"""Average linkage beside that of a library."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from netsonde.stats.linkage import average_linkage, joined


@pytest.mark.parametrize("seed", range(20))
def test_average_linkage_is_that_of_a_library(seed):
    """Heights, and the clusters below each of them; with equal distances too."""
    rng = np.random.default_rng(seed)
    hosts = int(rng.integers(4, 60))
    apart = rng.uniform(1, 100, (hosts, hosts)).round(int(rng.integers(0, 6)))
    apart = np.minimum(apart, apart.T)
    np.fill_diagonal(apart, 0.0)
    merges = average_linkage(apart)
    wanted = hierarchy.average(squareform(apart, checks=False))
    heights = np.array([height for _, _, height in merges])
    if len(np.unique(apart)) > hosts * (hosts - 1) / 2:  # else equal ones leave several trees
        assert heights == pytest.approx(wanted[:, 2])
        for cut in range(hosts - 2):
            labels = hierarchy.fcluster(wanted, heights[cut] * (1 + 1e-9), "distance")
            expected = {frozenset(np.flatnonzero(labels == label)) for label in set(labels)}
            assert {frozenset(members) for members in joined(hosts, merges[: cut + 1])} == expected
    assert len(merges) == hosts - 1
    assert len(joined(hosts, merges)) == 1
    assert np.all(np.diff(heights) >= 0)


def test_a_thousand_hosts_arejoined_in_a_moment():
    rng = np.random.default_rng(5)
    apart = np.abs(np.subtract.outer(*[rng.uniform(0, 100, 1000)] * 2)) + 1.0
    begin = time.process_time()
    average_linkage(apart)
    assert time.process_time() - begin < 20
