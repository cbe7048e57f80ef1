"""Over a link whose rate is known, options leave alone what they are not about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bench.option_values import about, is_possible, named, pairs, settings, transports
from bench.options import RATE_BIT_PER_S, measure

from netsonde.errors import HostError
from netsonde.lab.cluster import lab_up
from netsonde.lab.spec import LabSpec

LOWEST_SHARE = 0.6
"""Of the link's rate, on a machine that does other things; TCP's headers leave 0.95."""
HELD_BACK_NS = 35_000_000
"""The kernel holds back acknowledgements for 40 ms, and what is corked for 200 ms."""
ATTEMPTS = 3


def problems(lab: Any, transport: str, options: dict[str, Any]) -> list[str]:
    """What of a run was not as without options, in words; a busy machine is asked again."""
    wrong: list[str] = []
    for _ in range(ATTEMPTS):
        try:
            found = measure(lab.hosts[0], lab.hosts[1], transport, options)
        except HostError as error:
            if {"multipath", "uring"} & {*options, *map(str, options.values())}:
                return []  # this machine may not have it
            return [f"{named(options)}: {error}"]
        wrong = []
        rate = found.get("throughput", RATE_BIT_PER_S)
        if rate < LOWEST_SHARE * RATE_BIT_PER_S and "throughput" not in about(options):
            wrong.append(f"{named(options)} over {transport}: {rate / 1e6:.1f} Mbit/s")
        for name in ("synchronisation", "round trip"):
            if found.get(name, 0.0) > HELD_BACK_NS:
                wrong.append(
                    f"{named(options)} over {transport}: {name} {found[name] / 1e6:.1f} ms"
                )
        if not wrong:
            break
    return wrong


@pytest.mark.lab
@pytest.mark.timeout(300)
def test_an_option_does_not_hold_back_what_it_is_not_about() -> None:
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=RATE_BIT_PER_S)) as lab:
        assert not [
            p for options in settings() for p in problems(lab, transports(options)[0], options)
        ]


@pytest.mark.lab
@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("half", [0, 1])
def test_two_options_do_not_hold_back_what_they_are_not_about(half: int) -> None:
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=RATE_BIT_PER_S)) as lab:
        found = [
            problem
            for options in pairs()[half::2]
            for transport in transports(options)
            for problem in problems(lab, transport, options)
        ]
    assert not found


def test_the_pairs_are_those_that_may_be() -> None:
    for options in pairs():
        assert is_possible(options)
    assert len(pairs()) > 5 * len(settings())
    assert np.unique([named(options) for options in pairs()]).size == len(pairs())
