"""The two ranks of mpitest as the two ends of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from netsonde.catalogue.launcher import HERE
from netsonde.catalogue.within import LOOPBACK
from netsonde.errors import UsageError
from netsonde.hosts import parse_hosts, split_hosts
from netsonde.hpcbench.options import Settings
from netsonde.launch.host import Host
from netsonde.launch.mpi import MpiSession, open_mpi
from netsonde.launch.session import Record
from netsonde.units import format_time

RANKS = 2
MOST_FILE_BYTES = 1 << 20


class RankEnds:
    """Rank 0 is the client and rank 1 the server. A context manager."""

    def __init__(self, session: MpiSession) -> None:
        self._session = session
        self.host_names = (session.host_of(0), session.host_of(1))
        self._facts = session.facts()
        self.opened = {
            rank: {
                "mpi_library": self._facts[name]["mpi.library"],
                "mpi_timer": _timer_in_words(self._facts[name]),
            }
            for rank, name in enumerate(self.host_names)
        }

    def facts(self) -> dict[str, Record]:
        return self._facts

    def snapshots(self) -> list[Record]:
        """The counters of either end now, the client's first. Raises HostError."""
        return self._session.snapshots()

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        return self._session.run(fields, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()


def _timer_in_words(facts: Record) -> str:
    """MPI's own timer, with what MPI_Wtick says of it."""
    return f"MPI_Wtime, MPI_Wtick {format_time(float(facts['mpi.wtick_ns']))}"


def open_ranks(settings: Settings) -> RankEnds:
    """Raises UsageError or HostError."""
    session = open_mpi(_hosts(settings.host), RANKS, mpi=settings.mpi, within=LOOPBACK.name)
    try:
        return RankEnds(session)
    except BaseException:
        session.close()
        raise


def _hosts(named: str) -> list[Host] | None:
    if named == HERE.word:
        return None
    hosts = parse_hosts(split_hosts(named))
    if len(hosts) > RANKS:
        raise UsageError(f"--hosts {named} names {len(hosts)} hosts; mpitest has {RANKS} ranks")
    return hosts


def read_machine_file(path: Path) -> str:
    """The first two hosts of an MPI's machine file, as ``--hosts`` takes them.

    A host on each line, with ``:2`` or ``slots=2`` behind it where it takes several ranks; ``#``
    begins a comment. Raises UsageError.
    """
    try:
        with path.open() as file:
            lines = file.read(MOST_FILE_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(f"--machinefile {path}: cannot read it: {reason}") from error
    hosts = list[str]()
    for line in lines:
        words = line.partition("#")[0].replace("slots=", ":").replace(" ", "").split(":")
        if words[0]:
            ranks = words[-1] if len(words) > 1 else "1"
            if not ranks.isdecimal() or not 1 <= int(ranks) <= 10**6:
                raise UsageError(f"--machinefile {path}: {line.strip()!r} is no host and its ranks")
            hosts += [words[0]] * min(int(ranks), RANKS)
    if not hosts:
        raise UsageError(f"--machinefile {path} names no host")
    return ",".join(dict.fromkeys(hosts[:RANKS]))
