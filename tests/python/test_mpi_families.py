"""The same sonde-mpi under the MPIs that are here, each built and started in its own way."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from mpi_program import MARK, marked_processes, rank_pids, wait_until

from netsonde.errors import HostError
from netsonde.launch import mpi as launch
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_build import lacking_operations, sonde_mpi_for
from netsonde.launch.mpi_found import Mpi, find_mpi
from netsonde.launch.mpi_launchers import OPENMPI_4_SETTINGS
from netsonde.operations import operations
from netsonde.records.data import Point
from netsonde.records.decode import decode_batch
from netsonde.study.carried import carried_check
from netsonde.study.checks import data_check, transport_check

ROOT = Path(__file__).parents[2]
OPENMPI_5 = ROOT / ".venv" / "mpis" / "openmpi"
"""The wheel of Open MPI in a folder of its own: it has programs of the same names as MPICH's."""
MPIS = [
    "mpich",
    "openmpi-debian",
    pytest.param("mpich-debian", marks=pytest.mark.soak),
    pytest.param(str(OPENMPI_5), marks=pytest.mark.soak),
    pytest.param("impi", marks=pytest.mark.soak),
]
CHOSEN = ("barrier", "bcast", "iallreduce", "alltoallv", "sendrecv", "put_fence", "get_flush",
          "accumulate_lock", "fetch_and_op_pscw", "send_struct", "neighbor_alltoall", "comm_split",
          "allreduce_init")  # fmt: skip

pytestmark = pytest.mark.timeout(900)  # the first test of each MPI builds sonde-mpi


@pytest.fixture(scope="module", autouse=True)
def _cache() -> Iterator[None]:
    """Built once for all tests and kept for the next time; not where the user keeps theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(ROOT / "build" / "cache"))
        patch.setenv("LC_ALL", "C")
        for name in [*os.environ]:
            if name.startswith(("UCX_", "FI_", "MPIR_CVAR_", "I_MPI_", "OMPI_MCA_")):
                patch.delenv(name)
        yield


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    yield value
    assert wait_until(lambda: not marked_processes(value)), "the test left processes"


def mpi_here(name: str) -> Mpi:
    """Skips where it is not."""
    try:
        found = find_mpi(name)
        if found.abi_folder is not None:
            find_worker("sonde-mpi")
    except HostError as error:
        pytest.skip(str(error))
    sonde_mpi_for(found)
    return found


def measured(operation: str, count: int = 4) -> dict[str, Any]:
    size = operations()[operation].fixed_bytes
    return {
        **{"test": "collective", "operation": operation, "count": count},
        **{"message_bytes": 1024 if size is None else size, "check_data": True, "seed": 3},
    }


def point_of(records: list[dict[str, Any]]) -> Point:
    return Point("p001", "mpi", "collective", {}, batches=[decode_batch(0, records)])


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
@pytest.mark.usefixtures("mark")
def test_data_is_right_and_goes_over_tcp(name: str, ranks: int) -> None:
    found = mpi_here(name)
    with open_mpi(None, ranks, mpi=name, within="loopback") as session:
        for operation in CHOSEN:
            if operation in lacking_operations(found):
                continue
            point = point_of(session.run(measured(operation), 60))
            assert len(point.batches[0].ends) == ranks
            assert data_check(point)["intact"] is True, operation
            check = transport_check(point)
            assert (check["verified"], check["interface"]) == (True, "lo"), operation


LARGE = [
    {"test": "stream", "message_bytes": 1 << 20, "count": 100},
    {"test": "collective", "operation": "allreduce", "message_bytes": 1 << 20, "count": 40},
    {"test": "collective", "operation": "put_fence", "message_bytes": 1 << 20, "count": 40},
]


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.soak), 4])
@pytest.mark.parametrize("within", ["memory", "loopback"])
@pytest.mark.usefixtures("mark")
def test_counters_say_what_carried_messages(name: str, ranks: int, within: str) -> None:
    """Many megabytes: loopback's bytes move with loopback and do not with memory, whatever little
    others send meanwhile."""
    mpi_here(name)
    with open_mpi(None, ranks, mpi=name, within=within) as session:
        for fields in LARGE:
            point = point_of(session.run({**fields, "check_data": True, "seed": 3}, 60))
            assert data_check(point)["intact"] is True, fields
            check = carried_check(point)
            assert check is not None
            assert check["by"] == within, (fields, check)
            assert check["least_bytes"] >= 40 << 20
            moved = check["interface"] == "lo" and check["interface_bytes"] >= 40 << 20
            assert moved is (within == "loopback"), (fields, check)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.usefixtures("mark")
def test_threads_call_mpi_at_the_same_time(name: str) -> None:
    """Between ranks 2 and 0, by communicators and by tags; the one between sleeps."""
    mpi_here(name)
    request = {"test": "threads", "message_bytes": 4096, "count": 50, "threads": 3,
               "check_data": True, "seed": 9, "pair": [2, 0]}  # fmt: skip
    with open_mpi(None, 3, mpi=name, within="loopback", threads=3, multiple=True) as session:
        for communicators in ("own", "shared", "own"):
            point = point_of(session.run({**request, "communicators": communicators}, 60))
            origin, target, _ = point.batches[0].ends.values()
            done = target.done  # rank 0 speaks for all
            assert done["thread_level"] == "MPI_THREAD_MULTIPLE"
            assert (done["origin_rank"], done["target_rank"]) == (2, 0)
            assert origin.series["thread"].tolist() == [0] * 50 + [1] * 50 + [2] * 50
            assert (origin.series["round_trip_ns"] > 0).all()
            assert len(target.series["thread_begin_ns"]) == 3
            assert data_check(point)["intact"] is True
            check = transport_check(point)
            assert (check["verified"], check["interface"]) == (True, "lo")


@pytest.mark.parametrize("name", MPIS)
def test_a_rank_killed_while_threads_are_at_it_ends_all(name: str, mark: str) -> None:
    mpi_here(name)
    session = open_mpi(None, 2, mpi=name, threads=2, multiple=True)
    timer = Timer(1.0, lambda: os.kill(rank_pids(mark)[1], signal.SIGKILL))
    endless = {"test": "threads", "message_bytes": 8, "count": 1 << 23, "threads": 2}
    try:
        timer.start()
        with pytest.raises(HostError) as caught:
            session.run(endless, 120)
    finally:
        timer.cancel()
        session.close()
    assert "lost rank 1: process" in str(caught.value)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.usefixtures("mark")
def test_threads_of_a_program_that_may_have_none_are_refused(name: str) -> None:
    mpi_here(name)
    with open_mpi(None, 2, mpi=name) as session:
        one = {"test": "threads", "message_bytes": 8, "count": 5, "threads": 1}
        point = point_of(session.run(one, 60))
        assert point.batches[0].ends[0].done["thread_level"] == "MPI_THREAD_FUNNELED"
        with pytest.raises(HostError, match="this one has MPI_THREAD_FUNNELED"):
            session.run({**one, "threads": 2}, 60)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.usefixtures("mark")
def test_the_library_is_that_of_the_launcher(name: str) -> None:
    found = mpi_here(name)
    with open_mpi(None, 2, mpi=name) as session:
        [facts] = session.facts().values()
    assert found.version in facts["mpi.library"]
    assert not lacking_operations(found)  # all that the tests install have persistent forms


@pytest.mark.parametrize("name", MPIS)
def test_a_killed_rank_ends_all_with_a_sentence(name: str, mark: str) -> None:
    mpi_here(name)
    session = open_mpi(None, 3, mpi=name)
    try:
        os.kill(rank_pids(mark)[1], signal.SIGKILL)
        with pytest.raises(HostError) as caught:
            session.run(measured("barrier", 100_000), 30)
    finally:
        session.close()
    assert "lost rank 1: process" in str(caught.value)
    assert "was killed by SIGKILL" in str(caught.value)


@pytest.mark.usefixtures("mark")
def test_shared_memory_instead_of_tcp_is_caught() -> None:
    """Open MPI's one-sided operations and its messages each have their own way around TCP. Other
    tests send over the same loopback, which now and then is taken for the MPI's own traffic."""
    mpi_here("openmpi-debian")

    def verdict(operation: str) -> bool | None:
        verified: bool | None = transport_check(
            point_of(session.run(measured(operation, 500), 60))
        )["verified"]
        return verified

    shared = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader", **OPENMPI_4_SETTINGS}
    with open_mpi(None, 2, mpi="openmpi-debian", environment=shared) as session:
        for operation in ("put_flush", "bcast"):
            assert any(verdict(operation) is False for _ in range(20)), operation


@pytest.mark.usefixtures("mark")
def test_the_launcher_of_another_family_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    program, other = mpi_here("openmpi-debian"), mpi_here("mpich")
    built = sonde_mpi_for(program)
    monkeypatch.setattr(launch, "sonde_mpi_for", lambda _: built)
    monkeypatch.setattr(launch, "find_mpi", lambda _: replace(other, abi_folder=None))
    with pytest.raises(HostError, match=r"separate programs.*\(MPICH .* are of two families"):
        open_mpi(None, 2, mpi="mpich")
