"""The values of a snapshot in little memory: the names once, the values as an array.

A host has some six hundred counters, and a run may hold ten thousand snapshots of it. As
dictionaries they would take more memory than the samples.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import orjson


class Names:
    """The names of a snapshot's values, in order; snapshots of one host share one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.places = {name: place for place, name in enumerate(names)}

    @cache  # noqa: B019 - names live as long as the run
    def beginning(self, prefix: str) -> tuple[tuple[str, int], ...]:
        """(name, place) of those with a prefix."""
        return tuple((n, p) for n, p in self.places.items() if n.startswith(prefix))


@lru_cache(maxsize=256)
def _names(names: tuple[str, ...]) -> Names:
    return Names(names)


class Counted(Mapping[str, int]):
    """A mapping from name to integer that cannot be changed."""

    __slots__ = ("names", "numbers")

    def __init__(self, names: Names, numbers: npt.NDArray[np.int64]) -> None:
        self.names = names
        self.numbers = numbers

    def __getitem__(self, name: str) -> int:
        return self.numbers.item(self.names.places[name])

    def __contains__(self, name: object) -> bool:
        return name in self.names.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.names.places)

    def __len__(self) -> int:
        return len(self.names.places)

    def items(self) -> ItemsView[str, int]:
        return dict(zip(self.names.places, self.numbers.tolist(), strict=True)).items()

    def __repr__(self) -> str:
        return repr(dict(self.items()))


def counted(values: Mapping[str, int]) -> Mapping[str, int]:
    """The same values, packed where they are integers of 64 bits."""
    try:
        numbers = np.fromiter(values.values(), np.int64, len(values))
    except (OverflowError, TypeError, ValueError):
        return values
    return Counted(_names(tuple(values)), numbers)


def counted_in(text: bytes) -> Mapping[str, int]:
    """What a flat object of JSON without escapes holds. Raises ValueError where it is damaged.

    The names of a host's snapshots are alike, and they are most of the text: they are compared as
    bytes, and the numbers read as an array, which takes half the time of reading an object.
    """
    parts = text.split(b'"')
    try:
        names = _names_in(tuple(parts[1::2]))
        numbers = orjson.loads(b"[%b]" % b"".join(parts[2::2])[:-1].replace(b":", b""))
        is_object = parts[0] == b"{" and text.endswith(b"}")
        if is_object and len(numbers) == len(names.places) == len(parts) // 2:
            return Counted(names, np.fromiter(numbers, np.int64, len(numbers)))
    except (OverflowError, TypeError, ValueError):
        pass
    return counted(orjson.loads(text))


@lru_cache(maxsize=256)
def _names_in(names: tuple[bytes, ...]) -> Names:
    return _names(tuple(name.decode() for name in names))


def growth(before: Mapping[str, int], after: Mapping[str, int], prefix: str = "") -> dict[str, int]:
    """By how much each value that both have grew, of the names with a prefix."""
    if isinstance(before, Counted) and isinstance(after, Counted) and before.names is after.names:
        grown = after.numbers - before.numbers
        if not prefix:
            return dict(zip(before.names.places, grown.tolist(), strict=True))
        return {name: int(grown[place]) for name, place in before.names.beginning(prefix)}
    return {
        name: after[name] - value
        for name, value in before.items()
        if name in after and name.startswith(prefix)
    }


def any_begins(values: Mapping[str, int], prefix: str) -> bool:
    """Whether a name begins so."""
    if isinstance(values, Counted):
        return bool(values.names.beginning(prefix))
    return any(name.startswith(prefix) for name in values)
