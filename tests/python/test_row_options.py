"""Commands of sockets are made from the catalogue's rows."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from netsonde.catalogue.option import ANY_MOST, Choice, Count, Flag, Group, Option, Switch
from netsonde.catalogue.options.commands import BLOCK, COMMAND_ROWS, MPI_ROWS
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.cli import row_options
from netsonde.cli.main import app
from netsonde.cli.row_options import given_of, with_rows
from netsonde.errors import UsageError
from netsonde.study.measure_table import MeasureTable

COMMANDS = ("tcp", "udp", "icmp", "mpi")
DUMMY = (
    Option("many", Count(1, 8), "How many.", of=("tcp",), flags=(Flag("--many", "N", "So many."),)),
    Option("on", Switch(), "Whether.", of=("tcp",), flags=(Flag("--on/--off", help="Or not."),)),
    Option(
        "way",
        Choice(("near", "far")),
        "How.",
        of=("tcp",),
        flags=(Flag("--near", value="near"), Flag("--far", value="far", group=Group.SENT)),
    ),
    Option("other", Switch(), "Another transport's.", of=("udp",), flags=(Flag("--other"),)),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_row_has_its_flags(command: str) -> None:
    known = {
        name: parameter
        for parameter in typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    for row in (*COMMAND_ROWS, *MPI_ROWS):
        for flag in row.flags_of(command):
            names = [*flag.name.split("/"), *([flag.letter] if flag.letter else [])]
            assert {known[name].help for name in names} == {flag.help}


def test_every_socket_option_is_in_a_command() -> None:
    assert {row.key for row in COMMAND_ROWS} >= SOCKETS.keys()


@pytest.fixture
def dummy(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[dict[str, Any]]]:
    """A command with rows of its own, and what it was given."""
    monkeypatch.setattr(row_options, "COMMAND_ROWS", DUMMY)
    found: list[dict[str, Any]] = []

    @with_rows("tcp")
    def measure(host: str, *, quiet: bool = False, **given: Any) -> None:
        found.append({"host": host, "quiet": quiet, **given_of(DUMMY, "tcp", given)})

    dummy_app = typer.Typer()
    dummy_app.command()(measure)
    return dummy_app, found


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", {}),
        ("--many 3 --quiet", {"many": 3, "quiet": True}),
        ("--off", {"on": False}),
        ("--on --far", {"on": True, "way": "far"}),
    ],
)
def test_a_row_is_enough(dummy: Any, words: str, asked: dict[str, Any]) -> None:
    dummy_app, found = dummy
    assert CliRunner().invoke(dummy_app, ["node7", *words.split()]).exit_code == 0
    assert found == [{"host": "node7", "quiet": False} | asked]


@pytest.mark.parametrize("words", ["--many 9", "--many x", "--other"])
def test_what_a_row_does_not_allow_is_refused(dummy: Any, words: str) -> None:
    assert CliRunner().invoke(dummy[0], ["node7", *words.split()]).exit_code == 2


def test_two_words_of_one_option_are_refused(dummy: Any) -> None:
    refused = CliRunner().invoke(dummy[0], ["node7", "--near", "--far"]).exception
    assert isinstance(refused, UsageError)
    assert str(refused) == "--near and --far do not go together: each is a way of way"


@pytest.mark.parametrize("row", [row for row in BLOCK.values() if isinstance(row.kind, Count)])
def test_a_study_has_the_bounds_of_the_row(row: Option) -> None:
    assert isinstance(row.kind, Count)
    known = MeasureTable.model_json_schema()["properties"][row.key]
    found = next(one for one in known.get("anyOf", [known]) if one.get("type") == "integer")
    assert found["minimum"] == row.kind.least
    assert found["maximum"] == row.kind.most or row.kind.most == ANY_MOST


def test_a_study_has_the_keys_of_the_rows() -> None:
    assert BLOCK.keys() <= MeasureTable.model_fields.keys()
