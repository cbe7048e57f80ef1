"""Several numbers of ranks and of threads: from the command line to the points of a study."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sweep_fakes import Silent
from typer.testing import CliRunner, Result

from netsonde.cli import mpi as command
from netsonde.cli.main import app
from netsonde.cli.wording import problem_in_options
from netsonde.errors import HostError
from netsonde.figures.compute import figures_of
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi_found import find_mpi
from netsonde.records.rundir import open_run
from netsonde.study.execute import start_study
from netsonde.study.plan import PlannedPoint, in_order, job_of, plan_points
from netsonde.study.spec import StudySpec, parse_study, to_toml


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[StudySpec]:
    """The studies that would be measured."""
    specs: list[StudySpec] = []
    monkeypatch.setattr(command, "measure_and_show", lambda spec, *_, **__: specs.append(spec))
    return specs


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["mpi", *words], env={"COLUMNS": "200"})


def spec(mpi: dict[str, Any], **block: Any) -> StudySpec:
    measure = {"transports": "mpi", "test": "collective", "sizes": "64", **block}
    if measure["test"] == "collective":
        measure.setdefault("operations", ["bcast"])
    return StudySpec.model_validate(
        {"mpi": mpi, "measure": [measure], "path": {"kind": "loopback"}, "seed": 3}
    )


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("4", [4]),
        ("2,4,8,16", [2, 4, 8, 16]),
        ("2..16", [2, 4, 8, 16]),
        ("1..27:3", [1, 3, 9, 27]),
        ("2..8,12", [2, 4, 8, 12]),
    ],
)
def test_numbers_of_ranks(asked: list[StudySpec], words: str, numbers: list[int]) -> None:
    assert run("bcast", "allreduce", "-n", words, "--sizes", "8,64").exit_code == 0
    points = plan_points(asked[0])
    assert len(points) == 4 * len(numbers)
    assert sorted({p.parameters["ranks"] for p in points}) == numbers
    vary = {p.parameters.get("ranks_vary") for p in points}
    assert vary == ({True} if len(numbers) > 1 else {None})
    assert parse_study(to_toml(asked[0]), "x") == asked[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bcast", "-n", "0"), "-n"),
        (("bcast", "-n", "x"), "'x' is no number of ranks"),
        (("bcast", "-n", "8..2"), "'8..2' is no range of ranks; write it like 2..16"),
        (("bcast", "-n", "2,4,2"), "-n has 2 more than once"),
        (("bcast", "-n", "2,9999"), "4096"),
        (("bcast", "-n", "2,4", "--root", "3"), "3 is no rank of 2"),
        (("guidelines", "-n", "2,4"), "guidelines go with one number of ranks"),
        (("latency", "--threads", "4"), "netsonde mpi threads --threads 4"),
        (("threads", "--threads", "0"), "--threads"),
        (("threads", "--threads", "two"), "'two' are no numbers of threads; write 2,4"),
        (("threads", "--threads", "129"), "128"),
        (("threads", "--threads", "2,2"), "--threads has a number twice"),
        (("threads", "--pin", "all"), "--pin binds a rank with all its threads"),
        (("threads", "--like", "imb"), "like imb and mpi threads do not go together"),
    ],
)
def test_what_it_refuses(asked: list[StudySpec], words: tuple[str, ...], said: str) -> None:
    result = run(*words)
    assert result.exit_code != 0
    assert said in str(result.exception)
    assert not asked


def test_numbers_of_ranks_alternate_in_random_order() -> None:
    sizes = spec({"ranks": "2..16", "launches": 4}, sizes="8..64")
    points = plan_points(sizes)
    order = in_order(points, 11)
    assert sorted(p.id for p in order) == sorted(p.id for p in points)
    of_jobs = [job for p in order if (job := job_of(p)) is not None]
    jobs = [job for job, _ in groupby(of_jobs)]
    assert len(jobs) == len(set(jobs)) == 16  # nothing of a job is measured in another one's time
    rounds = [jobs[i : i + 4] for i in range(0, 16, 4)]
    assert [{launch for launch, *_ in members} for members in rounds] == [{1}, {2}, {3}, {4}]
    assert len({tuple(ranks for *_, ranks in members) for members in rounds}) > 1
    one = plan_points(spec({"ranks": "2..16"}))
    assert all("launch" not in p.parameters for p in one)
    assert len({job_of(p) for p in one}) == 4


def test_sizes_in_total_are_shared_out_for_each_number() -> None:
    points = plan_points(
        spec({"ranks": [2, 4]}, operations=["alltoall"], sizes="1k", size_of="total")
    )
    found = [(p.parameters["message_bytes"], p.parameters["total_bytes"]) for p in points]
    assert found == [(512, 1024), (256, 1024)]


def ways(points: list[PlannedPoint]) -> list[tuple[Any, ...]]:
    names = ("threads", "thread_level", "communicators")
    return [tuple(p.parameters.get(name) for name in names) for p in points]


def test_threads_are_measured_beside_one() -> None:
    points = plan_points(spec({"ranks": 2}, test="threads", threads=[2, 4]))
    assert ways(points) == [
        (1, "funneled", None),
        (1, "multiple", None),
        (2, "multiple", "own"),
        (2, "multiple", "shared"),
        (4, "multiple", "own"),
        (4, "multiple", "shared"),
    ]


def test_as_osu_they_have_one_communicator_and_share_the_messages() -> None:
    points = plan_points(spec({"ranks": 2}, test="threads", threads=[4], like="osu"))
    assert ways(points)[2:] == [(4, "multiple", "shared")]
    counts = [(p.parameters["warm_up"], p.parameters["count"]) for p in points]
    assert counts == [(100, 10_100), (100, 10_100), (25, 2_525)]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"test": "threads"}, "test threads and threads go together"),
        ({"test": "latency", "threads": [2]}, "test threads and threads go together"),
        ({"test": "threads", "threads": [2], "transports": "tcp"}, "needs transports"),
        ({"test": "threads", "threads": [2], "overlap": True}, "overlap and test threads"),
    ],
)
def test_what_does_not_go_with_threads(block: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as found:
        spec({"ranks": 2}, **block)
    assert said in str(found.value)
    assert problem_in_options(found.value)


@pytest.fixture
def has_mpi() -> None:
    try:
        find_worker("sonde-mpi")
        find_mpi("mpich")
    except HostError as error:
        pytest.skip(str(error))


@pytest.mark.worker
@pytest.mark.usefixtures("has_mpi")
def test_a_study_of_both(tmp_path: Path) -> None:
    """Each number of ranks in a program of its own, one thread and two in two beside each other."""
    asked = StudySpec.model_validate(
        {
            "mpi": {"ranks": [2, 3]},
            "path": {"kind": "loopback"},
            "seed": 1,
            "measure": [
                {"transports": "mpi", "test": "collective", "operations": ["bcast"], "sizes": "8",
                 "count": 20},
                {"transports": "mpi", "test": "threads", "threads": [2], "sizes": "8",
                 "count": 200, "check_data": True},
            ],
        }
    )  # fmt: skip
    outcome = start_study(asked, tmp_path, ["netsonde"], Silent())
    assert outcome.failures == {}
    found = open_run(outcome.directory)
    assert found.finished
    for point in found.points:
        (done,) = {str(b.ends[0].done.get("thread_level")) for b in point.batches}
        if point.test == "threads":
            assert done == f"MPI_THREAD_{point.parameters['thread_level'].upper()}"
            assert point.checks["data"]["intact"] is True
            assert point.checks["samples"]["equal"]
            assert point.checks["carried"]["by"] == "memory"
            assert "transport" not in point.checks
            number = point.parameters["threads"]
            assert set(point.series("thread").tolist()) == set(range(number))
            assert len(point.series("round_trip_ns")) == 200 * number
        else:
            assert len(point.batches[0].ends) == point.parameters["ranks"]
    names = {f.name for f in figures_of(found)}
    assert {"round_trip_median_ns", "joint_ratio", "completion_median_ns"} <= names
