"""What a measurement is made through, whatever lies under it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from netsonde.limits import limit_s

Record = dict[str, Any]
FACTS_TIMEOUT_S = limit_s("facts")
SLACK_S = limit_s("late-answer")  # a worker that is late by its own clock still gets to say so


class Closable(Protocol):
    """What ends when it is told to."""

    def close(self) -> None: ...


@contextlib.contextmanager
def closing_on_failure(session: Closable) -> Iterator[None]:
    """Closes the session where the block fails: nothing more can be measured over it then."""
    try:
        yield
    except BaseException:
        session.close()
        raise


class Session(Protocol):
    """An open transport between ranks, ready for batches. Use it in a ``with`` statement."""

    @property
    def transport(self) -> str:
        """The name of its row."""

    @property
    def ranks(self) -> int:
        """How many ends take part."""

    @property
    def hosts(self) -> frozenset[str]:
        """The names of the hosts that facts() tells of."""

    @property
    def opened(self) -> dict[int, Record]:
        """Values of ``done`` of open by rank: what was obtained. Empty for mpi."""

    def facts(self) -> dict[str, Record]:
        """The facts of every host, by host name. Raises HostError."""

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        """One batch: the fields of a ``run`` request without verb and request number.

        Returns the records of all ranks. Raises HostError with one sentence, and closes the
        session, where an end fails or has not finished after timeout_s.
        """

    def close(self) -> None:
        """Ends the workers. Idempotent; never raises for an end that is already gone."""

    def __enter__(self) -> Session: ...

    def __exit__(self, *_: object) -> None: ...
