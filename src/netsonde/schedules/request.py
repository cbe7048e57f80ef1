"""What is asked of ``sonde-sim schedule``, from what a person writes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from netsonde.catalogue.given import given_by, rows_of, typed
from netsonde.catalogue.option import Choice, Count
from netsonde.errors import UsageError
from netsonde.units import parse_size_bytes

MOST_RANK_COUNTS = 4096
SWITCH_FILE_LIMIT_BYTES = 1 << 16
_SPAN = re.compile(r"^(\d{1,18})(?:\.\.(\d{1,18}))?$")
_DEGREES = re.compile(r"^\d{1,18}(?:x\d{1,18})*$")
_BUFFERS = re.compile(r"^\d{1,18}(?:,\d{1,18})*$")
_SETTING = re.compile(r"^([A-Z][A-Z_]*)=(.*)$")
_COUNT = re.compile(r"^\d{1,13}$")


_show = partial(typed, of=("show",))
_both = partial(typed, of=("show", "check"))


@dataclass(frozen=True)
class Options:
    """What stands on the command line beside the algorithm and the ranks; None: not given."""

    blocks: int | None = given_by(
        _both("--blocks", "Packets in a block; 1 where no --size is.", "K", Count(0))
    )
    size: str | None = given_by(_both("--size", "Bytes of a block instead.", "SIZE"))
    sizes: str | None = given_by(
        _show("--sizes", "Of each rank's block, or each pair's by origin.", "SIZE,SIZE...")
    )
    packet: str | None = given_by(
        _both("--packet", "A packet's payload; 1492 with --blocks.", "SIZE")
    )
    element: str | None = given_by(_both("--element", "What a reduction does not cut.", "SIZE"))
    root: int | None = given_by(_show("--root", "The root.", "RANK", Count(0)))
    rank: int | None = given_by(_show("--rank", "All steps of this rank.", "RANK", Count(0)))
    fan_out: int | None = given_by(
        _both("--fan-out", "Partners at a time of the group shuffle.", "N", Count(1))
    )
    permutation: str | None = given_by(
        _both(
            "--permutation",
            "Who is whose partner at which step.",
            kind=Choice(("shift", "xor", "edge-colour")),
        )
    )
    window: int | None = given_by(
        _both("--window", "Packets under way from a rank at most.", "N", Count(1))
    )
    uplink_buffer: str | None = given_by(
        _show(
            "--uplink-buffer",
            "Uplinks' buffers, from the leaf switches' on, which then give the window.",
            "PACKETS[,PACKETS...]",
        )
    )
    port_buffer: int | None = given_by(
        _show("--port-buffer", "The same of the port to a host.", "PACKETS", Count(1))
    )
    root_buffer: int | None = given_by(
        _show("--root-buffer", "The same of the root, whose links share it.", "PACKETS", Count(1))
    )
    control_traffic: bool | None = given_by(
        _show(
            "--control-traffic/--no-control-traffic",
            "Whether packets are answered by packets, for buffers.",
            usual="they are",
        )
    )
    hierarchy: str | None = given_by(
        _both("--hierarchy", "Hosts at a leaf switch x leaf switches x ...", "D1xD2")
    )
    remap: bool = given_by(_both("--remap", "Ranks spread over the switches."))
    ordered: bool = given_by(_both("--ordered", "The operation does not commute."))
    user_operation: bool = given_by(
        _show("--user-operation", "The operation is the program's own, not MPI's.")
    )
    switch: Sequence[str] | None = given_by(
        _show("--switch", "Move a switch point; repeatable.", "NAME=VALUE", repeated=True)
    )
    switch_file: str | None = given_by(_show("--switch-file", "Switch points in TOML.", "FILE"))
    switch_points: Mapping[str, int] | None = None


ROWS = rows_of(Options)


def request_fields(algorithm: str, options: Options) -> dict[str, Any]:
    """The fields that show and check share. Raises UsageError."""
    given_sizes = [
        text for text in (options.blocks, options.size, options.sizes) if text is not None
    ]
    if len(given_sizes) > 1:
        raise UsageError(
            "--blocks, --size and --sizes all say how large blocks are; give one of them"
        )
    fields: dict[str, Any] = {"algorithm": algorithm}
    given = {
        "block_packets": options.blocks,
        "block_bytes": _size(options.size),
        "sizes": None if options.sizes is None else _sizes(options.sizes),
        "segment_bytes": _size(options.packet),
        "element_bytes": _size(options.element),
        "root": options.root,
        "fan_out": options.fan_out,
        "permutation": options.permutation,
        "window": options.window,
        "uplink_buffer_packets": None
        if options.uplink_buffer is None
        else parse_buffers(options.uplink_buffer),
        "port_buffer_packets": options.port_buffer,
        "root_buffer_packets": options.root_buffer,
        "control_traffic": options.control_traffic,
        "hierarchy": None if options.hierarchy is None else parse_hierarchy(options.hierarchy),
        "switch_points": dict(options.switch_points) if options.switch_points else None,
    }
    fields |= {name: value for name, value in given.items() if value is not None}
    if not given_sizes:
        fields["block_packets"] = 1
    if options.remap:
        fields["remap"] = True
    if options.ordered:
        fields["commutative"] = False
    if options.user_operation:
        fields["user_operation"] = True
    return fields


def parse_ranks(text: str) -> list[int]:
    """Numbers of ranks: ``16``, ``2..64``, ``2..8,16,32``; in their order, each once.

    Raises UsageError.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _SPAN.match(part.strip())
        if not match:
            raise UsageError(
                f"ranks {text!r} are not numbers; write them like 16, 2..64 or 2..8,16"
            )
        first = int(match[1])
        last = int(match[2] or match[1])
        if last < first:
            raise UsageError(f"ranks {part} count down; write the smaller number first")
        if last - first >= MOST_RANK_COUNTS or len(found) + last - first >= MOST_RANK_COUNTS:
            raise UsageError(f"ranks {text} are more than {MOST_RANK_COUNTS} numbers; give fewer")
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


def parse_hierarchy(text: str) -> list[int]:
    """Hosts at a leaf switch, leaf switches at their parent, and so on: ``4x4``, ``8x4x2``.

    Raises UsageError.
    """
    if not _DEGREES.match(text):
        raise UsageError(
            f"hierarchy {text!r} is not like 4x4: hosts at a leaf switch x leaf switches"
        )
    return [int(degree) for degree in text.split("x")]


def parse_buffers(text: str) -> list[int]:
    """Packets that the buffers of uplinks hold, from the leaf switches' on: ``45``, ``45,510``.

    Raises UsageError.
    """
    if not _BUFFERS.match(text):
        raise UsageError(
            f"uplink buffers {text!r} are not packets, a number for each level of uplinks, like 45"
        )
    return [int(packets) for packets in text.split(",")]


def switch_points(
    known: Sequence[str],
    environment: Mapping[str, str],
    settings: Sequence[str],
    file: Path | None,
) -> dict[str, int]:
    """Where MPICH changes its algorithm, as far as it is moved: a variable of the environment with
    the point's name, a TOML file of such names, ``NAME=VALUE``; the later ones count.

    known holds the names that there are. Raises UsageError, also for a value that is no whole
    number: MPICH's own reading takes such a one as 0.
    """
    points = {
        name: _count(name, environment[name], "the environment")
        for name in known
        if name in environment
    }
    for name, value in (_file_points(file) if file else {}).items():
        points[_known(name, known)] = _count(name, str(value), str(file))
    for setting in settings:
        match = _SETTING.match(setting)
        if not match:
            raise UsageError(f"--switch {setting} is not like MPIR_BCAST_SHORT_MSG=16384")
        points[_known(match[1], known)] = _count(match[1], match[2], "--switch")
    return points


def _file_points(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as content:
            text = content.read(SWITCH_FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if len(text) > SWITCH_FILE_LIMIT_BYTES:
        raise UsageError(f"{file} has more than {SWITCH_FILE_LIMIT_BYTES >> 10} KiB")
    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not TOML: {error}") from error


def _known(name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise UsageError(f"there is no switch point {name}; there are {', '.join(known)}")
    return name


def _count(name: str, text: str, place: str) -> int:
    if not _COUNT.match(text):
        raise UsageError(f"{name} is {text!r} in {place}; it must be a whole number from 0 on")
    return int(text)


def _sizes(text: str) -> list[int]:
    return [parse_size_bytes(part) for part in text.split(",")]


def _size(text: str | None) -> int | None:
    return None if text is None else parse_size_bytes(text)
