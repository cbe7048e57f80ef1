"""Who sends to whom, in tests of many hosts."""

from __future__ import annotations

from netsonde.errors import UsageError

PATTERNS = ("incast", "outcast", "pairs", "ring", "alltoall", "victim")
FLOWS_LIMIT = 512
"""Each flow has two workers; more of them are not started from one command."""
FEWEST_HOSTS = {"incast": 2, "outcast": 2, "pairs": 2, "ring": 2, "alltoall": 2, "victim": 3}


def flows_of(pattern: str, hosts: int) -> list[tuple[int, int]]:
    """(origin, target) of every flow, by place in the list of hosts.

    The last host is the one of incast, outcast and victim. The first flow of ``victim`` is the
    victim's, the others are the aggressors'. Raises UsageError where the hosts do not fit.
    """
    fewest = FEWEST_HOSTS[pattern]
    if hosts < fewest:
        raise UsageError(f"{pattern} needs at least {fewest} hosts, and {hosts} are given")
    if pattern == "pairs" and hosts % 2:
        raise UsageError(f"pairs needs an even number of hosts, and {hosts} are given")
    last = hosts - 1
    match pattern:
        case "incast" | "victim":
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
