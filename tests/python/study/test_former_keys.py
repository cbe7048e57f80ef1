"""A study of before is read with the keys that it had, and kept with today's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from netsonde.catalogue.options.commands import BLOCK, PATH, STOPPING
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.study.plan import plan_points
from netsonde.study.spec import StudySpec
from netsonde.tables import first_problem


@pytest.fixture(autouse=True)
def _former(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some keys had other names."""
    for table, key, former in (
        (BLOCK, "background_load", "load_beside"),
        (PATH, "family", "protocol"),
        (STOPPING, "cap", "most"),
        (STUDY_OPTIONS, "buffer", "window_bytes"),
    ):
        aliases = (*table[key].aliases, former)
        monkeypatch.setitem(table, key, replace(table[key], aliases=aliases))


def study(block: dict[str, Any], **top: Any) -> StudySpec:
    plain = {"transports": "tcp", "test": "latency", "sizes": "64"}
    return StudySpec.model_validate({"measure": [{**plain, **block}], **top})


def test_former_keys_are_read_as_todays() -> None:
    before = study(
        {"load_beside": "target=80%", "options": {"window_bytes": "64k"}},
        most="1s",
        path={"protocol": "ipv6"},
    )
    today = study(
        {"background_load": "target=80%", "options": {"buffer": "64k"}},
        cap="1s",
        path={"family": "ipv6"},
    )
    assert before == today
    kept = before.model_dump_json(exclude_defaults=True)
    assert kept == today.model_dump_json(exclude_defaults=True)
    assert "window_bytes" not in kept


def test_the_keys_of_the_version_before_are_read() -> None:
    before = study(
        {"busy": "target=80%", "options": {"depth": True}}, interval=0.02, intervals={"p99": 0.05}
    )
    today = study(
        {"background_load": "target=80%", "options": {"kernel_trace": True}},
        relative_precision=0.02,
        relative_precisions={"p99": 0.05},
    )
    assert before == today
    (point,) = plan_points(today)
    stored = {"busy": "target=80%", "depth": True}
    assert stored.items() <= point.parameters["options"].items()
    assert point.parameters["interval"] == 0.02
    assert point.parameters["intervals"] == {"p99": 0.05}


def test_the_keys_of_mpi_of_the_version_before_are_read() -> None:
    clocks = {"transports": "mpi", "test": "collective", "operations": "bcast"}
    latency = {"transports": "mpi", "test": "latency", "sizes": "64"}
    before = StudySpec.model_validate(
        {
            "mpi": {"ranks": 4, "pin": "all", "share": True},
            "measure": [
                {**clocks, "sizes": "8", "clock": "offset", "clocks": "apart"},
                {**latency, "pair": [0, 3]},
            ],
        }
    )
    today = StudySpec.model_validate(
        {
            "mpi": {"ranks": 4, "pin": "all", "oversubscribe": True},
            "measure": [
                {**clocks, "sizes": "8", "clock_method": "offset", "compare_clocks": "apart"},
                {**latency, "rank_pair": [0, 3]},
            ],
        }
    )
    assert before == today
    operation, between_two = plan_points(today)
    stored = {"clock": "offset", "clocks": "apart"}
    assert stored.items() <= operation.parameters.items()
    assert between_two.parameters["pair"] == [0, 3]


def test_factors_have_former_keys_too() -> None:
    def varied(key: str) -> StudySpec:
        values = {"design": "one-at-a-time", "vary": {key: ["64k", "1M"]}, "baseline": {key: "1M"}}
        return study({**values, "exclude": [{key: "64k"}]})

    assert varied("window_bytes") == varied("buffer")


@pytest.mark.parametrize(
    "keys", [("background_load", "load_beside"), ("load_beside", "background_load")]
)
def test_both_names_at_once_are_refused(keys: tuple[str, str]) -> None:
    with pytest.raises(ValidationError) as refused:
        study(dict.fromkeys(keys, "target=80%"))
    assert f"background_load is given twice: {' and '.join(keys)}" in first_problem(refused.value)


def test_what_is_no_table_is_left_to_the_checks() -> None:
    for content in ({"measure": 1}, {"measure": [1]}, {"path": 1, "measure": []}):
        with pytest.raises(ValidationError):
            StudySpec.model_validate(content)
