"""What a program calls: read from the folder into which netsonde's library wrote it, a file of each
rank, and put together (docs/methods/tune-mpi.md).

A call of all ranks is one call here. Of operations with a root the root's word counts, which alone
knows of its sizes and whether it is in place; of others each rank's counts for its share. Time is
that of all ranks together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.operations import operations
from netsonde.tables import read_json

VARIABLE = "NETSONDE_CALLS"
"""Names the folder to the ranks."""
FORMAT, VERSION = "netsonde calls", 1
FILE_LIMIT_BYTES = 4 * 1024 * 1024
MOST_FILES = 65_536
MOST_ROWS = 4_096
BLOCKING = "blocking"
FINISHED = "finalize"
_NAME = re.compile(r"calls\.(\d{1,7})\.json\Z")
_MOST = 2**63 - 1
_FLAGS = ("in_place", "own_operation", "gaps", "rare")


@dataclass(frozen=True, order=True)
class Kind:
    """What calls have in common that are counted together. ``ranks`` of the communicator,
    ``ranks_per_host`` of them on the host with most; both 0 where it is none of one group of one
    program. ``size_bytes`` as ``netsonde mpi`` has it. ``own_operation``: the program made it;
    ``gaps``: in the datatype; ``rare``: arguments that no schedule takes."""

    operation: str
    form: str
    ranks: int
    ranks_per_host: int
    size_bytes: int
    in_place: bool = False
    own_operation: bool = False
    gaps: bool = False
    rare: bool = False


@dataclass
class Cost:
    """``calls`` of all ranks of a communicator together count as one; ``time_ns`` is that of all
    ranks, waiting for each other included."""

    calls: float = 0.0
    time_ns: float = 0.0


@dataclass
class Called:
    """``ranks`` of the program, ``told`` of them wrote what they call, ``finished`` of these until
    their MPI_Finalize. ``elapsed_ns`` is that of the rank that ran longest. ``beyond`` is of calls
    of more kinds than a rank keeps."""

    ranks: int = 0
    told: int = 0
    finished: int = 0
    elapsed_ns: int = 0
    kinds: dict[Kind, Cost] = field(default_factory=dict)
    beyond: Cost = field(default_factory=Cost)

    @property
    def time_ns(self) -> float:
        """Of all ranks in all calls."""
        return sum(cost.time_ns for cost in self.kinds.values()) + self.beyond.time_ns

    @property
    def share_of_program(self) -> float:
        """Of all ranks' time from MPI_Init on, what is spent in calls that were counted."""
        return self.time_ns / (self.told * self.elapsed_ns) if self.elapsed_ns else 0.0


def read_called(folder: Path) -> Called:
    """Puts the files of all ranks together. Raises HostError for one that is none; an empty folder
    has ``told`` 0."""
    found = Called()
    spoken: dict[Kind, float] = defaultdict(float)
    times: dict[Kind, float] = defaultdict(float)
    of_others: dict[Kind, float] = defaultdict(float)
    paths = [path for path in folder.iterdir() if _NAME.match(path.name)]
    if len(paths) > MOST_FILES:
        raise HostError(f"{folder} holds what more than {MOST_FILES} ranks call")
    for path in sorted(paths):
        document = _document(path)
        found.told += 1
        found.ranks = max(found.ranks, document["ranks"])
        found.finished += document["end"] == FINISHED
        found.elapsed_ns = max(found.elapsed_ns, document["elapsed_ns"])
        found.beyond.calls += document["beyond"]["calls"]
        found.beyond.time_ns += document["beyond"]["time_ns"]
        for row in document["calls"]:
            _take(row, spoken, times, of_others)
    _spread(of_others, spoken, times)
    for kind in spoken:
        if not _is_rooted(kind):  # ranks that told nothing called the same
            spoken[kind] *= found.ranks / found.told
    found.kinds = {kind: Cost(spoken.get(kind, 0.0), times[kind]) for kind in sorted(times)}
    return found


def _take(
    row: Mapping[str, Any],
    spoken: dict[Kind, float],
    times: dict[Kind, float],
    of_others: dict[Kind, float],
) -> None:
    kind = _kind(row)
    is_rooted = _is_rooted(kind)
    if is_rooted and not row.get("root", False):
        of_others[kind] += row["time_ns"]
        return
    times[kind] += row["time_ns"]
    spoken[kind] += row["calls"] if is_rooted else row["calls"] / max(kind.ranks, 1)


def _is_rooted(kind: Kind) -> bool:
    operation = operations().get(kind.operation)
    return operation is not None and operation.rooted and not kind.rare


def _spread(
    of_others: Mapping[Kind, float], spoken: Mapping[Kind, float], times: dict[Kind, float]
) -> None:
    """The time of ranks that are not the root goes to what roots say of such calls: of the same
    size where they say so, else of all sizes, by how many there were."""
    for kind, time_ns in of_others.items():
        alike = [k for k in spoken if _place(k) == _place(kind)]
        same = [k for k in alike if k.size_bytes == kind.size_bytes]
        chosen = same or alike
        if not chosen:  # the root's file is missing
            times[kind] += time_ns
            continue
        calls = sum(spoken[k] for k in chosen)
        for each in chosen:
            times[each] += time_ns * spoken[each] / calls


def _place(kind: Kind) -> tuple[str, str, int, int]:
    return kind.operation, kind.form, kind.ranks, kind.ranks_per_host


def _kind(row: Mapping[str, Any]) -> Kind:
    flags = {name: row.get(name, False) is True for name in _FLAGS}
    return Kind(
        row["operation"], row["form"], row["ranks"], row["ranks_per_host"], row["bytes"], **flags
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path, FILE_LIMIT_BYTES, "calls")
    except UsageError as error:  # a rank wrote it, not the user
        raise HostError(str(error)) from error
    if not _is_whole(document):
        raise HostError(f"{path} does not hold what a rank calls")
    return dict(document)


def _is_whole(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return False
    rows, beyond = document.get("calls"), document.get("beyond")
    return (
        document.get("version") == VERSION
        and _are_numbers(document, "rank", "ranks", "elapsed_ns")
        and isinstance(document.get("end"), str)
        and isinstance(beyond, dict)
        and _are_numbers(beyond, "calls", "time_ns")
        and isinstance(rows, list)
        and len(rows) <= MOST_ROWS
        and all(_is_row(row) for row in rows)
    )


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("operation"), str)
        and isinstance(row.get("form"), str)
        and _are_numbers(row, "ranks", "ranks_per_host", "bytes", "calls", "time_ns")
    )


def _are_numbers(table: Mapping[str, Any], *names: str) -> bool:
    numbers: Iterable[Any] = (table.get(name) for name in names)
    return all(type(number) is int and 0 <= number <= _MOST for number in numbers)
