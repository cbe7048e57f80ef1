"""Tables that a person writes in TOML: unknown keys are refused, problems are a sentence."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from netsonde.errors import UsageError


class Strict(BaseModel):
    """A table that takes the keys it names and no others."""

    # A table that is part of another one is built with that, and most are needed by few commands.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_flag_as_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """The library takes true for 1."""
        field = cls.model_fields.get(info.field_name or "")
        wanted: Any = field.annotation if field else Any
        if isinstance(value, bool) and not _takes_flags(wanted):
            raise ValueError("must not be true or false")
        return value

    def plan(self) -> dict[str, Any]:
        """What a program takes that is given the table: what is there, by the keys of its own."""
        return self.model_dump(by_alias=True, exclude_none=True)


@cache
def _takes_flags(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(map(_takes_flags, get_args(annotation)))


Table = TypeVar("Table", bound=BaseModel)


def checked(model: type[Table], content: Mapping[str, Any], source: str = "") -> Table:
    """The table of a content. Raises UsageError, a sentence that names the source and the place."""
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        where = f"{source}: " if source else ""
        raise UsageError(where + first_problem(error)) from error


def text_by(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """For pydantic, which collects what is wrong with its place: parses text, leaves all else."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except UsageError as error:
            raise ValueError(str(error)) from error

    return read


_SUBJECT = re.compile(r"^(Value error, |(?:[A-Z]\w+ )+?should (?=\w))")
"""What a library's complaint begins with: its own name for what the user gave."""


def first_problem(error: ValidationError) -> str:
    """The first of pydantic's complaints as a sentence."""
    problem = error.errors(include_url=False)[0]
    place = on_a_line(".".join(str(part) for part in problem["loc"]))
    message = on_a_line(in_our_words(problem["msg"]))
    if problem["type"] == "extra_forbidden":
        return f"unknown key {place}"
    return f"{place}: {message}" if place else message


def in_our_words(message: str) -> str:
    """A complaint of pydantic without its own nouns: "must be at most 3" behind the key, not "Input
    should be less than or equal to 3"."""
    message = _SUBJECT.sub(lambda found: "must " if "should" in found.group() else "", message)
    for theirs, ours in _WORDS:
        message = message.replace(theirs, ours)
    return message


_WORDS = (
    ("less than or equal to", "at most"),
    ("greater than or equal to", "at least"),
    ("greater than", "more than"),
    (" after validation", ""),
    ("Field required", "must be given"),
    ("Extra inputs are not permitted", "is not known"),
    ("a valid dictionary or instance of", "a table of the form"),
    ("a valid dictionary", "a table"),
    ("a valid boolean", "true or false"),
    ("a valid integer", "a whole number"),
    ("a valid string", "a text"),
    ("a valid ", "a "),
    (", unable to parse string as a number", ""),
    (", unable to parse string as a whole number", ""),
    (", unable to parse string as an integer", ""),
    (", unable to interpret input", ""),
    (", got a number with a fractional part", ""),
)


def on_a_line(text: str) -> str:
    """With what cannot be printed written as Python does: a key may hold anything."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def read_toml_text(
    path: Path, most_bytes: int | None = None, too_long: str = "", whose: str = ""
) -> str:
    """The text of a file of TOML. Raises UsageError where it cannot be read, or has more bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(-1 if most_bytes is None else most_bytes + 1)
        if most_bytes is not None and len(content) > most_bytes:
            raise UsageError(f"{path} is {too_long}")
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not TOML: it holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read {whose}{path}: {error.strerror}") from error


def presets_of(package: str, but: str) -> dict[str, str]:
    """The texts that come with a package of ours by name, but for that of one file."""
    from importlib import resources  # late: every command imports this module

    return {
        entry.name.removesuffix(".toml"): entry.read_text()
        for entry in (resources.files(package) / "presets").iterdir()
        if entry.name.endswith(".toml") and entry.name != but
    }


def load_toml(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises UsageError, also where it is nested beyond all measure or
    has a number of thousands of digits."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not TOML: {error}") from error


def read_json(path: Path, most_bytes: int, what: str) -> Any:
    """The document of a file that came from elsewhere. Raises UsageError with one sentence where it
    cannot be read, is no JSON, or has more than ``most_bytes``, the limit for ``what``."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise UsageError(f"{path} is larger than {most_bytes} bytes, the limit for {what}")
        return json.loads(content)
    except OSError as error:
        raise UsageError(f"cannot read {what} from {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON document: {str(error)[:80]}") from error
