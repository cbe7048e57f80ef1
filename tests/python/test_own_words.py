"""What is wrong with a table is said in words of netsonde, not of the library that reads it;
a command that cannot do what it was asked leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.cli.socket_tests import hosts_and_tests
from netsonde.cli.wording import problem_in_options
from netsonde.errors import HostError, UsageError
from netsonde.lab.scenario import Scenario, parse_scenario
from netsonde.lab.tables import Switch
from netsonde.records.rundir import open_measured
from netsonde.serve.requests import BadRequestError, check_request
from netsonde.study.all_pairs_table import TournamentTable
from netsonde.study.execute import start_study
from netsonde.study.measure_table import MeasureTable
from netsonde.study.options_table import OptionsTable
from netsonde.study.spec import StudySpec, parse_study
from netsonde.tables import first_problem

TABLES: list[type[BaseModel]] = [
    StudySpec,
    MeasureTable,
    OptionsTable,
    TournamentTable,
    Scenario,
    Switch,
]
WRONG: list[Any] = [-1, 10**30, 0.5, "x", "", "٣", [], [[]], {}, {"a": 1}, True, None, float("nan")]
THEIRS = ("Input should", "should be", "should have", "valid", "Field required", "Extra inputs")


class Silent:
    def start(self, *_: object) -> None: ...
    def point(self, *_: object) -> None: ...
    def batch(self, *_: object) -> None: ...
    def done(self, *_: object) -> None: ...
    def notice(self, *_: object) -> None: ...


@pytest.mark.parametrize("text", ["hosts = true", "hosts = 2\n[pace]\npriority = true"])
def test_true_is_no_number(text: str) -> None:
    with pytest.raises(UsageError, match=r"(hosts|pace\.priority): must not be true or false$"):
        parse_scenario(text, "net.toml")
    assert parse_scenario("hosts = 2\n[pace]\nawake = true", "net.toml").pace.awake


def said_of(table: type[BaseModel]) -> list[str]:
    """What is said of every wrong value of every key, and of none."""
    found = []
    contents = [{key: wrong} for key in table.model_fields for wrong in WRONG]
    for content in [{}, {"no_such_key": 1}, *contents]:
        try:
            table.model_validate(content)
        except ValidationError as error:
            found += [first_problem(error), problem_in_options(error)]
        except UsageError as error:  # the tables together
            found.append(str(error))
    return found


@pytest.mark.parametrize("table", TABLES)
def test_no_word_of_the_library_reaches_a_user(table: type[BaseModel]) -> None:
    sentences = said_of(table)
    assert len(sentences) > len(table.model_fields)
    assert not [s for s in sentences if any(word in s for word in THEIRS)]


def test_a_stranger_reads_the_same_words() -> None:
    with pytest.raises(BadRequestError) as refused:
        check_request({"request": 0, "verb": "sync"})
    assert "request: must be at least 1" in str(refused.value)


def test_a_test_is_not_read_as_a_host() -> None:
    with pytest.raises(UsageError, match="latency and stream are two tests"):
        hosts_and_tests("local", "latency", "stream")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_that_was_named_is_completed(shell: str) -> None:
    marks = {"bash": "COMPREPLY", "zsh": "#compdef", "fish": "complete --command"}
    command = [sys.executable, "-c", "from netsonde.cli.entry import main; main()"]
    said = subprocess.run(
        [*command, "--show-completion", shell], capture_output=True, text=True, check=True
    ).stdout
    assert {name for name, mark in marks.items() if mark in said} == {shell}


UNREACHABLE = """
name = "refused"
[path]
kind = "hosts"
target = "{target}"
[[measure]]
transports = ["tcp"]
test = "latency"
sizes = "64"
{more}
"""


@pytest.mark.parametrize(
    ("target", "more", "error"),
    [
        ("lab:no-such-lab/h1,h2", "", UsageError),
        ("no-such-host.invalid", "", HostError),
        ("local", "[measure.options]\ncongestion_control = 'no_such'", HostError),
    ],
)
def test_what_measured_nothing_leaves_no_run(
    tmp_path: Path, target: str, more: str, error: type[Exception]
) -> None:
    study = parse_study(UNREACHABLE.format(target=target, more=more), "refused")
    with pytest.raises(error):
        start_study(study, tmp_path, [], Silent())
    left = list(tmp_path.iterdir())
    if more:  # the host was there and said no: that is kept, with what it said
        assert open_measured(left[0]).points[0].status == "failed"
    else:
        assert left == []


@pytest.mark.parametrize("command", ["report", "explain", "export --format csv"])
def test_a_run_of_nothing_is_no_empty_page(tmp_path: Path, command: str) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / "manifest.json").write_text(
        '{"format": 1, "name": "none", "path": {}, "hosts": {}, "points": [{"id": "p001", '
        '"transport": "tcp", "test": "latency", "parameters": {"message_bytes": 64}}]}'
    )
    (directory / "journal.jsonl").write_text("")
    words = [*command.split(), str(directory)]
    outcome = CliRunner().invoke(app, words)
    assert isinstance(outcome.exception, UsageError), outcome.output
    assert "holds no measurement" in str(outcome.exception)
    assert not (directory / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--start window:late=2h", "--start window:late: must be at most 1000000000"),
        ("--start window:count=0", "--start window:count: must be at least 1"),
        ("--start window:late=3us,late-most=2us", "--start window: late_most is below late"),
        ("--pin 0,x", "--pin: '0,x' is no list of CPUs"),
    ],
)
def test_a_bound_is_named_as_it_was_typed(words: str, sentence: str) -> None:
    outcome = CliRunner().invoke(app, ["mpi", "bcast", *words.split()])
    assert isinstance(outcome.exception, UsageError), outcome.output
    assert str(outcome.exception).startswith(sentence)


def test_no_table_is_a_factor() -> None:
    with pytest.raises(UsageError, match="windows is neither a key of the block nor an option"):
        parse_study(
            "[[measure]]\ntransports = 'mpi'\ntest = 'collective'\noperations = ['bcast']\n"
            "sizes = '64'\n[measure.vary]\nwindows = ['a']",
            "study",
        )
