"""Reaching many hosts at the same time, but never too many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from netsonde.errors import HostError
from netsonde.launch.host import Host
from netsonde.launch.remote import RemoteHost

AT_ONCE = 32
"""Hosts that are logged in to at the same time: each costs this machine a process and some memory,
and a login node that opens hundreds of connections at once is taken for an attacker."""
NAMED_LIMIT = 8


def connect_all(hosts: Iterable[Host], at_once: int = AT_ONCE) -> dict[str, HostError]:
    """Reaches every host that a launcher starts processes on; by name, why it could not be.

    Hosts of other kinds are left alone. Lasts as long as the slowest ``at_once`` of them.
    """
    remote = list(dict.fromkeys(host for host in hosts if isinstance(host, RemoteHost)))
    if not remote:
        return {}
    with ThreadPoolExecutor(min(at_once, len(remote)), "connect") as callers:
        answers = list(callers.map(_why_not, remote))
    return {host.name: error for host, error in zip(remote, answers, strict=True) if error}


@contextmanager
def let_go_after(*hosts: Host) -> Iterator[None]:
    """Ends what launchers keep on the hosts when the block ends."""
    with ExitStack() as stack:
        for host in dict.fromkeys(host for host in hosts if isinstance(host, RemoteHost)):
            stack.callback(host.close)
        yield


def failure_in_words(failed: dict[str, HostError]) -> str:
    """One sentence: the first reason, and which hosts failed as well."""
    first, *others = failed
    if not others:
        return str(failed[first])
    named = ", ".join(others[:NAMED_LIMIT])
    more = len(others) - NAMED_LIMIT
    return (
        f"{failed[first]} (and {len(others)} more of the hosts failed: {named}"
        f"{f' and {more} others' if more > 0 else ''})"
    )


def _why_not(host: RemoteHost) -> HostError | None:
    try:
        host.connect()
    except HostError as error:
        return error
    return None
