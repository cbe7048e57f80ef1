"""Event strings of a Go-Back-N sender and the chances that they estimate.

``P^6 N TO^2 P^2``: six positive acknowledgements, a negative one, two timeouts, two more positive.
Source: A. T. C. Tam, Performance Studies of High-Speed Communication on Commodity Cluster, PhD
thesis, The University of Hong Kong, 2001, section 4.3.3 and Fig. 4.5, Eqs. (4.11)-(4.13).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from netsonde.model.congestion import Chances

Event = Literal["P", "N", "TO"]

MOST_RUNS = 1_000_000
MOST_REPEATED = 10**12
"""Limits of what is read: a string is somebody else's."""
_RUN = re.compile(r"(P|N|TO)(?:\^([0-9]{1,13}))?")


@dataclass(frozen=True, slots=True)
class Run:
    """So many of one event, one after the other."""

    event: Event
    count: int


@dataclass(frozen=True, slots=True)
class EventCounts:
    """What an event string counts. ``unlike`` are transitions that the three states do not have: a
    timeout right after a Pack, a Nack right after another."""

    packs: int
    nacks: int
    time_outs: int
    pack_to_nack: int
    nack_to_time_out: int
    time_out_to_pack: int
    unlike: int

    @property
    def c(self) -> Fraction | None:
        """#(P->N) / #P, Eq. (4.11); None without a Pack."""
        return Fraction(self.pack_to_nack, self.packs) if self.packs else None

    @property
    def severity(self) -> Fraction | None:
        """1-a = #(N->TO) / #(P^x N), Eq. (4.12); None where no Nack came after Packs."""
        if not self.pack_to_nack:
            return None
        return Fraction(self.nack_to_time_out, self.pack_to_nack)

    @property
    def f(self) -> Fraction | None:
        """#(TO->P) / #TO, Eq. (4.13); None without a timeout."""
        return Fraction(self.time_out_to_pack, self.time_outs) if self.time_outs else None

    def chances(self) -> Chances:
        """The three chances. Without a timeout f does not matter and is 1.

        Raises ``ValueError`` where the string has no loss to estimate from, or where it ends before
        any timeout was followed by a Pack.
        """
        if not self.c or self.severity is None:
            raise ValueError("the string has no Nack after a Pack; there is nothing to estimate")
        if self.f == 0:
            raise ValueError("no timeout of the string was followed by a Pack; take a longer one")
        severity = min(1.0, float(self.severity))
        return Chances(float(self.c), 1.0 - severity, 1.0 if self.f is None else float(self.f))


def parse_events(text: str) -> list[Run]:
    """The runs of an event string, neighbours of one event joined.

    Raises ``ValueError`` that names the place for anything else, for a repetition of 0, and for
    strings beyond the limits.
    """
    runs: list[Run] = []
    for place, word in enumerate(text.split()):
        if place >= MOST_RUNS:
            raise ValueError(f"the event string has more than {MOST_RUNS} runs; cut it")
        found = _RUN.fullmatch(word)
        count = int(found[2] or 1) if found else 0
        if found is None or not 1 <= count <= MOST_REPEATED:
            raise ValueError(
                f"event {place + 1} is {word[:40]!r}; expected P, N or TO, repeated as in P^6 at"
                f" most {MOST_REPEATED} times"
            )
        event: Event = found[1]  # type: ignore[assignment]
        if runs and runs[-1].event == event:
            runs[-1] = Run(event, runs[-1].count + count)
        else:
            runs.append(Run(event, count))
    if not runs:
        raise ValueError("the event string is empty; expected events such as P^6 N TO^2")
    return runs


def count_events(runs: Sequence[Run]) -> EventCounts:
    """Events and transitions of runs; a run of n events has n - 1 transitions to itself."""
    counted = {"P": 0, "N": 0, "TO": 0}
    for run in runs:
        counted[run.event] += run.count
    steps = [(first.event, second.event) for first, second in pairwise(runs)]
    again = sum(run.count - 1 for run in runs if run.event == "N")
    return EventCounts(
        counted["P"],
        counted["N"],
        counted["TO"],
        steps.count(("P", "N")),
        steps.count(("N", "TO")),
        steps.count(("TO", "P")),
        steps.count(("P", "TO")) + steps.count(("TO", "N")) + again,
    )


def mean_chances(traces: Sequence[str]) -> Chances:
    """c, a and f of several senders: each estimated alone, then averaged (section 4.3.2.1).

    A sender that cannot estimate a chance is left out of its mean. Raises ``ValueError`` where none
    can, or for strings that are none.
    """
    counts = [count_events(parse_events(text)) for text in traces]
    if not any(each.pack_to_nack for each in counts):
        raise ValueError("no sender has a Nack after a Pack; there is nothing to estimate")
    c = _mean([each.c for each in counts])
    severity = min(1.0, _mean([each.severity for each in counts]))
    found = [each.f for each in counts if each.f is not None]
    return Chances(c, 1.0 - severity, _mean(found) if found else 1.0)


def _mean(values: Sequence[Fraction | None]) -> float:
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) / len(known)
