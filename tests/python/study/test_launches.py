"""Several MPIs and launches in a study: what is planned, in which order, what a lacking operation
is."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from sweep_fakes import Silent

from netsonde.errors import HostError, UsageError
from netsonde.launch import mpi_build
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi_found import find_mpi
from netsonde.records.rundir import open_run
from netsonde.study.execute import resume_study, start_study
from netsonde.study.plan import in_order, job_of, plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml


def spec(mpi: Any, launches: int | None = None, **more: Any) -> StudySpec:
    measure = [
        {"transports": "mpi", "test": "collective", "operations": ["bcast", "bcast_init"],
         "sizes": "8,64", "count": 16},
        {"transports": "mpi", "test": "latency", "sizes": "8", "count": 16},
        *more.pop("further", []),
    ]  # fmt: skip
    content = {"mpi": {"mpi": mpi, "launches": launches, **more}, "measure": measure, "seed": 3}
    return StudySpec.model_validate({**content, "path": {"kind": "loopback"}})


def test_one_mpi_in_one_launch_is_planned_as_ever() -> None:
    points = plan_points(spec("mpich"))
    assert len(points) == 5
    assert not any("mpi" in p.parameters or "launch" in p.parameters for p in points)
    assert spec("mpich").mpi.launch_count == 1


def test_several_mpis_have_so_many_launches_that_there_is_an_interval() -> None:
    assert spec("mpich, openmpi").mpi.mpi == ["mpich", "openmpi"]
    assert spec(["mpich", "openmpi"]).mpi.launch_count == 6
    assert spec("mpich,openmpi", 2).mpi.launch_count == 2
    assert len(plan_points(spec("mpich,openmpi"))) == 5 * 2 * 6
    assert len(plan_points(spec("mpich", 3))) == 5 * 3


def test_a_study_reads_back() -> None:
    for asked in (spec("mpich"), spec("mpich,openmpi", 4)):
        assert parse_study(to_toml(asked), "x") == asked


def test_an_mpi_is_named_once() -> None:
    text = "[mpi]\nmpi='mpich,mpich'\n[[measure]]\ntransports='mpi'\ntest='latency'\nsizes='8'"
    with pytest.raises(UsageError, match="mpi names mpich more than once"):
        parse_study(text, "x")


def test_launches_alternate_in_random_order() -> None:
    tcp = {"transports": "tcp", "test": "latency", "sizes": "8..64"}
    points = plan_points(spec("a,b,c", 8, further=[tcp]))
    order = in_order(points, 11)
    assert sorted(p.id for p in order) == sorted(p.id for p in points)
    assert order == in_order(points, 11)
    of_jobs = [job for p in order if (job := job_of(p)) is not None]
    jobs = [job for job, _ in groupby(of_jobs)]
    assert len(jobs) == len(set(jobs)) == 24  # nothing of a job is measured in another one's time
    rounds = [jobs[i : i + 3] for i in range(0, 24, 3)]
    for number, members in enumerate(rounds, 1):
        assert {launch for launch, *_ in members} == {number}
        assert {name for _, name, _ in members} == {"a", "b", "c"}
    assert len({tuple(name for _, name, _ in members) for members in rounds}) > 2
    tcp_jobs = [i for i, p in enumerate(order) if p.transport == "tcp"]
    assert tcp_jobs != list(range(tcp_jobs[0], tcp_jobs[0] + len(tcp_jobs)))


@pytest.fixture
def two_mpis() -> list[str]:
    """The same MPI by its name and by its path."""
    try:
        find_worker("sonde-mpi")
        return ["mpich", str(find_mpi("mpich").mpiexec)]
    except HostError as error:
        pytest.skip(str(error))


def test_an_operation_that_one_mpi_lacks_is_marked_and_the_others_go_on(
    tmp_path: Path, two_mpis: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = frozenset({"bcast_init"})
    monkeypatch.setattr(
        mpi_build,
        "lacking_operations",
        lambda mpi: lacking if mpi.name != "mpich" else frozenset(),
    )
    said: list[str] = []

    listening = Silent()
    listening.notice = said.append

    outcome = start_study(spec(two_mpis, 2), tmp_path, ["netsonde"], listening)
    assert outcome.failures == {}
    (lacks,) = [words for words in said if "has no" in words]  # once, not in every launch
    assert f"({two_mpis[1]}) has no bcast_init" in lacks
    run = open_run(outcome.directory)
    assert run.finished
    # On a busy machine a guideline may seem to be violated, and is measured again.
    asked = [p for p in run.points if "refined" not in p.parameters]
    failed = [p for p in asked if p.status == "failed"]
    assert {(p.operation, p.parameters["mpi"]) for p in failed} == {("bcast_init", two_mpis[1])}
    assert len(failed) == 4
    finished = [p for p in asked if p.status == "finished"]
    assert len(finished) == 16
    pids = {(p.parameters["mpi"], p.parameters["launch"]) for p in finished}
    assert len(pids) == 4
    assert set(run.manifest["mpis"]) == set(two_mpis)
    assert "MPICH" in run.manifest["mpis"]["mpich"]["mpi.library"]
    assert not any(k.startswith("mpi.") for facts in run.manifest["hosts"].values() for k in facts)
    again = resume_study(spec(two_mpis, 2), outcome.directory, Silent())
    assert again.failures == {}


def test_of_one_mpi_it_is_a_failure(
    tmp_path: Path, two_mpis: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpi_build, "lacking_operations", lambda _: frozenset({"bcast_init"}))
    outcome = start_study(spec(two_mpis[0]), tmp_path, ["netsonde"], Silent())
    assert len(outcome.failures) == 2
    assert all("has no bcast_init" in sentence for sentence in outcome.failures.values())
    asked = [p for p in open_run(outcome.directory).points if "refined" not in p.parameters]
    assert sum(p.status == "finished" for p in asked) == 3


def test_an_mpi_that_is_not_there_is_said_before_anything_is_measured(
    tmp_path: Path, two_mpis: list[str]
) -> None:
    with pytest.raises(HostError, match="there is no executable /nowhere/mpiexec"):
        start_study(spec([two_mpis[0], "/nowhere/mpiexec"]), tmp_path, ["netsonde"], Silent())
    assert list(tmp_path.iterdir()) == []
