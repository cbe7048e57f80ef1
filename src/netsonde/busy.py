"""Other work that hosts are given while something is measured: ``target=80%:nice@0-3``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from netsonde.errors import UsageError

ENDS = ("origin", "target", "both", "all")
IDLE = "none"
NICEST = 19
MOST_CPU = 4095
_FORM = re.compile(
    r"(?P<end>\w+)=(?P<share>\d{1,3}(\.\d)?)%(?P<nice>:nice(?P<value>\d{1,2})?)?(@(?P<cpus>[\d+-]+))?"
)


@dataclass(frozen=True)
class BusyWork:
    """``share`` (0 to 1) of each of ``cpus``, or of all where there are none, on the hosts that
    ``end`` names, by threads that give way as ``nice`` (0 to 19) says."""

    end: str
    share: float
    nice: int = 0
    cpus: tuple[int, ...] = ()


def parse_busy(text: str) -> BusyWork | None:
    """``END=SHARE%``, with ``:nice`` or ``:niceN`` and ``@CPUS`` behind it (``@0-3+8``); None for
    ``none``. Raises UsageError."""
    if text == IDLE:
        return None
    found = _FORM.fullmatch(text)
    if found is None or found["end"] not in ENDS:
        raise UsageError(
            f"{text!r} is no other work; write {IDLE}, or END=SHARE% with END one of "
            f"{', '.join(ENDS)}, such as target=80%, both=100%:nice or origin=50%@0-3"
        )
    share = float(found["share"]) / 100
    nice = 0 if found["nice"] is None else int(found["value"] or NICEST)
    if not 0.001 <= share <= 1:
        raise UsageError(f"{text!r} asks for {found['share']} % of a CPU; 0.1 to 100 % can be")
    if nice > NICEST:
        raise UsageError(f"{text!r} asks for nice {nice}; {NICEST} is the most")
    return BusyWork(found["end"], share, nice, _cpus(text, found["cpus"]))


def _cpus(text: str, listed: str | None) -> tuple[int, ...]:
    chosen = set[int]()
    for part in listed.split("+") if listed else ():
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"{text!r}: {part!r} is no CPU; write them like @0-3+8")
        begin, end = int(first), int(last or first)
        if not begin <= end <= MOST_CPU:
            raise UsageError(f"{text!r}: {part!r} are no CPUs from 0 to {MOST_CPU}")
        chosen |= set(range(begin, end + 1))
    return tuple(sorted(chosen))
