"""What is asked of a point: read with types, and written back as it was."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netsonde.catalogue.point import (
    AllPairs,
    Collective,
    Options,
    PointSpec,
    Program,
    RoundTrips,
    Threads,
    spec_of,
)
from netsonde.catalogue.test import TESTS
from netsonde.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "netsonde"
LATENCY = {"message_bytes": 64, "cap_ns": 10, "interval": 0.01, "options": {"no_delay": True}}


def test_every_test_has_its_type() -> None:
    own = {"threads": 2, "load_ratio": 0.5}
    kinds = {name: type(spec_of(name, {"message_bytes": 1, **own})) for name in TESTS}
    assert kinds["latency"] is kinds["pingpong"] is RoundTrips
    assert kinds["collective"] is Collective
    assert PointSpec not in kinds.values()
    assert type(spec_of("of_another_version", LATENCY)) is PointSpec


@pytest.mark.parametrize(
    ("test", "content"),
    [
        ("latency", LATENCY),
        ("latency", {"message_bytes": 0, "pass": 2, "pair": [0, 3], "refined": 1}),
        ("latency", {"message_bytes": 1, "options": {}}),
        ("stream", {"message_bytes": 1, "tool": "iperf3", "reverse": True, "duration_ns": 5}),
        ("collective", {"message_bytes": 1, "root": 0, "uneven": False, "partners": [[0, 1]]}),
        ("collective", {"message_bytes": 1, "start": "barrier", "windows": {"at_once": 3}}),
        ("all_pairs", {"message_bytes": 1, "round": 0, "steps": [["latency", 0]]}),
        ("program", {"message_bytes": 0, "figures": {"a": {"pattern": "x", "of_later": [1]}}}),
        ("simulation", {"message_bytes": 1, "swept": {"window": 4, "kind": "tcp"}, "slot_ns": 5}),
        ("of_another_version", {"message_bytes": 1, "further": {"a": [None, 1.5]}}),
    ],
)
def test_a_table_is_written_back_as_it_was(test: str, content: dict[str, Any]) -> None:
    spec = spec_of(test, content)
    assert spec.to_json() == content
    assert repr(spec.to_json()["message_bytes"]) == repr(content["message_bytes"])


def test_fields_have_types() -> None:
    spec = spec_of("latency", {**LATENCY, "pair": [0, 3], "pass": 2})
    assert (spec.pair, spec.pass_number, spec.ranks) == ((0, 3), 2, None)
    assert spec.chosen == Options(unknown={"no_delay": True})
    assert spec_of("latency", {"message_bytes": 1}).chosen == Options()
    rounds = spec_of("all_pairs", {"message_bytes": 1, "steps": [["loss", 1]]}).of(AllPairs)
    assert rounds.steps == (("loss", 1),)
    figures = {"a": {"pattern": "x"}}
    program = spec_of("program", {"message_bytes": 0, "figures": figures}).of(Program)
    assert program.figures is not None
    assert program.figures["a"].pattern == "x"
    with pytest.raises(TypeError, match="Program is no Threads"):
        program.of(Threads)


@pytest.mark.parametrize(
    ("test", "content", "said"),
    [
        ("latency", {"message_bytes": "64"}, "message_bytes is '64'; expected a whole number"),
        ("latency", {"message_bytes": True}, "message_bytes is 'True'; expected a whole number"),
        ("latency", {}, "message_bytes is missing"),
        ("threads", {"message_bytes": 1}, "threads is missing"),
        ("latency", {"message_bytes": 1, "pair": [0]}, "pair is"),
        ("latency", {"message_bytes": 1, "between": "ab"}, "expected a list, each a text"),
        ("latency", {"message_bytes": 1, "options": {"mtu": 1.5}}, "mtu is '1.5'"),
        ("all_pairs", {"message_bytes": 1, "steps": [["loss"]]}, "steps is"),
        ("simulation", {"message_bytes": 1, "swept": {"a": []}}, "swept is"),
    ],
)
def test_a_wrong_type_is_said(test: str, content: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=f"^a point of test {test}: ") as refused:
        spec_of(test, content)
    assert said in str(refused.value)


def test_what_the_worker_is_asked_is_the_points() -> None:
    spec = spec_of("collective", {**LATENCY, "operation": "bcast", "root": 0, "ppn": 2})
    assert spec.asked_of_worker() == {"operation": "bcast", "root": 0}


def keys_read(source: str) -> Iterator[str]:
    """Where a key is read of a point's table by its name: ``parameters["ranks"]``,
    ``parameters.get("ranks")``, ``"ranks" in parameters``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Subscript(table, ast.Constant(str()))
                | ast.Call(ast.Attribute(table, "get"), [ast.Constant(str()), *_])
                | ast.Compare(ast.Constant(str()), [ast.In() | ast.NotIn()], [table])
            ):
                if isinstance(table, ast.Attribute) and table.attr == "parameters":
                    yield ast.unparse(node)


def test_what_was_asked_of_a_point_is_read_by_its_fields() -> None:
    found = {
        str(path.relative_to(PACKAGE)): keys
        for path in sorted(PACKAGE.rglob("*.py"))
        if (keys := list(keys_read(path.read_text())))
    }
    assert not found, "a field of PointSpec or of its family has it: point.spec"


@pytest.mark.parametrize(
    "line",
    [
        'n = int(point.parameters["ranks"])',
        'n = p.parameters.get("ranks", 2)',
        'n = "pair" in p.parameters',
        'n = [p for p in points if "scout" not in p.parameters]',
    ],
)
def test_a_key_that_is_read_is_found(line: str) -> None:
    assert list(keys_read(line))
