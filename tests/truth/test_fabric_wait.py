"""libfabric's provider tcp beside TCP over a known link: its system calls, made by a plain socket,
are a good part of what it adds. Time decides it, so it is in `make soak`."""

from __future__ import annotations

import random
import shutil

import pytest
from bench import fabric_wait
from bench.comparisons import LAB
from bench.routes import open_route

from attempts import Attempts
from fabric_needed import require_fabric
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
SECONDS = 6.0
LEAST_SHARE = 0.25


@pytest.mark.soak
@pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.timeout(180)
def test_asleep_its_system_calls_are_a_part_of_what_it_adds_to_tcp(attempts: Attempts) -> None:
    """The control's ratio of two medians beside the provider's, each by batches in turn."""
    require_fabric()
    with open_route(LAB) as (route, _), fabric_wait.control() as program:
        for attempt in attempts(2, of=3):
            with attempt:
                found = fabric_wait.measured(
                    route, "lab", fabric_wait.ASLEEP, SECONDS, random.Random(1)
                )
                calls, _ = fabric_wait.controlled(route, "lab", program)
                over_tcp = found[1].ratio.ratio
                attempt.found(over_tcp=over_tcp, calls=calls.ratio.ratio)
                assert over_tcp > 1.0
                assert (calls.ratio.ratio - 1.0) / (over_tcp - 1.0) >= LEAST_SHARE
