"""Files of other tools into a run directory, all of them or none."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import UsageError
from netsonde.peers.data import NO_HINTS, FileRead, Hints, PointRead
from netsonde.peers.output import POINTS_LIMIT, UnreadableOutputError
from netsonde.peers.read import read_output
from netsonde.records.decode import encode_series
from netsonde.records.journal import Journal
from netsonde.records.rundir import FORMAT, new_run_directory, write_manifest

FILE_LIMIT_BYTES = 64 << 20
FILES_LIMIT = 200
KEPT = "imported"
"""The folder of a run directory in which the files themselves are kept."""


@dataclass(frozen=True)
class Source:
    """A file, its bytes and what it says."""

    path: Path
    content: bytes
    read: FileRead


def import_files(
    paths: Sequence[Path],
    parent: Path,
    command: Sequence[str],
    *,
    tool: str | None = None,
    hints: Hints = NO_HINTS,
    tool_command: str | None = None,
) -> Path:
    """Reads every file, then makes one run directory below ``parent``; its path.

    ``tool_command`` is the command line that the files came from, where they do not say it. Raises
    UsageError, with nothing made, where one of them cannot be read.
    """
    if len(paths) > FILES_LIMIT:
        raise UsageError(f"{len(paths)} files are given; {FILES_LIMIT} at once are the most")
    sources = [_source(path, tool, hints) for path in paths]
    if sum(len(source.read.points) for source in sources) > POINTS_LIMIT:
        raise UsageError(f"the files hold more than {POINTS_LIMIT} points; import fewer at once")
    if tool_command is not None:
        sources = [replace(s, read=replace(s.read, command=tool_command)) for s in sources]
    tools = sorted({source.read.tool for source in sources})
    directory = new_run_directory(parent, f"import-{'-'.join(tools)}")
    try:
        _write(directory, sources, command)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return directory


def read_file(path: Path) -> bytes:
    """The bytes of a regular file of at most FILE_LIMIT_BYTES. Raises UsageError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError(f"{path} is not a file")
            content = file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(content) > FILE_LIMIT_BYTES:
        raise UsageError(f"{path} has more than {FILE_LIMIT_BYTES >> 20} MiB, which is the most")
    return content


def _source(path: Path, tool: str | None, hints: Hints) -> Source:
    content = read_file(path)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path} is no text: line {line} holds bytes that are no UTF-8") from error
    if "\0" in text:
        raise UsageError(f"{path} is no text: it holds zero bytes")
    try:
        return Source(path, content, read_output(text.replace("\r\n", "\n"), tool, hints))
    except UnreadableOutputError as error:
        raise UsageError(f"{path}: {error}") from error


def _write(directory: Path, sources: Sequence[Source], command: Sequence[str]) -> None:
    (directory / KEPT).mkdir()
    files, points = [], list[tuple[dict[str, Any], PointRead, FileRead]]()
    for number, source in enumerate(sources, 1):
        kept = f"{KEPT}/{number:03d}-{_plain_name(source.path)}"
        (directory / kept).write_bytes(source.content)
        files.append(_file_entry(source, kept))
        for point in source.read.points:
            planned = _planned(f"p{len(points) + 1:03d}", point, source, len(sources) > 1)
            points.append((planned, point, source.read))
    planned_points = [planned for planned, _, _ in points]
    write_manifest(directory, _manifest(directory, sources, command, files, planned_points))
    with Journal(directory) as journal:
        for planned, point, read in points:
            _append(journal, planned["id"], point, read)
        journal.append("run_finished")


def _plain_name(path: Path) -> str:
    """The file's name without what a shell or a page could stumble over."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", path.name)[-80:].lstrip(".") or "file"


def _file_entry(source: Source, kept: str) -> dict[str, Any]:
    return {
        "tool": source.read.tool,
        "version": source.read.version,
        "command": source.read.command,
        "started_utc": source.read.started_utc,
        "file": source.path.name,
        "kept": kept,
        "bytes": len(source.content),
        "sha256": hashlib.sha256(source.content).hexdigest(),
    }


def _planned(name: str, point: PointRead, source: Source, several: bool) -> dict[str, Any]:
    words = [source.read.tool, source.path.stem[:40]] if several else []
    words += ["reverse"] if point.reverse else []
    parameters = {"message_bytes": point.message_bytes, "tool": source.read.tool}
    if point.operation is not None:
        parameters["operation"] = point.operation
    if point.reverse:
        parameters["reverse"] = True
    if words:
        parameters["label"] = " ".join(words)
    return {
        "id": name,
        "transport": point.transport,
        "test": point.test,
        "parameters": {**parameters, **point.parameters},
    }


def _manifest(
    directory: Path,
    sources: Sequence[Source],
    command: Sequence[str],
    files: Sequence[dict[str, Any]],
    points: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    started = [s.read.started_utc for s in sources if s.read.started_utc is not None]
    return {
        "format": FORMAT,
        "name": directory.name.split("-", 2)[-1],
        "started_utc": min(started, default=""),
        "origin": "imported",
        "command": list(command),
        "seed": None,
        "versions": {"netsonde": netsonde.__version__},
        "path": {"kind": "imported"},
        "hosts": {},
        "imported": list(files),
        "points": list(points),
    }


def _append(journal: Journal, name: str, point: PointRead, read: FileRead) -> None:
    mark = {"point": name, "attempt": 1}
    journal.append("point_started", **mark, time_utc=read.started_utc)
    if point.round_trips_ns is not None:
        journal.append("batch", **mark, batch=0, records=_records(point, read.tool))
    journal.append(
        "imported",
        **mark,
        tool=read.tool,
        figures=[asdict(figure) for figure in point.figures],
        series=point.series,
    )
    batches = int(point.round_trips_ns is not None)
    journal.append("point_finished", **mark, ended_by="imported", batches=batches, checks={})


def _records(point: PointRead, host: str) -> list[dict[str, Any]]:
    """What a worker would have written of the same round trips."""
    trips = point.round_trips_ns
    assert trips is not None
    counters = {
        "messages_sent": point.sent,
        "unanswered": point.sent - len(trips),
        "bytes_sent": point.sent * point.message_bytes,
    }
    return [
        *encode_series(0, host, "round_trip_ns", "ns", trips),
        {"record": "counters", "request": 1, "rank": 0, "host": host, "values": counters},
    ]
