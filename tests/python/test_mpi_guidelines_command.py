"""``netsonde mpi guidelines``: one word for all operations that guidelines are about."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from netsonde.cli import mpi as command
from netsonde.cli.main import app
from netsonde.study.plan import plan_points


@pytest.fixture
def asked(monkeypatch):
    """The studies that would be measured."""
    specs = []
    monkeypatch.setattr(command, "measure_and_show", lambda spec, *_, **__: specs.append(spec))
    return specs


def run(*words):
    return CliRunner().invoke(app, ["mpi", *words])


def test_operations_at_sizes_that_go_together(asked):
    assert run("guidelines", "latency", "-n", "3", "--sizes", "8,1k").exit_code == 0
    points = plan_points(asked[0])
    sizes: dict[str | None, list[int]] = {}
    for point in points:
        sizes.setdefault(point.parameters.get("operation"), []).append(
            point.parameters["message_bytes"]
        )
    assert sizes["gather"] == [8, 1024]
    assert sizes["bcast"] == [24, 3072]
    assert sizes["barrier"] == [0]
    assert sizes[None] == [8, 1024]  # latency keeps what was asked for


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("guidelines", "-n", "1"), "give -n 2 or more"),
        (("guidelines", "--sizes", "0"), "give larger"),
        (("guidelines", "--sizes", "x"), "--sizes"),
        (("guidelines", "--sizes", "100"), "multiples of 8"),
    ],
)
def test_what_it_refuses(asked, words, said):
    result = run(*words)
    assert result.exit_code != 0
    assert said in str(result.output) + str(result.exception)
    assert asked == []
