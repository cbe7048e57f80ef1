"""One finding, and what rules look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netsonde.figures.data import Figure
from netsonde.records.data import Run


@dataclass(frozen=True)
class Finding:
    """A claim in words, the numbers that prove it, and what to do.

    ``level``: ``good`` (as it should be), ``note`` (worth knowing), ``warning`` (a figure should
    not be trusted or could be better), ``bad`` (something is wrong). ``points`` are the ids of the
    points it rests on.
    """

    level: Literal["good", "note", "warning", "bad"]
    claim: str
    evidence: str
    advice: str = ""
    points: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What a rule looks at."""

    run: Run
    figures: Sequence[Figure]

    def figure(self, name: str, point: str) -> Figure | None:
        """The figure of that name at a point, if there is one."""
        return next((f for f in self.figures if f.point == point and f.name == name), None)
