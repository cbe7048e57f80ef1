"""Who sends to whom, in tests of many hosts."""

from __future__ import annotations

from collections.abc import Callable

from netsonde.catalogue.behind import Behind
from netsonde.catalogue.test import TESTS, names_of
from netsonde.errors import UsageError

PATTERNS = names_of("is_pattern")
OF_MANY = names_of("is_of_many")
"""Those and all pairs: what takes all hosts that are named."""
STREAM_PATTERNS = tuple(
    name
    for name in names_of("has_like_flows")
    if not (TESTS[name].has_rounds or TESTS[name].is_whole)
)
"""All flows stream for as long as the test lasts."""
WITH_ONE_IN_ALL = names_of("one_in_all")
"""The last host is an end of every flow."""
FLOWS_LIMIT = 512
"""Each flow has two workers; more of them are not started from one command."""
MOST_OF_ALL_PAIRS = 64
"""Hosts of which each asks all at once."""
Flows = list[tuple[int, int]]
FEWEST_FOR_TWO_SINKS = 6
"""Two sources for each of two sinks, and both may be more or fewer."""
FLOWS = Behind[Callable[[int], Flows]](OF_MANY)
"""(origin, target) of every flow between so many hosts."""


def flows_of(pattern: str, hosts: int) -> Flows:
    """(origin, target) of every flow, by place in the list of hosts.

    The last host is the one of incast, gather, converge, outcast and victim. The first flow of
    ``victim`` is the victim's, the others are the aggressors'. Raises UsageError where the hosts do
    not fit.
    """
    row = TESTS[pattern]
    if hosts < row.fewest_hosts:
        raise UsageError(
            f"{pattern} needs at least {row.fewest_hosts} hosts, and {hosts} are given"
        )
    if row.in_pairs and hosts % 2:
        raise UsageError(f"{pattern} needs an even number of hosts, and {hosts} are given")
    flows = FLOWS[pattern](hosts)
    if len(flows) > FLOWS_LIMIT:
        raise UsageError(
            f"{pattern} of {hosts} hosts has {len(flows)} flows; the limit is {FLOWS_LIMIT}"
        )
    return flows


@FLOWS.of("incast", "gather", "converge", "victim")
def _to_one(hosts: int) -> Flows:
    return [(host, hosts - 1) for host in range(hosts - 1)]


@FLOWS.of("outcast")
def _from_one(hosts: int) -> Flows:
    return [(hosts - 1, host) for host in range(hosts - 1)]


@FLOWS.of("pairs")
def _pairs(hosts: int) -> Flows:
    return [(host, host + 1) for host in range(0, hosts, 2)]


@FLOWS.of("ring")
def _ring(hosts: int) -> Flows:
    return [(host, (host + 1) % hosts) for host in range(hosts)]


@FLOWS.of("bisection")
def _across(hosts: int) -> Flows:
    """From the first half of the hosts to the second, so that what joins the halves is crossed."""
    return [(host, host + hosts // 2) for host in range(hosts // 2)]


@FLOWS.of("bursts")
def _burst(hosts: int) -> Flows:
    """To the last host; of six hosts or more then also from every second one to the last but one,
    which sends nothing (:func:`burst_shapes`)."""
    if hosts < FEWEST_FOR_TWO_SINKS:
        return [(host, hosts - 1) for host in range(hosts - 1)]
    sources = range(hosts - 2)
    to_one = [(host, hosts - 1) for host in sources]
    return to_one + [(host, hosts - 2) for host in sources if host % 2]


@FLOWS.of("all-pairs")
def _each_with_each(hosts: int) -> Flows:
    return [(a, b) for a in range(hosts) for b in range(hosts)]


@FLOWS.of("alltoall")
def _all_to_all(hosts: int) -> Flows:
    return [(a, b) for a in range(hosts) for b in range(hosts) if a != b]


def burst_shapes(hosts: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Sources, sinks and the numbers of the flows of :func:`flows_of` that send, for each shape of
    burst that so many hosts can make: two, and all sources to one sink, and the same to two."""
    flows = flows_of("bursts", hosts)
    if hosts < FEWEST_FOR_TWO_SINKS:
        return [(n, 1, tuple(range(n))) for n in sorted({2, hosts - 1})]
    second = {source: place for place, (source, sink) in enumerate(flows) if sink == hosts - 2}
    sources = hosts - 2 - hosts % 2  # half of them for each of two sinks
    shapes = [(n, 1, tuple(range(n))) for n in sorted({2, 4, sources})]
    return shapes + [
        (n, 2, tuple(second.get(source, source) for source in range(n)))
        for n in sorted({4, sources})
    ]
