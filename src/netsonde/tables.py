"""Tables that a person writes in TOML: unknown keys are refused, problems are a sentence."""

from __future__ import annotations

import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from netsonde.errors import UsageError


class Strict(BaseModel):
    """A table that takes the keys it names and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def first_problem(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence."""
    problem = error.errors(include_url=False)[0]
    place = on_a_line(".".join(str(part) for part in problem["loc"]))
    message = on_a_line(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "extra_forbidden":
        return f"unknown key {place}"
    return f"{place}: {message}" if place else message


def on_a_line(text: str) -> str:
    """With what cannot be printed written as Python does: a key may hold anything."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def load_toml(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises UsageError, also where it is nested beyond all measure or
    has a number of thousands of digits."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not TOML: {error}") from error
