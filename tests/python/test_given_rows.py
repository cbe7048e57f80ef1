"""What a command was given is a dataclass whose fields have the rows of their flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from typer.testing import CliRunner

from netsonde.catalogue.given import flags_in, given_by, rows_of, typed, without_flags
from netsonde.catalogue.option import Choice, Count
from netsonde.cli.row_options import given_of, with_rows


@dataclass(frozen=True)
class Wanted:
    host: str
    many: int | None = given_by(
        typed("-m", "So many.", "N", Count(1, 8), of=("first",)),
        typed("-m", "Many more.", "N", Count(1, 90), of=("second",)),
    )
    on: bool = given_by(typed("-o", "Whether.", of=("first",)))
    way: str | None = given_by(
        typed("--way", "Which.", kind=Choice(("near", "far")), of=("first", "second"))
    )
    name: str = given_by(typed("--name", "Its name.", "NAME", default="a", of=("second",)))


ROWS = rows_of(Wanted)


def run(command: str, *words: str) -> tuple[Wanted | None, str]:
    found: list[Wanted] = []

    @with_rows(command, ROWS)
    def wanted(**given: Any) -> None:
        found.append(Wanted("h", **given_of(ROWS, command, given)))

    app = typer.Typer()
    app.command()(wanted)
    result = CliRunner().invoke(app, words)
    return (found[0] if found else None), result.output


def test_commands_have_the_flags_of_their_rows() -> None:
    assert run("first", "-m", "8", "-o") == (Wanted("h", many=8, on=True), "")
    assert run("second", "-m", "80", "--name", "b") == (Wanted("h", many=80, name="b"), "")
    assert run("second") == (Wanted("h"), "")
    assert run("first", "-m", "9")[0] is None
    assert run("second", "-o")[0] is None


def test_a_choice_without_a_metavar_lists_its_words_and_takes_no_others() -> None:
    assert run("first", "--way", "far") == (Wanted("h", way="far"), "")
    found, said = run("first", "--way", "up")
    assert found is None
    assert "'near', 'far'" in said


def test_flags_that_were_given_are_told_and_taken_away() -> None:
    given = Wanted("h", many=3, way="near")
    assert flags_in(given) == ["-m", "--way"]
    assert without_flags(given, ["-m", "-o"]) == Wanted("h", way="near")
