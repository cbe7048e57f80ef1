"""Who sends to whom, in tests of many hosts."""

from __future__ import annotations

from netsonde.errors import UsageError

STREAM_PATTERNS = ("converge", "outcast", "pairs", "ring", "alltoall")
"""All flows stream for as long as the test lasts."""
PATTERNS = ("incast", *STREAM_PATTERNS, "victim")
WITH_ONE_IN_ALL = ("incast", "converge", "outcast")
"""The last host is an end of every flow."""
FLOWS_LIMIT = 512
"""Each flow has two workers; more of them are not started from one command."""
FEWEST_HOSTS = {**dict.fromkeys(PATTERNS, 2), "victim": 3}


def flows_of(pattern: str, hosts: int) -> list[tuple[int, int]]:
    """(origin, target) of every flow, by place in the list of hosts.

    The last host is the one of incast, converge, outcast and victim. The first flow of ``victim``
    is the victim's, the others are the aggressors'. Raises UsageError where the hosts do not fit.
    """
    fewest = FEWEST_HOSTS[pattern]
    if hosts < fewest:
        raise UsageError(f"{pattern} needs at least {fewest} hosts, and {hosts} are given")
    if pattern == "pairs" and hosts % 2:
        raise UsageError(f"pairs needs an even number of hosts, and {hosts} are given")
    last = hosts - 1
    match pattern:
        case "incast" | "converge" | "victim":
            flows = [(host, last) for host in range(last)]
        case "outcast":
            flows = [(last, host) for host in range(last)]
        case "pairs":
            flows = [(host, host + 1) for host in range(0, hosts, 2)]
        case "ring":
            flows = [(host, (host + 1) % hosts) for host in range(hosts)]
        case _:
            flows = [(a, b) for a in range(hosts) for b in range(hosts) if a != b]
    if len(flows) > FLOWS_LIMIT:
        raise UsageError(
            f"{pattern} of {hosts} hosts has {len(flows)} flows; the limit is {FLOWS_LIMIT}"
        )
    return flows
