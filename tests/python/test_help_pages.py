"""What a new user reads first: --help at 80 columns, and what is said of a command cut short."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from netsonde.cli.commands import COMMANDS, app_for, app_with
from netsonde.cli.entry import main
from netsonde.cli.manual import manual_pages


@pytest.mark.parametrize("words", [[], ["tcp"], ["trace"], ["trace", "summary"], ["study", "run"]])
def test_switches_have_no_type(words: list[str]) -> None:
    shown = CliRunner().invoke(app_for(words), [*words, "--help"], env={"COLUMNS": "80"}).output
    assert "--help" in shown
    assert "<bool>" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("name", ["tcp", "udp", "mpi"])
def test_many_options_stand_in_groups(name: str) -> None:
    command = typer.main.get_command(app_for([name])).commands[name]  # type: ignore[attr-defined]
    parameters = command.get_params(typer.Context(command))
    options = [p for p in parameters if p.param_type_name == "option"]
    first = {p.name for p in options if p.rich_help_panel is None}
    assert first <= {"out", "html", "as_json", "quiet", "list_all", "help"}
    page = dict(manual_pages(typer.main.get_command(app_for([name]))))[f"netsonde-{name}"]
    assert ".SS Conditions" in page
    assert (
        page.index("\\-\\-quiet")
        < page.index(".SS Conditions")
        < page.index("\\-\\-background\\-load\\fP")
    )


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


@pytest.mark.parametrize(
    ("typed", "today"),
    [
        ("tcp node7 latency --busy target=80%", "--background-load"),
        ("udp node7 latency --interval=5%", "--relative-precision"),
        ("tcp node7 latency --depth", "--kernel-trace"),
        ("study resume runs/1 --pair ns1-secret", "--pairing-code"),
        ("mpi bcast --busy target=80%", "--background-load"),
        ("mpi latency --pair all", "--rank-pair"),
        ("mpi bcast --clock wtime", "--clock-method"),
        ("mpi bcast --clocks apart", "--compare-clocks"),
        ("mpibench bcast --pin all --share", "--oversubscribe"),
        ("model estimate N --time-out 400", "--timeout"),
        ("hpcbench tcptest -h node7 --pair ns1-secret", "--pairing-code"),
    ],
)
def test_a_former_option_is_told_its_name_of_today(
    typed: str, today: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["netsonde", *typed.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    former = said.split()[1]
    assert former in typed.replace("=", " ").split()
    assert said == f"netsonde: {former} is called {today} now\n"


def commands_below(command, words):
    subs = getattr(command, "commands", {})
    if not subs:
        yield words, command
    for name, sub in subs.items():
        yield from commands_below(sub, [*words, name])


ALL = {
    " ".join(words): command
    for words, command in commands_below(typer.main.get_command(app_with(COMMANDS)), ["netsonde"])
}


@pytest.mark.parametrize("name", ALL)
def test_help_leads_with_calls_that_its_options_allow(name: str) -> None:
    command = ALL[name]
    first, calls, *_ = command.help.split("\n\n")
    assert first.endswith(".")
    examples = [line.removeprefix("- `").removesuffix("`") for line in calls.splitlines()]
    own = {word for one in command.params for word in (*one.opts, *one.secondary_opts)}
    for example in examples:
        words = shlex.split(example)
        if words[0] == "netsonde":
            assert example.startswith(name)
            words = words[: words.index("--")] if "--" in words else words
            given = {word.split("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
            assert given <= own, example
    is_measuring = name.split()[1] in ("tcp", "udp", "icmp", "mpi", "mpibench", "watch", "serve")
    assert len(examples) >= 3 or not is_measuring
