"""Commands of the documentation, run: those that need nothing but this machine in every run of the
tests, and all that a lab can stand in for in `make soak`; in the order of their page and in one
directory, so that one can use what another wrote."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from docs_reader import Reader, give_files, give_results
from typer.testing import CliRunner

from docs_pages import PAGES, ROOT, commands, elsewhere, on_this_machine, shell_lines
from netsonde.cli.main import app
from netsonde.lab import permission_problem

PROBLEM = permission_problem()
BRIEF = ("--time", "20ms", "--quiet", "--out", "runs")
ALONE = ("schedule", "model", "man")
"""Commands that send nothing and need no host."""
LONG = ("--simulate", "check all", "model measure", "model score")
FILES = ("cluster.json", "mine.json", "runs/")
"""What the reader is to have."""
SOCKETS = re.compile(
    r"(tcp|udp) node\d+ (latency|stream)"
    r"((?: --(?:rate|wait|batch|streams|time) \S+)*)$"
)
"""Tests between two hosts whose options need neither privileges nor a certain kernel."""


def to_run(line: str) -> list[str] | None:
    """The words to run on this machine; None where the command needs more than that."""
    if line.split()[0] in ALONE and not any(word in line for word in (*LONG, *FILES)):
        return shlex.split(line)
    match = SOCKETS.match(line)
    if match is None:
        return None
    options = re.sub(r" --time \S+", "", match[3]).split()
    return [match[1], "local", match[2], *options, *BRIEF]


def chosen() -> dict[Path, list[str]]:
    """What is run of each page; what several have once."""
    found: dict[Path, list[str]] = {}
    seen: set[str] = set()
    for path in PAGES:
        for line in commands(path):
            words = to_run(line)
            if words is not None and str(words) not in seen:
                seen.add(str(words))
                found.setdefault(path, []).append(line)
    return found


CHOSEN = chosen()
PLAYED = [path for path in PAGES if commands(path)]


@pytest.mark.parametrize("path", CHOSEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_do_what_the_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in CHOSEN[path]:
        result = CliRunner().invoke(app, to_run(line))
        assert result.exit_code == 0, f"netsonde {line}: {result.output} {result.exception!r}"


def test_enough_of_them_are_run() -> None:
    assert sum(len(found) for found in CHOSEN.values()) >= 20
    assert len(CHOSEN) >= 5


def test_a_wrong_command_fails() -> None:
    assert CliRunner().invoke(app, ["schedule", "show", "nothing/at-all", "-p", "4"]).exit_code != 0


@pytest.fixture
def reader(netsonde_command: list[str], tmp_path: Path) -> Iterator[Reader]:
    with (
        tempfile.TemporaryDirectory(prefix="ns-") as own,
        Reader(netsonde_command, tmp_path, Path(own)) as reader,
    ):
        yield reader


@pytest.mark.soak
@pytest.mark.skipif(PROBLEM is not None, reason=f"no lab here: {PROBLEM}")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", PLAYED, ids=lambda p: str(p.relative_to(ROOT)))
def test_all_commands_of_a_page_in_their_order(path: Path, tmp_path: Path, reader: Reader) -> None:
    lines = [on_this_machine(line) for line in commands(path) if elsewhere(line) is None]
    give_files(path, tmp_path)
    give_results(reader, lines)
    wrong: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("lab ") or line not in lines[:number]:
            with noted(wrong):
                reader.play(line)
    with noted(wrong):
        reader.end_servers()
    assert wrong == [], "\n".join(wrong)


@contextmanager
def noted(wrong: list[str]) -> Iterator[None]:
    """What failed is said at once, for a page takes minutes; the others are played all the same."""
    try:
        yield
    except AssertionError as error:
        print(f"     WRONG  {error}")
        wrong.append(str(error))


def test_what_is_played_elsewhere_is_little_and_is_played() -> None:
    every = {line for path in PAGES for line in commands(path)}
    others = {line for line in every if elsewhere(line) is not None}
    assert len(others) <= 5
    for line in others:
        file, _, test = str(elsewhere(line)).partition("::")
        text = (ROOT / file).read_text()
        assert f"\ndef {test}(" in text, line
        assert line in text or line.startswith("model fit"), line


def test_blocks_and_loops_are_read_as_a_shell_would() -> None:
    text = """
    netsonde one
```python
    netsonde no command
```
```
for host in a b; do
    netsonde two $host
done
```
netsonde is no command here either
"""
    assert list(shell_lines(text)) == ["netsonde one", "netsonde two a", "netsonde two b"]
