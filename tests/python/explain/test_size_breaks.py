"""Sizes at which the library changes something are named, with the operations that do."""

from __future__ import annotations

import pytest
from mpi_points import operations_run

from netsonde.explain.data import Seen
from netsonde.explain.protocols import breaks_over_sizes
from netsonde.figures.compute import figures_of

SIZES = [2**power for power in range(6, 18)]


def times(operation, breaks):
    """t0 + m / B; above each size of ``breaks`` so many times as long."""
    found = {}
    for size in SIZES:
        factor = 1.0
        for at, more in breaks.items():
            factor *= more if size > at else 1.0
        found[operation, size] = factor * (20.0 + size / 500)
    return found


def findings(measured):
    run = operations_run(measured)
    return list(breaks_over_sizes(Seen(run, figures_of(run))))


def test_one_operation_that_changes_and_one_that_does_not():
    (found,) = findings({**times("bcast", {8192: 1.5}), **times("reduce", {})})
    assert found.claim == "MPI bcast: the time breaks between 8k and 16k bytes."
    assert "another algorithm" in found.evidence


def test_a_change_of_protocol_shows_in_several():
    (found,) = findings({**times("bcast", {1024: 1.6}), **times("gather", {1024: 1.4})})
    assert found.claim == "MPI bcast, gather: the time breaks between 1k and 2k bytes."
    assert "protocol" in found.evidence


@pytest.mark.parametrize("count", [1, 4])
def test_too_few_sizes_say_nothing(count):
    measured = dict(list(times("bcast", {128: 3.0}).items())[:count])
    assert findings(measured) == []
