"""``[[require]]`` in a study: how limits are written, what is refused, what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.study.plan import plan_points
from netsonde.study.requirements import read_requirements, refuse_unmet_by_plan
from netsonde.study.spec import StudySpec, parse_study, to_toml

MEASURE = """
[[measure]]
transports = ["tcp", "udp"]
test = "latency"
sizes = [64, 1024]
label = "busy"
"""


def study(text: str) -> StudySpec:
    return parse_study(MEASURE + "[[require]]\n" + text, "x")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("figure = 'throughput_bit_per_s'\nat_least = '9.4G'", (9.4e9, None)),
        ("figure = 'round_trip_p99_ns'\nat_most = '50us'", (None, 50e3)),
        ("figure = 'round_trip_p99_ns'\nat_most = 50_000", (None, 50e3)),
        ("figure = 'lost_ratio'\nat_most = '0.1%'", (None, 0.001)),
        ("figure = 'socket_bytes'\nat_least = '64k'\nat_most = '1M'", (65536, 2**20)),
        ("figure = 'message_rate'\nat_least = '2.5'", (2.5, None)),
    ],
)
def test_limits_are_in_the_unit_of_the_figure(text: str, limits: tuple[Any, Any]) -> None:
    (found,) = study(text).requirements
    assert (found.at_least, found.at_most) == limits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("figure = 'lost_ratio'", "has no limit: give at_least or at_most"),
        ("figure = 'lost_ratio'\nat_most = 0", "can be proven by no measurement"),
        ("figure = 'lost_ratio'\nat_least = 2\nat_most = 1", "at_least 2 is more than at_most 1"),
        ("figure = 'round_trip_p99_ns'\nat_most = '9G'", "'9G' is not a duration"),
        ("figure = 'throughput_bit_per_s'\nat_least = '9 apples'", "is not a rate"),
        ("figure = 'message_rate'\nat_least = 'many'", "limit 'many' is no number"),
        ("figure = 'message_rate'\nat_least = true", "True is no limit"),
        ("figure = 'message_rate'\nat_least = inf", "limit inf is no number"),
        ("figure = 'message_rate'\nat_least = [1]", "require.0.at_least"),
        ("figure = 'Throughput'\nat_least = 1", "'Throughput' is no name of a figure"),
        ("at_least = 1", "require.0.figure"),
        ("figure = 'lost_ratio'\nat_most = 1\nof = 'tcp'", "unknown key require.0.of"),
    ],
)
def test_what_cannot_be_required_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        study(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_reads_back() -> None:
    asked = study("figure = 'round_trip_p99_ns'\nat_most = '50us'\nsizes = '64,1k'\ntest='latency'")
    assert parse_study(to_toml(asked), "x") == asked


def test_a_requirement_of_nothing_that_is_planned_is_refused() -> None:
    def refuse(text: str) -> None:
        spec = study(f"figure = 'round_trip_p99_ns'\nat_most = '50us'\n{text}")
        refuse_unmet_by_plan(spec.requirements, plan_points(spec))

    refuse("transport = 'tcp'\nsizes = '1k'\nlabel = 'busy'")
    for text in ("transport = 'mpi'", "sizes = 65", "label = 'idle'", "test = 'stream'"):
        with pytest.raises(UsageError, match="the study has no such point"):
            refuse(text)


def test_a_file_may_have_requirements_alone(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("[[require]]\nfigure = 'lost_ratio'\nat_most = '1%'\n")
    (alone,) = read_requirements(path)
    path.write_text(MEASURE + path.read_text())
    assert read_requirements(path) == [alone]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "requires nothing: it has no block [[require]]"),
        (b"[[require]]\nfigure = 1", "require.0.figure"),
        (b"require = 3", "require"),
        (b"[[require", "is not TOML"),
        (b"\xff", "no UTF-8 text"),
        (b"#" * (1 << 20) + b"#", "is larger than"),
        (b"[[require]]\nfigure='lost_ratio'\nat_most=1\n[other]\n", "unknown key other"),
    ],
)
def test_a_bad_file_is_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "limits.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_requirements(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_requirements(tmp_path / "none.toml")


def test_the_plan_says_what_is_required(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(MEASURE + "[[require]]\nfigure = 'round_trip_p99_ns'\nat_most = '50us'\n")
    shown = CliRunner().invoke(app, ["study", "plan", str(path)]).output
    assert shown.splitlines()[-1] == "requires round_trip_p99_ns at most 50.00 µs"
    document = json.loads(CliRunner().invoke(app, ["study", "plan", str(path), "--json"]).output)
    assert document["requirements"] == [{"figure": "round_trip_p99_ns", "at_most": 50e3}]
