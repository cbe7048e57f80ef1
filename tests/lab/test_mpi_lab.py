"""MPI between hosts of a lab: over its link, or caught when it is not; and nothing left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_marks import marked_processes

from mpi_needed import require_mpi
from netsonde.errors import HostError
from netsonde.lab import Lab, LabSpec, lab_up
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_launchers import LOOPBACK_SETTINGS
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch
from netsonde.study.checks import partners_check, transport_check

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("mpi_here")]
ROOT = Path(__file__).parents[2]
RUNS: list[dict[str, Any]] = [
    {"test": "latency", "message_bytes": 1, "count": 50},
    {"test": "stream", "message_bytes": 10_000, "count": 50},
    {"test": "collective", "operation": "barrier", "message_bytes": 0, "count": 50},
    {"test": "collective", "operation": "bcast", "message_bytes": 10_000, "count": 50},
    {"test": "collective", "operation": "allreduce", "message_bytes": 8_000, "count": 50},
    {"test": "collective", "operation": "alltoall", "message_bytes": 8_000, "count": 50},
]


@pytest.fixture(scope="module")
def mpi_here() -> None:
    require_mpi()


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What whoever runs the tests has set must not choose the path."""
    for name in [*os.environ]:
        if name.startswith(("UCX_", "FI_", "MPIR_CVAR_", "I_MPI_", "OMPI_MCA_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_up(LabSpec(hosts=3, name="mpi-test")) as running:
        yield running


def check_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    return transport_check(Point("p001", "mpi", "latency", {}, batches=[decode_batch(0, records)]))


@pytest.mark.usefixtures("no_settings")
def test_every_run_between_hosts_crosses_the_link(lab: Lab) -> None:
    with open_mpi(lab.hosts, 3) as session:
        assert sorted(session.facts()) == ["h1", "h2", "h3"]
        for fields in RUNS:
            records = session.run(fields, 60)
            batch = decode_batch(0, records)
            assert {rank: end.host for rank, end in batch.ends.items()} == {
                0: "h1",
                1: "h2",
                2: "h3",
            }
            check = check_of(records)
            assert (check["verified"], check["interface"]) == (True, "v0"), fields


@pytest.mark.timeout(900)  # builds sonde-mpi where no test before has
@pytest.mark.usefixtures("no_settings")
@pytest.mark.parametrize(
    "name",
    [
        "openmpi-debian",
        pytest.param("mpich-debian", marks=pytest.mark.soak),
        pytest.param(str(ROOT / ".venv" / "mpis" / "openmpi"), marks=pytest.mark.soak),
    ],
)
def test_every_mpi_crosses_the_link(lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One-sided operations too, which have ways of their own around TCP."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build" / "cache"))
    require_mpi(name)
    put = {"test": "collective", "operation": "put_fence", "message_bytes": 10_000, "count": 50}
    with open_mpi(lab.hosts, 4, mpi=name) as session:
        for fields in (*RUNS, put):
            records = session.run({**fields, "count": 20}, 60)
            hosts = [end.host for _, end in sorted(decode_batch(0, records).ends.items())]
            assert hosts == ["h1", "h2", "h3", "h1"][: len(hosts)], fields
            check = check_of(records)
            assert (check["verified"], check["interface"]) == (True, "v0"), fields


@pytest.mark.usefixtures("no_settings")
def test_hosts_keep_mpi_off_shared_memory_whatever_it_likes(lab: Lab) -> None:
    with open_mpi(lab.hosts[:2], 2, environment={}) as session:
        for fields in RUNS:
            assert check_of(session.run(fields, 60))["verified"] is True, fields


@pytest.mark.usefixtures("no_settings")
def test_ranks_of_one_host_and_of_two_from_one_command(lab: Lab) -> None:
    fields = {"test": "collective", "operation": "send", "message_bytes": 64, "count": 20}
    for ppn, hosts in ((1, 2), (2, 1)):
        with open_mpi(lab.hosts[:2], 2, ppn=ppn) as session:
            records = session.run({**fields, "check_data": True}, 60)
            assert len({record["host"] for record in records}) == hosts
            assert len({session.host_of(rank) for rank in range(2)}) == hosts
            facts = session.facts()
            assert len(facts) == hosts
            for told in facts.values():
                assert 0 < told["mpi.init_ns"] < told["mpi.launch_ns"]
            point = Point("p", "mpi", "collective", {}, batches=[decode_batch(0, records)])
            found = partners_check(point)
            # Of one host there is nothing to tell.
            assert found == (
                None if hosts == 1 else {"partners": 2, "within_hosts": 0, "ranks": []}
            )


@pytest.mark.usefixtures("no_settings")
def test_shared_memory_on_one_host_is_caught(lab: Lab) -> None:
    """A host of the lab has a loopback that nobody else uses."""
    with open_mpi(lab.hosts[:1], 2, environment={}) as session:
        for fields in RUNS:
            assert check_of(session.run(fields, 60))["verified"] is False, fields


@pytest.mark.usefixtures("no_settings")
def test_the_settings_for_one_machine_keep_mpi_on_loopback(lab: Lab) -> None:
    with open_mpi(lab.hosts[:1], 2, environment=LOOPBACK_SETTINGS) as session:
        for fields in RUNS:
            check = check_of(session.run(fields, 60))
            assert (check["verified"], check["interface"]) == (True, "lo"), fields


@pytest.mark.parametrize("victim", ["mpiexec", "rank"])
def test_a_killed_program_leaves_nothing_in_the_lab(mark: str, victim: str) -> None:
    with lab_up(LabSpec(hosts=2, name="mpi-kill")) as own_lab:
        before = set(marked_processes(mark))
        session = open_mpi(own_lab.hosts, 2)
        started = {pid: command(pid) for pid in set(marked_processes(mark)) - before}
        name = {"mpiexec": "mpiexec", "rank": "sonde-mpi"}[victim]
        pid = max(pid for pid in started if name_of(pid) == name)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(HostError):
            session.run(RUNS[0], 30)
        session.close()
        deadline = time.monotonic() + 20
        while not set(marked_processes(mark)) <= before:
            assert time.monotonic() < deadline, "the program left processes in the lab"
            time.sleep(0.02)


def name_of(pid: int) -> str:
    """A rank's witness is another name of the same program."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return [""]
