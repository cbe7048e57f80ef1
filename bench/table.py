"""The result as a table of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from bench.alternate import Outcome
from bench.control import Control, cause
from bench.verdict import Verdict, circumstances

WIDTH = 80
_ROW = "{:<19}{:<9}{:>8}{:>8} {:<7}{:>6} {:<13} {:<7}"
_SCALES = {
    "bit_per_s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1.0, "bit/s")),
    "ns": ((1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
}


@dataclass(frozen=True)
class Row:
    """A comparison on a path; ``controls`` only where its goal was missed."""

    outcome: Outcome
    verdict: Verdict | None
    controls: Sequence[Control] = ()


def table(rows: Sequence[Row], explain_all: bool = False) -> str:
    """One section per path, one row per comparison; why under the missed goals."""
    lines: list[str] = []
    section = None
    for row in rows:
        if row.outcome.route != section:
            section = row.outcome.route
            header = _ROW.format(
                section, "peer", "netsonde", "peer", "", "ratio", "95 % interval", "goal"
            )
            lines += ["", header.rstrip(), "-" * WIDTH]
        lines += row_lines(row.outcome, row.verdict)
        missed = row.verdict is not None and not row.verdict.met
        if row.verdict is not None and missed:
            lines += _indented(cause(row.verdict, row.controls))
        if missed or (explain_all and row.verdict is not None):
            lines += [text for line in circumstances(row.outcome) for text in _indented(line)]
    return "\n".join(lines).lstrip("\n")


def row_lines(outcome: Outcome, verdict: Verdict | None) -> list[str]:
    """The line of one comparison, and a second one where runs failed or all were skipped."""
    comparison = outcome.comparison
    errors = [run for run in outcome.runs if run["error"] is not None]
    if verdict is None:
        why = outcome.skipped or (errors[0]["error"] if errors else "nothing was run")
        return _indented(f"{comparison.title} ({comparison.peer}): skipped: {why}", indent="")
    scale, unit = _scale(comparison.unit, verdict.peer)
    ratio = verdict.ratio
    interval = "-" if ratio.low is None else f"{ratio.low:.3f}-{ratio.high:.3f}"
    word = ("met" if verdict.met else "missed") + ("" if verdict.sure else "?")
    line = _ROW.format(
        comparison.title,
        comparison.peer,
        _figure(verdict.ours / scale),
        _figure(verdict.peer / scale),
        unit,
        f"{ratio.ratio:.3f}",
        interval,
        word,
    ).rstrip()
    failed = [
        part
        for run in errors
        for part in _indented(f"pair {run['pair'] + 1}: {run['tool']} failed: {run['error']}")
    ]
    return [line, *failed]


def legend() -> str:
    """What the columns mean."""
    return textwrap.fill(
        "Medians over the pairs; ratio is netsonde over the peer, with the interval of the ratio. "
        "Goals: throughput at least 0.97, latency at most 1.03 of the peer's. A ? marks a goal "
        "inside the interval: more pairs would decide. iperf3: payload received over the "
        "receiver's time. sockperf: median full round trip. NPtcp: half a round trip, best of "
        "three means (NetPIPE's own definition, for netsonde too), never a median.",
        WIDTH,
    )


def _scale(unit: str, value: float) -> tuple[float, str]:
    for scale, name in _SCALES[unit]:
        if value >= scale:
            return scale, name
    return _SCALES[unit][-1]


def _figure(value: float) -> str:
    digits = max(0, 4 - len(str(int(value))))
    return f"{value:.{digits}f}"


def _indented(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent="    ")
