"""Runs the table of faults and judges all that ``netsonde explain`` says of them above a note.

Every finding of the level bad or warning counts, whatever its role and wherever it stands: it
names what was put in, or it is true beside it by the harness's own counters, or it is false (see
statements.py). Of a run with a fault, what is not merely true beside it must begin with its kind
and its place; of a clean run nothing false may be said. Precision is the share of true ones among
all statements, recall the share of faults that were named first.

This machine may be shared. The harness counts for itself what processes that are not netsonde's
use, so that a finding of that is judged like any other. The score takes each run as it came.

    python tests/truth/faults_harness.py [TIMES [CLEAN_TIMES [WORD...]]]

runs every fault and every clean case so many times, or the cases whose names hold one of the words.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faults_measured import Measured, measured
from faults_table import CLEAN, FAULTS, Case
from statements import Score, Statement, Truth, Verdict, judge, names

from netsonde.lab.registry import start_named, take_down

NOTHING = "nothing"


@dataclass(frozen=True)
class Said:
    """What was said of one run above a note, each with its verdict."""

    statements: list[Statement]
    verdicts: list[Verdict]
    counters: dict[str, float] = field(repr=False)

    @property
    def first(self) -> Statement | None:
        """The first of those that are not merely true beside."""
        said = zip(self.statements, self.verdicts, strict=True)
        return next((s for s, verdict in said if verdict != "beside"), None)

    def is_right(self, case: Case) -> bool:
        """Whether the fault is named first, and nothing of a clean run is false."""
        if not case.kind:
            return "false" not in self.verdicts
        first = self.first
        return first is not None and truth_of(case).covers(first, self.counters)


def truth_of(case: Case) -> Truth:
    """What names the fault of a case."""
    return names(case.kind, case.place)


@dataclass
class Table:
    """The score, with counts of (case, what was said first) for a table."""

    score: Score = field(default_factory=Score)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: int = 0
    faults: int = 0

    def add(self, case: Case, said: Said) -> None:
        right = said.is_right(case)
        shown = f"{said.first.kind} at {said.first.place}" if said.first else NOTHING
        self.counts[case.name, "" if right else shown] += 1
        self.faults += bool(case.kind)
        self.first += bool(case.kind) and right
        self.score.add(said.statements, truths_of(case), said.counters, case.name)

    @property
    def recall(self) -> float:
        """Of the faults, those that were named first."""
        return self.first / self.faults if self.faults else 1.0

    def words(self, cases: Sequence[Case]) -> str:
        """The confusion table, a line for each case, and the score."""
        wide = max(len(case.name) for case in cases)
        lines = [f"{'case':<{wide}} {'runs':>4} {'right':>5}  said first otherwise"]
        for case in cases:
            found = {s: n for (name, s), n in self.counts.items() if name == case.name}
            others = ", ".join(f"{n} x {s}" for s, n in found.items() if s)
            line = f"{case.name:<{wide}} {sum(found.values()):>4} {found.get('', 0):>5}  {others}"
            lines.append(line.rstrip())
        lines.append(self.score.words("all of them"))
        lines.append(f"named first: {self.first} of {self.faults}")
        return "\n".join(lines)


def truths_of(case: Case) -> tuple[Truth, ...]:
    """All statements that are true of a case, beside what the harness counts."""
    return (truth_of(case), *case.also) if case.kind else case.also


def runs_of(cases: Sequence[Case], folder: Path, times: int) -> Iterator[tuple[Case, Said]]:
    """Every case so many times, in turn."""
    for turn in range(times):
        for number, case in enumerate(cases):
            said = run_case(case, folder / f"{turn}-{number}")
            shown = [f"[{v}] {s}" for v, s in zip(said.verdicts, said.statements, strict=True)]
            print(f"{case.name}: {'; '.join(shown) or NOTHING}", file=sys.stderr)
            yield case, said


def run_case(case: Case, folder: Path) -> Said:
    """Brings the case's lab up, puts the fault in, measures, explains and judges."""
    folder.mkdir(parents=True)
    found = _measured(case, folder)
    verdicts = [judge(s, truths_of(case), found.counters) for s in found.statements]
    return Said(found.statements, verdicts, found.counters)


def _measured(case: Case, folder: Path) -> Measured:
    with named_states(folder):
        lab = start_named(case.spec(f"f{os.getpid()}"))
        try:
            with case.inject(lab):
                words = case.words.replace("LAB", f"lab:{lab.spec.name}").split()
                return measured(lab, words, folder)
        finally:
            take_down(lab)


@contextlib.contextmanager
def named_states(folder: Path) -> Iterator[None]:
    """Labs are noted here, not among the user's."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


def whole_table(
    folder: Path, times: int, clean_times: int, words: Sequence[str] = ()
) -> tuple[Table, list[Case]]:
    """Every fault so many times and every clean case so many times, or those of these words."""
    cases = [c for c in (*FAULTS, *CLEAN) if not words or any(w in c.name for w in words)]
    table = Table()
    for chosen, many, part in (
        ([c for c in cases if c.kind], times, "faults"),
        ([c for c in cases if not c.kind], clean_times, "clean"),
    ):
        for case, said in runs_of(chosen, folder / part, many):
            table.add(case, said)
    return table, cases


def main(arguments: Sequence[str]) -> None:
    times, clean_times = (int(word) for word in (*arguments[:2], "1", "1")[:2])
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        table, cases = whole_table(Path(folder), times, clean_times, arguments[2:])
    print(table.words(cases))
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
