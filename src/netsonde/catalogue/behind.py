"""Functions behind rows, registered on the floor where they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


class Behind(Generic[Function]):
    """One function for each of some rows, by the rows' names.

    A name that no row has is refused where it is written, which is when its module is imported.
    """

    def __init__(self, rows: Iterable[str]) -> None:
        self._rows = frozenset(rows)
        self._found: dict[str, Function] = {}

    def of(self, *names: str) -> Callable[[Function], Function]:
        """Registers a function for rows; each has one."""
        for name in names:
            if name not in self._rows:
                raise LookupError(f"no row is called {name!r}; there are {', '.join(self._rows)}")
            if name in self._found:
                raise LookupError(f"the row {name} has a function already")

        def register(function: Function) -> Function:
            self._found.update(dict.fromkeys(names, function))
            return function

        return register

    def __getitem__(self, name: str) -> Function:
        return self._found[name]

    def get(self, name: str) -> Function | None:
        """None of a row without one, and of a name that only another version knows."""
        return self._found.get(name)

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of some rows that have none."""
        return [name for name in names if name not in self._found]
