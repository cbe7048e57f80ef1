"""Starting and ending MPI programs: sentences for what goes wrong, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mpi_program import (
    MARK,
    SUPPRESSIONS,
    TIMEOUT_S,
    marked_processes,
    rank_pids,
    wait_until,
)

from netsonde.catalogue.within import LOOPBACK
from netsonde.errors import HostError, UsageError
from netsonde.launch.binaries import find_worker
from netsonde.launch.host import ChildProcess
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import (
    CROWDED_SETTINGS,
    LOOPBACK_SETTINGS,
    OPENMPI_4_SETTINGS,
    OPENMPI_CROWDED_SETTINGS,
    OPENMPI_LOOPBACK_SETTINGS,
    OPENMPI_SETTINGS,
    default_environment,
    launcher_arguments,
)
from netsonde.launch.mpi_words import explain_end

LONG = {"test": "stream", "message_bytes": 1024, "duration_ns": 20_000_000_000,
        "record_messages": False}  # fmt: skip
HYDRA = Mpi("mpich", "mpich", "5.0.2", Path("/m/bin/mpiexec"), None, None)
OPENMPI_4 = Mpi("openmpi", "openmpi", "4.1.4", Path("/o/bin/mpiexec"), None, None)
OPENMPI_5 = Mpi("openmpi", "openmpi", "5.0.11", Path("/p/bin/mpiexec"), None, None)
SOURCES = Path(__file__).parents[2] / "src"


class NamedHost:
    """A host that is only named."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind: str = kind

    def address(self, family: str) -> str:
        raise AssertionError(f"asked for an {family} address")

    def start(self, argv: Any, *, env: Any = None) -> ChildProcess:
        raise AssertionError(f"started {argv} with {env}")


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Every process of a test carries it; none may be left."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={SUPPRESSIONS}:print_suppressions=0")
    yield value
    assert wait_until(lambda: not marked_processes(value)), "the test left processes"


@pytest.fixture
def program() -> str:
    try:
        find_mpi("mpich")
        return str(find_worker("sonde-mpi"))
    except HostError as error:
        pytest.skip(str(error))


def script(path: Path, text: str) -> str:
    """A program that says it is Hydra's mpiexec, and does something else."""
    version = '[ "$1" = --version ] && { echo "HYDRA build details:"; echo " Version: 9.1"; exit; }'
    path.write_text(f"#!/bin/sh\n{version}\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_no_mpi_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr("netsonde.launch.mpi_found._DEBIAN", {})
    with pytest.raises(HostError, match=r"no MPI is installed.*pip install 'netsonde\[mpich\]'"):
        open_mpi(None, 2)


def test_the_mpiexec_that_was_named_is_missing(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=f"there is no executable {tmp_path}/mpiexec"):
        open_mpi(None, 2, mpi=f"{tmp_path}/mpiexec")


def test_an_mpi_of_unknown_name() -> None:
    with pytest.raises(UsageError, match="MPI 'mvapich' is unknown"):
        open_mpi(None, 2, mpi="mvapich")


def test_sonde_mpi_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
    fake = script(tmp_path / "mpiexec", "exit 1")
    with pytest.raises(HostError, match=r"no executable sonde-mpi.*is installed where"):
        open_mpi(None, 2, mpi=fake)


@pytest.mark.parametrize("ranks", [0, -1, 1 << 20])
def test_an_impossible_number_of_ranks(ranks: int) -> None:
    with pytest.raises(UsageError, match="ranks cannot be had"):
        open_mpi(None, ranks)


@pytest.mark.parametrize(
    "hosts",
    [
        [NamedHost("a", "ssh"), NamedHost("h1", "lab")],
        [NamedHost("local", "local"), NamedHost("a", "ssh")],
        [NamedHost("[::1]:7000", "paired")],
    ],
)
def test_hosts_of_different_kinds(hosts: list[NamedHost]) -> None:
    with pytest.raises(UsageError, match="cannot be started on"):
        open_mpi(hosts, 2)


def test_a_host_name_that_mpiexec_would_take_apart() -> None:
    with pytest.raises(UsageError, match="without , or :"):
        open_mpi([NamedHost("a,b", "ssh")], 2)


@pytest.mark.worker
@pytest.mark.usefixtures("mark", "program")
def test_separate_programs_instead_of_ranks(tmp_path: Path) -> None:
    fake = script(
        tmp_path / "mpiexec",
        'while [ $# -gt 1 ]; do [ "$1" = -n ] && n=$2; shift; done\n'
        'exec 3<&0; while [ $n -gt 0 ]; do "$1" <&3 & n=$((n-1)); done; wait',
    )
    with pytest.raises(HostError, match="3 separate programs instead of one with 3 ranks"):
        open_mpi(None, 3, mpi=fake)


@pytest.mark.usefixtures("mark", "program")
def test_an_mpiexec_that_never_starts_anything(tmp_path: Path) -> None:
    fake = script(tmp_path / "mpiexec", "echo waiting for a place >&2; exec sleep 1000")
    with pytest.raises(HostError, match=r"MPI on local did not start within 0\.5 s"):
        open_mpi(None, 2, mpi=fake, timeout_s=0.5)


@pytest.mark.usefixtures("mark", "program")
def test_the_library_is_missing(tmp_path: Path) -> None:
    fake = script(
        tmp_path / "mpiexec",
        'echo "sonde-mpi: error while loading shared libraries: libmpi_abi.so.1: cannot open '
        'shared object file: No such file or directory" >&2; exit 127',
    )
    with pytest.raises(HostError, match=r"did not find libmpi_abi\.so\.1, the library of an MPI"):
        open_mpi(None, 2, mpi=fake)


@pytest.mark.parametrize(
    ("stderr_text", "expected"),
    [
        ("sonde-mpi: rank 1 on h2: the deadline passed\n= BAD TERMINATION\n",
         "ended: rank 1 on h2: the deadline passed"),
        ("=   PID 9577 RUNNING AT h2\n=   EXIT CODE: 9\n=   CLEANING UP",
         "lost a rank: process 9577 on h2 was killed by SIGKILL"),
        ("=   PID 9 RUNNING AT vm\n=   EXIT CODE: 77\n", "lost a rank: process 9 on vm ended with"),
        ("Abort(473056272) on node 1: Fatal error in internal_Init: Internal MPI error!\n"
         "internal_Init(42203)..........: MPI_Init(argc=0x1, argv=0x2) failed\n"
         "MPIDI_UCX_comm_addr_exchange(159).....:  ucx function returned with failed status"
         "(Destination is unreachable)\n",
         "Destination is unreachable"),
        ("[proxy:0@vm] HYDU_create_process: execvp error on file /x/sonde-mpi (No such file or "
         "directory)\n", "/x/sonde-mpi: No such file or directory"),
        ("sonde-mpi: rank 1 on h2 was lost: process 7 was killed by signal 9\n"
         "=   PID 8 RUNNING AT h2\n=   EXIT CODE: 9\n",
         "lost rank 1: process 7 on h2 was killed by SIGKILL"),
        ("sonde-mpi: rank 1 on h2 was lost: process 7 ended without a word\n"
         "=   PID 7 RUNNING AT h2\n=   EXIT CODE: 9\n",
         "lost rank 1: process 7 on h2 was killed by SIGKILL"),
        ("sonde-mpi: rank 1 on h2 was lost: process 7 ended without a word\n"
         "=   PID 71 RUNNING AT h2\n=   EXIT CODE: 9\n",
         "lost rank 1: process 7 on h2 ended without a word"),
        ("sonde-mpi: rank 1 on h2 was lost: process 7 ended with status 5\n",
         "lost rank 1: process 7 on h2 ended with status 5"),
        ("sonde-mpi: rank 1 on h2: the deadline passed\n"
         "sonde-mpi: rank 1 on h2 was lost: process 7 ended with status 3\n",
         "ended: rank 1 on h2: the deadline passed"),
        ("sonde-mpi: rank 0 on vm was lost: process 6 ended with status 3\n"
         "sonde-mpi: rank 1 on vm was lost: process 7 ended without a word\n"
         "mpirun noticed that process rank 1 with PID 7 on node vm exited on signal 9.\n",
         "lost rank 1: process 7 on vm was killed by SIGKILL"),
        ("sonde-mpi: rank 0 on vm was lost: process 6 ended with status 3\n"
         "sonde-mpi: rank 1 on vm was lost: process 7 ended without a word\n",
         "lost rank 1: process 7 on vm ended without a word"),
        ("sonde-mpi: rank 0 on vm: the launcher is gone\n", "ended: rank 0 on vm: the launcher"),
        ("sonde-mpi: rank 0 on vm: the launcher is gone\n"
         "mpirun noticed that process rank 2 with PID 5 on node vm exited on signal 15.\n",
         "lost rank 2: process 5 on vm was killed by SIGTERM"),
        ("mpirun noticed that process rank 1 with PID 4711 on node h2 exited on signal 9 "
         "(Killed).\n", "lost rank 1: process 4711 on h2 was killed by SIGKILL"),
        ("prterun noticed that process rank 3 with PID 12 on node vm exited on\nsignal 11 "
         "(Segmentation fault).\n", "lost rank 3: process 12 on vm was killed by SIGSEGV"),
        ("mpirun was unable to launch the specified application as it could not access\nor "
         "execute an executable:\n\nExecutable: /x/sonde-mpi\nNode: h2\n",
         "/x/sonde-mpi is not on every host"),
        ("A requested component was not found, or was unable to be opened.  This means\n"
         "Host:      vm\nFramework: btl\nComponent: nothing\n",
         "vm has no component nothing of Open MPI's btl"),
        ("mpirun detected that one or more processes exited with non-zero status\n\n"
         "  Process name: [[15995,1],2]\n  Exit code:    3\n", "rank 2 ended with status 3"),
        ("error while loading shared libraries: libmpi.so.40: cannot open shared object",
         "did not find libmpi.so.40, a library of its MPI"),
        ("something else\n", None),
    ],
)  # fmt: skip
def test_what_standard_error_says_about_the_end(stderr_text: str, expected: str | None) -> None:
    sentence = explain_end(stderr_text)
    if expected is None:
        assert sentence is None
    else:
        assert sentence is not None
        assert expected in sentence


def test_what_the_user_has_set_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*LOOPBACK_SETTINGS, *OPENMPI_LOOPBACK_SETTINGS, *OPENMPI_4_SETTINGS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    ssh, lab = [NamedHost("a", "ssh")], [NamedHost("h1", "lab")]
    assert default_environment(HYDRA, [], 2, LOOPBACK) == LOOPBACK_SETTINGS
    assert default_environment(HYDRA, [], 3, LOOPBACK) == LOOPBACK_SETTINGS | CROWDED_SETTINGS
    assert default_environment(OPENMPI_5, [], 2, LOOPBACK) == OPENMPI_LOOPBACK_SETTINGS
    assert default_environment(OPENMPI_4, lab, 2) == {**OPENMPI_SETTINGS, **OPENMPI_4_SETTINGS}
    assert default_environment(OPENMPI_5, lab, 3)["OMPI_MCA_mpi_yield_when_idle"] == "1"
    for mpi in (HYDRA, OPENMPI_4):
        assert default_environment(mpi, ssh, 64) == {}
    monkeypatch.setenv("FI_PROVIDER", "verbs")
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader")
    assert "FI_PROVIDER" not in default_environment(HYDRA, [], 2, LOOPBACK)
    assert "FI_PROVIDER" not in default_environment(HYDRA, lab, 2)
    assert "OMPI_MCA_btl" not in default_environment(OPENMPI_4, [], 2, LOOPBACK)


def test_the_mpi_chooses_within_one_node_unless_loopback_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Intel's too, which is not here: what its ranks would get."""
    for name in (*LOOPBACK_SETTINGS, *OPENMPI_LOOPBACK_SETTINGS, *OPENMPI_4_SETTINGS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    intel = replace(HYDRA, name="impi", family="intel")
    ssh, lab = [NamedHost("a", "ssh")], [NamedHost("h1", "lab")]
    for mpi in (HYDRA, OPENMPI_4, OPENMPI_5, intel):
        assert default_environment(mpi, [], 2) == {}
        assert default_environment(mpi, ssh, 2, LOOPBACK) == default_environment(
            mpi, [], 2, LOOPBACK
        )
        assert default_environment(mpi, [*ssh, NamedHost("b", "ssh")], 2, LOOPBACK) == {}
        assert default_environment(mpi, lab, 2) == default_environment(mpi, lab, 2, LOOPBACK) != {}
    assert default_environment(intel, [], 2, LOOPBACK)["I_MPI_FABRICS"] == "ofi"
    assert default_environment(intel, [], 2, LOOPBACK)["FI_TCP_IFACE"] == "lo"
    assert default_environment(HYDRA, [], 3) == CROWDED_SETTINGS
    assert default_environment(OPENMPI_4, [], 3) == OPENMPI_CROWDED_SETTINGS


def test_what_mpiexec_is_told_about_hosts() -> None:
    assert launcher_arguments(HYDRA, [], 3) == ["-rmk", "user", "-launcher", "fork", "-n", "3"]
    pair = [NamedHost("a", "ssh"), NamedHost("b", "ssh")]
    ssh = launcher_arguments(HYDRA, pair, 2)
    assert ssh == ["-launcher", "ssh", "-hosts", "a,b", "-ppn", "1", "-n", "2"]
    lab = launcher_arguments(HYDRA, [NamedHost("h1", "lab")], 2)
    assert lab[:-3] == ["-launcher", "ssh", "-hosts", "h1", "-ppn", "1", "-launcher-exec"]
    assert os.access(lab[-3], os.X_OK)


def test_what_open_mpi_is_told_about_hosts() -> None:
    def told(mpi: Mpi, hosts: list[NamedHost], ranks: int) -> str:
        return " ".join(launcher_arguments(mpi, hosts, ranks))

    pair = [NamedHost("h1", "lab"), NamedHost("h2", "lab")]
    old, new = told(OPENMPI_4, pair, 3), told(OPENMPI_5, pair, 3)
    for words in (old, new):
        assert "--bind-to none --host h1:2,h2:2 --map-by node" in words
        assert words.endswith("enter_lab_host.sh -np 3")
    assert "--oversubscribe --mca plm_rsh_agent /" in old
    assert "--map-by node:OVERSUBSCRIBE --prtemca plm_ssh_agent /" in new
    assert "--host localhost:4" in told(OPENMPI_4, [], 4)
    assert "agent" not in told(OPENMPI_5, [NamedHost("a", "ssh")], 2)


def test_the_wrapper_enters_the_host_that_was_named(tmp_path: Path) -> None:
    wrapper = launcher_arguments(HYDRA, [NamedHost("h1", "lab")], 1)[-3]
    # Enters nothing; says where it would have gone, then does what it was to do.
    script(tmp_path / "nsenter", 'echo "$@" | cut -d" " -f1-2\n'
           'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')  # fmt: skip
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}",
                   "NETSONDE_LAB_HOSTS": "h1=12 h11=13 h2=14"}  # fmt: skip

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([wrapper, *words], env=environment, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S)  # fmt: skip

    done = call("-x", "h2", '"printf"', '"%s|"', '"two words"', "'$HOME'", "3")
    assert (done.returncode, done.stdout) == (0, "--target 14\ntwo words|$HOME|3|")
    listed = call("h2", "A=1", ";", "export", "A", ";", "printf", '"%s|"', "$A", "3")
    assert (listed.returncode, listed.stdout) == (0, "--target 14\n1|3|")  # as Open MPI does
    assert "the lab has no host h3" in call("h3", "true").stderr
    assert call("h3", "true").returncode == call("h1").returncode == 2


def victim_pid(mark: str, victim: str) -> int:
    """The process of a rank, or mpiexec, or the proxy that holds the ranks."""
    if victim.isdigit():
        return int(rank_pids(mark)[int(victim)])
    for pid in marked_processes(mark):
        if victim in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[0]:
            return int(pid)
    raise AssertionError(f"there is no {victim}")


@pytest.mark.worker
@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("busy", [True, False])
@pytest.mark.parametrize("victim", ["0", "1", "2", "mpiexec", "hydra_pmi_proxy"])
def test_a_killed_process_ends_all_with_a_sentence(mark: str, victim: str, busy: bool) -> None:
    session = open_mpi(None, 3)
    try:
        pid = victim_pid(mark, victim)
        if busy:
            threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
        else:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(HostError, match="MPI on local: the worker") as caught:
            session.run(LONG, 30)
        if victim.isdigit() and busy:
            # Hydra names whichever end it saw first; the witness of the rank knows better.
            assert f"lost rank {victim}: process {pid} on " in str(caught.value)
            assert "was killed by SIGKILL" in str(caught.value)
    finally:
        session.close()
    assert wait_until(lambda: not marked_processes(mark))


@pytest.mark.worker
@pytest.mark.usefixtures("program")
def test_a_deadline_ends_all_with_a_sentence(mark: str) -> None:
    session = open_mpi(None, 2)
    with pytest.raises(HostError, match="deadline"):
        session.run(LONG, 0.3)
    assert wait_until(lambda: not marked_processes(mark))


@pytest.mark.worker
@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("busy", [True, False])
def test_a_launcher_that_dies_takes_all_ranks_with_it(mark: str, busy: bool) -> None:
    source = (
        "from netsonde.launch.mpi import open_mpi\n"
        "session = open_mpi(None, 2)\n"
        "print('up', flush=True)\n" + (f"session.run({LONG!r}, 30)\n" if busy else "input()\n")
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    with launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"up\n"
        assert sorted(rank_pids(mark)) == [0, 1]
        if busy:
            time.sleep(0.3)  # until the run is under way; the test holds without it too
        launcher.kill()
    assert wait_until(lambda: not marked_processes(mark))
