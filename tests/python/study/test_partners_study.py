"""Pairs, passes and switches in a study: what is planned, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netsonde.errors import UsageError
from netsonde.figures.compute import figures_of_point
from netsonde.launch.mpi_found import find_mpi
from netsonde.records.data import Batch, EndData, Point
from netsonde.study.partners import points_with_the_slowest
from netsonde.study.plan import PlannedPoint, in_order, plan_points, round_of
from netsonde.study.spec import StudySpec, parse_study, to_toml
from netsonde.study.switches import as_facts, read_switches


def spec(ranks: int = 4, mpi: dict[str, Any] | None = None, **block: Any) -> StudySpec:
    measure = {"transports": "mpi", "test": "latency", "sizes": "8,64", **block}
    return StudySpec.model_validate({"mpi": {"ranks": ranks, **(mpi or {})}, "measure": [measure]})


def test_each_and_all_are_planned_pair_by_pair() -> None:
    each = plan_points(spec(pair="each"))
    assert [p.parameters["pair"] for p in each[:3]] == [[0, 1], [0, 2], [0, 3]]
    assert len(each) == 2 * 3
    assert len(plan_points(spec(pair="all"))) == 2 * 6
    assert parse_study(to_toml(spec(pair="all")), "x") == spec(pair="all")


def measured(planned: PlannedPoint, trip_us: float) -> Point:
    random = np.random.default_rng(1)
    end = EndData(0, "h0", counters={"messages_sent": 200})
    end.series["round_trip_ns"] = (1e3 * trip_us * random.normal(1, 0.01, 200)).astype(np.int64)
    point = Point(planned.id, "mpi", planned.test, planned.parameters, "finished")
    point.batches = [Batch(0, {0: end})]
    return point


def test_the_slowest_is_sought_first_and_then_measured() -> None:
    study = spec(pair="slowest", count=500, like="skampi")
    scouts = plan_points(study)
    assert [p.parameters["pair"][1] for p in scouts] == [1, 2, 3]
    assert {p.parameters["message_bytes"] for p in scouts} == {8}
    assert not any("like" in p.parameters or "count" in p.parameters for p in scouts)
    assert all(p.parameters["cap_ns"] == 200_000_000 for p in scouts)
    points = [measured(p, 10 + 5 * (p.parameters["pair"][1] == 2)) for p in scouts]
    figures = [figure for point in points for figure in figures_of_point(point)]
    added = points_with_the_slowest(study, scouts, points, figures)
    assert [p.id for p in added] == ["p004", "p005"]
    assert [p.parameters["message_bytes"] for p in added] == [8, 64]
    assert all(p.parameters["pair"] == [0, 2] for p in added)
    assert all(p.parameters["like"] == "skampi" for p in added)
    assert {round_of(p) for p in added} == {1}
    assert in_order([*added, *scouts], 3)[-2:] != scouts[-2:]
    assert points_with_the_slowest(study, [*scouts, *added], points, figures) == []


def test_where_no_partner_answered_nothing_is_added() -> None:
    study = spec(pair="slowest")
    assert points_with_the_slowest(study, plan_points(study), [], []) == []


def test_passes_are_points_of_their_own_but_for_launches() -> None:
    assert [p.parameters["pass"] for p in plan_points(spec(sizes="8", passes=3))] == [1, 2, 3]
    several = plan_points(spec(sizes="8", passes=3, mpi={"launches": 2}))
    assert [p.parameters.get("launch") for p in several] == [1, 2]
    assert not any("pass" in p.parameters for p in several)


@pytest.mark.parametrize(
    ("ranks", "block", "words"),
    [
        (1, {"rank_pair": "each"}, "between two ranks"),
        (400, {"rank_pair": "all"}, "the limit is 10000"),
        (4, {"rank_pair": "slowest", "test": "stream"}, "looks at round trips"),
        (
            4,
            {"rank_pair": "each", "test": "stream", "transports": "tcp"},
            "rank_pair goes with MPI",
        ),
        (4, {"passes": 3, "transports": "tcp"}, "passes go with"),
        (4, {"rank_pair": "first"}, "rank_pair"),
    ],
)
def test_what_cannot_be(ranks: int, block: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spec(ranks, **block)


def test_a_search_is_of_one_launch() -> None:
    with pytest.raises(ValueError, match="several launches do not go together"):
        spec(pair="slowest", mpi={"launches": 6})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"check_data": True}, "nobody knows data"),
        ({"cache_bytes": "64M"}, "cache_bytes and cache = 'fresh'"),
        ({"reduction": "float-sum"}, "no numbers to add"),
    ],
)
def test_fresh_data_goes_without(more: dict[str, Any], words: str) -> None:
    block: dict[str, Any] = {"test": "collective", "operations": "allreduce", "cache": "fresh"}
    with pytest.raises(ValueError, match=words):
        spec(**block, **more)
    (point, _) = plan_points(spec(**block))
    assert point.parameters["cache"] == "fresh"


def test_skampi_writes_data_anew() -> None:
    block: dict[str, Any] = {"test": "collective", "operations": ["bcast", "barrier"]}
    block["like"] = "skampi"
    found = {p.parameters["operation"]: p.parameters for p in plan_points(spec(**block))}
    assert found["bcast"]["cache"] == "fresh"
    assert "cache" not in found["barrier"]


SWITCHES = """
[[switch]]
name = "a"
hosts = "node[08-10],login"
[[switch]]
name = "b"
[[uplink]]
lower = "a"
upper = "b"
rate = "10G"
"""


def test_switches_are_read_and_kept_with_the_study(tmp_path: Path) -> None:
    file = tmp_path / "switches.toml"
    file.write_text(SWITCHES)
    found = read_switches(file)
    assert found.switch[0].hosts == ["node08", "node09", "node10", "login"]
    study = StudySpec.model_validate(
        {**found.model_dump(), "measure": [{"transports": "tcp", "test": "latency", "sizes": "8"}]}
    )
    assert parse_study(to_toml(study), "x") == study
    facts = as_facts(study.switch, study.uplink)["switches"]
    assert facts["hosts"]["login"] == "a"
    assert facts["uplinks"] == [{"lower": "a", "upper": "b", "rate_bit_per_s": 10**10}]
    assert as_facts([], []) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[switch]]\nname='a'\n[[switch]]\nname='a'", "the same name"),
        ("[[switch]]\nname='a'\nhosts='x,x'", "at two switches"),
        ("[[uplink]]\nlower='a'\nupper='b'", "no switch is called 'a'"),
        ("[[switch]]\nname='a'\n[[uplink]]\nlower='a'\nupper='a'", "joined to itself"),
        ("[[switch]]\nname='a'\nhosts='n[3-1]'", "ends before it begins"),
        ("[[switch]]\nname='a'\nhosts='n[1-99999]'", "more than 16384"),
        ("[[switch]]\nname='a'\nhosts='n[1'", "is no host"),
        ("[[switch]]\nname='a'\nports=3", "unknown key"),
        ("switch = 3", "switch"),
        ("nonsense", "is not TOML"),
    ],
)
def test_files_that_are_no_switches(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "switches.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_switches(file)
    with pytest.raises(UsageError, match="cannot read the switches"):
        read_switches(tmp_path / "none.toml")


def test_settings_behind_an_mpi() -> None:
    for text in ("mpich+LD_PRELOAD=x", "mpich+PATH=/x", "mpich+FI_X=" + 300 * "y"):
        with pytest.raises(UsageError, match="no setting of an MPI library"):
            find_mpi(text)
    with pytest.raises(UsageError, match="'nothing' is unknown"):
        find_mpi("nothing+FI_PROVIDER=tcp")
