"""How times of MPI operations grow with the number of ranks, and where timeouts of TCP begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from netsonde.explain.data import Finding, Seen
from netsonde.figures.alike import LAUNCH, RANKS, SIZE, condition, told_apart
from netsonde.figures.rank_growth import (
    AtRanks,
    Scaling,
    WaitsAt,
    first_with_waits,
    hosts_at_a_switch,
    is_scaled,
    scalings,
    waits_by_ranks,
)
from netsonde.model.growth import LEAST_NUMBERS, LawFit, most_change
from netsonde.units import bytes_in_words, format_size, format_time

TOLD = 6
"""Tests that are told one by one."""
FORMULAS_TOLD = 3


def grows_with_ranks(seen: Seen) -> list[Finding]:
    """One finding for each test, over all its sizes."""
    if not is_scaled(seen.run):
        return []
    tests = _tests(scalings(seen.run, seen.figures))
    known = {name: found for name, found in tests.items() if any(s.growth for s in found)}
    findings = [_finding(name, found) for name, found in list(known.items())[:TOLD]]
    if len(known) > TOLD:
        findings.append(
            Finding(
                "note",
                f"How {len(known) - TOLD} more tests grow with the number of ranks is in the "
                "report's table.",
                ", ".join(list(known)[TOLD:]) + ".",
            )
        )
    unknown = [name for name in tests if name not in known]
    if unknown:
        findings.append(_too_few(tests[unknown[0]][0], unknown))
    return findings


def _tests(found: Sequence[Scaling]) -> dict[str, list[Scaling]]:
    """The sizes of each test, by its name and, where that is not enough, what tells it apart."""
    conditions: dict[str, list[Scaling]] = {}
    for scaling in found:
        under = condition(scaling.example, SIZE, RANKS, LAUNCH)
        conditions.setdefault(under, []).append(scaling)
    named: dict[str, list[list[Scaling]]] = {}
    for own in conditions.values():
        named.setdefault(_test_in_words(own[0]), []).append(own)
    tests = {}
    for name, several in named.items():
        apart = told_apart((own[0].example for own in several), SIZE, RANKS, LAUNCH)
        for own in several:
            tests[", ".join(filter(None, (name, apart[own[0].example.id])))] = own
    return tests


def _test_in_words(scaling: Scaling) -> str:
    point = scaling.example
    mpi = f" ({point.spec.mpi})" if point.spec.mpi is not None else ""
    words = f"MPI {(point.operation or point.test).replace('_', ' ')}{mpi}"
    return ", ".join(filter(None, (words, point.label)))


def _too_few(scaling: Scaling, names: Sequence[str]) -> Finding:
    crowded = sum(each.is_crowded for each in scaling.at)
    beyond = f", of which {crowded} had more ranks than CPUs" if crowded else ""
    return Finding(
        "note",
        f"How the time of {', '.join(names[:TOLD])} grows with the number of ranks is not said: "
        f"that takes {LEAST_NUMBERS} numbers of 2 ranks or more that have CPUs.",
        f"{len(scaling.at)} were measured{beyond}.",
        "Name more hosts, or give only numbers above the CPUs: then it is the law of how "
        "ranks share them."
        if crowded
        else "Give more numbers, as -n 2,3,4,6,8,12,16: others than powers of two tell steps of a "
        "tree from a logarithm.",
    )


def _finding(name: str, found: Sequence[Scaling]) -> Finding:
    known = [scaling for scaling in found if scaling.growth is not None]
    first, last = known[0].fitted[0].ranks, known[0].fitted[-1].ranks
    parts = []
    for outcome, group in groupby(known, key=outcome_in_words):
        members = list(group)
        parts.append(f"{outcome}{_sizes_in_words(members) if len(known) > 1 else ''}")
    crowded = [each for each in known[0].at if each.is_crowded]
    points = tuple(point.id for s in known for at in s.at for point in at.points)
    return Finding(
        "note",
        f"{name}: from {first} to {last} ranks the time {'; '.join(parts)}.",
        " ".join([*_evidence(known), *_crowded_in_words(known[0], crowded)]),
        points=points,
        sides=_sides(known),
        factor=(RANKS | SIZE).name,
    )


def _sides(known: Sequence[Scaling]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(p.id for p in at.points) for s in known for at in s.at)


def _sizes_in_words(members: Sequence[Scaling]) -> str:
    low, high = members[0].message_bytes, members[-1].message_bytes
    if low == high:
        return f" ({bytes_in_words(low)})"
    return f" ({format_size(low)} to {bytes_in_words(high)})"


def outcome_in_words(scaling: Scaling) -> str:
    """``grows as log2 p``, as the end of a sentence that begins with the time."""
    found = scaling.growth
    if found is None:
        return "is of too few numbers of ranks"
    match found.verdict:
        case "decided":
            same = f" (or {found.same}, which is the same here)" if found.same else ""
            return f"grows as {found.best.formula}{same}"
        case "open":
            laws = " or ".join(fit.formula for fit in found.equal)
            return f"grows, and it is not decided whether as {laws}"
        case "constant":
            return "is not seen to grow"
        case "falling":
            return "falls"
        case _:
            return "shows no law"


def formula_in_words(fit: LawFit) -> str:
    """``3.2 us + 1.1 us * log2 p``."""
    parts = [] if fit.intercept is None else [format_time(fit.intercept)]
    if fit.slope is not None:
        slope = f"{format_time(abs(fit.slope))} * {fit.formula}"
        parts.append(slope if fit.slope >= 0 or not parts else f"- {slope}")
    return " + ".join(parts).replace("+ -", "-")


def _evidence(known: Sequence[Scaling]) -> list[str]:
    told = [_one_in_words(scaling) for scaling in known[:FORMULAS_TOLD]]
    more = len(known) - len(told)
    return [*told, *([f"{more} more sizes are in the report's table."] if more > 0 else [])]


def _one_in_words(scaling: Scaling) -> str:
    found = scaling.growth
    assert found is not None
    ranks = [each.ranks for each in scaling.fitted]
    size = f"{bytes_in_words(scaling.message_bytes)}: "
    times = f"{format_time(scaling.fitted[0].time_ns)} to {format_time(scaling.fitted[-1].time_ns)}"
    if found.verdict == "constant":
        most = most_change(found, ranks)
        return (
            f"{size}{times}; at most {most:.0%} more with {ranks[-1]} ranks than with {ranks[0]}."
        )
    between = found.best.slope_interval
    slope = (
        f" (slope {format_time(between.low)} to {format_time(between.high)})"
        if between is not None and found.verdict != "none"
        else ""
    )
    others = [fit for fit in found.all if fit.law not in {e.law for e in found.equal}]
    next_best = min(others, key=lambda fit: fit.error, default=None)
    beside = (
        f", {next_best.formula or 'a constant'} within {_percent(next_best.error)}"
        if next_best is not None
        else ""
    )
    return (
        f"{size}{times}; {formula_in_words(found.best)}{slope} foretells each of {len(ranks)} "
        f"numbers from the others within {_percent(found.best.error)}{beside}."
    )


def _percent(share: float) -> str:
    return f"{share:.1%}" if share < 1 else f"{share:.0%}"


def _crowded_in_words(scaling: Scaling, crowded: Sequence[AtRanks]) -> list[str]:
    if not crowded:
        return []
    if scaling.fits_crowded:
        return ["All had more ranks than CPUs: this is how they share those."]
    ranks = ", ".join(str(each.ranks) for each in crowded)
    return [f"With {ranks} ranks there were more of them than CPUs; they are left out."]


def time_outs_with_ranks(seen: Seen) -> list[Finding]:
    """From which number of ranks on operations wait for TCP's timer, beside what a switch holds.

    Source: N. A. W. Abdul Hamid 2008, sections 5.6 and 5.8: none within one switch, many across.
    """
    if not is_scaled(seen.run):
        return []
    findings = []
    for scaling in scalings(seen.run, seen.figures):
        found = waits_by_ranks(seen.run, scaling)
        first = first_with_waits(found)
        if first is not None and len(found) > 1:
            findings.append(_time_outs(seen, scaling, found, first))
    return findings[:TOLD]


def _time_outs(seen: Seen, scaling: Scaling, found: Sequence[WaitsAt], first: WaitsAt) -> Finding:
    size = bytes_in_words(scaling.message_bytes)
    below = [each for each in found if each.ranks < first.ranks]
    where = (
        f"begin between {below[-1].ranks} and {first.ranks} ranks"
        if below
        else f"are there with {first.ranks} ranks already"
    )
    shares = ", ".join(f"{each.ranks} ranks {_share(each)}" for each in found)
    return Finding(
        "warning",
        f"{_test_in_words(scaling)} of {size}: TCP's timeouts {where}.",
        f"Repetitions with one: {shares}. {_capacity(seen, scaling, first)}".strip(),
        "Fewer ranks or smaller messages at once, larger buffers in the switch, or a shorter least "
        "timeout (ip route ... rto_min).",
        tuple(point.id for each in scaling.at for point in each.points),
        sides=_sides([scaling]),
        factor=RANKS.name,
    )


def _share(each: WaitsAt) -> str:
    if each.share is None or each.low is None or each.high is None:
        return "not decided"
    if not each.slow:
        return f"none of {each.repetitions}"
    return f"{each.share:.1%} of {each.repetitions} ({each.low:.1%} to {each.high:.1%})"


def _capacity(seen: Seen, scaling: Scaling, first: WaitsAt) -> str:
    """What is known of the switch: its hosts, and its buffer beside what may meet there."""
    path: Mapping[str, Any] = seen.run.manifest.get("path") or {}
    words = []
    hosts = hosts_at_a_switch(seen.run)
    if hosts is not None:
        ranks = hosts * (scaling.example.spec.ppn or 1)
        words.append(f"One switch has room for {ranks} of the ranks.")
    buffer = path.get("buffer_bytes")
    if isinstance(buffer, int):
        meeting = (first.ranks - 1) * scaling.example.message_bytes
        words.append(
            f"The buffer of a port holds {bytes_in_words(buffer)}; where all others send to one "
            f"rank at once, {format_size(meeting)} meet there with {first.ranks} ranks."
        )
    return " ".join(words)
