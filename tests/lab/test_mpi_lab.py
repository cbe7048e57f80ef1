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

from netsonde.errors import HostError
from netsonde.lab import Lab, LabSpec, lab_up
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi import LOOPBACK_SETTINGS, find_mpiexec, open_mpi
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch
from netsonde.study.checks import transport_check

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("mpi_here")]
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
    try:
        find_mpiexec("mpich")
        find_worker("sonde-mpi")
    except HostError as error:
        pytest.skip(str(error))


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What whoever runs the tests has set must not choose the path."""
    for name in [*os.environ]:
        if name.startswith(("UCX_", "FI_", "MPIR_CVAR_", "I_MPI_")):
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


@pytest.mark.usefixtures("no_settings")
def test_hosts_keep_mpi_off_shared_memory_whatever_it_likes(lab: Lab) -> None:
    with open_mpi(lab.hosts[:2], 2, environment={}) as session:
        for fields in RUNS:
            assert check_of(session.run(fields, 60))["verified"] is True, fields


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
        pid = max(pid for pid, words in started.items() if Path(words[0]).name == name)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(HostError):
            session.run(RUNS[0], 30)
        session.close()
        deadline = time.monotonic() + 20
        while not set(marked_processes(mark)) <= before:
            assert time.monotonic() < deadline, "the program left processes in the lab"
            time.sleep(0.02)


def command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return [""]
