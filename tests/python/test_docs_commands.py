"""Commands of the documentation, run: those that need nothing but this machine, in the order of
their page and in one directory, so that one can use what another wrote."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsonde.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BRIEF = ("--time", "20ms", "--quiet", "--out", "runs")
ALONE = ("schedule", "model", "man")
"""Commands that send nothing and need no host."""
LONG = ("--simulate", "check all")
FILES = ("cluster.json", "runs/")
"""What the reader is to have."""
SOCKETS = re.compile(
    r"(tcp|udp) node\d+ (latency|stream)"
    r"((?: --(?:rate|wait|batch|streams|time) \S+)*)$"
)
"""Tests between two hosts whose options need neither privileges nor a certain kernel."""


def commands(path: Path) -> list[str]:
    """The commands of a page's indented and fenced blocks, without ``netsonde``."""
    text = path.read_text()
    found = [] if path.name == "cli.md" else re.findall(r"(?m)^    netsonde (.+)$", text)
    for block in re.findall(r"(?ms)^```\n(.*?)^```$", text):
        found += re.findall(r"(?m)^netsonde (.+)$", block)
    return [re.split(r"\s+[#>]", line)[0] for line in found]


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
