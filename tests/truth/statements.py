"""What a user reads of a run above a note, and whether it is true.

A *statement* is a finding of the level bad or warning, whatever its role. It is true where one of
the run's *truths* covers it: what was put in brings these about (``truths`` of a fault), or the
harness's own counters show what happened besides (MACHINE). Everything else is false, in a clean
run and in one with a fault, above the right cause and below it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

HEARD = ("bad", "warning")
Verdict = Literal["named", "beside", "false"]
Counters = Mapping[str, float]
BUSY = 0.15
"""CPUs that others used on average: with more of them this machine was taken."""
NOTABLE = 0.2
"""Of one CPU, over a second."""
STOLEN = 0.005
ROUNDING = 0.75
"""Of what netsonde says that others used, what the harness must have seen of it over a second."""


@dataclass(frozen=True)
class Statement:
    """A finding as `netsonde explain --json` gives it, reduced to what is judged."""

    level: str
    kind: str
    place: str
    claim: str
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.level} {self.kind}{f' at {self.place}' if self.place else ''}: {self.claim}"


def always(_counters: Counters, _statement: Statement) -> bool:
    return True


def counted(name: str, least: float = 1) -> Callable[[Counters, Statement], bool]:
    """Where one of the harness's counters shows it."""

    def holds(counters: Counters, _statement: Statement) -> bool:
        return counters.get(name, 0) >= least

    return holds


@dataclass(frozen=True)
class Truth:
    """Statements that are true: their kind, their place and their claim match (as patterns), and
    ``holds`` says so of the harness's counters. ``names`` where such a statement names the fault;
    else it is only true beside it."""

    kind: str
    place: str = ""
    claim: str = ""
    holds: Callable[[Counters, Statement], bool] = always
    names: bool = False

    def covers(self, statement: Statement, counters: Counters) -> bool:
        return bool(
            re.fullmatch(self.kind, statement.kind)
            and re.search(self.place, statement.place)
            and re.search(self.claim, statement.claim)
            and self.holds(counters, statement)
        )


def names(kind: str, place: str = "", claim: str = "") -> Truth:
    """What names a fault that acted."""
    return Truth(kind, place, claim, names=True)


def _others_used(counters: Counters, statement: Statement) -> bool:
    """Others used what is said of them, as the harness saw it."""
    said = re.search(r"used ([\d.]+) CPUs", statement.claim)
    return said is not None and counters["others_most"] >= ROUNDING * float(said[1])


def _others_on_processor(counters: Counters, statement: Statement) -> bool:
    said = re.search(r"CPU (\d+)", statement.place)
    return said is not None and counters.get(f"others_on_{said[1]}", 0.0) >= NOTABLE


def _taken(counters: Counters, _statement: Statement) -> bool:
    return counters["others"] >= BUSY


def _own_use(counters: Counters, _statement: Statement) -> bool:
    return counters["own_most"] >= 0.7  # of one CPU


def _lost(*counters_at: str) -> Callable[[Counters, Statement], bool]:
    def holds(counters: Counters, _statement: Statement) -> bool:
        return any(counters.get(name, 0) > 0 for name in counters_at)

    return holds


SENDER, NETWORK, RECEIVER = ("drops_h1", "sndbuf_h1"), ("drops_network",), ("rcvbuf_h2",)
BACK = ("drops_h2",)
LOSSES = "datagrams-lost|fragments-lost|segments-lost|retransmission-timer"
MACHINE: tuple[Truth, ...] = (
    # Who else used the CPUs.
    Truth("idle-hosts", holds=_others_used),
    Truth("busy-processor|busy-processor-nice", holds=_others_on_processor),
    Truth("waited-for-processor", holds=_taken),
    Truth("steal", holds=counted("stolen", STOLEN)),
    Truth("late-switch", holds=_taken),
    Truth("processor-bound", holds=_own_use),
    # Losses that the lab's own counters show at that place, whoever brought them about.
    Truth(LOSSES, "sender (kernel|card)", holds=_lost(*SENDER)),
    Truth(LOSSES, "network", holds=_lost(*NETWORK)),
    Truth(LOSSES, "receiver application", holds=_lost(*RECEIVER)),
    # What is arithmetic with the run's own figures, and accuses nobody.
    Truth("wide-intervals", holds=counted("capped")),
    Truth("failed-points", holds=counted("failed")),
    Truth("link-share", claim="carries", holds=counted("below_link")),
    Truth("faster-than-the-link", holds=counted("above_link")),
    Truth("ends-agree", claim="differ", holds=counted("ends_differ")),
    Truth("slower-than-asked", claim="left at", holds=counted("below_asked")),
)
"""True of any run where the harness counted it."""


def heard(findings: Iterable[Mapping[str, Any]]) -> list[Statement]:
    """What is said above a note, in the order in which a user reads it."""
    return [
        Statement(f["level"], f["kind"], f.get("place", ""), f["claim"], f.get("evidence", ""))
        for f in findings
        if f["level"] in HEARD
    ]


def judge(statement: Statement, truths: Sequence[Truth], counters: Counters) -> Verdict:
    """Whether a statement names what was put in, is true beside it, or is false."""
    covering = [t for t in (*truths, *MACHINE) if t.covers(statement, counters)]
    if not covering:
        return "false"
    return "named" if any(truth.names for truth in covering) else "beside"


BUCKETS = ("none", "below 20 %", "20 to 50 %", "above 50 %")


def bucket(harm: float) -> str:
    """The size of an effect, of 1."""
    return BUCKETS[0 if harm <= 0 else 1 if harm < 0.2 else 2 if harm <= 0.5 else 3]


@dataclass(frozen=True)
class Asked:
    """The fault whose naming is asked: what names it, and the share that it cost."""

    truths: Sequence[Truth]
    harm: float


@dataclass
class Score:
    """Counts over runs. ``confusion`` is by what was put in and what was said falsely of it."""

    verdicts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    runs_with_false: int = 0
    confusion: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(
        self,
        statements: Sequence[Statement],
        truths: Sequence[Truth],
        counters: Counters,
        what: str,
        asked: Asked | None = None,
    ) -> list[Verdict]:
        """Counts a run with these truths; of two faults only one is asked for."""
        verdicts = [judge(statement, truths, counters) for statement in statements]
        self.runs += 1
        self.verdicts.update(verdicts)
        self.runs_with_false += "false" in verdicts
        self.confusion += [
            f"{what}: {statement}"
            for statement, verdict in zip(statements, verdicts, strict=True)
            if verdict == "false"
        ]
        if asked is not None:
            size = bucket(asked.harm)
            self.faults[size] += 1
            if any(judge(s, asked.truths, counters) == "named" for s in statements):
                self.found[size] += 1
            elif asked.harm > 0:
                self.missed.append(f"{what}: effect {asked.harm:.0%}, not named")
        return verdicts

    @property
    def precision(self) -> float:
        """Of all statements, the true ones."""
        total = sum(self.verdicts.values())
        return 1 - self.verdicts["false"] / total if total else 1.0

    @property
    def precision_of_causes(self) -> float:
        """The same without those that are only true beside: the stricter figure."""
        total = self.verdicts["named"] + self.verdicts["false"]
        return self.verdicts["named"] / total if total else 1.0

    def recall(self, *buckets: str) -> float | None:
        """Of the faults with an effect of such a size, those that were named; None of none."""
        total = sum(self.faults[name] for name in buckets)
        return sum(self.found[name] for name in buckets) / total if total else None

    def words(self, title: str) -> str:
        count = sum(self.verdicts.values())
        lines = [
            f"{title}: {self.runs} runs, {self.runs_with_false} with a false statement; "
            f"{count} statements above a note: {self.verdicts['named']} name what was put in, "
            f"{self.verdicts['beside']} are true beside it, {self.verdicts['false']} are false",
            f"  precision {self.precision:.3f} of all, {self.precision_of_causes:.3f} of those "
            "that are not merely true beside",
        ]
        for name in BUCKETS:
            if self.faults[name]:
                part = f"{self.found[name]} of {self.faults[name]} named"
                lines.append(f"  effect {name:<11} {part}")
        large = self.recall(*BUCKETS[2:])
        if large is not None:
            lines.append(f"  recall where the effect is over 20 %: {large:.3f}")
        lines += [f"  FALSE  {line}" for line in self.confusion]
        lines += [f"  MISSED {line}" for line in self.missed]
        return "\n".join(lines)
