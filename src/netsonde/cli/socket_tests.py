"""The tests of ``netsonde tcp`` and ``netsonde udp``, and the words that name hosts and test."""

from __future__ import annotations

from enum import StrEnum

from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.patterns import PATTERNS


class SocketTest(StrEnum):
    """The tests of a socket transport; a sweep is latency over many sizes, generate needs nobody at
    the other end, and those from incast on are of many hosts."""

    latency = "latency"
    pingpong = "pingpong"
    stream = "stream"
    duplex = "duplex"
    sweep = "sweep"
    generate = "generate"
    incast = "incast"
    converge = "converge"
    outcast = "outcast"
    pairs = "pairs"
    ring = "ring"
    alltoall = "alltoall"
    victim = "victim"


TESTS = ", ".join(test.value for test in SocketTest)


def hosts_and_test(first: str, second: str, third: str | None) -> tuple[list[str], SocketTest]:
    """``HOST TEST`` or ``HOSTS HOST TEST``, where HOSTS may be a set such as ``node[1-8]``.

    Raises UsageError for a test that is not there, and for several hosts where it takes one.
    """
    name = second if third is None else third
    given = [first] if third is None else [first, second]
    if third is not None and second.lower() in TESTS.split(", "):
        raise UsageError(
            f"{second} and {third} are two tests: netsonde tcp and udp measure one at a time, "
            "netsonde study run FILE as many as the file has"
        )
    try:
        test = SocketTest(name.lower())
    except ValueError as error:
        raise UsageError(f"test {name!r} is none of {TESTS}") from error
    if test.value not in PATTERNS:
        if third is not None:
            raise UsageError(
                f"{test.value} has one other end; several hosts are for {', '.join(PATTERNS)}"
            )
        return given, test
    return [host for text in given for host in split_hosts(text)], test
