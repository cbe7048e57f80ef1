"""A tuning and a proof in words and tables of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from netsonde.schedules.algorithms import NATIVE
from netsonde.tuning.mpi.candidates import Cell
from netsonde.tuning.mpi.choose import Verdict, median_ns
from netsonde.tuning.mpi.listen import Listened
from netsonde.tuning.mpi.patterns import Seen
from netsonde.tuning.mpi.prove import Proof
from netsonde.tuning.mpi.rules import Rule, needs_drop_in
from netsonde.tuning.mpi.run import RULES_NAME, Tuned
from netsonde.units import format_bytes, format_count, format_size, format_time

WIDTH = 80


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def place(cell: Cell, has_hosts: bool) -> str:
    """``alltoall, 16 ranks, 2 on a host``."""
    beside = f", {cell.ppn} on a host" if has_hosts else ""
    return f"{cell.operation}, {cell.ranks} ranks{beside}"


def gain_in_words(verdict: Verdict | None) -> str:
    """``0.62 [0.58, 0.70]`` of native's time."""
    if verdict is None or verdict.ratio is None:
        return "not measured again"
    if verdict.low is None or verdict.high is None:
        return f"{verdict.ratio:.2f} [too few pairs]"
    return f"{verdict.ratio:.2f} [{verdict.low:.2f}, {verdict.high:.2f}]"


def tuned_lines(tuned: Tuned, has_hosts: bool) -> Iterator[str]:
    """Who wins where, crossovers, what the model left out, and what to do next."""
    found = tuned.found
    yield from wrapped(
        f"{tuned.title}. Of each size the fastest way of a survey, and its time over that of the "
        "library's own choice, with the 95 % interval of fresh launches in pairs. A star: a rule."
    )
    if tuned.listened is not None:
        yield from called_lines(tuned.listened, found.leaders, has_hosts)
    before = ""
    for cell, way in sorted(found.leaders.items()):
        if (here := place(cell, has_hosts)) != before:
            yield from ("", here, f"{'size':>9}  {'native':>9}  {'fastest':<34}time over native")
            before = here
        native = format_time(median_ns(found.times[cell][NATIVE]))
        verdict = found.verdicts.get(cell)
        star = "*" if verdict is not None and verdict.is_faster else " "
        words = "" if way == NATIVE else gain_in_words(verdict)
        yield f"{format_size(cell.size_bytes):>9}  {native:>9} {star}{way:<34}{words}".rstrip()
    yield ""
    yield from _seen(tuned)
    yield from _crossovers(tuned)
    yield from _pruned(tuned)
    for note in found.notes:
        yield from wrapped(f"Note: {note}.")
    yield from _failures(tuned)
    yield from _what_now(tuned)


def called_in_words(listened: Listened, measured: Collection[Cell]) -> str:
    """How much of a program's time its collective operations take, and how much of that was
    measured."""
    of_program = 100 * min(listened.called.share_of_program, 1.0)
    of_calls = 100 * listened.plan.share(measured)
    return (
        f"{listened.program.name} spent {of_program:.0f} % of its ranks' time in collective "
        f"operations, waiting for each other included. Of that time {of_calls:.0f} % went into "
        "calls of the sizes that were measured."
    )


MOST_CALLED = 12
"""Lines of what a program calls; all of it is in --json."""


def called_lines(listened: Listened, measured: Collection[Cell], has_hosts: bool) -> Iterator[str]:
    """What a program calls, what of it was measured, and what no rule is sought for."""
    plan = listened.plan
    yield ""
    yield from wrapped(called_in_words(listened, measured))
    yield f"{'calls':>9} {'of the time':>12}  operation"
    for cell in list(plan.costs)[:MOST_CALLED]:
        low, high = (format_size(size) for size in plan.spans[cell])
        sizes = low if low == high else f"{low} to {high}"
        yield (
            f"{plan.calls[cell]:>9.0f} {plan.share([cell]):>12.1%}  {place(cell, has_hosts)}"
            + ("" if cell.size_bytes == 0 else f", {sizes}")
            + ("" if cell in measured else " (not measured)")
        )
    if (more := len(plan.costs) - MOST_CALLED) > 0:
        yield f"{'':>22}  and {format_count(more, 'cell')} more"
    for reason, time_ns in plan.uncovered.items():
        yield f"{'':>9} {time_ns / max(plan.total_ns, 1.0):>12.1%}  no rule for calls {reason}"


def _seen(tuned: Tuned) -> Iterator[str]:
    ran = [seen for seen in tuned.seen.values() if seen.pattern is not None]
    if ran:
        others = sum(NATIVE not in seen.same_as for seen in ran)
        yield from wrapped(
            f"{len(ran)} of {format_count(len(tuned.seen), 'way')} of the library ran, {others} of "
            "them seen to send otherwise than its own choice does."
        )
    elif tuned.seen:
        yield from wrapped(
            "Nobody saw by messages whether the library does as it is told: they do not go over "
            "TCP. It read back what it was told."
        )


def _crossovers(tuned: Tuned) -> Iterator[str]:
    for each in tuned.found.crossovers:
        about = (
            ""
            if each.estimate_bytes is None
            else f", near {format_size(round(each.estimate_bytes))}"
        )
        yield from wrapped(
            f"{each.cell.operation}, {each.cell.ranks} ranks: from {each.before} to {each.after} "
            f"between {format_size(each.low_bytes)} and {format_size(each.high_bytes)}{about}."
        )


def _pruned(tuned: Tuned) -> Iterator[str]:
    out = sum(len(p.left_out) for p in tuned.found.pruned.values())
    sampled = tuned.found.sampled
    if not out + sampled:
        return
    missed = tuned.found.missed
    yield from wrapped(
        f"The model left out {out + sampled} of what could be measured; a sample of {sampled} was "
        f"measured all the same, and {len(missed)} of it led its size."
    )


def _failures(tuned: Tuned) -> Iterator[str]:
    by_way: dict[tuple[str, str], str] = {}
    for (cell, way), why in tuned.found.failures.items():
        by_way.setdefault((cell.operation, way), why)
    if by_way:
        yield f"Not measured: {format_count(len(by_way), 'way')}."
    for (operation, way), why in sorted(by_way.items()):
        yield from textwrap.wrap(
            f"{operation} by {way}: {' '.join(why.split())[:160]}", WIDTH,
            initial_indent="  ", subsequent_indent="    ",
        )  # fmt: skip


def _what_now(tuned: Tuned) -> Iterator[str]:
    rules = tuned.rules.rules
    path = tuned.directory / RULES_NAME
    if not rules:
        yield from wrapped(
            "No rule: nowhere is it proven that another way is faster than the library's own."
        )
        return
    ours = sum(needs_drop_in(rule) for rule in rules)
    yield from wrapped(
        f"{format_count(len(rules), 'rule')}, {len(rules) - ours} of them for the library itself "
        f"and {ours} for netsonde's library: {path}"
    )
    if tuned.unsaid:
        yield from wrapped(f"Not in the library's file: {tuned.unsaid}.")
    yield f"Prove them in fresh launches: netsonde tune prove {path}"


def rule_in_words(rule: Rule) -> str:
    """``alltoall, 16 ranks, 64 to 4096: library:brucks``."""
    end = "on" if rule.to_bytes is None else f"to {format_size(rule.to_bytes)}"
    beside = "" if rule.ranks_per_host is None else f", {rule.ranks_per_host} on a host"
    return (
        f"{rule.operation}, {rule.ranks} ranks{beside}, {format_size(rule.from_bytes)} {end}: "
        f"{rule.algorithm}"
    )


def proof_lines(proof: Proof, rules: Sequence[Rule]) -> Iterator[str]:
    """Each rule with its gain at each size, whether it is obeyed, and what was struck out."""
    obeyed = {each.rule: each for each in proof.obeyed}
    for rule in rules:
        yield rule_in_words(rule)
        if rule in obeyed:
            yield from textwrap.wrap(
                obeyed[rule].words, WIDTH, initial_indent="  ", subsequent_indent="  "
            )
        for size, verdict in sorted(proof.verdicts.get(rule, {}).items()):
            yield f"  {format_size(size):>9}  {gain_in_words(verdict)} of the untuned time"
        if rule in proof.struck:
            yield from textwrap.wrap(
                f"struck out: {proof.struck[rule]}", WIDTH,
                initial_indent="  ", subsequent_indent="  ",
            )  # fmt: skip
    yield ""
    yield f"{len(proof.kept)} of {format_count(len(rules), 'rule')} kept."


def pattern_lines(operation: str, seen: Sequence[Seen], size_bytes: int) -> Iterator[str]:
    """Ways of an operation by whom they send how much."""
    yield f"{operation}, {format_bytes(size_bytes)}"
    yield f"  {'way':<36}{'partners':>8}{'sent':>8}  the same as"
    for each in seen:
        if each.pattern is None:
            yield from textwrap.wrap(
                f"{each.way}: {' '.join(each.why.split())[:200]}", WIDTH,
                initial_indent="  ", subsequent_indent="    ",
            )  # fmt: skip
            continue
        first = f"{each.same_as[0]}" if each.same_as else ""
        more = f" and {len(each.same_as) - 1} more" if len(each.same_as) > 1 else ""
        pattern = each.pattern
        yield (
            f"  {each.way:<36}{pattern.partners:>8}{pattern.sizes:>8.2f}  {first}{more}".rstrip()
        )


def tuned_document(tuned: Tuned) -> dict[str, Any]:
    """For --json."""
    found = tuned.found
    return {
        "directory": str(tuned.directory),
        "library": tuned.title,
        "rules": [rule.as_json() for rule in tuned.rules.rules],
        "cells": [
            {
                "operation": cell.operation,
                "ranks": cell.ranks,
                "ranks_per_host": cell.ppn,
                "size_bytes": cell.size_bytes,
                "fastest": way,
                "median_ns": {w: median_ns(t) for w, t in found.times[cell].items() if t},
                "verdict": _verdict(found.verdicts.get(cell)),
            }
            for cell, way in sorted(found.leaders.items())
        ],
        "left_out_by_the_model": sum(len(p.left_out) for p in found.pruned.values()),
        "sampled_of_it": found.sampled,
        "sampled_that_led": len(found.missed),
        "notes": found.notes,
        "library_file": None if tuned.library_file is None else str(tuned.library_file),
        "program": None
        if tuned.listened is None
        else called_document(tuned.listened, found.leaders),
    }


def called_document(listened: Listened, measured: Collection[Cell]) -> dict[str, Any]:
    """What a program calls. Shares are of all ranks' time in collective operations."""
    plan, called = listened.plan, listened.called
    total_ns = max(plan.total_ns, 1.0)
    return {
        "command": list(listened.program.words),
        "ranks": called.ranks,
        "ranks_that_told": called.told,
        "share_of_program": called.share_of_program,
        "share_measured": plan.share(measured),
        "cells": [
            {
                "operation": cell.operation,
                "ranks": cell.ranks,
                "ranks_per_host": cell.ppn,
                "size_bytes": cell.size_bytes,
                "called_from_bytes": plan.spans[cell][0],
                "called_to_bytes": plan.spans[cell][1],
                "calls": plan.calls[cell],
                "share": plan.share([cell]),
                "measured": cell in measured,
            }
            for cell in plan.costs
        ],
        "without_rules": {why: ns / total_ns for why, ns in plan.uncovered.items()},
    }


def _verdict(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "pairs": verdict.pairs,
        "ratio": verdict.ratio,
        "low": verdict.low,
        "high": verdict.high,
    }


def proof_document(proof: Proof, rules: Sequence[Rule]) -> dict[str, Any]:
    """For --json."""
    obeyed = {each.rule: each.is_obeyed for each in proof.obeyed}
    return {
        "rules": [
            {
                **rule.as_json(),
                "obeyed": obeyed.get(rule),
                "gains": {
                    str(size): _verdict(v) for size, v in proof.verdicts.get(rule, {}).items()
                },
                "struck_out": proof.struck.get(rule),
            }
            for rule in rules
        ],
        "kept": [rule.as_json() for rule in proof.kept],
    }
