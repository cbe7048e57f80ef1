"""One finding, what rules look at, and what a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from netsonde.figures.data import Figure
from netsonde.records.data import Run

if TYPE_CHECKING:  # whoever waits for an answer waits for what is imported before
    from netsonde.figures.all_pairs_verdict import Verdict
    from netsonde.figures.headlines import Headlines

Level = Literal["good", "note", "warning", "bad"]
Confidence = Literal["", "certain", "likely", "possible"]


@dataclass(frozen=True)
class Finding:
    """A claim in words, the numbers that prove it, and what to do.

    ``level``: ``good`` (as it should be), ``note`` (worth knowing), ``warning`` (a figure should
    not be trusted or could be better), ``bad`` (something is wrong). ``points`` are the ids of the
    points it rests on. ``kind`` names what was found and never changes its meaning; ``place`` is
    where it is: an end, a host, a CPU or a layer, empty where there is no such.
    ``confidence``: ``certain`` where counters leave nothing else, ``likely`` where other causes
    would look different, ``possible`` where they would look the same. ``docs`` is the page and
    anchor under docs/methods. Kind, confidence and docs are the rule's where a finding has none.
    ``sides`` are the ids of points that the claim puts beside each other, all launches of a side
    together, and ``factor`` is what they differ in; empty where it compares no points.
    """

    level: Level
    claim: str
    evidence: str
    advice: str = ""
    points: tuple[str, ...] = ()
    kind: str = ""
    place: str = ""
    confidence: Confidence = ""
    docs: str = ""
    sides: tuple[tuple[str, ...], ...] = ()
    factor: str = ""


@dataclass(frozen=True)
class Seen:
    """What a rule looks at."""

    run: Run
    figures: Sequence[Figure]

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Figure]:
        found: dict[tuple[str, str], Figure] = {}
        for figure in self.figures:
            found.setdefault((figure.point, figure.name), figure)
        return found

    @cached_property
    def all_pairs(self) -> Verdict | None:
        """What a run of all pairs says of its hosts; None for other runs."""
        from netsonde.figures.all_pairs_verdict import verdict_of

        return verdict_of(self.run)

    @cached_property
    def headlines(self) -> Headlines:
        """Every figure over its launches."""
        from netsonde.figures.headlines import Headlines

        return Headlines(self.run.points, self.figures)

    def figure(self, name: str, point: str) -> Figure | None:
        """The figure of that name at a point, if there is one."""
        return self._by_name.get((point, name))

    def value(self, name: str, point: str) -> float:
        """Its value; 0 where there is none."""
        figure = self.figure(name, point)
        return figure.value if figure else 0.0


@dataclass(frozen=True)
class Need:
    """What a rule cannot do without, in words that complete "it lacks", and whether it is there.

    ``may_speak``: whether a run has what rules with this need speak of, so that they find nothing
    in a run without; less than the need, as points that another tool measured have no batches.
    """

    words: str
    is_met: Callable[[Seen], bool]
    may_speak: Callable[[Seen], bool] = lambda _: True


@dataclass(frozen=True)
class Rule:
    """A row of the table of rules.

    ``name`` is the kind of its findings, unless they say another, and their anchor in
    docs/methods/explain.md. ``function``, as ``module.function`` of netsonde.explain, finds them.
    It is imported for a run that has what the rule speaks of.
    """

    name: str
    function: str
    needs: tuple[Need, ...] = ()
    confidence: Confidence = "certain"

    def find(self, seen: Seen) -> Iterable[Finding]:
        """What it finds; nothing in a run without what it speaks of."""
        if not all(need.may_speak(seen) for need in self.needs):
            return ()
        module, _, name = self.function.partition(".")
        found: Iterable[Finding] = getattr(import_module(f"netsonde.explain.{module}"), name)(seen)
        return found

    def lacks(self, seen: Seen) -> list[str]:
        """What it lacks, in words; empty where the rule could judge."""
        return [need.words for need in self.needs if not need.is_met(seen)]


@dataclass(frozen=True)
class Silent:
    """A rule that could not judge, and what it lacks."""

    rule: str
    lacks: tuple[str, ...]
