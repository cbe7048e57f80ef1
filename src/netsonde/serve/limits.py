"""Every limit of a server: what it bounds, how much, and what is said to whoever meets it.

A field of one of the classes here is the limit, its metadata the rest of its row. The page
docs/reference/serve.md has its tables from rows(), and what a limits file may set are their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from netsonde.errors import UsageError
from netsonde.units import (
    bytes_in_words,
    format_rate,
    parse_duration_ns,
    parse_rate_bit_per_s,
    parse_size_bytes,
)

WORKER_MESSAGE_BYTES = 1 << 30
"""A worker may have 3 GiB of memory, and needs up to two messages."""


def _count(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{text!r} is not a whole number")
    return int(text)


def _seconds(text: str) -> float:
    return parse_duration_ns(text) / 1e9


def _in_seconds(value: float) -> str:
    return f"{value:g} s"


def _per_second(value: float) -> str:
    return f"{value:g} a second"


@dataclass(frozen=True)
class Unit:
    """How a limit is written in a file, and how it is said."""

    parse: Callable[[str], float | int]
    in_words: Callable[[Any], str]
    is_whole: bool
    most: float


class Units(Enum):
    """What limits are counted in."""

    SECONDS = Unit(_seconds, _in_seconds, False, 30 * 86400)
    BYTES = Unit(parse_size_bytes, bytes_in_words, True, 1 << 60)
    RATE = Unit(parse_rate_bit_per_s, format_rate, True, 10**12)
    COUNT = Unit(_count, str, True, 10**9)
    PER_SECOND = Unit(float, _per_second, False, 10**6)


@dataclass(frozen=True)
class Row:
    """One limit. ``sentence`` is what is said where it is met, with ``{allowed}`` for the limit and
    ``{asked}`` for what was wanted; none where nothing is said. ``flag`` is the option of
    ``netsonde serve`` that sets it, ``key`` what a limits file calls it."""

    name: str
    default: Any
    unit: Units
    bounds: str
    sentence: str
    flag: str
    key: str

    @property
    def least(self) -> int:
        """The least that a file may set."""
        return 0 if self.unit is Units.COUNT else 1

    @property
    def most(self) -> float:
        """The most that a file may set."""
        most = self.unit.value.most
        return min(most, WORKER_MESSAGE_BYTES) if self.name == "message_bytes" else most

    def words(self, value: Any) -> str:
        """A value of it in words."""
        return "none" if value is None else self.unit.value.in_words(value)


def _limit(
    default: Any, unit: Units, bounds: str, sentence: str = "", flag: str = "", key: str = ""
) -> Any:
    return field(default=default, metadata={"row": (unit, bounds, sentence, flag, key)})


class Table:
    """What a class of limits knows of its rows."""

    @classmethod
    def rows(cls) -> dict[str, Row]:
        """By the name of the field."""
        return {
            f.name: Row(f.name, f.default, *f.metadata["row"])
            for f in fields(cls)  # type: ignore[arg-type]
        }

    def said(self, name: str, asked: str = "") -> str:
        """The sentence of a limit that was met."""
        row = self.rows()[name]
        return row.sentence.format(allowed=row.words(getattr(self, name)), asked=asked)


@dataclass(frozen=True)
class Limits(Table):
    """What somebody who paired may use. The defaults let a complete study of two hosts through."""

    session_s: float = _limit(
        600,
        Units.SECONDS,
        "a session, whatever it does",
        "its {allowed} are over (--max-seconds)",
        "--max-seconds",
        key="session",
    )
    idle_s: float = _limit(
        30,
        Units.SECONDS,
        "a session from whose client nothing comes, outside of a run",
        "nothing was heard of its client for {allowed} (--max-idle)",
        "--max-idle",
        key="idle",
    )
    open_s: float = _limit(
        30,
        Units.SECONDS,
        "how long a test's port waits for the client's connection",
        key="open",
    )
    run_s: float = _limit(
        60,
        Units.SECONDS,
        "a single run, whether by time or by count",
        "a run of {asked} was asked for; this server allows {allowed}",
        key="run",
    )
    runs: int = _limit(
        100_000,
        Units.COUNT,
        "runs of a session",
        "the session had its {allowed} runs",
        key="runs",
    )
    message_bytes: int = _limit(
        256 << 20,  # what the worker takes memory for
        Units.BYTES,
        "a message",
        "a message of {asked} was asked for; this server allows {allowed}",
        key="message",
    )
    total_bytes: int = _limit(
        1 << 40,
        Units.BYTES,
        "payload that the tests of a session move, both directions together",
        "the run would go over the {allowed} that this server allows a session",
        "--max-bytes",
        key="bytes",
    )
    rate_bit_per_s: int | None = _limit(
        None,
        Units.RATE,
        "a stream or duplex test, which has to be paced then",
        "{asked} was asked for; this server allows streams of at most {allowed}",
        "--max-rate",
        key="rate",
    )
    refusals: int = _limit(
        20,
        Units.COUNT,
        "refused requests of a session",
        "too many requests had to be refused",
        key="refusals",
    )
    code_time_s: float | None = _limit(
        None,
        Units.SECONDS,
        "all sessions of a code together",
        "the {allowed} that this server gives all sessions of this code are over",
        key="code_time",
    )
    code_bytes: int | None = _limit(
        None,
        Units.BYTES,
        "payload that the tests of all sessions of a code move",
        "the run would go over the {allowed} that this server allows all sessions of this code",
        key="code_bytes",
    )
    code_cpu_s: float | None = _limit(
        None,
        Units.SECONDS,
        "CPU time of the workers of all sessions of a code",
        "the {allowed} of CPU time that this server gives all sessions of this code are used",
        key="code_cpu",
    )
    code_rate_bit_per_s: int | None = _limit(
        None,
        Units.RATE,
        "stream and duplex tests of all sessions of a code at the same time, which have to be "
        "paced then",
        "{asked} was asked for; this server allows streams of at most {allowed} to all sessions of "
        "this code together",
        key="code_rate",
    )


@dataclass(frozen=True)
class QueueLimits(Table):
    """Of those who paired while others have all places."""

    queue: int = _limit(
        16,
        Units.COUNT,
        "clients that wait for a place",
        "the server is busy with another session, and its queue of {allowed} is full",
        "--queue",
    )
    queue_by_address: int = _limit(
        4,
        Units.COUNT,
        "those of them from one address (of IPv6: one /64)",
        "this address has {allowed} in the queue already",
    )
    wait_s: float = _limit(
        600,
        Units.SECONDS,
        "how long one waits for a place",
        "no place became free within {allowed}",
    )
    answer_s: float = _limit(
        15,
        Units.SECONDS,
        "how long a waiting client may be silent",
        "it did not answer while it waited for a place",
    )


@dataclass(frozen=True)
class DoorLimits(Table):
    """Of connections that have not proved a code."""

    pairing_s: float = _limit(
        5,
        Units.SECONDS,
        "TLS and the proof together",
        "it did not pair within {allowed}",
    )
    unproven: int = _limit(
        64,
        Units.COUNT,
        "connections that are looked at; beyond them the oldest of the address that has most is "
        "cut",
    )
    handshakes_per_s: float = _limit(
        10.0, Units.PER_SECOND, "handshakes of one address (of IPv6: one /64)"
    )
    handshakes: int = _limit(50, Units.COUNT, "of them at once")
    network_handshakes_per_s: float = _limit(
        20.0, Units.PER_SECOND, "handshakes of a network around it (/24; of IPv6: /48)"
    )
    network_handshakes: int = _limit(100, Units.COUNT, "of them at once")
    all_handshakes_per_s: float = _limit(50.0, Units.PER_SECOND, "handshakes of all strangers")
    all_handshakes: int = _limit(200, Units.COUNT, "of them at once")
    wrong_code: int = _limit(5, Units.COUNT, "handshakes that a wrong code counts as")
    remembered: int = _limit(4096, Units.COUNT, "addresses and networks that are remembered")
