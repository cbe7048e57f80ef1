"""Tables that a person writes in TOML: unknown keys are refused, problems are a sentence."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Strict(BaseModel):
    """A table that takes the keys it names and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def first_problem(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        return f"unknown key {place}"
    return f"{place}: {message}" if place else message
