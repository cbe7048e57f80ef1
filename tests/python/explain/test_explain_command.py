"""``netsonde explain``: what it prints, in words and as JSON, and how it ends."""

import json
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import UsageError
from netsonde.peers.importing import import_files

OUTPUT = Path(__file__).parents[1] / "peers" / "outputs" / "iperf3-tcp.json"


@pytest.fixture
def directory(tmp_path):
    return import_files([OUTPUT], tmp_path, ["netsonde", "import"])


def explain(*words):
    return CliRunner().invoke(app, ["explain", *map(str, words)], env={"COLUMNS": "80"})


def test_findings_are_numbered_and_say_where_more_is(directory):
    done = explain(directory)
    assert done.exit_code == 0
    assert done.stdout.startswith("1. ")
    assert "evidence" in done.stdout
    assert "netsonde man explain#" in done.stdout
    assert "Rules that could not judge" not in done.stdout
    assert max(Text(line).cell_len for line in done.stdout.splitlines()) <= 80


def test_rules_that_could_not_judge(directory):
    done = explain(directory, "--verbose")
    assert "Rules that could not judge, and what they lack" in done.stdout
    assert "bottleneck: " in done.stdout


def test_one_document(directory):
    document = json.loads(explain(directory, "--json", "--most", "1").stdout)
    assert set(document) == {"run", "findings", "silent"}
    (finding,) = document["findings"]
    assert {"level", "kind", "claim", "place", "evidence", "confidence", "advice", "docs"} <= set(
        finding
    )
    assert all(rule["lacks"] for rule in document["silent"])


def test_what_is_no_run_is_refused(tmp_path):
    done = explain(tmp_path)
    assert isinstance(done.exception, UsageError)
    assert "not a run directory" in str(done.exception)
    assert done.exception.exit_code == 2
