"""What tells one figure of a run from another, whichever of its launches it was measured in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netsonde.catalogue.known_figures import unit_of
from netsonde.catalogue.named import Named
from netsonde.catalogue.options.run_keys import study_key
from netsonde.records.data import Point
from netsonde.units import format_size

EFFORT = frozenset(
    {
        *("message_bytes", "operation", "figures", "cap_ns", "interval", "count"),
        "intervals",
        *("keep_samples", "refine", "refined", "sought", "launch", "pass", "ranks_vary", "port"),
        *("timeout_ns", "duration_ns", "interval_ns", "seeds", "block"),
    }
)
"""Parameters of a point that say how long, how often or when, not what; and those with a place of
their own."""
_OF_A_ROUND = frozenset({"round", "pairs", "tournament_seed"})
"""Of all pairs: which hosts meet in it. Every round has all hosts, and is a value of the whole."""

_HOW_MANY = frozenset({"pairs"})
"""Of all pairs with each other: alone, together or both, which the figures say themselves."""

_ENCODER = json.JSONEncoder(sort_keys=True)
"""Made once: json.dumps would make one for each value."""


@dataclass(frozen=True)
class FigureKey(Named):
    """What two runs must have in common for a figure of one to be held beside that of the other.

    ``parameters`` are those of the point that say what was measured, not how long or how often:
    options, ranks, streams, label and so on, by name, as JSON text.
    """

    transport: str
    test: str
    operation: str | None
    message_bytes: int
    parameters: tuple[tuple[str, str], ...]
    figure: str

    def of(self, figure: str) -> FigureKey:
        """That of another figure of the same."""
        given = (self.transport, self.test, self.operation, self.message_bytes, self.parameters)
        return FigureKey(*given, figure)

    def asked(self, name: str) -> Any:
        """The value of a parameter; None where the point has none of that name."""
        return next((json.loads(text) for key, text in self.parameters if key == name), None)

    @property
    def name(self) -> str | None:
        """The label that the study gave the point; None where it has none."""
        label = self.asked("label")
        return None if label is None else str(label)

    @property
    def unit(self) -> str:
        """That of the figure's row, as :attr:`netsonde.figures.Figure.unit`."""
        return unit_of(self.figure)


def key_of(point: Point, figure: str) -> FigureKey:
    """What tells a figure of a point from others, whatever run it is in."""
    left_out = EFFORT | _OF_A_ROUND if point.kind.is_round else EFFORT
    if point.kind.is_all_pairs:
        left_out = EFFORT | _HOW_MANY
    own = texts_of({k: v for k, v in point.parameters.items() if k not in left_out}, "options")
    return FigureKey(
        point.transport,
        point.test,
        point.operation,
        point.message_bytes,
        tuple(sorted(own.items())),
        figure,
    )


def texts_of(given: Mapping[str, Any], *tables: str) -> dict[str, str]:
    """A point's table as JSON text by name, without what is null; what stands in these tables
    within it as ``options.buffer``."""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if name in tables:
            flat |= {f"{name}.{key}": own for key, own in (value or {}).items()}
        else:
            flat[name] = value
    texts = {name: _ENCODER.encode(value) for name, value in flat.items()}
    return {name: text for name, text in texts.items() if text != "null"}


def labels_of(keys: Iterable[FigureKey]) -> dict[FigureKey, str]:
    """Each point in a few words: ``tcp latency 64``; with its label where that tells it from others
    of that test and size, else with the parameters that do."""
    groups: dict[str, list[FigureKey]] = {}
    for key in keys:
        groups.setdefault(_plain_label(key), []).append(key)
    labels = {}
    for plain, members in groups.items():
        common = set(members[0].parameters).intersection(*(k.parameters for k in members))
        named: dict[str | None, set[tuple[tuple[str, str], ...]]] = {}
        for key in members:
            named.setdefault(key.name, set()).add(key.parameters)
        for key in members:
            own = dict(item for item in key.parameters if item not in common)
            name = own.pop("label", None)
            words = [f"{study_key(n.removeprefix('options.'))} {_plain(v)}" for n, v in own.items()]
            is_enough = len(named[key.name]) == 1
            told = [_plain(name)] if name and is_enough else [_plain(name or ""), *words]
            labels[key] = ", ".join(filter(None, [plain, *told]))
    return labels


def _plain_label(key: FigureKey) -> str:
    words = [key.transport, key.operation or key.test, format_size(key.message_bytes)]
    if key.transport == key.test:
        words[:2] = [key.asked("name") or key.test.replace("_", " ")]
    return " ".join(words)


def _plain(text: str) -> str:
    """A JSON value without what only JSON needs."""
    return text.translate(str.maketrans("", "", '"[]{}'))
