"""L(m, p) and whether links are shared, from pairs of a network that is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from netsonde.model.latency_plane import Plane, fit_plane
from netsonde.model.platform import Origin

ORIGIN = Origin("simulated", "made")
SIZES, RANKS = (64, 368, 736, 1104, 1472), (2, 4, 8)


def plane_of(
    per_rank: float, per_rank_byte: float, scatter_ns: float = 0.0, seed: int = 1
) -> Plane:
    draw = np.random.default_rng(seed)
    found = [
        (m, p, 40_000 + 160 * m + per_rank * p + per_rank_byte * m * p + draw.normal(0, scatter_ns))
        for m, p in product(SIZES, RANKS)
        for _ in range(p // 2)
    ]
    sizes, ranks, times = zip(*found, strict=True)
    return fit_plane(sizes, ranks, times, ORIGIN)


def test_all_four_terms_are_found() -> None:
    plane = plane_of(900.0, 12.0)
    cost = plane.cost
    assert (cost.start_ns, cost.per_byte_ns) == (pytest.approx(40_000), pytest.approx(160))
    assert (cost.per_rank_ns, cost.per_rank_byte_ns) == (pytest.approx(900), pytest.approx(12))
    assert cost.fit is not None
    assert cost.fit.r_squared == pytest.approx(1.0)
    assert (cost.sizes, cost.ranks) == ((64, 1472), (2, 8))


def test_a_hierarchy_is_told_from_one_switch() -> None:
    shared = plane_of(0.0, 40.0, 3_000.0)
    flat = plane_of(0.0, 0.0, 3_000.0)
    assert shared.is_shared
    assert not flat.is_shared
    assert flat.growth_interval.low < 0.0 < flat.growth_interval.high


def test_a_certain_growth_of_little_is_no_shared_link() -> None:
    """Hosts that share a machine slow each other down a little."""
    plane = plane_of(500.0, 0.0)
    assert plane.growth_interval.low > 0.0
    assert not plane.is_shared


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    for seed in range(200):
        cost = plane_of(900.0, 12.0, 2_000.0, seed).cost
        assert cost.fit is not None
        own = cost.fit.intervals["per_rank_byte_ns"]
        held += own.low <= 12.0 <= own.high
    assert 180 <= held <= 198


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="two numbers of processes"):
        fit_plane([64, 128, 256, 512, 1024], [2] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], ORIGIN)
