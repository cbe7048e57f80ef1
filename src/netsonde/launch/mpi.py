"""An MPI program of sonde-mpi as a session: mpiexec starts it, rank 0 speaks for all ranks.

The default MPI is that of the Python package ``mpich``; MPICH, Open MPI and Intel MPI of any
version can take its place (:mod:`netsonde.launch.mpi_found`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netsonde.catalogue.transport import first_with
from netsonde.catalogue.within import MEMORY, WITHINS
from netsonde.errors import HostError, UnsupportedError, UsageError
from netsonde.launch.host import READ_BYTES, ChildProcess, Host, launcher_row
from netsonde.launch.local import LocalHost
from netsonde.launch.lone import WorkerSession
from netsonde.launch.mpi_build import sonde_mpi_for
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import (
    FORCED_SETTINGS,
    default_environment,
    environment_of,
    launcher_arguments,
)
from netsonde.launch.mpi_leftovers import remove_leftovers
from netsonde.launch.mpi_places import (
    Pin,
    Places,
    motionless_in_words,
    read_places,
)
from netsonde.launch.mpi_settings import MOST_SAID, SAID, of_the_user, require_in_effect
from netsonde.launch.mpi_words import explain_end, library_lines
from netsonde.launch.record_check import RECORD_LINE_LIMIT_BYTES
from netsonde.launch.session import FACTS_TIMEOUT_S, SLACK_S, Record
from netsonde.launch.slurm import SlurmHost
from netsonde.launch.worker import Worker, WorkerError
from netsonde.limits import limit_s
from netsonde.records.carried import NETWORK

START_TIMEOUT_S = limit_s("mpi-start")
RANKS_LIMIT = 65536
WORDS_LIMIT_BYTES = 16384


class MpiSession(WorkerSession):
    """All ranks of a running sonde-mpi. Made by open_mpi(). A failure of a run ends the session."""

    transport = first_with("has_ranks").name

    def __init__(
        self,
        worker: Worker,
        mpi: Mpi,
        launched: _Launched,
        ranks: int,
        host_names: Sequence[str],
        ppn: int,
        launch_ns: int,
    ) -> None:
        super().__init__(worker)
        self.ranks = ranks
        self.opened: dict[int, Record] = {}
        self._mpi = mpi
        self._launched = launched
        self._said = ""
        self._host_names = list(host_names)
        self._ppn = ppn
        self._launch_ns = launch_ns
        self._places: Places | None = None

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(self._host_names)

    def host_of(self, rank: int) -> str:
        """The name, as given to open_mpi(), of the host that a rank is on."""
        return self._host_names[rank // self._ppn % len(self._host_names)]

    def facts(self) -> dict[str, Record]:
        facts: dict[str, Record] = {}
        for record in self._ask("facts", {}, FACTS_TIMEOUT_S):
            if record["record"] == "facts":
                told = {**record["values"], "mpi.launch_ns": self._launch_ns}
                told = of_the_user(told, self._mpi) | ({SAID: self._said} if self._said else {})
                facts.setdefault(self.host_of(record["rank"]), {}).update(told)
        if self._places is not None and self._places.are_bound:
            for name in self._host_names:
                ranks = [rank for rank in range(self.ranks) if self.host_of(rank) == name]
                facts.setdefault(name, {})["mpi.binding"] = self._places.in_words(ranks)
        return facts

    def require_settings(self) -> None:
        """Raises HostError where a setting of the library that was asked for is none of it or is
        not in effect; keeps what the library said at its start."""
        self._said = library_lines(self._launched.said())[:MOST_SAID]
        if self._mpi.settings:
            for facts in self.facts().values():
                require_in_effect(self._mpi, facts, self._launched.said())

    def snapshots(self) -> list[Record]:
        """The counters of every rank's host now, by rank. Raises HostError."""
        records = self._ask("snapshot", {}, FACTS_TIMEOUT_S)
        found = [record for record in records if record["record"] == "snapshot"]
        return sorted(found, key=lambda record: int(record["rank"]))

    def algorithms(self, operations: Sequence[str]) -> dict[str, list[str]]:
        """What the library can be told to take for each operation, by its own names; none where it
        has no variable for that. Raises HostError."""
        records = self._ask("algorithms", {"operations": list(operations)}, FACTS_TIMEOUT_S)
        told = next(record["values"] for record in records if record["record"] == "done")
        return {name: str(told.get(name, "")).split() for name in operations}

    def place(self, pin: Pin = "none", share: bool = False) -> Places:
        """Binds ranks to CPUs, as asked, and learns where they are.

        Raises HostError where a host has fewer CPUs than ranks and ``share`` is False.
        """
        asked: dict[str, object] = {} if pin == "none" else {"pin": pin, "share": share}
        if not isinstance(pin, str):
            asked |= {"pin": "listed", "processors": list(pin)}
        records = self._ask("place", asked, FACTS_TIMEOUT_S)
        self._places = read_places(records, self.ranks)
        bound = {r: p for r, p in enumerate(self._places.processors) if p >= 0}
        self.opened = {rank: {"processor": processor} for rank, processor in bound.items()}
        # What the library says that carries messages between hosts, where it does.
        told = [r["values"] for r in records if r["record"] == "done" and r.get("values")]
        if network := {key: found[key] for found in told for key in NETWORK if key in found}:
            self.opened[0] = {**self.opened.get(0, {}), **network}
        return self._places

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        request = {"timeout_ns": round(timeout_s * 1e9), **fields}
        try:
            return self._ask("run", request, timeout_s + SLACK_S)
        except WorkerError as error:
            if error.code == "unsupported":
                raise UnsupportedError(str(error)) from error
            raise self._with_what_ranks_said(error) from error

    def _with_what_ranks_said(self, error: WorkerError) -> WorkerError:
        """The cause where the error is a consequence: a rank that was lost, or does not move."""
        if error.code in ("peer_lost", "died"):
            words = self._launched.explanation()
            if words is not None and words.startswith("lost rank"):
                return WorkerError(f"{error.host}: the worker {words}", "died", error.host)
        if error.code in ("timeout", "silent"):
            words = motionless_in_words(str(error), self._launched.said())
            return WorkerError(words, error.code, error.host)
        return error

    def _checked(self, records: list[Record]) -> list[Record]:
        for record in records:
            if not 0 <= record["rank"] < self.ranks:
                raise HostError(
                    f"sonde-mpi wrote a record of rank {record['rank']}, but there "
                    f"are only {self.ranks} ranks"
                )
        return records


def open_mpi(
    hosts: Sequence[Host] | None,
    ranks: int,
    *,
    mpi: str = "mpich",
    ppn: int = 1,
    within: str = MEMORY.name,
    environment: Mapping[str, str] | None = None,
    pin: Pin = "none",
    share: bool = False,
    threads: int = 1,
    multiple: bool = False,
    forced: bool = False,
    timeout_s: float = START_TIMEOUT_S,
) -> MpiSession:
    """Starts sonde-mpi with ``ranks`` ranks, ``ppn`` a host in turn, and waits until it is ready.

    hosts: None for this machine alone; hosts of one lab, where MPI is kept on TCP over its links;
    or ssh hosts, which need sonde-mpi at the same path as here and whose MPI chooses its network
    itself. mpi: a name or a path, as find_mpi() takes it; sonde-mpi is built
    for it first where that is needed.
    within: ``memory``, where MPI chooses how ranks of one node reach each other, or ``loopback``,
    which keeps it on TCP there.
    environment: variables for all ranks, instead of the settings that keep MPI on TCP; a variable
    that the user has set is never touched by those. pin: binds each rank to a CPU, to 0 as
    well (``all``) or not; with share also where a host has fewer CPUs than ranks.
    threads: so many threads of two ranks are to measure at the same time; multiple: MPI is asked to
    let them. forced: its library is to be told which of its algorithms it takes, for which some
    have to be prepared at their start.

    Raises UsageError for what cannot be asked for, HostError where MPI does not start; nothing of
    it is left then.
    """
    if not 1 <= ranks <= RANKS_LIMIT:
        raise UsageError(
            f"an MPI program of {ranks} ranks cannot be had; ask for 1 to {RANKS_LIMIT}"
        )
    chosen = hosts_of_ranks(hosts, ranks, ppn)
    found = find_mpi(mpi)
    if forced:
        found = replace(found, settings=(*FORCED_SETTINGS.get(found.family, ()), *found.settings))
    program = sonde_mpi_for(found)
    names = [host.name for host in chosen] or ["local"]
    if environment is None:
        # MPICH's throttle does nothing where threads may call it at the same time; it would only
        # make one thread look better where they may not.
        busy = max(ranks, 2 * threads) if found.family == "openmpi" else ranks
        environment = default_environment(found, chosen, busy, WITHINS[within])
    env = {**environment, **environment_of(found)}
    remove_leftovers()
    begin_ns = time.monotonic_ns()
    words = [str(program), *(["--thread-multiple"] if multiple else [])]
    process = start_ranks(chosen, ranks, ppn, found, words, env)
    where = f"MPI on {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}"
    launched = _Launched(process)
    with _explained_start(launched, where, found, timeout_s):
        worker = Worker(launched, where, hello_timeout_s=timeout_s)
    try:
        _check_program(worker.hello, ranks, found)
        launch_ns = time.monotonic_ns() - begin_ns
        session = MpiSession(worker, found, launched, ranks, names, ppn, launch_ns)
        session.place(pin, share)
        session.require_settings()
    except BaseException:
        worker.close()
        raise
    return session


class _Launched:
    """mpiexec as a worker's channel: it says of its end what happened to the ranks.

    Hydra reports the end of a rank on standard output, between the records and after the half of
    one that the rank was writing; Open MPI does on standard error. A whole record is an object on a
    line; every other line is taken
    for mpiexec's own words.
    """

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._rest = bytearray()
        self._words = bytearray()

    def said(self) -> str:
        """The last of what mpiexec and the ranks wrote to standard error, and what is no record of
        standard output, where UCX writes."""
        return f"{self._process.stderr_text()}\n{bytes(self._words).decode(errors='replace')}"

    def read(self) -> bytes:
        while content := self._process.read():
            if records := self._whole_records(content):
                return records
        return b""

    def explanation(self) -> str | None:
        """What is known of the ranks' end, as the end of a sentence."""
        return explain_end(self.said())

    def write(self, content: bytes, timeout_s: float) -> None:
        self._process.write(content, timeout_s)

    def finish(self) -> None:
        self._process.finish()

    def ending(self, timeout_s: float) -> str:
        general = self._process.ending(timeout_s)
        return self.explanation() or general

    def stop(self, grace_s: float) -> None:
        self._process.stop(grace_s)

    def release(self) -> None:
        self._process.release()

    def _whole_records(self, content: bytes) -> bytes:
        self._rest += content
        if len(self._rest) > RECORD_LINE_LIMIT_BYTES + READ_BYTES and b"\n" not in content:
            return self._take_rest()  # over every limit; whoever reads records says so
        records = bytearray()
        *lines, tail = self._rest.split(b"\n")
        for line in lines:
            if line.startswith(b"{") and line.endswith(b"}"):
                records += line + b"\n"
            elif len(self._words) < WORDS_LIMIT_BYTES:
                self._words += line[:WORDS_LIMIT_BYTES] + b"\n"
        self._rest = bytearray(tail)
        return bytes(records)

    def _take_rest(self) -> bytes:
        rest, self._rest = bytes(self._rest), bytearray()
        return rest


def hosts_of_ranks(hosts: Sequence[Host] | None, ranks: int, ppn: int) -> list[Host]:
    """The hosts that get ranks: none for this machine alone. Raises UsageError."""
    return _check_hosts(hosts)[: -(-ranks // ppn)]


def start_ranks(
    hosts: Sequence[Host],
    ranks: int,
    ppn: int,
    mpi: Mpi,
    words: Sequence[str],
    env: Mapping[str, str],
) -> ChildProcess:
    """Starts a program with so many ranks, by mpiexec or by srun. Raises UsageError, HostError."""
    if mpi.srun_mpi:
        return _start_by_srun(hosts, ranks, ppn, mpi, list(words), env)
    arguments = launcher_arguments(mpi, hosts, ranks, ppn)
    return _start(hosts, [str(mpi.mpiexec), *arguments, *words], env)


def _check_hosts(hosts: Sequence[Host] | None) -> list[Host]:
    chosen = list(hosts or ())
    launchers = [launcher_row(host) for host in chosen]
    if all(row.is_here for row in launchers) and len(chosen) <= 1:
        return []
    if len({row.name for row in launchers}) > 1 or not launchers[0].carries_ranks:
        named = ", ".join(f"{host.name} ({host.kind})" for host in chosen)
        raise UsageError(
            f"an MPI program cannot be started on {named}; "
            "name hosts of one lab, or ssh hosts, or none for this machine"
        )
    names = [host.name for host in chosen]
    for name in names:
        if "," in name or ":" in name or name.startswith("-"):
            raise UsageError(f"host {name!r} cannot be given to mpiexec; use a name without , or :")
    return chosen


def _start(hosts: Sequence[Host], argv: list[str], env: Mapping[str, str]) -> ChildProcess:
    # Hosts of a lab know each other only inside; others are reached from here.
    starter: Host = hosts[0] if hosts and launcher_row(hosts[0]).is_closed else LocalHost()
    return starter.start(argv, env=env)


def _start_by_srun(
    hosts: Sequence[Host], ranks: int, ppn: int, mpi: Mpi, argv: list[str], env: Mapping[str, str]
) -> ChildProcess:
    starter = hosts[0] if hosts else None
    if not isinstance(starter, SlurmHost):
        raise UsageError(
            f"{mpi.name} is to be started by srun, which starts ranks on nodes of the Slurm job "
            "that netsonde is in; run it in a job, or leave out @srun"
        )
    places = [hosts[rank // ppn % len(hosts)].name for rank in range(ranks)]
    return starter.start_ranks(places, mpi.srun_mpi, argv, env)


@contextlib.contextmanager
def _explained_start(launched: _Launched, where: str, mpi: Mpi, timeout_s: float) -> Iterator[None]:
    try:
        yield
    except WorkerError as error:
        if error.code != "silent" and mpi.settings:
            # A library that does not know a value may end at its start, with no more than a code.
            said = library_lines(launched.said())[:MOST_SAID]
            named = ", ".join(f"{name}={value}" for name, value in mpi.settings)
            more = f"; it said: {said}" if said and said not in str(error) else ""
            raise WorkerError(
                f"{error}; {named} was set for it{more}", error.code, error.host
            ) from error
        if error.code != "silent":
            raise
        words = launched.explanation()
        raise WorkerError(
            f"{where} did not start within {timeout_s:.3g} s"
            + (
                f": it {words}" if words else "; try the same mpiexec by hand, or give it more time"
            ),
            "silent",
            error.host,
        ) from error


def _check_program(hello: Mapping[str, Any], ranks: int, mpi: Mpi) -> None:
    if hello["worker"] != "sonde-mpi":
        raise HostError(f"mpiexec started {hello['worker']} instead of sonde-mpi")
    if hello["ranks"] == ranks:
        return
    if hello["ranks"] == 1 and mpi.srun_mpi:
        raise HostError(
            f"srun --mpi={mpi.srun_mpi} started {ranks} separate programs instead of one with "
            f"{ranks} ranks: {mpi.title} does not speak to Slurm by that plugin; name another one "
            "that `srun --mpi=list` shows, as @srun:pmix, or leave out @srun for its mpiexec"
        )
    if hello["ranks"] == 1:
        raise HostError(
            f"the launcher started {ranks} separate programs instead of one with {ranks} ranks: "
            f"{mpi.mpiexec} ({mpi.title}) and the MPI library that sonde-mpi found are of two "
            "families; give the mpiexec of the MPI that sonde-mpi runs with"
        )
    raise HostError(f"the launcher started {hello['ranks']} ranks instead of {ranks}")
