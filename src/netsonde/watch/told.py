"""What a watch says: a line for each round and path, and levels that changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netsonde.export.source import Source
from netsonde.figures.ends import ends_of
from netsonde.history.data import History
from netsonde.records.data import Point
from netsonde.units import change_in_words, format_bytes, value_in_words


def round_lines(source: Source) -> Iterator[str]:
    """A line for each pair of hosts: its main figures, with what was lost."""
    by_ends: dict[str, list[str]] = {}
    for point in source.run.points:
        named = ends_of(point)
        if named is None:
            continue
        said = _words_of(source, point)
        if said:
            by_ends.setdefault(f"{named[0]} to {named[1]}", []).append(said)
    for ends, words in by_ends.items():
        yield f"{ends}: {', '.join(words)}"


def _words_of(source: Source, point: Point) -> str:
    values = {f.name: f for f in source.figures if f.point == point.id}
    main = values.get(point.kind.main)
    if main is None:
        return ""
    named = f"{point.carrier.title} {point.test}"
    size = "" if point.kind.is_one_way_stream else f" {format_bytes(point.message_bytes)}"
    lost = values.get("lost_ratio")
    loss = f" lost {value_in_words(lost.value, lost.unit)}" if lost and lost.value else ""
    return f"{named}{size} {value_in_words(main.value, main.unit)}{loss}"


class Changes:
    """Levels of a history's figures that changed, each told once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: set[tuple[str, str]] | None = None

    def lines(self) -> Iterator[str]:
        """What changed since it was asked before; what the file had at first is known already."""
        from netsonde.history.trends import read_history

        history = read_history(self._file)
        found = dict(_changes(history))
        if self._known is not None:
            yield from (line for key, line in found.items() if key not in self._known)
        self._known = (self._known or set()) | set(found)


def _changes(history: History) -> Iterator[tuple[tuple[str, str], str]]:
    for trend in history.trends:
        for change in trend.changes:
            old, new = (value_in_words(v, trend.key.unit) for v in (change.before, change.after))
            yield (
                (trend.label, change.run),
                f"{trend.label} is {change.verdict} since {change.started_utc[:16]}: {old} -> "
                f"{new}, {change_in_words(change.ratio, trend.key.unit)}",
            )
