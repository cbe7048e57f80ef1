"""Where the ranks of an MPI program are: each one's process, and the CPU it is bound to."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netsonde.errors import HostError
from netsonde.launch.session import Record
from netsonde.records.decode import decode_series

Pin = Literal["none", "all", "not_zero"] | Sequence[int]
"""How ranks are bound: to none, to all that they may use, to these but 0, or to those named."""
RANKS_SHOWN = 16
GAVE_UP = "ended with status 3"
"""How a rank ends that says why it does."""
MOST_NAMED = 3
"""Ranks that a sentence names."""
_LOST = re.compile(r"(rank \d+) on (\S+) was lost: process (\d+) (.+)")
_SIGNAL = re.compile(r"was killed by signal (\d+)")
_MOTIONLESS = re.compile(r"rank \d+ on \S+ does not move: process \d+ [a-z ]+")


@dataclass(frozen=True)
class Places:
    """By rank: the process, as its host numbers it, and the CPU, -1 where it is bound to
    none."""

    processes: tuple[int, ...]
    processors: tuple[int, ...]

    @property
    def are_bound(self) -> bool:
        return any(processor >= 0 for processor in self.processors)

    def in_words(self, ranks: Sequence[int]) -> str:
        """``rank 0 on 2, rank 2 on 3``: the CPUs of some ranks."""
        words = [f"rank {r} on {self.processors[r]}" for r in ranks[:RANKS_SHOWN]]
        more = len(ranks) - len(words)
        return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def read_places(records: Sequence[Record], ranks: int) -> Places:
    """The answer to ``place``. Raises HostError where it is not of so many ranks."""
    series = {
        name: decode_series([r for r in records if r["record"] == "series" and r["name"] == name])
        for name in ("process_id", "processor")
        if any(r.get("name") == name for r in records)
    }
    if sorted(series) != ["process_id", "processor"] or any(
        len(v) != ranks for v in series.values()
    ):
        raise HostError(f"sonde-mpi did not say where its {ranks} ranks are")
    process, processor = series["process_id"].tolist(), series["processor"].tolist()
    return Places(tuple(process), tuple(processor))


def lost_in_words(said: str) -> str | None:
    """What witnesses said of ranks that were gone, as the end of a sentence; None where none
    did."""
    found = list(dict.fromkeys(_LOST.findall(said)))
    # Who gives up because another one is gone is no cause.
    found = ([each for each in found if each[3].strip() != GAVE_UP] or found)[:MOST_NAMED]
    words = [
        f"{rank}: process {process} on {host} {_how(how)}" for rank, host, process, how in found
    ]
    return f"lost {'; '.join(words)}" if words else None


def _how(words: str) -> str:
    found = _SIGNAL.fullmatch(words.strip())
    with contextlib.suppress(ValueError):
        if found:
            return f"was killed by {signal.Signals(int(found[1])).name}"
    return words.strip()[:80]


def motionless_in_words(message: str, said: str) -> str:
    """What ranks said, on standard error, of others that do not move, at the end of a message that
    does not have it."""
    found = dict.fromkeys(_MOTIONLESS.findall(said))
    more = [words.strip() for words in found if words.strip() not in message]
    return "; ".join([message, *more[:MOST_NAMED]])
