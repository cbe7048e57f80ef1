"""The choices of MPI tests: from the command line and studies to what the ranks did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mpi_needed import require_mpi
from netsonde.cli.mpi_choices import choices_of, parse_ppn, partners_of
from netsonde.cli.wording import problem_in_options
from netsonde.errors import HostError, UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.figures.data import Figure
from netsonde.figures.sweeps import operation_sweeps_of, sweeps_of
from netsonde.launch.local import LocalHost
from netsonde.launch.mpi import open_mpi
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_launchers import launcher_arguments
from netsonde.operations import PAIRS_FILE_LIMIT_BYTES, parse_pair, parse_pairs
from netsonde.records.data import Batch, EndData, Point
from netsonde.records.decode import decode_batch
from netsonde.report.lookup import point_label
from netsonde.report.point_table import checks_in_words
from netsonde.study.checks import check_point, partners_check
from netsonde.study.measure import measure_point
from netsonde.study.plan import PlannedPoint, plan_points
from netsonde.study.refine import further_points
from netsonde.study.spec import StudySpec, parse_study, to_toml


def spec_of(measure: dict[str, Any], ranks: int = 4) -> StudySpec:
    block = {"transports": "mpi", "test": "collective", "sizes": "64", **measure}
    return StudySpec.model_validate({"mpi": {"ranks": ranks}, "measure": [block]})


def plan(measure: dict[str, Any], ranks: int = 4) -> list[PlannedPoint]:
    return plan_points(spec_of(measure, ranks))


def test_pairs_of_a_file() -> None:
    text = "# who with whom\n0 3\n\n 2,1  # the middle\n"
    assert parse_pairs(text, "pairs.txt") == [(0, 3), (2, 1)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1\n2 x\n", "pairs.txt, line 2: '2,x' is no pair of ranks"),
        ("0 1 2\n", "line 1: '0,1,2' is no pair"),
        ("0\n", "line 1: '0' is no pair"),
        ("-1 0\n", "line 1: '-1,0' is no pair"),
        ("0 1\n\n1 2\n", "line 3: rank 1 has a partner already, on line 1"),
        ("3 3\n", "line 1: '3,3' names one rank only"),
        ("# nothing\n", "has no pairs"),
        ("1" * 5000 + " 2\n", "is no pair"),
        ("\n".join(f"{2 * i} {2 * i + 1}" for i in range(3000)), "more than 2048 pairs"),
    ],
)
def test_what_is_no_file_of_pairs(text: str, words: str) -> None:
    with pytest.raises(UsageError) as found:
        parse_pairs(text, "pairs.txt")
    assert words in str(found.value)
    assert len(str(found.value)) < 300


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("#" * (PAIRS_FILE_LIMIT_BYTES + 1))
    other = tmp_path / "other.bin"
    other.write_bytes(b"\xff\xfe0 1")
    for path, words in ((large, "larger than"), (other, "UTF-8"), (tmp_path / "no.txt", "cannot")):
        with pytest.raises(UsageError, match=words):
            partners_of(str(path))
    with pytest.raises(UsageError, match="the patterns are half"):
        partners_of("star")
    good = tmp_path / "good.txt"
    good.write_text("1 0\n")
    assert partners_of(str(good)) == {"partners": [(1, 0)]}
    assert partners_of("head-to-head") == {"pattern": "head-to-head"}
    assert partners_of(None) == {}


@pytest.mark.parametrize("text", ["", "1", "0,1,2", "a,b", "0;1"])
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(UsageError, match="is no pair"):
        parse_pair(text)


def test_choices_go_to_the_tests_that_have_them() -> None:
    tests = ["latency", "allreduce", "iallreduce", "message_rate"]
    given = {"rank_pair": "2,0", "reduction": "max", "overlap": True, "polls": 3, "window": 5,
             "cache": "warm", "align": 64}  # fmt: skip
    found = choices_of(tests, given)
    assert found == {
        "latency": {"rank_pair": (2, 0)},
        "allreduce": {"reduction": "max", "align": 64},
        "iallreduce": {"reduction": "max", "overlap": True, "polls": 3, "align": 64},
        "message_rate": {"window": 5, "align": 64},
    }
    for key, value in (
        ("rank_pair", "0,1"),
        ("window", 3),
        ("overlap", True),
        ("size_of", "total"),
    ):
        with pytest.raises(UsageError, match=f"--{key.replace('_', '-')} goes with"):
            choices_of(["barrier"], {key: value})


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ({"operations": "send", "window": 4}, "--window and send do not go together"),
        ({"operations": "gather", "reduction": "max"}, "--reduction and gather"),
        ({"operations": "gather", "datatype": "int"}, "--datatype and gather"),
        ({"operations": "reduce", "datatype": "byte"}, "joins char, int, float, double, uint64"),
        ({"operations": "scan", "reduction": "null", "datatype": "int"}, "it joins what it was"),
        ({"operations": "bcast", "echo": "other"}, "--echo"),
        ({"operations": "put_lock", "cache": "rotate"}, "--cache rotate and put_lock"),
        ({"operations": "bcast", "cache": "flush", "start": "window"},
         "--cache flush and --start window do not go together"),
        ({"operations": "bcast", "cache": "rotate", "check_data": True},
         "--cache rotate and --check-data do not go together"),
        ({"operations": "bcast", "cache_bytes": "64M"}, "--cache-bytes and --cache warm"),
        ({"operations": "bcast", "overlap": True}, "--overlap and bcast do not go together"),
        ({"operations": "ibcast", "polls": 3}, "polls goes with --overlap"),
        ({"operations": "ibcast", "overlap": True, "start": "none"}, "--overlap and --start none"),
        ({"operations": "allreduce", "align": 4}, "--align and allreduce do not go together"),
        ({"operations": "bcast", "size_of": "total"}, "--size-of total and bcast"),
        ({"operations": "gather", "size_of": "total", "sizes": "64,3"},
         "size 3 in total leaves nothing for each of 4 ranks"),
        ({"operations": "scan", "partners": [[0, 1]]}, "--pattern FILE and scan"),
        ({"operations": "send", "partners": [[0, 1], [1, 2]]}, "name rank 1 twice"),
        ({"operations": "send", "partners": [[0, 4]]}, "4 is no rank of 4"),
        ({"operations": "send", "partners": [[0, 1]], "pattern": "half"}, "do not go together"),
        ({"operations": "probe", "pattern": "head-to-head"}, "head-to-head and probe"),
        ({"operations": "recv_init", "pattern": "all-to-one"}, "all-to-one and recv_init"),
        ({"operations": "send", "pattern": "half", "root": 1}, "root and send"),
        ({"operations": "send", "rank_pair": [0, 1]}, "--rank-pair goes with"),
        ({"test": "latency", "rank_pair": [0, 0]}, "names one rank only"),
        ({"test": "latency", "rank_pair": [0, 7]}, "7 is no rank of 4"),
        ({"test": "latency", "window": 3}, "window and"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(measure: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as found:
        spec_of(measure)
    assert words in problem_in_options(found.value)


def test_points_carry_the_choices() -> None:
    [point] = plan({"operations": "send", "partners": [[3, 0], [1, 2]]})
    assert point.parameters["pattern"] == "list"
    assert point.parameters["partners"] == [[3, 0], [1, 2]]
    [point] = plan({"operations": "send", "pattern": "all-to-one", "root": 3})
    assert (point.parameters["pattern"], point.parameters["root"]) == ("all-to-one", 3)
    [point] = plan({"test": "latency", "rank_pair": [2, 1]})
    assert point.parameters["pair"] == [2, 1]
    [point] = plan({"operations": "ibcast", "overlap": True, "polls": 2, "cache": "flush"})
    assert {"overlap": True, "polls": 2, "cache": "flush"}.items() <= point.parameters.items()
    [point] = plan({"operations": "bcast"})
    assert not {"cache", "overlap", "partners", "pattern", "window"} & point.parameters.keys()


def test_a_study_with_choices_reads_back_as_it_was() -> None:
    spec = spec_of({"operations": "send", "partners": [[3, 0]], "cache": "flush", "align": 64})
    assert parse_study(to_toml(spec), "study") == spec


def test_sizes_in_total() -> None:
    points = plan({"operations": "gather", "size_of": "total", "sizes": "0,10,64"})
    assert [(p.parameters["message_bytes"], p.parameters["total_bytes"]) for p in points] == [
        (0, 0),
        (2, 8),
        (16, 64),
    ]
    [point] = plan({"operations": "reduce_scatter", "size_of": "total", "sizes": "104"})
    assert (point.parameters["message_bytes"], point.parameters["total_bytes"]) == (24, 96)


def test_ranks_on_hosts_beside_each_other() -> None:
    def spec(**mpi: Any) -> StudySpec:
        block = {"transports": "mpi", "test": "latency", "sizes": "64"}
        return StudySpec.model_validate({"mpi": {"ranks": 4, **mpi}, "measure": [block]})

    points = plan_points(spec(hosts=["a", "b"], ppn=[1, 2]))
    assert [point.parameters["ppn"] for point in points] == [1, 2]
    assert all("ppn" not in p.parameters for p in plan_points(spec(hosts=["a", "b"])))
    for asked, words in (({"ppn": [2]}, "--ppn places ranks"), ({"ppn": [0]}, "--ppn"),
                         ({"hosts": ["a"], "ppn": [2, 2]}, "twice")):  # fmt: skip
        with pytest.raises(ValidationError) as found:
            spec(**asked)
        assert words in problem_in_options(found.value)
    assert parse_ppn("1,2") == [1, 2]
    assert parse_ppn(None) == []
    for text in ("", "1,", "a", "-1"):
        with pytest.raises(UsageError, match="no numbers of ranks"):
            parse_ppn(text)


def test_who_is_on_which_host() -> None:
    hydra = Mpi("mpich", "mpich", "5.0", Path("mpiexec"), None, None)
    arguments = launcher_arguments(hydra, [LocalHost(), LocalHost()], 4, 2)
    assert arguments[-4:] == ["-ppn", "2", "-n", "4"]
    openmpi = replace(hydra, family="openmpi", version="4.1.4")
    arguments = launcher_arguments(openmpi, [LocalHost(), LocalHost()], 4, 2)
    assert arguments[arguments.index("--host") + 1].endswith(":2")
    assert arguments[arguments.index("--map-by") + 1] == "slot"
    with pytest.raises(UsageError, match="need 3 hosts with Open MPI"):
        launcher_arguments(openmpi, [LocalHost(), LocalHost()], 5, 2)


def test_operations_are_refined_where_their_curve_breaks() -> None:
    points, figures = [], []
    for i, size in enumerate((64, 256, 1024, 4104, 17000, 65536, 262144)):
        time_ns = 1000.0 + size / 100 + (50_000 if size > 5000 else 0)
        parameters = {"message_bytes": size, "operation": "scan", "refine": 12, "ranks": 2}
        points.append(Point(f"p{i + 1:03d}", "mpi", "collective", parameters, "finished"))
        figures.append(
            Figure(f"p{i + 1:03d}", "mpi", "collective", "scan", size, "completion_median_ns",
                   time_ns, time_ns * 0.999, time_ns * 1.001, 100, 100.0, "")
        )  # fmt: skip
    planned = [PlannedPoint(p.id, p.transport, p.test, p.spec) for p in points]
    sweeps = operation_sweeps_of(points, figures)
    assert sweeps[0].curve.times[0] == pytest.approx(1000.64)
    added = further_points(planned, sweeps)
    sizes = [p.parameters["message_bytes"] for p in added]
    assert any(4104 < size < 17000 for size in sizes)
    assert all(size % 8 == 0 for size in sizes)
    assert all(p.parameters["operation"] == "scan" for p in added)
    assert sweeps_of(points, figures) == []


def test_labels_say_what_was_chosen() -> None:
    def label(**parameters: Any) -> str:
        return point_label(Point("p", "mpi", "collective", {"message_bytes": 64, **parameters}))

    assert label(operation="send", pattern="list", partners=[[0, 1]]) == "MPI send 64 B, 1 pairs"
    assert label(operation="message_rate", window=4) == "MPI message rate 64 B, windows of 4"
    assert label(operation="scan", reduction="max") == "MPI scan 64 B, max"
    assert label(operation="bcast", cache="rotate") == "MPI bcast 64 B, cold by rotate"
    assert label(operation="ibcast", overlap=True) == "MPI ibcast 64 B, computing"


def test_partners_on_one_host_are_told() -> None:
    def point(hosts: str, partners: list[int]) -> Point:
        found = Point("p", "mpi", "collective", {})
        ends = {
            rank: EndData(rank, host, {}, {"partner": to} if to >= 0 else {})
            for rank, (host, to) in enumerate(zip(hosts, partners, strict=True))
        }
        found.batches = [Batch(0, ends)]
        return found

    assert partners_check(point("aaaa", [2, 3, 0, 1])) is None
    assert partners_check(point("abab", [-1, -1, -1, -1])) is None
    crossed = partners_check(point("aabb", [2, 3, 0, 1]))
    assert crossed == {"partners": 4, "within_hosts": 0, "ranks": []}
    within = partners_check(point("aabab", [2, 3, 0, 1, -1]))
    assert within == {"partners": 4, "within_hosts": 2, "ranks": [1, 3]}
    within = partners_check(point("abab", [2, 3, 0, 1]))
    assert within == {"partners": 4, "within_hosts": 4, "ranks": [0, 1, 2, 3]}
    for fields, verdict in ((crossed, "passed"), (within, "told")):
        assert checks_in_words({"partners": fields})[0].verdict == verdict


def need_mpi() -> None:
    require_mpi()


@pytest.mark.worker
def test_a_chosen_pair_is_the_two_ends() -> None:
    need_mpi()
    with open_mpi(None, 4) as session:
        for test, extent in (("latency", {"count": 5}), ("stream", {"count": 9})):
            request = {"test": test, "message_bytes": 1000, "pair": [3, 1], **extent}
            records = session.run(request, 60)
            ranks = {r["rank"] for r in records if r["record"] == "series"}
            assert ranks <= {1, 3}
            assert 3 in ranks
            batch = decode_batch(0, records)
            assert sorted(batch.ends) == [0, 1, 2, 3]
            assert batch.ends[0].counters["messages_sent"] == extent["count"]
        batch_of_latency = session.run({"test": "latency", "message_bytes": 8, "count": 7}, 60)
        assert len(decode_batch(0, batch_of_latency).ends[0].series["round_trip_ns"]) == 7
        with pytest.raises(HostError, match="pair names rank 4, expected ranks below 4"):
            session.run({"test": "latency", "message_bytes": 8, "count": 1, "pair": [0, 4]}, 30)


CHOSEN: list[tuple[dict[str, Any], set[str]]] = [
    ({"operations": "message_rate", "window": 5}, {"message_rate_per_s"}),
    ({"operations": "message_rate_both", "pattern": "ring"}, {"message_rate_per_s"}),
    ({"operations": "iallreduce", "overlap": True, "polls": 2}, {"overlap_ratio"}),
    ({"operations": "isend_irecv", "overlap": True}, {"overlap_ratio"}),
    ({"operations": "reduce_init", "reduction": "ordered"}, set()),
    ({"operations": "issend", "pattern": "all-to-one", "root": 2}, set()),
    ({"operations": "ssend_init", "pattern": "head-to-head"}, set()),
    ({"operations": "send_vector", "partners": [[2, 0]], "align": 8}, set()),
]


@pytest.mark.worker
def test_choices_between_real_ranks() -> None:
    need_mpi()
    with open_mpi(None, 3) as session:
        for asked, wanted in CHOSEN:
            [planned] = plan({"count": 12, "check_data": True, **asked}, ranks=3)
            point = Point(planned.id, "mpi", "collective", planned.parameters)
            ending = measure_point(session, planned, lambda *_: None)
            point.batches, point.status = ending.batches, "finished"
            checks = check_point(point, {"kind": "loopback"})
            assert checks["data"] == {"intact": True, "corrupt": 0, "ranks": []}
            assert checks["samples"]["equal"]
            assert wanted <= {figure.name for figure in figures_of_point(point)}


@pytest.mark.worker
def test_settings_reach_the_library() -> None:
    need_mpi()
    mpi = "mpich+MPIR_CVAR_BCAST_MIN_PROCS=3+FI_LOG_LEVEL=warn"
    with open_mpi(None, 2, mpi=mpi, within="loopback") as session:
        (facts,) = session.facts().values()
    assert facts["mpi.environment.MPIR_CVAR_BCAST_MIN_PROCS"] == "3"
    assert facts["mpi.environment.FI_LOG_LEVEL"] == "warn"
    assert facts["mpi.environment.MPIR_CVAR_NOLOCAL"] == "1"  # what was set before stays


@pytest.mark.worker
def test_fresh_data_between_real_ranks() -> None:
    need_mpi()
    with open_mpi(None, 2) as session:
        for operation in ("bcast", "allreduce", "sendrecv_replace", "put_fence"):
            [planned] = plan({"operations": operation, "count": 12, "cache": "fresh"}, ranks=2)
            ending = measure_point(session, planned, lambda *_: None)
            assert len(ending.batches[0].ends[1].series["duration_ns"]) == 12


def test_every_word_of_pair_reaches_its_tests() -> None:
    """``each`` is the usual of another option."""
    for word in ("each", "all", "slowest"):
        given = {"rank_pair": word, "size_of": "each", "cache": "warm"}
        found = choices_of(["latency", "bcast"], given)
        assert found == {"latency": {"rank_pair": word}, "bcast": {}}
