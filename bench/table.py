"""The result as a table of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from bench.alternate import Outcome
from bench.control import Control, cause
from bench.figure import Figure
from bench.verdict import Verdict, circumstances, missed, why_none

WIDTH = 80
_ROW = "{:<18}{:<9}{:>8}{:>8} {:<6}{:>6} {:<11} {:<12}"
_SCALES = {
    "bit_per_s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1.0, "bit/s")),
    "ns": ((1e6, "ms"), (1e3, "µs"), (1.0, "ns")),
    "s_per_gigabyte": ((1.0, "s/GB"), (1e-3, "ms/GB"), (1e-6, "µs/GB")),
}


@dataclass(frozen=True)
class Row:
    """A comparison on a path; ``controls`` only where a goal was missed."""

    outcome: Outcome
    verdicts: Sequence[Verdict]
    controls: Sequence[Control] = ()


def table(rows: Sequence[Row], explain_all: bool = False) -> str:
    """One section per path, a row for each figure and peer; why under the missed goals."""
    lines: list[str] = []
    section = None
    for row in rows:
        if row.outcome.route != section:
            section = row.outcome.route
            header = _ROW.format(
                section, "peer", "netsonde", "peer", "", "ratio", "interval", "goal"
            )
            lines += ["", header.rstrip(), "-" * WIDTH]
        lines += row_lines(row.outcome, row.verdicts)
        misses = missed(row.verdicts)
        for miss in misses:
            spins = row.outcome.comparison.spins
            lines += _indented(cause(miss, row.controls, spins=spins))
        if misses or (explain_all and row.verdicts):
            lines += [text for line in circumstances(row.outcome) for text in _indented(line)]
    return "\n".join(lines).lstrip("\n")


def row_lines(outcome: Outcome, verdicts: Sequence[Verdict]) -> list[str]:
    """The lines of one comparison, and one more for what is missing or failed."""
    found = {(verdict.figure, verdict.peer): verdict for verdict in verdicts}
    lines: list[str] = []
    for figure in outcome.comparison.figures:
        title = figure.title
        for peer in outcome.comparison.peers:
            verdict = found.get((figure.id, peer))
            if verdict is not None:
                lines += _verdict_lines(title, figure, verdict, alone=_beside(figure, found) == 1)
                title = ""
        for peer in outcome.comparison.peers:
            # What is absent is so in every figure: once is enough.
            told = peer in outcome.absent and figure is not outcome.comparison.figures[0]
            if (figure.id, peer) not in found and not told:
                why = why_none(outcome, figure, peer)
                lines += _indented(f"{figure.title.strip()} ({peer}): {why}", indent="")
    failed = [run for run in outcome.runs if run["error"] is not None] if verdicts else []
    for run in failed:
        lines += _indented(f"pair {run['pair'] + 1}: {run['tool']} failed: {run['error']}")
    return lines


def legend() -> str:
    """What the columns mean."""
    return textwrap.fill(
        "Medians over the pairs; ratio is netsonde over the peer, with its 95 % interval, and the "
        "goal is for the ratio: at least that for rates, at most that for times. A ? marks a goal "
        "inside the interval: more pairs would decide. A * marks the best of several peers, which "
        "decides. CPU time: of all processes of both ends, for each gigabyte received. iperf3, "
        "nuttcp, netperf, neper: payload received over the receiver's time. sockperf: full round "
        "trips, p99.9 of each run; its datagrams received over the client's time. NPtcp: half a "
        "round trip, best of three means (NetPIPE's own definition, for netsonde too), never a "
        "median. fi_pingpong: half a round trip, mean of one run, for both.",
        WIDTH,
    )


def _verdict_lines(title: str, figure: Figure, verdict: Verdict, *, alone: bool) -> list[str]:
    scale, unit = _scale(figure.unit, verdict.theirs)
    ratio = verdict.ratio
    word = ("met" if verdict.met else "missed") + ("" if verdict.sure else "?")
    interval = "-"
    if ratio.low is not None and ratio.high is not None:
        interval = f"{_ratio(ratio.low)}-{_ratio(ratio.high)}"
    line = _ROW.format(
        title,
        verdict.peer + ("*" if verdict.best and not alone else ""),
        _figure(verdict.ours / scale),
        _figure(verdict.theirs / scale),
        unit,
        _ratio(ratio.ratio),
        interval,
        f"{verdict.goal:.2f} {word}",
    ).rstrip()
    if verdict.observations is None:
        return [line]
    ours, theirs = verdict.observations
    return [line, f"    from {ours:,} round trips beside {theirs:,}"]


def _beside(figure: Figure, found: dict[tuple[str, str], Verdict]) -> int:
    return sum(name == figure.id for name, _ in found)


def _scale(unit: str, value: float) -> tuple[float, str]:
    for scale, name in _SCALES[unit]:
        if value >= scale:
            return scale, name
    return _SCALES[unit][-1]


def _figure(value: float) -> str:
    digits = max(0, 4 - len(str(int(value))))
    return f"{value:.{digits}f}"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value < 10.0 else f"{value:.1f}"


def _indented(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent="    ")
