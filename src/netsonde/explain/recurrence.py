"""Outliers of several launches: what belongs to the operation, and what was an accident."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.explain.data import Finding, Seen
from netsonde.explain.evidence import point_in_words
from netsonde.figures.recurrence import Again, Recurrence, in_runs, recurrences
from netsonde.units import format_time

MOST_FINDINGS = 3
TOLD = 4
MEANING = {
    "place": "What comes at the same place belongs to the operation or to what the library does "
    "then (connections, memory, a change of its algorithm), not to the system.",
    "rank": "What one rank causes in every launch belongs to its host or CPU.",
    "value": "What lasts equally long in every launch is often a timer or a time slice.",
}


def outliers_again(seen: Seen) -> list[Finding]:
    """The tests of which most comes again, and one sentence on those of which nothing does."""
    found = [r for r in recurrences(seen.run) if r.outliers]
    real = [r for r in found if any(again.is_real for again in r.again)]
    real.sort(key=lambda r: -sum(bool(r.ways(outlier)) for outlier in r.outliers))
    findings = [_again(r) for r in real[:MOST_FINDINGS]]
    accidents = [r for r in found if r not in real]
    if accidents:
        findings.append(_accidents(accidents))
    return findings


def _again(found: Recurrence) -> Finding:
    ways = [again for again in found.again if again.is_real]
    share = sum(bool(found.ways(outlier)) for outlier in found.outliers) / len(found.outliers)
    kinds = list(dict.fromkeys(again.way for again in ways))
    return Finding(
        "note",
        f"{point_in_words(found.example)}: {share:.0%} of the outliers come again in other "
        "launches.",
        f"{len(found.outliers)} outliers in {len(found.launches)} launches. {_in_words(ways)}.",
        " ".join(MEANING[kind] for kind in kinds),
        tuple(launch.point.id for launch in found.launches),
    )


def _in_words(ways: Sequence[Again]) -> str:
    places = [again for again in ways if again.way == "place"]
    words = []
    if places:
        runs = in_runs([int(again.what) for again in places])
        shown = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs[:TOLD])
        more = f" and {len(runs) - TOLD} more" if len(runs) > TOLD else ""
        words.append(f"repetition {shown}{more} {_how_often(places)}")
    for again in [again for again in ways if again.way != "place"][:TOLD]:
        what = f"rank {again.what:.0f}" if again.way == "rank" else format_time(again.what)
        words.append(f"{what} {_how_often([again])}")
    return "; ".join(words)


def _how_often(ways: Sequence[Again]) -> str:
    hits = sorted({again.hits for again in ways})
    often = str(hits[0]) if len(hits) == 1 else f"{hits[0]} to {hits[-1]}"
    worst = max(again.expected for again in ways)
    return f"in {often} of {ways[0].launches} launches (by chance {worst:.2g} such)"


def _accidents(found: Sequence[Recurrence]) -> Finding:
    count = sum(len(r.outliers) for r in found)
    tests = "1 test" if len(found) == 1 else f"{len(found)} tests"
    largest = max((o for r in found for o in r.outliers), key=lambda o: o.value_ns)
    return Finding(
        "note",
        f"No outlier of {tests} comes again in other launches: they are the system's, by chance.",
        f"{count} outliers, none at a place, of a rank or of a value that half of the launches "
        f"share more than by chance; the largest is {format_time(largest.value_ns)} in launch "
        f"{largest.launch}.",
        points=tuple(launch.point.id for r in found for launch in r.launches),
    )
