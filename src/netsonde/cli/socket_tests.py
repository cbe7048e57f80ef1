"""The tests of transports between two hosts, and the words that name hosts and test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netsonde.catalogue.reflexes import reflex
from netsonde.catalogue.test import TESTS as ROWS
from netsonde.catalogue.test import Test
from netsonde.catalogue.transport import Transport, names_with
from netsonde.errors import UsageError
from netsonde.hosts import split_hosts
from netsonde.patterns import OF_MANY

SWEEP = "sweep"
SWEPT = "latency"


@dataclass(frozen=True)
class SocketTest:
    """What a user names: a test, or a sweep, which is latency over many sizes."""

    name: str
    kind: Test

    @property
    def is_sweep(self) -> bool:
        return self.name == SWEEP

    def sizes_of(self, carrier: Transport) -> str:
        """What is measured where no sizes are given."""
        return carrier.sweep_sizes if self.is_sweep else self.kind.sizes_of(carrier)


def _named() -> Iterator[SocketTest]:
    """A sweep stands behind what is between two hosts; generate needs nobody at the other end, and
    patterns are of many hosts."""
    pairs = set(names_with("is_pair"))
    rows = [row for row in ROWS.values() if pairs & set(row.transports) and not row.by_load]
    yield from (SocketTest(row.name, row) for row in rows if row.is_round_trip or row.is_stream)
    yield SocketTest(SWEEP, ROWS[SWEPT])
    others = [row for row in rows if not (row.is_round_trip or row.is_stream)]
    yield from (SocketTest(row.name, row) for row in others)


SOCKET_TESTS = {test.name: test for test in _named()}
TESTS = ", ".join(SOCKET_TESTS)


def hosts_and_tests(
    first: str, second: str, third: str | None
) -> tuple[list[str], list[SocketTest]]:
    """``HOST TEST[,TEST...]`` or ``HOSTS HOST TEST``, where HOSTS may be a set such as
    ``node[1-8]``.

    Raises UsageError for a test that is not there, for several hosts where it takes one, and for
    tests of two hosts together with those of many.
    """
    names = second if third is None else third
    given = [first] if third is None else [first, second]
    if third is not None and second.lower() in SOCKET_TESTS:
        raise UsageError(
            f"{second} and {third} are two tests: join them, as in {second.lower()},{third.lower()}"
        )
    if names not in SOCKET_TESTS and first.lower() in SOCKET_TESTS:
        raise UsageError(f"{first} is a test, which comes behind the host: {names} {first.lower()}")
    tests = [_named_test(name) for name in dict.fromkeys(names.lower().split(","))]
    patterns = [test.kind.is_of_many for test in tests]
    if any(patterns) and not all(patterns):
        raise UsageError(f"{', '.join(OF_MANY)} are of many hosts; they go in a call of their own")
    if not any(patterns) and third is not None:
        raise UsageError(f"{names} has one other end; several hosts are for {', '.join(OF_MANY)}")
    hosts = [host for text in given for host in split_hosts(text)] if any(patterns) else given
    return hosts, tests


def _named_test(name: str) -> SocketTest:
    test = SOCKET_TESTS.get(name)
    if test is None:
        known = reflex(name, "test")
        said = f"; {known.answer(name)}" if known else ""
        raise UsageError(f"test {name!r} is none of {TESTS}{said}")
    return test
