"""Over a link whose rate is known, options leave alone what they are not about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bench.option_values import (
    about,
    is_possible,
    named,
    pairs,
    settings,
    together,
    transports,
)
from bench.options import RATE_BIT_PER_S, STREAM_BYTES, measure

from attempts import Attempts
from netsonde.errors import HostError
from netsonde.lab.cluster import lab_up
from netsonde.lab.spec import LabSpec

LOWEST_SHARE = 0.6
"""Of the link's rate, on a machine that does other things; TCP's headers leave 0.95."""
HELD_BACK_NS = 35_000_000
"""The kernel holds back acknowledgements for 40 ms, and what is corked for 200 ms."""


def problems(
    lab: Any, transport: str, options: dict[str, Any], only_timers: bool = False
) -> list[str]:
    """What of a run was not as without options, in words. With ``only_timers`` a stream may be as
    slow as it likes, unless every message waits for one."""
    least = LOWEST_SHARE * RATE_BIT_PER_S
    if only_timers:
        least = 8e9 * STREAM_BYTES[transport] / HELD_BACK_NS
    try:
        found = measure(lab.hosts[0], lab.hosts[1], transport, options)
    except HostError as error:
        may_lack = {"multipath", "sending"} & options.keys()
        rest = {name: value for name, value in options.items() if name not in may_lack}
        if not may_lack:
            return [f"{named(options)}: {error}"]
        return problems(lab, transport, rest, only_timers) if rest else []
    wrong = []
    rate = found.get("throughput", RATE_BIT_PER_S)
    is_about_rate = not only_timers and "throughput" in about(options)
    if rate < least and not is_about_rate:
        wrong.append(f"{named(options)} over {transport}: {rate / 1e6:.1f} Mbit/s")
    for name in ("synchronisation", "round trip"):
        if found.get(name, 0.0) > HELD_BACK_NS:
            wrong.append(f"{named(options)} over {transport}: {name} {found[name] / 1e6:.1f} ms")
    return wrong


def judge(attempts: Attempts, cases: list[tuple[str, dict[str, Any]]], **how: bool) -> None:
    """Every setting once in each attempt."""
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=RATE_BIT_PER_S)) as lab:
        for attempt in attempts(2, of=3):
            with attempt:
                assert not [p for transport, o in cases for p in problems(lab, transport, o, **how)]


@pytest.mark.tolerant
@pytest.mark.lab
@pytest.mark.timeout(300)
def test_an_option_does_not_hold_back_what_it_is_not_about(attempts: Attempts) -> None:
    judge(attempts, [(transports(options)[0], options) for options in settings()])


@pytest.mark.lab
@pytest.mark.soak
@pytest.mark.timeout(300)
def test_any_two_options_among_many_do_not_hold_back(attempts: Attempts) -> None:
    """Every two that go together are in one of a few settings of many options."""
    cases = [(transport, options) for options in together() for transport in transports(options)]
    judge(attempts, cases, only_timers=True)


def test_every_two_options_are_together_somewhere() -> None:
    rows, asked = together(), pairs()
    assert not [p for p in asked if not any(p.items() <= row.items() for row in rows)]
    assert len(rows) < len(asked) / 10


@pytest.mark.lab
@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("half", [0, 1])
def test_two_options_do_not_hold_back_what_they_are_not_about(
    half: int, attempts: Attempts
) -> None:
    chosen = pairs()[half::2]
    judge(attempts, [(transport, o) for o in chosen for transport in transports(o)])


def test_the_pairs_are_those_that_may_be() -> None:
    asked = pairs()
    assert all(is_possible(options) for options in asked)
    assert len(asked) > 5 * len(settings())
    assert np.unique([named(options) for options in asked]).size == len(asked)
