"""The list of MPI operations: the same in the program, in sonde-mpi and in the documentation."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mpi_needed import require_mpi
from netsonde.cli.mpi_tests import CLOCK, GUIDELINES, LIST_COLUMNS, POINT_TO_POINT, listing
from netsonde.errors import HostError, UsageError
from netsonde.figures.compute import figures_of
from netsonde.launch.binaries import find_worker
from netsonde.launch.mpi import open_mpi
from netsonde.operations import (
    GROUPS,
    Operation,
    default_sizes,
    nearest,
    operations,
    parse_pattern,
    parse_root,
)
from netsonde.records.data import Batch, Point, Run
from netsonde.report.lookup import point_label
from netsonde.report.point_table import checks_in_words
from netsonde.study.checks import check_point, data_check
from netsonde.study.measure import measure_point
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.spec import StudySpec
from netsonde.study.values import expand_sizes

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "collectives.md"
SIZES = {"any": (1, None), "words": (8, None), "records": (16, None), "one_word": (1, 8),
         "none": (1, 0)}  # fmt: skip


def plan(measure: dict[str, Any], ranks: int = 4) -> list[PlannedPoint]:
    block = {"transports": "mpi", "test": "collective", "sizes": "64", **measure}
    return plan_points(StudySpec.model_validate({"mpi": {"ranks": ranks}, "measure": [block]}))


@pytest.mark.worker
def test_sonde_mpi_has_the_same_operations() -> None:
    try:
        program = find_worker("sonde-mpi")
    except HostError as error:
        pytest.skip(str(error))
    answer = subprocess.run(
        [program, "--operations"], capture_output=True, text=True, timeout=30, check=True
    )
    theirs = {}
    for line in answer.stdout.splitlines():
        told = json.loads(line)
        multiple, fixed = SIZES[told.pop("sizes")]
        assert told.pop("there") is True  # the MPICH of the tests has them all
        theirs[told["name"]] = {**told, "multiple_bytes": multiple, "fixed_bytes": fixed}
    ours = {
        name: {key: value for key, value in vars(operation).items() if key != "size"}
        for name, operation in operations().items()
    }
    assert list(theirs) == list(ours)
    assert theirs == ours


def test_the_page_says_of_each_what_its_size_is() -> None:
    rows = re.findall(r"^\| (`.*) \| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    told = {
        name: (size, sizes) for names, size, sizes in rows for name in re.findall(r"`(\w+)`", names)
    }
    plain = {n: o for n, o in operations().items() if o.form == "blocking"}
    assert set(told) == set(plain)
    for name, operation in plain.items():
        assert told[name] == (operation.size, sizes_in_words(operation))


def sizes_in_words(operation: Operation) -> str:
    if operation.fixed_bytes is not None:
        return str(operation.fixed_bytes)
    many = operation.multiple_bytes
    return "any" if many == 1 else f"multiples of {many}"


def test_every_operation_is_listed_in_80_columns_under_its_group() -> None:
    lines = listing().splitlines()
    assert max(len(line) for line in lines) <= LIST_COLUMNS
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings[-len(GROUPS) :] == [*GROUPS.values()]
    names = " ".join(line for line in lines if line.startswith(" ")).split()
    assert sorted(names) == sorted([*POINT_TO_POINT, CLOCK, GUIDELINES, *operations()])
    assert names[-len(operations()) :] == [*operations()]


def test_default_sizes_are_possible() -> None:
    for operation in operations().values():
        sizes = expand_sizes(default_sizes(operation))
        assert plan({"operations": operation.name, "sizes": sizes})
        assert operation.fixed_bytes is None or sizes == [operation.fixed_bytes]


def test_the_nearest_name() -> None:
    assert nearest("gahter", list(operations())) == "; did you mean gather?"
    assert nearest("ibcst", list(operations())) == "; did you mean ibcast?"
    assert nearest("teleport", list(operations())) == ""
    with pytest.raises(ValidationError, match="'alltoal' is no operation; did you mean alltoall"):
        plan({"operations": "alltoal"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("half", ("half", 1)),
        ("pairs", ("pairs", 1)),
        ("ring", ("ring", 1)),
        ("ring:3", ("ring", 3)),
    ],
)
def test_patterns(text: str, expected: tuple[str, int]) -> None:
    assert parse_pattern(text) == expected


@pytest.mark.parametrize("text", ["", "star", "half:2", "ring:", "ring:0", "ring:-1", "ring:x"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(UsageError, match="is no pattern"):
        parse_pattern(text)


def test_roots() -> None:
    assert (parse_root("3"), parse_root("rotate")) == (3, "rotate")
    for text in ("", "-1", "first", "1.5"):
        with pytest.raises(UsageError, match="is no root"):
            parse_root(text)


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("barrier", {"root": 0}, "root and barrier do not go together"),
        ("reduce_init", {"root": "rotate"}, "is fixed when it is made"),
        ("gather", {"uneven": True}, "uneven and gather do not go together"),
        ("scan", {"pattern": "half"}, "it is not between two ranks"),
        ("probe", {"pattern": "ring:2"}, "half and pairs do that"),
        ("send_struct", {"sizes": [64, 24]}, "size 24 does not go with send_struct"),
    ],
)
def test_what_an_operation_cannot_do(name: str, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        plan({"operations": name, **asked})


def test_points_carry_what_was_asked_for() -> None:
    [point] = plan({"operations": "gatherv", "root": "rotate", "uneven": True, "check_data": True})
    assert point.parameters["rotate_root"] is True
    assert point.parameters["uneven"] is True
    assert "root" not in point.parameters
    [point] = plan({"operations": "waitsome", "pattern": "ring:3"})
    assert (point.parameters["pattern"], point.parameters["distance"]) == ("ring", 3)
    [point] = plan({"operations": "bcast", "root": 2})
    assert point.parameters["root"] == 2
    points = plan({"operations": ["comm_dup", "fetch_and_op_lock"], "sizes": "64,128"})
    assert [point.parameters["message_bytes"] for point in points] == [0, 8]


def test_labels_tell_shapes_apart() -> None:
    def label(**parameters: Any) -> str:
        return point_label(Point("p", "mpi", "collective", {"message_bytes": 64, **parameters}))

    assert (
        label(operation="gatherv", root=3, uneven=True) == "MPI gatherv 64 B, root 3, uneven parts"
    )
    assert label(operation="sendrecv", pattern="ring", distance=2) == "MPI sendrecv 64 B, ring 2"
    assert label(operation="bcast", rotate_root=True) == "MPI bcast 64 B, rotating root"
    assert label(operation="put_fence", pattern="half") == "MPI put fence 64 B"
    assert label(operation="comm_split") == "MPI comm split"


@pytest.mark.worker
def test_every_group_has_figures_and_checks() -> None:
    require_mpi()
    chosen = {"reduce": {"root": "rotate"}, "alltoallv_init": {"uneven": True},
              "ineighbor_allgatherv": {"uneven": True}, "sendrecv": {"pattern": "ring:2"},
              "mprobe": {}, "send_indexed": {"pattern": "pairs"}, "accumulate_flush": {},
              "comm_create_group": {}, "message_rate": {}}  # fmt: skip
    assert {operations()[name].group for name in chosen} == set(GROUPS)
    with open_mpi(None, 3) as session:
        for name, asked in chosen.items():
            [planned] = plan(
                {"operations": name, "count": 20, "check_data": True, **asked}, ranks=3
            )
            point = Point(planned.id, "mpi", "collective", planned.parameters)
            ending = measure_point(session, planned, lambda *_: None)
            point.batches, point.status = ending.batches, "finished"
            assert sum(len(b.ends[0].series["duration_ns"]) for b in point.batches) == 20
            checks = check_point(point, {"kind": "loopback"})
            assert checks["data"] == {"intact": True, "corrupt": 0, "ranks": []}
            assert checks["samples"]["equal"]
            names = {figure.name for figure in figures_of(run_of(point))}
            assert {"completion_median_ns", "rank_duration_median_ns"} <= names


def run_of(point: Point) -> Run:
    return Run(Path(), {"origin": "real"}, [point], finished=True)


def test_wrong_data_is_a_failed_check() -> None:
    def point(corrupt: list[int]) -> Point:
        found = Point("p", "mpi", "collective", {"check_data": True})
        found.batches = [Batch(0, {rank: end(value) for rank, value in enumerate(corrupt)})]
        return found

    def end(corrupt: int) -> Any:
        return type("End", (), {"counters": {"corrupt": corrupt}})()

    assert data_check(point([0, 0]))["intact"] is True
    wrong = data_check(point([0, 3, 2]))
    assert wrong == {"intact": False, "corrupt": 5, "ranks": [1, 2]}
    [check] = checks_in_words({"data": wrong})
    assert (check.verdict, check.text) == ("failed", "wrong data 5 times, rank 1, 2")
    [check] = checks_in_words({"data": data_check(point([]))})
    assert check.verdict == "told"
