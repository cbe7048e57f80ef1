"""Answers of ``sonde-sim schedule`` as tables of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netsonde.units import format_size

WIDTH = 80
Record = Mapping[str, Any]


@dataclass
class Shown:
    """A schedule and some of its steps."""

    schedule: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    more_steps: bool = False
    """Of a rank that is shown."""
    more_ranks: bool = False

    @classmethod
    def of(cls, records: Iterable[Record]) -> Shown:
        shown = cls()
        for record in records:
            kind = record.get("record")
            content = {name: value for name, value in record.items() if name != "record"}
            if kind == "schedule":
                shown.schedule = content
            elif kind == "step":
                shown.steps.append(content)
            elif kind == "end":
                shown.more_steps = bool(record["more_steps"])
                shown.more_ranks = bool(record["more_ranks"])
        return shown

    def document(self) -> dict[str, Any]:
        return {
            "schedule": self.schedule,
            "steps": self.steps,
            "more_steps": self.more_steps,
            "more_ranks": self.more_ranks,
        }


def head_lines(schedule: Record) -> list[str]:
    """What a schedule is, and what its algorithm claims."""
    block = format_size(schedule["block_bytes"])
    packets = schedule["segment_bytes"]
    count = -(-schedule["block_bytes"] // packets) if packets else 0
    size = f"blocks of {block} bytes" + (f", {count} packets of {packets}" if count else "")
    if schedule["sizes"]:
        size = "blocks of unequal sizes"
    lines = [
        *textwrap.wrap(f"{schedule['algorithm']}: {schedule['summary']}", WIDTH),
        f"{schedule['ranks']} ranks, {size}"
        + (f", root {schedule['root']}" if schedule["root"] else "")
        + (f", window {schedule['window']}" if schedule["window"] else ""),
    ]
    return [*lines, *_claims(schedule["claims"]), ""]


def _claims(claims: Record) -> list[str]:
    counts = [
        f"{claims[name]} {word if claims[name] != 1 else word.removesuffix('s')}"
        for name, word in (("rounds", "rounds"), ("stalls", "stalls"))
        if claims[name] is not None
    ]
    if claims["fan_out"] is not None:
        counts.append(f"fan-out {claims['fan_out']}")
    sentences = [", ".join(counts)] if counts else []
    if claims["node_contention_free"]:
        sentences.append("no two messages meet at a node")
    if claims["switch_contention_free"]:
        sentences.append("no two switches send to one at a time")
    if claims["switch_changes"]:
        sentences.append("no rank sends to one other switch twice in a row")
    if claims["rank_order"]:
        sentences.append("combines in the order of the ranks")
    return [f"  {sentence}" for sentence in sentences]


def columns_that_fit(ranks: int) -> int:
    """How many ranks' columns partner_lines() has room for."""
    width = len(str(ranks - 1)) + 1
    return min(ranks, (WIDTH - len("round   slot ")) // max(width, 3))


def partner_lines(shown: Shown, columns: int, rows: int) -> list[str]:
    """A row for each slot: whom each of the first ranks sends to; several are counted: ``x3``."""
    ranks = shown.schedule["ranks"]
    width = max(len(str(ranks - 1)) + 1, 3)
    slots: dict[tuple[int, int], dict[int, list[int]]] = {}
    for step in shown.steps:
        if step["action"] == "send":
            row = slots.setdefault((step["slot"], step["round"]), {})
            row.setdefault(step["rank"], []).append(step["peer"])
    if not slots:
        return ["nothing is sent"]
    lines = ["round   slot " + "".join(f"{rank:>{width}}" for rank in range(columns))]
    for (slot, number), row in sorted(slots.items())[:rows]:
        cells = "".join(f"{_targets(row.get(rank, [])):>{width}}" for rank in range(columns))
        lines.append(f"{number:>5} {slot:>6} {cells}")
    lines.append("")
    lines.append("A column is a rank, its entries are whom it sends to.")
    if columns < ranks:
        lines.append(f"Ranks {columns} to {ranks - 1} are not shown; --rank shows one of them.")
    if len(slots) > rows or shown.more_steps:
        lines.append("There are more slots; --limit shows them.")
    return lines


def _targets(peers: Sequence[int]) -> str:
    if not peers:
        return "."
    return str(peers[0]) if len(peers) == 1 else f"x{len(peers)}"


def step_lines(shown: Shown, rows: int) -> list[str]:
    """One rank's steps, a line each."""
    lines = [" step after round   slot  action          peer     bytes  data"]
    for step in shown.steps[:rows]:
        peer = "" if step["peer"] is None else step["peer"]
        line = (
            f"{step['number']:>5} {step['after']:>5} {step['round']:>5} {step['slot']:>6}  "
            f"{_action(step):<14}{peer:>6} {step['bytes']:>9}  "
        )
        lines.append(line + _fitting(_data(step["data"]), WIDTH - len(line)))
    if len(shown.steps) > rows or shown.more_steps:
        lines.append("There are more steps; --limit shows them.")
    return lines


def _action(step: Record) -> str:
    if step["action"] == "combine":
        return "combine" if step["left"] == "own" else "combine, left"
    return str(step["action"])


def _data(ranges: Sequence[Record]) -> str:
    return " ".join(_range(entry) for entry in ranges)


def _range(entry: Record) -> str:
    """``3:0..7`` for the blocks 0 to 7 of rank 3; ``+:2`` for the partial result of block 2."""
    origin = "+" if entry["origin"] == "partial" else _span(entry["origin"], entry["origins"])
    text = f"{origin}:{_span(entry['block'], entry['blocks'])}"
    return text + (f"/{_span(entry['segment'], entry['segments'])}" if "segment" in entry else "")


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}..{first + count - 1}"


def _fitting(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 2, 0)] + ".."


CHECK_HEAD = f"{'algorithm':<38}{'ranks':>9}{'cases':>8}{'rounds':>9}{'fan-out':>8}  proven"


def check_lines(records: Iterable[Record]) -> Iterator[str]:
    """A head, then a line for each algorithm as soon as its last number of ranks is checked, with
    what is wrong below it."""
    gathered: list[Record] = []
    has_head = False
    for record in records:
        if not has_head:
            yield CHECK_HEAD
            has_head = True
        if gathered and record.get("algorithm") != gathered[0]["algorithm"]:
            yield from _algorithm_lines(gathered)
            gathered = []
        if record.get("record") == "check":
            gathered.append(record)


def _algorithm_lines(records: Sequence[Record]) -> list[str]:
    bad = [record for record in records if not record["good"]]
    line = (
        f"{records[0]['algorithm']:<38}{_least_most(records, 'ranks'):>9}"
        f"{sum(record['cases'] for record in records):>8}{_least_most(records, 'rounds'):>9}"
        f"{_least_most(records, 'fan_out'):>8}  {'NO' if bad else 'yes'}"
    )
    problems = [
        f"  {record['ranks']} ranks, {problem}" for record in bad for problem in record["problems"]
    ]
    return [line, *problems[:8]]


def _least_most(records: Sequence[Record], name: str) -> str:
    values = [record[name] for record in records]
    return str(values[0]) if min(values) == max(values) else f"{min(values)}..{max(values)}"


def list_lines(records: Iterable[Record]) -> list[str]:
    """The algorithms by their families, then MPICH's switch points."""
    lines: list[str] = []
    points: list[str] = ["", "Where MPICH changes its algorithm; the names are those of variables:"]
    for record in records:
        if record["record"] == "algorithm":
            lines += [record["algorithm"], *_indented(record["summary"])]
        else:
            points.append(f"{record['name']} = {record['default']}")
            points += _indented(f"{record['unit']} {record['meaning']}")
    return lines + points


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
