"""Platforms by name: those that come with netsonde, and files."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path

from netsonde.errors import UsageError
from netsonde.model.platform import Platform
from netsonde.platforms.document import MOST_TEXT_BYTES, parse_platform, platform_document


@cache
def preset_names() -> tuple[str, ...]:
    """The platforms that come with netsonde."""
    folder = resources.files("netsonde.platforms") / "presets"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(n.removesuffix(".json") for n in names if n.endswith(".json")))


@cache
def preset(name: str) -> Platform:
    """One of :func:`preset_names`. Raises UsageError for another name."""
    if name not in preset_names():
        raise UsageError(
            f"no platform is called {name!r}; there are {', '.join(preset_names())}, or give a file"
        )
    folder = resources.files("netsonde.platforms") / "presets"
    return parse_platform((folder / f"{name}.json").read_text(encoding="utf-8"), name)


def find_platform(word: str) -> Platform:
    """A platform by its name, or from a file: a word with a slash or a dot is one.

    Raises UsageError for what is neither.
    """
    if "/" in word or word.endswith(".json"):
        return read_platform(Path(word))
    return preset(word)


def read_platform(path: Path) -> Platform:
    """A platform from a file. Raises UsageError where it cannot be read or is none."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_TEXT_BYTES + 1)
        text = content.decode()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8; expected a platform in JSON") from error
    except ValueError as error:  # a path with a zero byte
        raise UsageError(f"{str(path)!r} is no path of a file") from error
    return parse_platform(text, str(path))


def write_platform(platform: Platform, path: Path) -> None:
    """Writes a platform as a file that :func:`read_platform` reads. Raises UsageError where the
    file cannot be written."""
    text = json.dumps(platform_document(platform), indent=2, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
