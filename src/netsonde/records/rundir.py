"""Run directories: made, and read back into memory."""

from __future__ import annotations

import contextlib
import gc
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.names import only_text
from netsonde.records.data import Point, Run
from netsonde.records.decode import decode_batch, decode_imported
from netsonde.records.journal import JOURNAL_NAME, read_journal
from netsonde.records.manifest_checks import problem_of
from netsonde.records.sessions import SessionSeen, ended, note_entry
from netsonde.records.timer import is_taken_off, without_overhead

MANIFEST_NAME = "manifest.json"
STUDY_NAME = "study.toml"
FORMAT = 1
"""Of the runs that are written. It rises when the format changes; every earlier one is read."""


def new_run_directory(parent: Path, name: str, now: datetime | None = None) -> Path:
    """Makes ``parent/<time>-<name>``; a number is added where it exists already."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    for attempt in range(1, 1000):
        directory = parent / (f"{stamp}-{name}" + (f"-{attempt}" if attempt > 1 else ""))
        try:
            parent.mkdir(parents=True, exist_ok=True)
            directory.mkdir()
        except FileExistsError:
            if not parent.is_dir():
                raise UsageError(
                    f"{parent} is not a directory; choose another with --out"
                ) from None
            continue
        except OSError as error:
            raise UsageError(
                f"cannot make a run directory in {parent}: {error.strerror}; "
                "choose another with --out DIR"
            ) from error
        return directory
    raise UsageError(f"{parent} holds a thousand runs of this second already; choose another")


def write_atomically(path: Path, text: str) -> None:
    """Writes a whole file or leaves the old one."""
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise UsageError(
            f"cannot write {path}: {error.strerror}; make room there, or choose another place"
        ) from error


def _sync_folder(folder: Path) -> None:
    """What was renamed in it has its new name after a power cut as well."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    write_atomically(directory / MANIFEST_NAME, json.dumps(manifest, indent=1) + "\n")


def _lacking(directory: Path) -> str:
    if not directory.exists():
        return "there is nothing of that name"
    return f"it has no {MANIFEST_NAME}" if directory.is_dir() else "it is a file"


def read_manifest(directory: Path) -> dict[str, Any]:
    """Raises UsageError where the directory is no run of a format this version reads."""
    path = directory / MANIFEST_NAME
    try:
        manifest = only_text(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{directory} is not a run directory: {_lacking(directory)}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is damaged: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") not in range(1, FORMAT + 1):
        raise UsageError(f"{path} has a format that this version of netsonde does not read")
    if problem := problem_of(manifest):
        raise UsageError(f"{path} is damaged: {problem}")
    return manifest


def open_run(directory: Path) -> Run:
    """Reads a run with all its samples, without the timer's overhead where that was asked for. A
    point's data are those of its last finished attempt;
    where none finished, those of the last attempt, marked partial or failed."""
    manifest = read_manifest(directory)
    points = {p["id"]: _point_of(p, directory / MANIFEST_NAME) for p in manifest.get("points", [])}
    finished = False
    sessions: list[SessionSeen] = []
    with _collector_waits():
        for number, entry in enumerate(read_journal(directory), 1):
            try:
                finished = _take(points, sessions, entry) or finished
            except (LookupError, TypeError, ValueError, ArithmeticError, HostError) as error:
                path = directory / JOURNAL_NAME
                what = error if isinstance(error, HostError) else _in_words(error)
                raise UsageError(f"{path} is damaged in line {number}: {what}") from error
    return Run(directory, manifest, list(points.values()), finished, ended(sessions))


def _point_of(told: Mapping[str, Any], path: Path) -> Point:
    point = Point(told["id"], told["transport"], told["test"], told["parameters"])
    try:
        _ = point.spec, point.kind, point.carrier  # what else asks for them relies on them
    except (LookupError, TypeError, ValueError, UsageError) as error:
        what = error if isinstance(error, UsageError) else _in_words(error)
        raise UsageError(f"{path} is damaged at point {point.id}: {what}") from error
    return point


def _take(
    points: Mapping[str, Point], sessions: list[SessionSeen], entry: Mapping[str, Any]
) -> bool:
    """Takes one entry; whether it is the last one of a run that was finished."""
    note_entry(sessions, entry)
    if entry["entry"] == "run_finished":
        return True
    if entry["entry"] != "facts" and entry.get("point") in points:
        _apply(points[entry["point"]], entry)
    return False


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("the checks of a point are no table")
    return value


def _in_words(error: Exception) -> str:
    """What a value that is missing or of another kind is, to somebody who reads the file."""
    if isinstance(error, KeyError):
        return f"{str(error)[:80]} is missing"
    return f"a value is of another kind ({str(error)[:120]})"


def says_something(run: Run) -> bool:
    """Whether anything was measured, or at least tried and failed."""
    return any(point.measured or point.status in ("finished", "failed") for point in run.points)


def open_measured(directory: Path) -> Run:
    """open_run of a run that says something. Raises UsageError for one that ended before that."""
    run = open_run(directory)
    if not says_something(run):
        raise UsageError(
            f"{directory} holds no measurement: its run ended before the first one; "
            f"netsonde study resume {directory} begins again where it ended"
        )
    return run


@contextlib.contextmanager
def _collector_waits() -> Iterator[None]:
    """Python's collector of cycles would look again and again at all that has been read, which
    makes no cycles: a sixth of the time of reading a run of many points."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _apply(point: Point, entry: Mapping[str, Any]) -> None:
    match entry["entry"]:
        case "point_started":
            point.status, point.batches, point.opened = "partial", [], {}
            point.error = point.ended_by = point.imported = point.ended_utc = None
            point.started_utc = entry.get("time_utc")
        case "opened":
            point.opened = {int(rank): values for rank, values in entry["ends"].items()}
        case "batch":
            batch = decode_batch(entry["batch"], entry["records"])
            point.batches.append(without_overhead(batch) if is_taken_off(point) else batch)
        case "imported":
            point.imported = decode_imported(entry)
        case "point_finished":
            point.status = "finished"
            point.ended_by = entry["ended_by"]
            point.checks = _table(entry["checks"])
            point.ended_utc = entry.get("time_utc")
        case "point_failed":
            point.status = "failed"
            point.error = entry["error"]
            point.ended_utc = entry.get("time_utc")
        case _:
            pass  # entries of later versions are not for us


def finished_points(directory: Path) -> set[str]:
    """Ids of the points that need not be measured again, without decoding their samples."""
    entries = read_journal(directory, batches=False)
    return {e["point"] for e in entries if e["entry"] == "point_finished"}


def attempts(directory: Path) -> dict[str, int]:
    """How often each point was started."""
    counts: dict[str, int] = {}
    for entry in read_journal(directory, batches=False):
        if entry["entry"] == "point_started":
            counts[entry["point"]] = max(counts.get(entry["point"], 0), entry["attempt"])
    return counts
