"""An MPI program of sonde-mpi as a session: mpiexec starts it, rank 0 speaks for all ranks.

The default MPI is that of the Python package ``mpich``; any MPI with the MPI 5 standard ABI and an
mpiexec of the Hydra kind (MPICH, Intel MPI) can take its place.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.launch.host import READ_BYTES, ChildProcess, Host
from netsonde.launch.local import LocalHost
from netsonde.launch.record_check import RECORD_LINE_LIMIT_BYTES
from netsonde.launch.session import FACTS_TIMEOUT_S, SLACK_S, Record, closing_on_failure
from netsonde.launch.worker import Worker, WorkerError

RANKS_LIMIT = 65536
WORDS_LIMIT_BYTES = 16384

# MPI libraries prefer shared memory wherever both ranks are on one machine. These settings keep
# MPICH on TCP: its UCX part ignores MPIR_CVAR_NOLOCAL, so the libfabric part is chosen, which is
# also the better of the two where there are more ranks than processors. Intel MPI reads the last
# two as well.
NETWORK_SETTINGS: Mapping[str, str] = {
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "I_MPI_FABRICS": "ofi",
}
LOOPBACK_SETTINGS: Mapping[str, str] = {
    **NETWORK_SETTINGS,
    "MPIR_CVAR_NOLOCAL": "1",
    "FI_TCP_IFACE": "lo",
}

_INSTALL = "install it with netsonde's extra: pip install 'netsonde[mpich]'"


class MpiSession:
    """All ranks of a running sonde-mpi. Made by open_mpi(). A failure of a run ends the session."""

    transport = "mpi"

    def __init__(self, worker: Worker, ranks: int, host_names: Sequence[str]) -> None:
        self.ranks = ranks
        self.opened: dict[int, Record] = {}
        self._worker = worker
        self._host_names = list(host_names)
        self._closed = False

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(self._host_names)

    def host_of(self, rank: int) -> str:
        """The name, as given to open_mpi(), of the host that a rank is on."""
        return self._host_names[rank % len(self._host_names)]

    def facts(self) -> dict[str, Record]:
        facts: dict[str, Record] = {}
        for record in self._ask("facts", {}, FACTS_TIMEOUT_S):
            if record["record"] == "facts":
                facts.setdefault(self.host_of(record["rank"]), {}).update(record["values"])
        return facts

    def run(self, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        request = {"timeout_ns": round(timeout_s * 1e9), **fields}
        return self._ask("run", request, timeout_s + SLACK_S)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._worker.close()

    def __enter__(self) -> MpiSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, verb: str, fields: Mapping[str, object], timeout_s: float) -> list[Record]:
        if self._closed:
            raise HostError("the session is closed; open another one")
        with closing_on_failure(self):
            records = self._worker.request(verb, timeout_s, **fields)
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
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 30.0,
) -> MpiSession:
    """Starts sonde-mpi with ``ranks`` ranks, one per host in turn, and waits until it is ready.

    hosts: None for this machine alone, where MPI then goes over loopback instead of shared memory;
    hosts of one lab; or ssh hosts, which need sonde-mpi at the same path as here and whose MPI
    chooses its network itself. mpi: ``mpich``, or the path to the mpiexec of another MPI.
    environment: variables for all ranks, instead of the settings that keep MPI on TCP; a variable
    that the user has set is never touched by those.

    Raises UsageError for what cannot be asked for, HostError where MPI does not start; nothing of
    it is left then.
    """
    if not 1 <= ranks <= RANKS_LIMIT:
        raise UsageError(
            f"an MPI program of {ranks} ranks cannot be had; ask for 1 to {RANKS_LIMIT}"
        )
    chosen = _check_hosts(hosts)[:ranks]
    mpiexec = find_mpiexec(mpi)
    program = _find_program()
    names = [host.name for host in chosen] or ["local"]
    settings = environment if environment is not None else default_environment(chosen)
    env = {**settings, **_library_path(mpiexec)}
    process = _start(
        chosen, [str(mpiexec), *launcher_arguments(chosen), "-n", str(ranks), str(program)], env
    )
    where = f"MPI on {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}"
    launched = _Launched(process)
    with _explained_start(launched, where, timeout_s):
        worker = Worker(launched, where, hello_timeout_s=timeout_s)
    try:
        _check_program(worker.hello, ranks, mpiexec)
    except BaseException:
        worker.close()
        raise
    return MpiSession(worker, ranks, names)


def find_mpiexec(mpi: str) -> Path:
    """The mpiexec of an MPI: ``mpich`` or a path. Raises HostError where it is missing."""
    if mpi != "mpich":
        if "/" not in mpi:
            raise UsageError(
                f"MPI {mpi!r} is unknown; say mpich, or give the path to the mpiexec "
                "of another MPI, such as /opt/mpi/bin/mpiexec"
            )
        path = Path(mpi).expanduser()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise HostError(
                f"there is no executable {path}; give the path to an MPI's mpiexec, "
                "or leave it out to use the Python package mpich"
            )
        return path.absolute()
    scripts = Path(sysconfig.get_path("scripts"))
    found = shutil.which("mpiexec", path=str(scripts)) or shutil.which("mpiexec")
    if found is None:
        raise HostError(
            f"no MPI is installed: mpiexec is neither in {scripts} nor on PATH; {_INSTALL}"
        )
    return Path(found).absolute()


def launcher_arguments(hosts: Sequence[Host]) -> list[str]:
    """What Hydra's mpiexec is told about hosts: none for this machine alone."""
    if not hosts:
        # Also inside a batch job: its hosts are not what was asked for.
        return ["-rmk", "user", "-launcher", "fork"]
    arguments = ["-launcher", "ssh", "-hosts", ",".join(host.name for host in hosts), "-ppn", "1"]
    if hosts[0].kind == "lab":
        arguments += ["-launcher-exec", str(_lab_wrapper())]
    return arguments


def default_environment(hosts: Sequence[Host]) -> dict[str, str]:
    """The settings that keep MPI on TCP, without those that the user's environment has.

    Between ssh hosts there are none: a cluster's MPI knows the cluster's network.
    """
    if not hosts:
        settings = LOOPBACK_SETTINGS
    elif hosts[0].kind == "lab":
        settings = NETWORK_SETTINGS
    else:
        settings = {}
    return {name: value for name, value in settings.items() if name not in os.environ}


class _Launched:
    """mpiexec as a worker's channel: it says of its end what happened to the ranks.

    Hydra reports the end of a rank on standard output, between the records and after the half of
    one that the rank was writing. A whole record is an object on a line; every other line is taken
    for mpiexec's own words.
    """

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._rest = bytearray()
        self._words = bytearray()

    def read(self) -> bytes:
        while content := self._process.read():
            if records := self._whole_records(content):
                return records
        return b""

    def explanation(self) -> str | None:
        """What is known of the ranks' end, as the end of a sentence."""
        words = bytes(self._words).decode(errors="replace")
        return explain_end(f"{self._process.stderr_text()}\n{words}")

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


_RANK_SAYS = re.compile(r"^sonde-mpi: (?:rank \d+ on )?.+$", re.MULTILINE)
_LIBRARY = re.compile(r"error while loading shared libraries: ([^:]+): cannot open")
_KILLED = re.compile(r"PID (\d+) RUNNING AT (\S+)\s+=\s+EXIT CODE: (\d+)")
_ABORT = re.compile(r"^Abort\(\d+\) on node \d+: (.*)$", re.MULTILINE)
_ABORT_CAUSE = re.compile(r"^\w+\(\d+\)\.*: +(\S.*)$", re.MULTILINE)  # MPICH's error stack
_NO_PROGRAM = re.compile(r"execvp error on file (\S+) \(([^)]*)\)")


def explain_end(stderr_text: str) -> str | None:
    """What mpiexec's standard error says about the end of the ranks, as the end of a sentence that
    begins with "the worker"; None where nothing in it is known."""
    if found := _LIBRARY.search(stderr_text):
        return (
            f"did not find {found[1]}, the library of an MPI with the MPI 5 standard ABI; "
            f"{_INSTALL}"
        )
    if found := _NO_PROGRAM.search(stderr_text):
        return f"cannot be started there: {found[1]}: {found[2]}"
    if said := _RANK_SAYS.findall(stderr_text):
        return f"ended: {said[0].removeprefix('sonde-mpi: ')[:300]}"
    if found := _ABORT.search(stderr_text):
        causes = _ABORT_CAUSE.findall(stderr_text, found.end())
        return f"was ended by MPI: {(causes[-1] if causes else found[1])[:300]}"
    if found := _KILLED.search(stderr_text):
        return f"lost a rank: process {found[1]} on {found[2]} {_how(int(found[3]))}"
    return None


def _how(code: int) -> str:
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(code).name}"
    return f"ended with status {code}"


def _check_hosts(hosts: Sequence[Host] | None) -> list[Host]:
    chosen = list(hosts or ())
    kinds = {host.kind for host in chosen}
    if kinds <= {"local"} and len(chosen) <= 1:
        return []
    if len(kinds) > 1 or kinds & {"local", "paired"}:
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


def _find_program() -> Path:
    try:
        return find_worker("sonde-mpi")
    except HostError as error:
        raise HostError(
            f"{error} (sonde-mpi is built where the Python package mpich was there "
            "when netsonde was installed)"
        ) from error


def _lab_wrapper() -> Path:
    wrapper = Path(__file__).with_name("enter_lab_host.sh")
    if not os.access(wrapper, os.X_OK):
        raise HostError(f"{wrapper} is missing or not executable; install netsonde again")
    return wrapper


def _library_path(mpiexec: Path) -> dict[str, str]:
    """LD_LIBRARY_PATH that begins with the library of the same MPI as mpiexec, where it has one
    with the standard ABI: the two must be of one family."""
    for prefix in (mpiexec.parent.parent, mpiexec.resolve().parent.parent):
        for folder in (prefix / "lib", prefix / "lib64", prefix / "lib" / "release"):
            if any(folder.glob("libmpi_abi.so*")):
                rest = os.environ.get("LD_LIBRARY_PATH")
                return {"LD_LIBRARY_PATH": f"{folder}:{rest}" if rest else str(folder)}
    return {}


def _start(hosts: Sequence[Host], argv: list[str], env: Mapping[str, str]) -> ChildProcess:
    # A lab's hosts know each other only inside; ssh hosts are reached from here.
    starter: Host = hosts[0] if hosts and hosts[0].kind == "lab" else LocalHost()
    return starter.start(argv, env=env)


@contextlib.contextmanager
def _explained_start(launched: _Launched, where: str, timeout_s: float) -> Iterator[None]:
    try:
        yield
    except WorkerError as error:
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


def _check_program(hello: Mapping[str, Any], ranks: int, mpiexec: Path) -> None:
    if hello["worker"] != "sonde-mpi":
        raise HostError(f"mpiexec started {hello['worker']} instead of sonde-mpi")
    if hello["ranks"] == ranks:
        return
    if hello["ranks"] == 1:
        raise HostError(
            f"the launcher started {ranks} separate programs instead of one with {ranks} ranks: "
            f"{mpiexec} and the MPI library that sonde-mpi found are of two families; give the "
            "mpiexec of the MPI that sonde-mpi runs with"
        )
    raise HostError(f"the launcher started {hello['ranks']} ranks instead of {ranks}")
