"""What a new user reads first: --help at 80 columns, and what is said of a command cut short."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from netsonde.cli.commands import app_for
from netsonde.cli.entry import main


@pytest.mark.parametrize("words", [[], ["tcp"], ["trace"], ["trace", "summary"], ["study", "run"]])
def test_switches_have_no_type(words: list[str]) -> None:
    shown = CliRunner().invoke(app_for(words), [*words, "--help"], env={"COLUMNS": "80"}).output
    assert "--help" in shown
    assert "<bool>" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_missing_command_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["netsonde", "model"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "it needs a command: one of those above" in capsys.readouterr().err


def test_a_missing_word_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["netsonde", "tcp", "lab:h1,h2"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "One of latency, pingpong, stream" in said
    assert said.count("\n") == 1
