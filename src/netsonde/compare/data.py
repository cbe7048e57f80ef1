"""What a comparison of two sets of runs says. Definitions are in docs/methods/comparison.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from netsonde.figures.keys import FigureKey

Verdict = Literal["equal", "better", "worse", "unknown"]
Better = Literal["less", "more"]


@dataclass(frozen=True)
class Launch:
    """One launch's value of a figure, in the unit that its name ends in.

    ``run`` is the run's directory, ``number`` the launch in it, from 1 on. ``low`` and ``high`` are
    the interval within the launch: of its messages, not of other launches. ``points`` are the ids
    of the points that it was measured at; of several the value is the median. ``started_utc`` and
    ``ended_utc`` are when the first of them began and the last ended, where that is known.
    """

    run: str
    number: int
    value: float
    low: float | None
    high: float | None
    points: tuple[str, ...]
    started_utc: str | None = None
    ended_utc: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two launches that were made one right after the other, in either order: their places in each
    side, from 0 on."""

    before: int
    after: int


@dataclass(frozen=True)
class Side:
    """A figure's launches of one side: in the order of the runs and within them."""

    launches: tuple[Launch, ...]
    median: float

    @property
    def values(self) -> list[float]:
        return [launch.value for launch in self.launches]


@dataclass(frozen=True)
class FigureVerdict:
    """One figure before and after.

    ``label`` is the point in a few words. ``ratio`` is after over before: the Hodges-Lehmann
    estimate over launches. ``low`` and ``high`` bound it at ``confidence``, which is that of all
    compared figures together; ``equal_low`` and ``equal_high`` bound it at 90 %, which is what
    equality is judged by. All four are None where there are too few launches. ``p`` is that of no
    change, ``p_adjusted`` the same after Holm. ``beyond_margin``: whether the whole interval lies
    beyond the margin. ``reason`` is a sentence: why it is unknown, what else is to be known.
    ``changed`` are the options in which the two points differ, where no other point had the same.
    ``pairs`` are the launches that were held together, where it was judged by pairs; else empty.
    """

    key: FigureKey
    label: str
    better: Better
    before: Side
    after: Side
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    equal_low: float | None
    equal_high: float | None
    p: float | None
    p_adjusted: float | None
    verdict: Verdict
    beyond_margin: bool
    reason: str
    changed: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()

    @property
    def change_ratio(self) -> float | None:
        """How much larger the figure became, as a share: 0.03 is 3 % more."""
        return None if self.ratio is None else self.ratio - 1.0


@dataclass(frozen=True)
class Circumstance:
    """Something that was not the same on both sides.

    ``kind``: origin, version, fact (of hosts), option, path, study. ``before`` and ``after`` are
    its values in words, several joined. ``decisive`` where it changes figures by itself.
    """

    kind: str
    name: str
    before: str
    after: str
    decisive: bool


@dataclass(frozen=True)
class RunInfo:
    """A compared run: its directory, name, when it began, its origin and how many launches."""

    directory: str
    name: str
    started_utc: str
    origin: str
    launches: int


@dataclass(frozen=True)
class Comparison:
    """Two sets of runs, figure by figure.

    ``margin`` is a share: 0.03 is 3 %. ``unit``: what one value is of, a launch or a run.
    ``paired``: whether pairs of them were judged. ``least_launches``: with fewer on either side, or
    fewer pairs, no change of so many figures can be proven. ``notes`` are sentences on the whole of
    it. ``only_before`` and ``only_after`` name what the other side did not measure.
    """

    before: tuple[RunInfo, ...]
    after: tuple[RunInfo, ...]
    margin: float
    false_alarms: float
    unit: Literal["launch", "run"]
    least_launches: int
    figures: tuple[FigureVerdict, ...]
    circumstances: tuple[Circumstance, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    notes: tuple[str, ...]
    paired: bool = False

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many figures have each verdict."""
        names: tuple[Verdict, ...] = ("worse", "better", "equal", "unknown")
        return {name: sum(f.verdict == name for f in self.figures) for name in names}
