"""The schema of a study file, and the studies that come along."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.simulate.recognise import is_simulation_study
from netsonde.study.budget import left_out
from netsonde.study.estimate import estimate
from netsonde.study.placed import between_hosts
from netsonde.study.plan import in_order, plan_points
from netsonde.study.schema import HEADINGS, as_text, reference_page, study_schema
from netsonde.study.spec import StudySpec, parse_study, read_study, to_toml

ROOT = Path(__file__).resolve().parents[3]
READY = [p for p in sorted((ROOT / "studies").glob("*.toml")) if not is_simulation_study(p)]
SCHEMA = study_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
CHECKED = """
name = "x"
cap = "5s"
[budget]
time = "1h"
[path]
kind = "hosts"
[[measure]]
transports = "tcp"
test = "latency"
sizes = ["1..1M:4", 9]
vary = { buffer = ["64k", 100] }
[[program]]
command = ["true"]
[program.figures.rate]
pattern = "(.*)"
"""


def test_the_schema_and_the_page_are_up_to_date() -> None:
    assert (ROOT / "schema" / "study.schema.json").read_text() == as_text()
    assert (ROOT / "docs" / "reference" / "study.md").read_text() == reference_page()


def test_it_is_a_schema_and_every_key_has_its_words() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    tables = {"StudySpec": SCHEMA, **SCHEMA["$defs"]}
    assert set(tables) == set(HEADINGS)
    for table in tables.values():
        assert all(value["description"].endswith(".") for value in table["properties"].values())
        assert table["additionalProperties"] is False


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_ready_studies_fit_the_schema_and_can_be_planned(path: Path) -> None:
    assert path.read_text().startswith("#:schema ../schema/study.schema.json\n")
    VALIDATOR.validate(tomllib.loads(path.read_text()))
    spec = read_study(path)
    if spec.tournament is not None:
        spec = between_hosts(spec, "node[1-8]", path)
    points = plan_points(spec)
    assert points
    assert estimate(spec, points).time_ns > 0
    assert not left_out(spec, in_order(points, 1))
    VALIDATOR.validate(tomllib.loads(to_toml(spec)))
    assert spec == parse_study(to_toml(spec), "x")


def test_there_are_those_that_were_promised() -> None:
    promised = ["acceptance", "before-after", "hpcbench-matrices", "hpcbench-protocols"]
    assert {*promised, "mpi-comparison", "socket-tuning"} <= {path.stem for path in READY}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("speed",), 1),
        (("path", "kind"), "moon"),
        (("path", "between"), [["a"]]),
        (("budget", "over"), "ignore"),
        (("measure", 0, "transports"), "pigeon"),
        (("measure", 0, "options"), {"bufer": 1}),
        (("measure", 0, "vary"), {"bufer": [1, 2]}),
        (("measure", 0, "vary"), {"buffer": 1}),
        (("program", 0, "command"), "true"),
        (("program", 0, "figures"), {"rate": {"unit": "1"}}),
    ],
)
def test_what_the_reader_refuses_an_editor_marks(place: tuple[Any, ...], value: Any) -> None:
    content = tomllib.loads(CHECKED)
    VALIDATOR.validate(content)
    wrong = copy.deepcopy(content)
    at: Any = wrong
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    assert not VALIDATOR.is_valid(wrong)
    with pytest.raises(ValueError, match="validation error"):
        StudySpec.model_validate(wrong)


def test_the_command_prints_it() -> None:
    assert json.loads(CliRunner().invoke(app, ["study", "schema"]).output) == SCHEMA
