"""Commands in words of netsonde's own: taken from a text, and parsed as the command line does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer.main

from netsonde.cli.main import app

GIVEN = "X"
"""Stands for what a text fills in."""


@cache
def whole() -> Any:
    """The whole command line, made once: that takes a moment."""
    return typer.main.get_command(app)


def parse(words: list[str]) -> None:
    """Parses a command as the real command line does, and runs nothing."""
    command = whole()
    context = command.make_context("netsonde", list(words))
    rest = [*context._protected_args, *context.args]
    while rest and hasattr(command, "resolve_command"):
        found, command, rest = command.resolve_command(context, rest)
        context = command.make_context(found, rest, parent=context)
        rest = [*context._protected_args, *context.args]


def whole_commands(text: str) -> Iterator[list[str]]:
    """The commands that a sentence ends in, behind a colon or a semicolon, or consists of."""
    for line in re.findall(r"(?:^|[:;] )netsonde ([a-z].*?)\.?$", text):
        yield shlex.split(line)


def named_commands(text: str) -> Iterator[list[str]]:
    """What is named anywhere in a text, with its options where it is quoted; prose about netsonde
    itself is none."""
    for quoted in re.findall(r"`netsonde ([^`]+)`?", text):
        yield quoted.split()
    for words in re.findall(r"(?<!`)\bnetsonde ((?:[a-z][\w-]*|--[a-z-]+|X)(?: [\w-]+)*)", text):
        found = words.split()
        if found[0] in _commands_of(whole()):
            yield found


def problem(words: list[str]) -> str | None:
    """Why words cannot be a command: a name or an option that there is not. Values may be missing
    and are not looked at."""
    command = whole()
    rest = list(words)
    while rest and not rest[0].startswith("-") and (below := _commands_of(command)):
        if GIVEN in rest[0]:
            return None
        if rest[0] not in below:
            return f"{rest[0]!r} is none of {', '.join(sorted(below))}"
        command = below[rest.pop(0)]
    known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
    ours = rest[: rest.index("--")] if "--" in rest else rest
    unknown = [word for word in ours if word.startswith("--") and word not in known]
    return f"no {', '.join(unknown)}" if unknown else None


def _commands_of(command: Any) -> dict[str, Any]:
    return dict(getattr(command, "commands", {}))
