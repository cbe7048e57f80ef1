"""Rules put to use for a user: files below the user's own folders, which `undo` takes away again.

Open MPI reads ``~/.openmpi/mca-params.conf``, in which the rules have a block of lines of their
own, between two marks. MPICH reads no file of a user's, only its environment: a script has the
lines, which a shell reads (``. ~/.config/netsonde/tuned.sh``). Other lines are left as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netsonde.errors import UsageError

BEGIN, END = "# begin of netsonde's rules", "# end of netsonde's rules"
FOLDER = "netsonde"
STATE = "tuned.json"
SCRIPT = "tuned.sh"
LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Applied:
    """What was written: ``files`` that are ours alone, ``blocks`` of lines in files of the user's,
    ``script`` with lines for a shell, where there are any."""

    files: tuple[Path, ...]
    blocks: tuple[Path, ...]
    script: Path | None


def folder() -> Path:
    """Where a user's settings of netsonde are."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / FOLDER


def open_mpi_file() -> Path:
    return Path.home() / ".openmpi" / "mca-params.conf"


def apply(
    contents: Mapping[str, str],
    environment: Sequence[tuple[str, str]],
    parameters: Sequence[tuple[str, str]],
) -> Applied:
    """Writes ``contents`` by the files' names into netsonde's folder, ``environment`` into the
    script, ``parameters`` into Open MPI's file; ``{folder}`` in a value is that folder. What was
    applied before is undone first. Raises UsageError where a file cannot be written, and nothing
    is left then."""
    undo()
    here = folder()
    files = [here / name for name in contents]
    script = here / SCRIPT if environment else None
    blocks = (open_mpi_file(),) if parameters else ()
    done = Applied((*files, *([script] if script else [])), blocks, script)
    try:
        here.mkdir(parents=True, exist_ok=True)
        # First of all what undo reads: a break between leaves nothing that it does not know.
        _write(here / STATE, json.dumps({"files": [str(p) for p in done.files],
                                         "blocks": [str(p) for p in blocks]}) + "\n")  # fmt: skip
        for path, content in zip(files, contents.values(), strict=True):
            _write(path, content)
        if script is not None:
            lines = [f"export {name}={_quoted(_placed(v, here))}" for name, v in environment]
            _write(script, "\n".join([BEGIN, *lines, END]) + "\n")
        for path in blocks:
            lines = [f"{name} = {_placed(value, here)}" for name, value in parameters]
            _add_block(path, lines)
    except OSError as error:
        undo()
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    return done


def undo() -> Applied | None:
    """Takes away what was applied; None where nothing was. Raises UsageError where a file cannot be
    changed."""
    state = folder() / STATE
    try:
        told = json.loads(_read(state))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read what was applied from {state}: {error}") from error
    files = tuple(Path(name) for name in told.get("files", ()))
    blocks = tuple(Path(name) for name in told.get("blocks", ()))
    try:
        for path in blocks:
            _remove_block(path)
        for path in files:
            if path.parent == folder():  # nothing else is ours
                path.unlink(missing_ok=True)
        state.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot change {error.filename}: {error.strerror}") from error
    return Applied(files, blocks, None)


def _placed(value: str, here: Path) -> str:
    return value.replace("{folder}", str(here))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _add_block(path: Path, lines: Sequence[str]) -> None:
    try:
        before = _read(path)
    except FileNotFoundError:
        before = ""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A line without an end gets one, which undo cannot know of: so the mark says it.
    gap = "" if before.endswith("\n") or not before else "\n"
    begin = BEGIN + (" (the line before had no end)" if gap else "")
    _write(path, before + gap + "\n".join([begin, *lines, END]) + "\n")


def _remove_block(path: Path) -> None:
    """Byte for byte as it was before; a file that held nothing else goes."""
    try:
        content = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    begin, end = content.find(BEGIN), content.find(END + "\n")
    if begin < 0 or end < begin:
        return
    had_no_end = content[begin:].partition("\n")[0].endswith("no end)")
    before = content[: begin - 1] if had_no_end else content[:begin]
    rest = before + content[end + len(END) + 1 :]
    if rest:
        _write(path, rest)
    else:
        path.unlink()


def _read(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LIMIT_BYTES + 1)
    if len(content) > LIMIT_BYTES:
        raise UsageError(f"{path} is larger than {LIMIT_BYTES} bytes; netsonde leaves it alone")
    return content.decode(errors="surrogateescape")


def _write(path: Path, content: str) -> None:
    """In one step, with the mode that the file had; a link stays one."""
    real = path.resolve()
    written = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        written.write_bytes(content.encode(errors="surrogateescape"))
        if real.exists():
            written.chmod(real.stat().st_mode & 0o777)
        written.replace(real)
    finally:
        written.unlink(missing_ok=True)
