"""Runs in one DuckDB file: figures by launch, and circumstances.

A run is known by when and how it was started, so that adding it again changes nothing, and adding
it after more of it was measured replaces what was there.
"""

from __future__ import annotations

import hashlib
import json
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb

from netsonde.compare.circumstances import Facts
from netsonde.compare.data import Better, Launch
from netsonde.compare.values import ALL_FIGURES, values_of
from netsonde.errors import UsageError
from netsonde.figures.keys import FigureKey
from netsonde.history.data import HistoryRun
from netsonde.limits import limit_s
from netsonde.names import as_text, require_text
from netsonde.records.journal import JOURNAL_NAME
from netsonde.records.rundir import open_measured, read_manifest

FORMAT = 1
MOST_ROWS = 20_000_000
LONGEST_TEXT = 4096
_WAIT_S = limit_s("history")
_ROWS_AT_ONCE = 500
_CONFIG: dict[str, Any] = {
    # A file may come from anywhere: nothing in it is to reach beyond it.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "2GB",
    "threads": "2",
}
_TABLES = {
    "netsonde_history": "format INTEGER",
    "runs": "id VARCHAR PRIMARY KEY, name VARCHAR, directory VARCHAR, started_utc VARCHAR, "
    "origin VARCHAR, netsonde VARCHAR, launches INTEGER, journal_bytes BIGINT",
    "launches": "run VARCHAR, transport VARCHAR, test VARCHAR, operation VARCHAR, "
    "message_bytes BIGINT, parameters VARCHAR, figure VARCHAR, better VARCHAR, launch INTEGER, "
    "value DOUBLE, low DOUBLE, high DOUBLE, points VARCHAR",
    "circumstances": "run VARCHAR, kind VARCHAR, name VARCHAR, place VARCHAR, value VARCHAR",
}
Added = Literal["added", "updated", "unchanged"]


@dataclass(frozen=True)
class StoredRun:
    """A run of a history with its values and circumstances."""

    run: HistoryRun
    values: Mapping[FigureKey, tuple[Launch, ...]]
    ways: Mapping[FigureKey, Better]
    facts: Facts


def add_runs(file: Path, directories: Sequence[Path]) -> dict[Path, Added]:
    """Adds runs to a history, which is made where there is none. All or none are added.

    Raises UsageError where the file is something else, in use or cannot be written, and where a
    directory is no run.
    """
    for directory in directories:
        read_manifest(directory)  # before a file is made for nothing
    with _opened(file, write=True) as connection:
        outcome: dict[Path, Added] = {}
        connection.begin()
        for directory in directories:
            outcome[directory] = _add(connection, directory)
        connection.commit()
    return outcome


def _add(connection: duckdb.DuckDBPyConnection, directory: Path) -> Added:
    manifest = read_manifest(directory)
    run_id = _id_of(manifest)
    journal_bytes = _size_of(directory / JOURNAL_NAME)
    known = connection.execute("SELECT journal_bytes FROM runs WHERE id = ?", [run_id]).fetchone()
    if known is not None and known[0] == journal_bytes:
        return "unchanged"
    values = values_of(open_measured(directory), ALL_FIGURES)
    if not values.values:
        raise UsageError(f"{directory} has no figure to be kept; measure something in it first")
    for table, column in (("runs", "id"), ("launches", "run"), ("circumstances", "run")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [run_id])
    info = values.info
    version = str((manifest.get("versions") or {}).get("netsonde", ""))
    row = (
        *(run_id, info.name, as_text(directory.resolve()), info.started_utc, info.origin),
        *(version, info.launches, journal_bytes),
    )
    _insert(connection, "runs", [row])
    rows = [
        row
        for key, own in values.values.items()
        for row in _launch_rows(run_id, key, values.ways[key], own)
    ]
    _insert(connection, "launches", rows)
    _insert(
        connection,
        "circumstances",
        [
            (run_id, kind, name, place, value)
            for (kind, name), places in values.facts.values.items()
            for place, value in places.items()
        ],
    )
    return "updated" if known is not None else "added"


def _id_of(manifest: Mapping[str, Any]) -> str:
    """Of when and how a run was started, which stays when it is resumed."""
    parts = [manifest.get(name) for name in ("name", "started_utc", "seed", "command", "imported")]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _launch_rows(
    run_id: str, key: FigureKey, better: Better, launches: Sequence[Launch]
) -> Iterator[tuple[object, ...]]:
    parameters = json.dumps(key.parameters)
    for launch in launches:
        yield (
            *(run_id, key.transport, key.test, key.operation, key.message_bytes, parameters),
            *(key.figure, better, launch.number, launch.value, launch.low, launch.high),
            " ".join(launch.points),
        )


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]
) -> None:
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[begin : begin + _ROWS_AT_ONCE]
        marks = "(" + ", ".join("?" * len(part[0])) + ")"
        values = [value for row in part for value in row]
        connection.execute(f"INSERT INTO {table} VALUES {', '.join([marks] * len(part))}", values)


def read_runs(file: Path) -> list[StoredRun]:
    """All runs of a history, the oldest first. Raises UsageError where it is none, or damaged."""
    with _opened(file, write=False) as connection:
        _require_size(file, connection)
        runs = connection.execute("SELECT * FROM runs ORDER BY started_utc, id").fetchall()
        launches = connection.execute(
            "SELECT * FROM launches ORDER BY run, launch, transport, test, message_bytes, figure"
        )
        values: dict[str, dict[FigureKey, list[Launch]]] = {}
        ways: dict[FigureKey, Better] = {}
        while part := launches.fetchmany(10_000):
            for row in part:
                key, better, launch = _launch_of(file, row)
                values.setdefault(row[0], {}).setdefault(key, []).append(launch)
                ways[key] = better
        facts: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
        noted = connection.execute("SELECT * FROM circumstances")
        while part := noted.fetchmany(10_000):
            for run, kind, name, place, value in part:
                facts.setdefault(run, {}).setdefault((kind, name), {})[place] = value
    return [_stored(row, values.get(row[0], {}), ways, facts.get(row[0], {})) for row in runs]


def _stored(
    row: tuple[Any, ...],
    values: Mapping[FigureKey, list[Launch]],
    ways: Mapping[FigureKey, Better],
    facts: dict[tuple[str, str], dict[str, str]],
) -> StoredRun:
    run_id, name, directory, started, origin, version, launches, _ = row
    run = HistoryRun(run_id, name, directory, started, origin, version, launches, len(values))
    hosts = {place for (kind, _), own in facts.items() if kind == "fact" for place in own}
    named = tuple(sorted(host for host in hosts if not host.startswith("mpi ")))
    kept = {key: tuple(own) for key, own in values.items()}
    return StoredRun(run, kept, {key: ways[key] for key in kept}, Facts(facts, named))


def _launch_of(file: Path, row: tuple[Any, ...]) -> tuple[FigureKey, Better, Launch]:
    run, transport, test, operation, size, parameters, figure, better, number, *numbers = row
    value, low, high, points = numbers
    try:
        pairs = tuple((str(name), str(text)) for name, text in json.loads(parameters))
        if better not in get_args(Better):
            raise ValueError(better)
        key = FigureKey(str(transport), str(test), operation, int(size), pairs, str(figure))
        launch = Launch(str(run), int(number), float(value), low, high, tuple(points.split()))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{file} is damaged: a launch of run {run} cannot be read") from error
    return key, better, launch


def _require_size(file: Path, connection: duckdb.DuckDBPyConnection) -> None:
    for table, columns in (("launches", "parameters"), ("circumstances", "value")):
        found = connection.execute(
            f"SELECT count(*), coalesce(max(length({columns})), 0) FROM {table}"
        ).fetchone()
        rows, longest = found or (0, 0)
        if rows > MOST_ROWS or longest > LONGEST_TEXT:
            raise UsageError(
                f"{file} holds {rows} rows of {table} with texts of up to {longest} characters; "
                f"the limits are {MOST_ROWS} and {LONGEST_TEXT}"
            )


@contextmanager
def _opened(file: Path, *, write: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a history; what DuckDB complains of becomes one sentence."""
    require_text(file, "the library of histories needs")
    is_new = _require_plain(file, write=write)
    try:
        connection = duckdb.connect(str(file), read_only=not write, config=_CONFIG)
    except duckdb.Error as error:
        raise UsageError(_complaint(file, error)) from error
    late = threading.Timer(_WAIT_S, connection.interrupt)
    late.daemon = True
    late.start()
    done = False
    try:
        connection.execute("SET lock_configuration = true")
        if is_new:
            _make(connection)
        _require_history(file, connection)
        yield connection
        done = True
    except duckdb.InterruptException as error:
        raise UsageError(f"{file} took more than {_WAIT_S:g} s to be read; it was left") from error
    except duckdb.Error as error:
        raise UsageError(_complaint(file, error)) from error
    finally:
        late.cancel()
        connection.close()
        if is_new and not done:
            file.unlink(missing_ok=True)


def _require_plain(file: Path, *, write: bool) -> bool:
    """Whether the file is to be made. Raises UsageError where it is no plain file, or not there."""
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        if write:
            return True
        raise UsageError(
            f"there is no {file}; make it with `netsonde history add {file} DIR...`"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"{file} is no file; give the DuckDB file of a history")
    return False


def _make(connection: duckdb.DuckDBPyConnection) -> None:
    for table, columns in _TABLES.items():
        connection.execute(f"CREATE TABLE {table} ({columns})")
    connection.execute("INSERT INTO netsonde_history VALUES (?)", [FORMAT])


def _require_history(file: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Tables of our making only: a view of the same name could do anything."""
    found = {
        str(name)
        for (name,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary"
        ).fetchall()
    }
    if not _TABLES.keys() <= found:
        raise UsageError(f"{file} is a DuckDB file, but no history of netsonde; choose another")
    row = connection.execute("SELECT format FROM netsonde_history").fetchone()
    if row is None or row[0] != FORMAT:
        raise UsageError(f"{file} has a format that this version of netsonde does not read")


def _complaint(file: Path, error: duckdb.Error) -> str:
    text = " ".join(str(error).split())
    if "lock" in text.lower() and "conflict" in text.lower():
        return f"{file} is in use by another program; wait for it or stop it first"
    if "not a valid DuckDB" in text:
        return f"{file} is no DuckDB file; give one that `netsonde history add` made"
    return f"cannot use {file} as a history: {text[:200]}"
