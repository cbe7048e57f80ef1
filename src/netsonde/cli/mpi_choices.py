"""What ``netsonde mpi`` is asked for: what its words mean, and which of its tests takes what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netsonde.catalogue.option import Takers
from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.mpi import MPI
from netsonde.catalogue.test import test_row
from netsonde.cli.wording import refusal
from netsonde.errors import UsageError
from netsonde.operations import (
    PAIRS_FILE_LIMIT_BYTES,
    PATTERNS,
    operations,
    parse_pairing,
    parse_pairs,
    parse_pattern,
    parse_root,
)

SWEEP = "sweep"
"""The test latency over many sizes."""
USUAL_THREADS = "2,4"
PINS = ("none", "all", "not-zero")
CLOCK_METHODS = tuple(word.replace("_", "-") for word in BLOCK["clock_method"].choices)


def numbers_in(text: str | None, what: str, example: str) -> list[int]:
    """``1,2``. Raises UsageError with what they are numbers of."""
    numbers = text.split(",") if text is not None else []
    if any(not number.isdecimal() or len(number) > 8 for number in numbers):
        raise UsageError(f"{str(text)[:80]!r} are no numbers of {what}; write {example}")
    return [int(number) for number in numbers]


def parse_ppn(text: str | None) -> list[int]:
    """``1,2``: numbers of ranks on a host. Raises UsageError."""
    return numbers_in(text, "ranks on a host", "1,2")


def partners_of(pattern: str | None) -> dict[str, Any]:
    """The keys ``pattern`` or ``partners`` of a block. Raises UsageError."""
    if pattern is None:
        return {}
    if pattern.partition(":")[0] in PATTERNS:
        parse_pattern(pattern)
        return {"pattern": pattern}
    path = Path(pattern)
    if not path.exists() and "/" not in pattern and "." not in pattern:
        parse_pattern(pattern)  # says which there are
    return {"partners": read_pairs(path)}


def read_pairs(path: Path) -> list[tuple[int, int]]:
    """The pairs of ranks in a file. Raises UsageError."""
    try:
        with path.open("rb") as file:
            content = file.read(PAIRS_FILE_LIMIT_BYTES + 1)
        if len(content) > PAIRS_FILE_LIMIT_BYTES:
            raise UsageError(
                f"{path} is larger than {PAIRS_FILE_LIMIT_BYTES} bytes, the limit for pairs of "
                "ranks"
            )
        return parse_pairs(content.decode(), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} holds bytes that are no UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"cannot read the pairs of ranks in {path}: {error.strerror}") from error


def shape_of(root: str | None, pattern: str | None, uneven: bool) -> dict[str, Any]:
    """The keys of a block that say how an operation's ranks stand to each other."""
    return {
        "root": parse_root(root) if root is not None else None,
        "uneven": uneven,
        **partners_of(pattern),
    }


def clock_method(name: str | None) -> str | None:
    """As a study has it. Raises UsageError."""
    if name is not None and name not in CLOCK_METHODS:
        raise UsageError(
            f"--clock-method {name} is unknown; choose from {', '.join(CLOCK_METHODS)}"
        )
    return None if name is None else name.replace("-", "_")


def binding(pin: str, oversubscribe: bool) -> dict[str, Any]:
    """The keys of a study's table ``mpi``. Raises UsageError."""
    if pin not in PINS and not pin[:1].isdecimal():
        raise UsageError(
            f"--pin {pin[:80]} is unknown; choose from {', '.join(PINS)}, or name CPUs: 0,1"
        )
    if oversubscribe and pin == MPI["pin"].default:
        raise UsageError("--oversubscribe says that ranks may share CPUs: give --pin as well")
    return {"pin": pin.replace("-", "_") if pin in PINS else pin, "oversubscribe": oversubscribe}


def choices_of(tests: Sequence[str], asked: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each test the keys of a block that it takes of what was asked for.

    Raises UsageError for what means nothing to any of them. What all take, and what is as usual, is
    left out.
    """
    read: dict[str, Callable[[Any], Any]] = {
        "rank_pair": parse_pairing,
        "clock_method": clock_method,
    }
    given = {key: read[key](value) if key in read else value for key, value in asked.items()}
    from netsonde.study.windows_table import start_of  # late, as in study_of

    starting = start_of(given.get("start", BLOCK["start"].default))
    found: dict[str, dict[str, Any]] = {test: {} for test in tests}
    for key, value in given.items():
        row = BLOCK[key]
        takers = row.takers
        if takers is None or (value == row.default and row.flags[0].usual is None):
            continue
        taking = [test for test in tests if _takes(takers, test, value)]
        if not taking:
            raise UsageError(refusal(takers.says, {"test": tests[0], key: value}))
        for test in taking:
            found[test] |= starting if key == "start" else {key: value}
    for test, keys in found.items():
        if test_row(test).has_threads:
            keys["threads"] = numbers_in(keys.get("threads", USUAL_THREADS), "threads", "2,4")
    return found


def _takes(takers: Takers, test: str, value: Any) -> bool:
    operation = operations().get(test)
    if operation is not None:
        return takers.of_operation(operation)
    return takers.of_test(test_row("latency" if test == SWEEP else test), value)
