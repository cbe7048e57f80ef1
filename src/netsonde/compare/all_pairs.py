"""All pairs of hosts of two sides of a comparison beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from netsonde.compare.data import Circumstance, Comparison, RunInfo
from netsonde.figures.pair_sets import (
    WORDS,
    BesideEachOther,
    TwoWays,
    Way,
    beside_each_other,
    ways_of,
)
from netsonde.records.rundir import open_run
from netsonde.units import bytes_in_words, change_in_words

HOSTS_THEMSELVES = ("path", "hosts")
HOSTS_MOST = 12
"""Of more, a table does not fit a terminal."""
_FACTS_NAMED = 3
_NAME = 10
_CELL = 5
_WIDTH = 80


def compared_pairs(comparison: Comparison) -> list[TwoWays]:
    """What both sides measured of all pairs; nothing where neither asked for it."""
    if not any(figure.key.kind.is_all_pairs for figure in comparison.figures):
        return []
    sides = [_ways(side) for side in (comparison.before, comparison.after)]
    own = {info.directory for info in comparison.before}
    if own & {info.directory for info in comparison.after}:  # two conditions of one run
        names = comparison.before[0].name, comparison.after[0].name
        sides = [
            [way for way in ways if name in way.name.split(", ")]
            for ways, name in zip(sides, names, strict=True)
        ]
    return beside_each_other(*sides)


def _ways(side: Sequence[RunInfo]) -> list[Way]:
    return ways_of(*(open_run(Path(info.directory)) for info in side))


def words_on_hosts(circumstances: Iterable[Circumstance]) -> list[str]:
    """A sentence where hosts are not what they were: what differs is then not the network alone."""
    facts = [c.name for c in circumstances if c.decisive and _is_of_hosts(c)]
    if not facts:
        return []
    more = f" and {len(facts) - _FACTS_NAMED} more" if len(facts) > _FACTS_NAMED else ""
    return [
        f"The hosts differ as well ({', '.join(facts[:_FACTS_NAMED])}{more}): whether the network "
        "or they are the reason for a ratio of all pairs, these runs cannot tell."
    ]


def _is_of_hosts(circumstance: Circumstance) -> bool:
    """A fact of hosts, or which they are."""
    return circumstance.kind == "fact" or (circumstance.kind, circumstance.name) == HOSTS_THEMSELVES


def lines_of_pairs(
    compared: Sequence[TwoWays], circumstances: Iterable[Circumstance]
) -> Iterable[str]:
    """For a terminal of 80 columns: each number of hosts, company and size in words, then the ratio
    from whom to whom of the largest size; and whether hosts differ, too."""
    for two in compared:
        yield ""
        yield from _wrapped(f"All pairs, {_names(two)}: after over before")
        for pair in two.pairs:
            hosts, size, company = pair.place
            place = f"{hosts} hosts, {WORDS[company]}, {bytes_in_words(size)}"
            yield from _wrapped(f"  {place}: {change_in_words(pair.ratio, 'ns')}")
        yield from _matrix(max(two.pairs, key=lambda pair: (pair.place[1], pair.place[0])))
    for sentence in words_on_hosts(circumstances) if compared else []:
        yield ""
        yield from _wrapped(sentence)


def as_json(compared: Iterable[TwoWays]) -> list[dict[str, Any]]:
    """An object for each way, number of hosts, company and size; what is not known is null."""
    return [
        {
            "before": two.before.name,
            "after": two.after.name,
            "hosts": list(pair.before.hosts),
            "company": pair.place[2],
            "message_bytes": pair.place[1],
            "before_ns": _known(pair.before.reduced.mean),
            "after_ns": _known(pair.after.reduced.mean),
            "ratio": _known(pair.ratio),
            "ratios": [[_known(float(value)) for value in row] for row in pair.ratios],
        }
        for two in compared
        for pair in two.pairs
    ]


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _names(two: TwoWays) -> str:
    names = dict.fromkeys((two.before.name, two.after.name))
    return " and ".join(names)


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _matrix(pair: BesideEachOther) -> Iterable[str]:
    hosts = pair.before.hosts
    if len(hosts) > HOSTS_MOST:
        return
    number, size, company = pair.place
    of = f"{number} hosts, {WORDS[company]}, {bytes_in_words(size)}"
    yield f"  From (down) to (across), {of}, in %:"
    yield "  " + " " * _NAME + "".join(f"{host[-(_CELL - 1) :]:>{_CELL}}" for host in hosts)
    for host, row in zip(hosts, pair.ratios, strict=True):
        cells = "".join(f"{_percent(float(value)):>{_CELL}}" for value in row)
        yield f"  {host[: _NAME - 1]:<{_NAME}}{cells}"


def _percent(ratio: float) -> str:
    if not np.isfinite(ratio):
        return "·"
    return f"{100 * ratio:.0f}" if ratio < 100 else ">10k"
