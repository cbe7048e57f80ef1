"""Runs the table of faults and counts what ``netsonde explain`` put first.

Of a run with a fault, its kind must come first, and with the right place; of a clean run no kind
of a fault may be said at all. Precision is the share of right ones among all runs of which a fault
was said, recall the share of faults that were named.

This machine may be shared. The harness counts for itself what processes that are not its own use.
Where that is much, a finding that others used a processor is true, although nobody put it in: it is
set aside, and what comes next is judged. A run that then came out wrong, or whose switch was late
by its own count, says nothing of the rules; it is made again. Where a burnt processor was put in
and others burn processors all the time, the case is not judged. The table says all of it.

    python tests/truth/faults_harness.py [TIMES [CLEAN_TIMES [WORD...]]]

runs every fault and every clean case so many times, or the cases whose names hold one of the words.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults_table import CLEAN, FAULTS, Case
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.explain.table import RULES
from netsonde.lab.registry import start_named, take_down

ATTEMPTS = 4
TAKEN = 0.15
"""Processors that others used on average: with more the machine was taken."""
NOTHING = "nothing"
KINDS = frozenset(
    {case.kind for case in FAULTS}
    | {rule.name for rule in RULES if rule.role == "cause"}
    | {"interrupt-bound"}
)
"""Whatever is a cause counts as a fault that was said, whether it is one of the table or not."""
BURNT = frozenset({"busy-processor", "busy-processor-nice"})
TRUE_BESIDES = BURNT | {"steal", "common-start"}
"""What others' work on this machine brings about by itself."""
STOLEN = frozenset({"steal"})
"""What the hypervisor takes for other machines is no matter of what runs on this one."""
NO_FAULT = "late-switch"
"""A finding that the emulated network was not what was asked for."""


@dataclass(frozen=True)
class Said:
    """What was said of one run: the first kind of a fault and its place, whether others took the
    machine meanwhile, and whether a finding of that was set aside."""

    kind: str
    place: str
    taken: bool
    set_aside: bool
    findings: list[dict[str, Any]] = field(repr=False)

    def is_right(self, case: Case) -> bool:
        if not case.kind:
            return self.kind == NOTHING
        return self.kind == case.kind and case.place in self.place


@dataclass
class Table:
    """Counts of (case, what was said), and how many runs were made again."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    right_named: int = 0
    wrongly_named: int = 0
    faults: int = 0
    clean: int = 0
    again: int = 0
    set_aside: int = 0
    not_judged: list[str] = field(default_factory=list)

    def add(self, case: Case, said: Said) -> None:
        right = said.is_right(case)
        shown = said.kind if said.kind == NOTHING else f"{said.kind} at {said.place}"
        self.set_aside += said.set_aside
        self.counts[case.name, "" if right and case.kind else shown] += 1
        if case.kind:
            self.faults += 1
            self.right_named += right
        else:
            self.clean += 1
        self.wrongly_named += said.kind != NOTHING and not right

    @property
    def precision(self) -> float:
        named = self.right_named + self.wrongly_named
        return self.right_named / named if named else 1.0

    @property
    def recall(self) -> float:
        return self.right_named / self.faults if self.faults else 1.0

    def join(self, other: Table) -> None:
        self.counts += other.counts
        self.right_named += other.right_named
        self.wrongly_named += other.wrongly_named
        self.faults += other.faults
        self.clean += other.clean
        self.again += other.again
        self.set_aside += other.set_aside
        self.not_judged += other.not_judged

    def words(self, cases: Sequence[Case]) -> str:
        """The confusion table, a line for each case."""
        wide = max(len(case.name) for case in cases)
        lines = [f"{'case':<{wide}} {'runs':>4} {'right':>5}  said otherwise"]
        for case in cases:
            found = {s: n for (name, s), n in self.counts.items() if name == case.name}
            right = found.get("" if case.kind else NOTHING, 0)
            others = [
                f"{n} x {s}"
                for s, n in found.items()
                if s not in ("", NOTHING) or (s and case.kind)
            ]
            runs = sum(found.values())
            line = f"{case.name:<{wide}} {runs:>4} {right:>5}  {', '.join(others)}"
            lines.append(line.rstrip())
        lines.append(
            f"{self.faults} runs with a fault, {self.clean} clean ones; precision "
            f"{self.precision:.3f}, recall {self.recall:.3f}\n{self.again} runs were made again "
            f"because others took the machine; of {self.set_aside} that was said and set aside"
        )
        if self.not_judged:
            lines.append(f"not judged for the same reason: {', '.join(self.not_judged)}")
        return "\n".join(lines)


def run_table(cases: Sequence[Case], folder: Path, times: int = 1) -> Table:
    """Runs every case so many times, in turn."""
    table = Table()
    for turn in range(times):
        for number, case in enumerate(cases):
            for attempt in range(ATTEMPTS):
                said = run_case(case, folder / f"{turn}-{number}-{attempt}")
                if said.is_right(case) or not said.taken or attempt == ATTEMPTS - 1:
                    break
                table.again += 1
            if said.taken and case.kind in BURNT and not said.is_right(case):
                table.not_judged.append(case.name)
            else:
                table.add(case, said)
            print(f"{case.name}: {said}", file=sys.stderr)
    return table


def run_case(case: Case, folder: Path) -> Said:
    """Brings the case's lab up, puts the fault in, measures and explains."""
    folder.mkdir(parents=True)
    with named_states(folder), others_use() as use:
        lab = start_named(case.spec(f"f{os.getpid()}"))
        try:
            with case.inject(lab):
                words = case.words.replace("LAB", f"lab:{lab.spec.name}").split()
                netsonde(*words, "--seed", "1", "--quiet", "--out", str(folder))
        finally:
            take_down(lab)
    (run,) = [path for path in folder.iterdir() if (path / "manifest.json").exists()]
    findings = json.loads(netsonde("explain", str(run), "--json"))["findings"]
    late = any(f["kind"] == NO_FAULT and f["level"] == "bad" for f in findings)
    named = [f for f in findings if f["kind"] in KINDS and f["level"] in ("warning", "bad")]
    besides = use["processors"] > TAKEN and case.kind not in BURNT
    true_besides = (TRUE_BESIDES if besides else frozenset()) | (STOLEN if use["stolen"] else set())
    judged = [f for f in named if f["kind"] not in true_besides]
    first = judged[0] if judged else {"kind": NOTHING, "place": ""}
    return Said(
        first["kind"],
        first["place"],
        late or use["processors"] > TAKEN,
        len(judged) < len(named),
        findings,
    )


def netsonde(*words: str) -> str:
    """What a command printed; it must end with 0."""
    argv, sys.argv = sys.argv, ["netsonde", *words]
    try:
        done = CliRunner().invoke(app, list(words))
    finally:
        sys.argv = argv
    assert done.exit_code == 0, f"netsonde {' '.join(words)}: {done.output} {done.exception!r}"
    return done.stdout


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


@contextlib.contextmanager
def others_use() -> Iterator[dict[str, float]]:
    """Processors that processes of others used meanwhile, on average, and those that other machines
    took; known at the end."""
    found = {"processors": 0.0, "stolen": 0.0}
    begun, busy, own, stolen = time.monotonic(), _busy_s(), _own_s(), _stolen_s()
    yield found
    seconds = time.monotonic() - begun
    found["processors"] = max(0.0, (_busy_s() - busy) - (_own_s() - own)) / seconds
    found["stolen"] = max(0.0, _stolen_s() - stolen) / seconds


def _busy_s() -> float:
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system = (int(word) for word in words[:3])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _stolen_s() -> float:
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return int(words[7]) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def whole_table(
    folder: Path, times: int, clean_times: int, words: Sequence[str] = ()
) -> tuple[Table, list[Case]]:
    """Every fault so many times and every clean case so many times, or those of these words."""
    cases = [c for c in (*FAULTS, *CLEAN) if not words or any(w in c.name for w in words)]
    table = run_table([c for c in cases if c.kind], folder / "faults", times)
    table.join(run_table([c for c in cases if not c.kind], folder / "clean", clean_times))
    return table, cases


def main(arguments: Sequence[str]) -> None:
    times, clean_times = (int(word) for word in (*arguments[:2], "1", "1")[:2])
    with tempfile.TemporaryDirectory() as folder:
        table, cases = whole_table(Path(folder), times, clean_times, arguments[2:])
    print(table.words(cases))


if __name__ == "__main__":
    main(sys.argv[1:])
