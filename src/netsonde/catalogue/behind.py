"""Functions behind rows, registered on the floor where they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Generic, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


class Behind(Generic[Function]):
    """One function for each of some rows, by the rows' names.

    A name that no row has is refused where it is written, which is when its module is imported.
    ``written_in`` names modules, each with the rows whose functions are there: it is imported when
    the first of these is asked for, so that nobody waits for the modules of other rows.
    """

    def __init__(
        self, rows: Iterable[str], written_in: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        self._rows = frozenset(rows)
        self._found: dict[str, Function] = {}
        self._modules: dict[str, str] = {}
        for module, names in (written_in or {}).items():
            self._refuse_unknown(names)
            self._modules.update(dict.fromkeys(names, module))

    def of(self, *names: str) -> Callable[[Function], Function]:
        """Registers a function for rows; each has one."""
        self._refuse_unknown(names)
        for name in names:
            if name in self._found:
                raise LookupError(f"the row {name} has a function already")

        def register(function: Function) -> Function:
            self._found.update(dict.fromkeys(names, function))
            return function

        return register

    def __getitem__(self, name: str) -> Function:
        self._import(name)
        return self._found[name]

    def get(self, name: str) -> Function | None:
        """None of a row without one, and of a name that only another version knows."""
        self._import(name)
        return self._found.get(name)

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of some rows that have none, neither here nor in a module that is named."""
        return [name for name in names if name not in self._found.keys() | self._modules.keys()]

    def _import(self, name: str) -> None:
        if name not in self._found and name in self._modules:
            import_module(self._modules[name])

    def _refuse_unknown(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._rows:
                raise LookupError(f"no row is called {name!r}; there are {', '.join(self._rows)}")
