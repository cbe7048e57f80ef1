"""What a search for settings works on and what comes of it; types only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Level = Literal["socket", "host"]
"""Whether a program sets it, for its own sockets, or the system, for all."""


@dataclass(frozen=True)
class Setup:
    """What launches are made with.

    ``options`` are those of the sockets, by key of a study. ``host`` is by name of a setting the
    value that both ends are given; what it does not name is as it was.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)

    def with_change(self, change: Change) -> Setup:
        """The same but for a change."""
        options = {**self.options, **change.options}
        kept = {key: value for key, value in options.items() if value is not None}
        return Setup(kept, {**self.host, **change.host})


@dataclass(frozen=True)
class Change:
    """One value to try of a knob: options (None takes one away) and settings of hosts."""

    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Goal:
    """What is to become better: the main figure of a test that each launch has.

    ``more``: whether a larger value is better. ``title`` names it in a table.
    """

    name: str
    title: str
    test: str
    figure: str
    more: bool


@dataclass(frozen=True)
class Gain:
    """How many times as good a goal became: 1.1 is a tenth more, or the time over 1.1.

    The estimate over pairs of launches and its interval at ``confidence``; None where there were
    too few. ``before`` and ``after`` are medians in the figure's unit.
    """

    ratio: float
    low: float | None
    high: float | None
    confidence: float
    before: float
    after: float
    pairs: int

    def is_better_by(self, least: float) -> bool:
        """Whether the whole interval lies beyond a share: 0.02 is 2 %."""
        return self.low is not None and self.low > 1.0 + least

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.high is not None and self.high < 1.0


Gains = Mapping[str, Gain]
"""By name of the goal."""
Outcome = Literal["kept", "no gain", "left alone"]


@dataclass(frozen=True)
class Step:
    """A knob that was tried or left alone.

    ``cause`` is the finding that named it, empty where none did. ``change`` is what was measured
    last; None where nothing was. ``screened`` are the values that a few pairs were spent on, in
    words, and ``gains`` what the last pairs say of each goal.
    """

    knob: str
    level: Level
    outcome: Outcome
    reason: str
    cause: str = ""
    change: Change | None = None
    screened: tuple[str, ...] = ()
    gains: Gains = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What candidates are made of: what was measured and read under the setup so far.

    ``options`` are the program's. ``hosts`` is by setting the value of each host; a setting that
    one of them has not is missing. ``controls`` are the congestion controls that the origin's
    kernel lets a program take, and ``control`` the one that it takes by itself.
    """

    options: Mapping[str, Any]
    hosts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    controls: tuple[str, ...] = ()
    control: str = ""
    recommended_buffer_bytes: int | None = None

    def values(self, setting: str) -> tuple[str, ...]:
        """What the hosts have, one each; empty where one of them has it not."""
        return tuple(self.hosts.get(setting, {}).values())


@dataclass(frozen=True)
class Look:
    """What a launch says of its setup: kinds of findings, what matters most first; and goals that
    have nothing left to gain, with the reason."""

    findings: Sequence[str]
    known: Known
    at_best: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuning:
    """What a search came to. ``proof`` are the gains of the tuned setup beside the untuned one in
    launches of their own; empty where nothing was to be proven. ``proven`` says whether they hold.
    ``unfinished`` is why the search ended before all knobs were tried; empty where it did not."""

    untuned: Setup
    tuned: Setup
    steps: tuple[Step, ...]
    proof: Gains
    proven: bool
    verdict: str
    launches: int
    unfinished: str = ""

    @property
    def kept(self) -> tuple[Step, ...]:
        """The steps that made the tuned setup, in order."""
        return tuple(step for step in self.steps if step.outcome == "kept")
