"""A stored run, tampered with: files cut or of other kinds, values of other types and sizes."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 10**30, -(10**30), 2**63, 1e308, -0.0, 1.5),
    *("", "x", "=1+1", "../../x", "\ud800", "<script>", "\x1b[2J", "9" * 400),
    *([], [1], ["x"], {}, {"x": 1}, [[[]]], float("nan"), float("inf")),
]
LINES = (
    "",
    "{}",
    "[]",
    "null",
    "x",
    '{"entry":1}',
    '{"entry":"batch"}',
    '{"entry":"x"}',
    "[" * 9999,
)


def tampered(original: Path, into: Path, chance: random.Random) -> str:
    """Copies a run and changes it in one way, or two; says how."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(original, into, symlinks=True)
    ways = chance.choices(WAYS, WEIGHTS, k=chance.choice((1, 1, 2)))
    return "; ".join(way(into, chance) for way in ways)


def _file(run: Path, chance: random.Random) -> Path:
    names = ["manifest.json", "journal.jsonl", "study.toml"]
    return run / chance.choices(names, (4, 5, 1))[0]


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def cut(run: Path, chance: random.Random) -> str:
    path = _file(run, chance)
    content = _bytes(path)
    _put(path, content[: chance.randrange(len(content) + 1)])
    return f"{path.name} cut"


def flip(run: Path, chance: random.Random) -> str:
    path = _file(run, chance)
    content = bytearray(_bytes(path) or b"x")
    for _ in range(chance.choice((1, 3, 30))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    _put(path, bytes(content))
    return f"{path.name} flipped"


def of_another_kind(run: Path, chance: random.Random) -> str:
    path = _file(run, chance)
    path.unlink(missing_ok=True)
    kind = chance.choice(("gone", "folder", "link to itself", "link out", "device", "binary"))
    match kind:
        case "folder":
            path.mkdir()
        case "link to itself":
            path.symlink_to(path.name)
        case "link out":
            path.symlink_to("/etc/hostname")
        case "device":
            path.symlink_to("/dev/null")
        case "binary":
            _put(path, chance.randbytes(3000))
        case _:
            pass
    return f"{path.name}: {kind}"


def lines(run: Path, chance: random.Random) -> str:
    path = run / "journal.jsonl"
    found = _bytes(path).split(b"\n")
    at = chance.randrange(len(found))
    what = chance.choice(("leave out", "twice", "swap", "other"))
    if what == "leave out":
        del found[at]
    elif what == "twice":
        found.insert(at, found[at])
    elif what == "swap":
        found[at], found[0] = found[0], found[at]
    else:
        found.insert(at, chance.choice(LINES).encode())
    _put(path, b"\n".join(found))
    return f"line {at + 1} {what}"


def value_of_manifest(run: Path, chance: random.Random) -> str:
    path = run / "manifest.json"
    return _with_value(path, _bytes(path), chance, lambda text: _put(path, text))


def value_of_journal(run: Path, chance: random.Random) -> str:
    path = run / "journal.jsonl"
    found = _bytes(path).split(b"\n")
    at = chance.randrange(len(found))

    def put(text: bytes) -> None:
        found[at] = text
        _put(path, b"\n".join(found))

    return f"line {at + 1}: " + _with_value(path, found[at], chance, put)


def _with_value(
    path: Path, text: bytes, chance: random.Random, put: Callable[[bytes], None]
) -> str:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return f"{path.name} as it was"
    places = list(_places(content))
    if not places:
        return f"{path.name} as it was"
    table, key = chance.choice(places)
    said = f"{path.name} {key!r}"
    if chance.random() < 0.25:
        del table[key]
        said += " left out"
    else:
        value = chance.choice(ODD_VALUES)
        said += f" = {str(value)[:20]!r}"
        table[key] = value
    put(json.dumps(content, separators=(",", ":")).encode())
    return said


def _places(content: Any) -> Any:
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(pairs):
        yield content, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _put(path: Path, content: bytes) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif path.is_symlink() or path.exists():
        path.unlink()
    path.write_bytes(content)


WAYS: tuple[Callable[[Path, random.Random], str], ...] = (
    *(cut, flip, of_another_kind, lines, value_of_manifest, value_of_journal),
)
WEIGHTS = (1, 1, 1, 2, 5, 7)
