"""What a search writes: a document, the settings as files and commands, and how to undo them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netsonde.errors import UsageError
from netsonde.records.rundir import write_atomically
from netsonde.tuning.sockets.data import Setup, Tuning
from netsonde.tuning.sockets.ends import Ends, as_json, undo_text
from netsonde.tuning.sockets.knobs import PROGRAM_OPTIONS, names_in_programs
from netsonde.tuning.sockets.settings import SETTINGS

FORMAT = 1
DOCUMENT = "tuning.json"
DOCUMENT_LIMIT_BYTES = 16 << 20
OPTIONS_FILE = "program-options.txt"


@dataclass(frozen=True)
class Former:
    """What an earlier search found, read back: what it measured (names of goals, cap, sizes of
    messages by goal, bytes of a call), its setups, and each host's states before."""

    goals: tuple[str, ...]
    cap: str
    sizes: Mapping[str, str]
    call: str | None
    untuned: Setup
    tuned: Setup
    before: Mapping[str, Mapping[str, str]]


def document_of(tuning: Tuning, ends: Ends, about: Mapping[str, Any]) -> dict[str, Any]:
    """The whole result as JSON has it."""
    content = asdict(tuning)
    return {"format": FORMAT, **about, "hosts": as_json(ends), **content}


def write_all(folder: Path, document: Mapping[str, Any], tuned: Setup, ends: Ends) -> list[Path]:
    """Writes the document, and where something is proposed its files; their paths."""
    made = [folder / DOCUMENT]
    write_atomically(made[0], json.dumps(document, indent=1, allow_nan=False) + "\n")
    for name, text in settings_files(tuned, ends).items():
        write_atomically(folder / name, text)
        made.append(folder / name)
    return made


def settings_files(tuned: Setup, ends: Ends) -> dict[str, str]:
    """By name of the file: for each host a file for sysctl.d, commands for what is none, and what
    undoes both; for programs their options."""
    found: dict[str, str] = {}
    for end in ends.ends:
        head = f"# Of netsonde tune sockets, for {end.name}."
        lines: list[str] = []
        commands: list[str] = []
        undo: list[str] = []
        for name, value in tuned.host.items():
            setting = SETTINGS[name]
            state = end.before.get(name)
            if state is None or setting.is_as(value, state):
                continue
            if setting.file:
                lines.append(setting.line(value))
            else:
                commands.append(shlex.join(setting.change(end.place, value, state)))
            undo.insert(0, shlex.join(setting.put_back(end.place, state)))
        if lines:
            where = "# Copy it to /etc/sysctl.d/90-netsonde.conf, then: sysctl --system"
            found[f"90-netsonde-{end.name}.conf"] = "\n".join([head, where, *lines]) + "\n"
        if commands:
            found[f"commands-{end.name}.sh"] = "\n".join(["#!/bin/sh", head, *commands]) + "\n"
        if undo:
            found[f"undo-{end.name}.sh"] = undo_text(end.name, undo)
    if changed := options_in_words(tuned):
        found[OPTIONS_FILE] = "\n".join([*changed, ""])
    return found


def options_in_words(tuned: Setup) -> list[str]:
    """The options that programs are to set, as a C program and as netsonde has them."""
    lines = [f"{name} = {value}" for name, value in names_in_programs(tuned.options).items()]
    flags = []
    for key, value in tuned.options.items():
        names = PROGRAM_OPTIONS[key].typed.split("/")
        flag = PROGRAM_OPTIONS[key].flags[0].name.split("/")
        if isinstance(value, bool):
            flags.append(flag[0] if value else flag[-1])
        else:
            flags.append(f"{names[0]} {value}")
    return [*lines, f"# netsonde tcp HOST TEST {' '.join(flags)}"] if lines else []


def read_former(folder: Path) -> Former:
    """What an earlier search wrote. Raises UsageError where the folder has none."""
    path = folder / DOCUMENT
    try:
        with path.open(encoding="utf-8") as file:
            return _former_of(json.loads(file.read(DOCUMENT_LIMIT_BYTES)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is no result of netsonde tune sockets ({error}); name the folder of one"
        ) from error


def _former_of(content: Mapping[str, Any]) -> Former:
    """Raises ValueError, KeyError, TypeError or AttributeError where it is none."""
    untuned, tuned = (
        Setup(dict(content[name]["options"]), _texts(content[name]["host"]))
        for name in ("untuned", "tuned")
    )
    before = {str(host): _texts(told["before"]) for host, told in content["hosts"].items()}
    unknown = [n for s in (untuned, tuned) for n in s.host if n not in SETTINGS]
    unknown += [k for s in (untuned, tuned) for k in s.options if k not in PROGRAM_OPTIONS]
    if content["format"] != FORMAT or unknown:
        raise ValueError(f"of another version{f': {unknown[0]}' if unknown else ''}")
    call = content["call"]
    return Former(
        tuple(_texts(dict.fromkeys(content["goals"], ""))),
        str(content["cap"]),
        _texts(content["sizes"]),
        None if call is None else str(call),
        untuned,
        tuned,
        before,
    )


def _texts(table: Mapping[str, Any]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in table.values()):
        raise ValueError("a value is no text")
    return dict(table)
