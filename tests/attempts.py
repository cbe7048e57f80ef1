"""One rule for all that is measured and may come out wrong by chance: at least k of n attempts are
within their tolerance, and k and n are fixed before.

::

    def test_goodput(attempts):
        for attempt in attempts(2, of=3):
            found = measure()
            assert found.lost == 0             # holds in every attempt, or the test fails
            attempt.found(bit_per_s=found.rate)
            with attempt:                      # what chance may spoil
                assert found.rate == pytest.approx(allowed, rel=0.01)

No attempt is made that cannot change the verdict any more. What a control says was measured on a
machine that could not be trusted (see machine_control.py) is written down and not counted,
whatever it found; of such there are ``NOT_TRUSTED_MOST``, then the test is skipped with what the
control said. Every attempt is a line of the ledger, build/checks/attempts.jsonl.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from machine_control import Control, wait_until_quiet

LEDGER = Path(__file__).resolve().parent.parent / "build" / "checks" / "attempts.jsonl"
LEDGER_NAME = "NETSONDE_ATTEMPTS"
"""The environment's name for another place of the ledger."""
NOT_TRUSTED_MOST = 3
QUIET_S = 3.0
"""So long a machine that was not trusted is waited for."""


@dataclass(frozen=True)
class Rule:
    """At least ``least`` of ``of`` attempts are within the tolerance."""

    least: int
    of: int

    def __post_init__(self) -> None:
        assert 1 <= self.least <= self.of

    def __str__(self) -> str:
        return f"{self.least} of {self.of}"

    def verdict(self, within: int, outside: int) -> bool | None:
        """None while both are possible."""
        if within >= self.least:
            return True
        return False if outside > self.of - self.least else None

    def passes(self, chance: float) -> float:
        """How probably a method passes of which a single attempt is within with that chance."""
        return sum(
            math.comb(self.of, k) * chance**k * (1 - chance) ** (self.of - k)
            for k in range(self.least, self.of + 1)
        )


@dataclass
class Attempt:
    """One of them. ``with`` holds what may be outside of the tolerance."""

    number: int
    figures: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    judged: bool = False

    def found(self, **figures: Any) -> None:
        """Notes what was measured, for the ledger and for the words of a failure."""
        self.figures.update(figures)

    def __enter__(self) -> Self:
        self.judged = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Keeps what an ``assert`` says; every other error is no matter of chance."""
        if not isinstance(error, AssertionError):
            return False
        self.wrong.append(str(error) or "outside of the tolerance")
        return True

    @property
    def words(self) -> str:
        figures = ", ".join(f"{name} {shown(value)}" for name, value in self.figures.items())
        first = [words.split("\n", 1)[0] for words in self.wrong]
        return "; ".join([*([figures] if figures else []), *(first or ["within"])])


class Attempts:
    """The attempts of one test, counted by one rule."""

    def __init__(
        self,
        test: str,
        *,
        ledger: Path | None = None,
        control: Callable[[], Control] = Control,
        quiet_s: float = QUIET_S,
    ) -> None:
        self._test = test
        self._ledger = ledger or Path(os.environ.get(LEDGER_NAME, LEDGER))
        self._control = control
        self._quiet_s = quiet_s
        self.open = False

    def __call__(self, least: int = 2, *, of: int = 3) -> Iterator[Attempt]:
        """Attempts until it is decided; fails or skips the test where it has to be."""
        rule, said = Rule(least, of), []
        within = outside = not_trusted = 0
        self.open = True
        while (verdict := rule.verdict(within, outside)) is None:
            attempt = Attempt(within + outside + not_trusted + 1)
            begun, control = time.monotonic(), self._control()
            yield attempt
            assert attempt.judged, "an attempt without `with attempt:` cannot be wrong"
            doubt = control.verdict()
            self._write(rule, attempt, doubt, time.monotonic() - begun)
            said.append(f"attempt {attempt.number}: {attempt.words}")
            if doubt:
                said[-1] += f" (not counted: {doubt})"
                not_trusted += 1
                if not_trusted == NOT_TRUSTED_MOST:
                    self.open = False
                    pytest.skip(f"this machine cannot be trusted at the moment: {doubt}")
                wait_until_quiet(self._quiet_s)
            elif attempt.wrong:
                outside += 1
            else:
                within += 1
        self.open = False
        summary = f"{within} of {within + outside} attempts within, wanted are {rule}"
        print("\n".join([summary, *said]))
        if not verdict:
            pytest.fail("\n".join([summary, *said]), pytrace=False)

    def _write(self, rule: Rule, attempt: Attempt, doubt: str, seconds: float) -> None:
        line = {
            "test": self._test,
            "rule": str(rule),
            "attempt": attempt.number,
            "within": not attempt.wrong,
            "found": {name: shown(value) for name, value in attempt.figures.items()},
            "wrong": attempt.wrong,
            "not_trusted": doubt,
            "seconds": round(seconds, 2),
        }
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with self._ledger.open("a") as ledger:  # one write a line: several processes share it
            ledger.write(json.dumps(line) + "\n")


def shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
