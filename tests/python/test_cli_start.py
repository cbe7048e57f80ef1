"""A command starts with what it needs: importing all commands, or scipy.stats, takes longer than
most of them do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from netsonde.cli.commands import COMMANDS, OF_ALL, app_for, app_with
from netsonde.cli.main import app

LIBRARIES = {
    *("pydantic", "numpy", "scipy", "polars", "orjson", "pybase64", "duckdb", "hdrh"),
    *(
        "matplotlib",
        "jinja2",
        "ClusterShell",
        "cryptography",
        "tomli_w",
        "prometheus_client",
        "msgspec",
    ),
}
START = """
import json, sys
sys.argv[0] = "netsonde"
from netsonde.cli.entry import main
try:
    main()
except SystemExit:
    print(json.dumps(list(sys.modules)), file=sys.stderr)
"""

UNTIL_ANSWERED = """
import json, sys
sys.argv[0] = "netsonde"
from netsonde.cli.entry import main
class Watched:
    def __init__(self, stream):
        self._stream = stream
    def write(self, text):
        if "Run:" in text:
            print(json.dumps(list(sys.modules)), file=sys.stderr)
        return self._stream.write(text)
    def __getattr__(self, name):
        return getattr(self._stream, name)
sys.stdout = Watched(sys.stdout)
main()
"""
"""Tells the modules that are there when the last word of the answer is said."""
NOT_FOR_AN_ANSWER = {
    *("polars", "duckdb", "jinja2", "matplotlib", "scipy", "ClusterShell", "cryptography"),
    *("netsonde.lab", "netsonde.schedules", "netsonde.simulate", "netsonde.compare"),
    *("netsonde.launch.flux", "netsonde.launch.paired"),
    *("netsonde.report.page", "netsonde.report.plot", "netsonde.model.platform"),
    *("netsonde.study.all_pairs_run", "netsonde.figures.all_pairs_verdict"),
    *("netsonde.figures.costs", "netsonde.figures.simulated", "netsonde.figures.pattern_figures"),
    *("netsonde.explain.patterns", "netsonde.explain.simulated_windows"),
}
NOT_WITHOUT_RANKS = {
    *(
        "netsonde.launch.slurm",
        "netsonde.launch.mpi",
        "netsonde.peers.mpi_told",
        "netsonde.figures.mpi_figures",
    ),
    *("netsonde.figures.rank_growth", "netsonde.figures.recurrence", "netsonde.explain.mpi_ranks"),
}


def names(made: typer.Typer) -> set[str]:
    return set(typer.main.get_command(made).commands)  # type: ignore[attr-defined]


def test_the_table_has_every_command() -> None:
    assert names(app) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_registered_by_the_module_that_is_named(command: str) -> None:
    assert command in names(app_with([command]))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["nonsense"], *([name] for name in OF_ALL)])
def test_all_are_there_where_none_is_asked_for(arguments: list[str]) -> None:
    assert names(app_for(arguments)) == set(COMMANDS)


def test_what_is_said_of_a_command_is_the_beginning_of_its_help() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    own = {name: " ".join(c.help.split("\n\n")[0].split()) for name, c in commands.items()}
    assert {name: row.summary for name, row in COMMANDS.items()} == own


@pytest.mark.parametrize(
    ("statement", "without"),
    [
        ("from netsonde.cli.commands import app_for; app_for(['report', 'runs/x'])", "numpy"),
        ("from netsonde.cli.commands import app_for; app_for(['tcp'])", "netsonde.cli.mpi"),
        ("import netsonde.cli.show", "scipy.stats"),
        ("import netsonde.launch.worker", "msgspec"),
    ],
)
def test_what_is_not_needed_is_not_imported(statement: str, without: str) -> None:
    program = f"import sys; {statement}; sys.exit({without!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=110)


@pytest.mark.parametrize(
    "words",
    ["tcp local stream --time 100ms", "udp local latency --sizes 1,64 --time 100ms"],
)
def test_a_usual_measurement_needs_no_library_of_statistics(words: str, tmp_path: Path) -> None:
    """Loading scipy.special takes as long as measuring; nor is a page prepared that is not asked
    for."""
    said = subprocess.run(
        [sys.executable, "-c", START, *words.split(), "--out", str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=110,
    )  # fmt: skip
    modules = set(json.loads(said.stderr.splitlines()[-1]))
    assert "netsonde.figures.compute" in modules
    assert modules & {"scipy.special", "scipy.fft", "scipy.stats", "netsonde.report.page"} == set()


@pytest.mark.parametrize(
    ("words", "most", "without"),
    [
        ("udp local latency --sizes 64 --count 100", 250, NOT_FOR_AN_ANSWER | NOT_WITHOUT_RANKS),
        ("tcp local stream --time 100ms", 250, NOT_FOR_AN_ANSWER | NOT_WITHOUT_RANKS),
        ("mpi latency -n 2 --sizes 64 --count 100", 275, NOT_FOR_AN_ANSWER),
    ],
)
def test_an_answer_waits_for_no_module_that_only_other_runs_need(
    words: str, most: int, without: set[str], tmp_path: Path
) -> None:
    """Most of the CPU time from Enter to the answer is imports, and every dataclass takes half a
    millisecond of it. Modules can be counted on a busy machine."""
    said = subprocess.run(
        [sys.executable, "-c", UNTIL_ANSWERED, *words.split(), "--out", str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=110,
    )  # fmt: skip
    (listed,) = (line for line in said.stderr.splitlines() if line.startswith("["))
    modules = set(json.loads(listed))
    assert "netsonde.report.terminal" in modules
    assert modules & without == set()
    own = sum(name.split(".")[0] == "netsonde" for name in modules)
    assert own < most


@pytest.mark.parametrize(
    ("shell", "line", "offered", "not_offered"),
    [
        ("bash", "netsonde mpi", {"mpi", "mpibench"}, {"tcp"}),
        ("zsh", "netsonde ", {"tcp", "study", "man"}, set()),
        *(
            (shell, "netsonde study r", {"run", "resume"}, {"plan"})
            for shell in ("bash", "zsh", "fish")
        ),
        ("fish", "netsonde tcp --si", {"--sizes"}, {"--time"}),
        ("bash", "netsonde study run x.toml --ho", {"--hosts"}, set()),
    ],
)
def test_a_shell_completes_without_what_measures(
    shell: str, line: str, offered: set[str], not_offered: set[str]
) -> None:
    """Within a quarter of a second of CPU time, as below: only the one command is imported.
    Pydantic is what Typer itself reads values with."""
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    if shell != "bash":
        asked = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    said = subprocess.run(
        [sys.executable, "-c", START],
        capture_output=True, text=True, check=True, timeout=110,
        env={**os.environ, "_NETSONDE_COMPLETE": f"complete_{shell}", **asked},
    )  # fmt: skip
    found = set(re.findall(r"[\w-]+", said.stdout))
    assert offered <= found
    assert not not_offered & found
    modules = set(json.loads(said.stderr))
    assert len(modules) < 600
    assert {name.split(".")[0] for name in modules} & LIBRARIES == {"pydantic"}


@pytest.mark.parametrize(
    ("argument", "most", "without"),
    [("--help", 360, LIBRARIES), ("--version", 180, {"rich", *LIBRARIES})],
)
def test_a_question_that_measures_nothing_imports_next_to_nothing(
    argument: str, most: int, without: set[str]
) -> None:
    """--help may take a quarter of a second of CPU time. Modules are what takes it, and can
    be counted on a busy machine."""
    said = subprocess.run(
        [sys.executable, "-c", START, argument],
        capture_output=True, text=True, check=True, timeout=110,
    )  # fmt: skip
    modules = json.loads(said.stderr)
    assert len(modules) < most
    assert {name.split(".")[0] for name in modules} & without == set()
    assert {name for name in modules if name.startswith("netsonde.cli.")} == {
        *("netsonde.cli.entry", "netsonde.cli.commands", "netsonde.cli.help_pages"),
        *("netsonde.cli.interruption", "netsonde.cli.streams"),
    }
