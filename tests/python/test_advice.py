"""Commands that netsonde itself tells a user to type are real ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_lines import GIVEN, named_commands, parse, problem, whole_commands

SOURCE = Path(__file__).parents[2] / "src" / "netsonde"


def texts(path: Path) -> Iterator[str]:
    """All that a module may say: its strings, with GIVEN for what is filled in, and its
    docstrings, some of which are help."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else GIVEN for part in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in inside:
            yield str(node.value)


def found() -> list[tuple[str, list[str]]]:
    return [
        (path.name, words)
        for path in sorted(SOURCE.rglob("*.py"))
        for text in texts(path)
        for words in named_commands(" ".join(text.split()))
    ]


def test_commands_in_messages_and_help_are_real() -> None:
    commands = found()
    assert len(commands) > 100
    assert [(name, words, why) for name, words in commands if (why := problem(words))] == []


@pytest.mark.parametrize(
    "text",
    [
        "say `netsonde lab upp` again",
        "say netsonde lab upp again",
        "try `netsonde tcp X latency --sise 4`",
        "try `netsonde nothing`",
    ],
)
def test_what_is_no_command_is_seen(text: str) -> None:
    assert [words for words in named_commands(text) if problem(words)]


def test_advice_that_ends_in_a_command() -> None:
    (words,) = whole_commands("Take larger buffers: netsonde tcp 'a b' stream --buffer 4M.")
    assert words == ["tcp", "a b", "stream", "--buffer", "4M"]
    parse(words)
    assert not list(whole_commands("See the hosts (netsonde host) and what netsonde says."))
