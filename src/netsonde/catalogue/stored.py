"""Records with typed fields that are tables of JSON in a run: read, checked, and written back as
they were.

A field is a key of the table, absent where it has its default. Keys that no field knows, of another
version or another tool, are kept and written back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from netsonde.errors import UsageError

RecordType = TypeVar("RecordType", bound="Stored")
NAMED = {"pass_number": "pass"}
"""Keys that are no names in Python."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """``unknown``: keys that no field knows, and their values.

    Comparing and showing is the same for all: a class that says ``eq=False, repr=False`` needs no
    code of its own for it, whose compiling every command would wait for.
    """

    unknown: Mapping[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __repr__(self) -> str:
        values = (f"{own.name}={getattr(self, own.name)!r}" for own in fields(self))
        return f"{type(self).__name__}({', '.join(values)})"

    @classmethod
    def from_json(cls: type[RecordType], content: Mapping[str, Any]) -> RecordType:
        """Raises UsageError where a value is not of its field's type, or one that must be is not
        there."""
        known = _known(cls)
        found: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for key, value in content.items():
            if key not in known or value is None:
                unknown[key] = value
                continue
            own = known[key]
            try:
                found[own.name] = own.kind.read(value)
            except (TypeError, ValueError) as error:
                said = f"{key} is {str(value)[:80]!r}; expected {own.kind.words}"
                raise UsageError(said) from error
        for key, own in known.items():
            if own.default is MISSING and own.name not in found:
                raise UsageError(f"{key} is missing")
        return cls(unknown=unknown, **found)

    def to_json(self) -> dict[str, Any]:
        """The table: a new one, with lists and tables as JSON has them."""
        values = vars(self)
        written = {
            key: _as_json(values[own.name])
            for key, own in _known(type(self)).items()
            if values[own.name] != own.default
        }
        return {**written, **self.unknown}


def _as_json(value: object) -> Any:
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, Stored):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _as_json(item) for name, item in value.items()}
    return value


@dataclass(frozen=True)
class _Kind:
    """What makes a field's value of JSON's, or raises TypeError or ValueError; and what it wants,
    in words."""

    read: Callable[[Any], object]
    words: str


@dataclass(frozen=True)
class _Field:
    """``default`` is not written; MISSING where the field always is."""

    name: str
    default: object
    kind: _Kind


_KNOWN: dict[type, dict[str, _Field]] = {}
"""What was found of each record: looking is slow."""


def _known(record: type[Stored]) -> dict[str, _Field]:
    """The fields by their keys."""
    if record not in _KNOWN:
        _KNOWN[record] = _fields_of(record)
    return _KNOWN[record]


def _fields_of(record: type[Stored]) -> dict[str, _Field]:
    kinds = get_type_hints(record)
    return {
        NAMED.get(f.name, f.name): _Field(
            f.name,
            f.default_factory() if f.default_factory is not MISSING else f.default,
            _kind_of(kinds[f.name]),
        )
        for f in fields(record)
        if f.name != "unknown"
    }


def _kind_of(annotation: Any) -> _Kind:
    """By the type of a field."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _any_of([_kind_of(one) for one in inner if one is not NoneType])
    if origin is tuple and inner[-1] is Ellipsis:
        return _list_of(_kind_of(inner[0]))
    if origin is tuple:
        return _exactly([_kind_of(one) for one in inner])
    if origin is not None and issubclass(origin, Mapping):
        return _table_of(_kind_of(inner[1]))
    if issubclass(annotation, Stored):
        return _Kind(annotation.from_json, "a table")
    return _SCALARS[annotation]


def _one_of(*types: type) -> Callable[[Any], object]:
    """Takes values of these types; true and false are no numbers."""

    def read(value: object) -> object:
        if isinstance(value, types) and isinstance(value, bool) == (bool in types):
            return value
        raise TypeError

    return read


_SCALARS: dict[type, _Kind] = {
    int: _Kind(_one_of(int), "a whole number"),
    float: _Kind(_one_of(int, float), "a number"),
    str: _Kind(_one_of(str), "a text"),
    bool: _Kind(_one_of(bool), "true or false"),
}


def _any_of(kinds: Sequence[_Kind]) -> _Kind:
    def read(value: object) -> object:
        for kind in kinds:
            try:
                return kind.read(value)
            except TypeError:
                continue
        raise TypeError

    return kinds[0] if len(kinds) == 1 else _Kind(read, " or ".join(k.words for k in kinds))


def _list_of(kind: _Kind) -> _Kind:
    def read(value: object) -> tuple[object, ...]:
        return tuple(kind.read(item) for item in _items(value))

    return _Kind(read, f"a list, each {kind.words}")


def _exactly(kinds: Sequence[_Kind]) -> _Kind:
    def read(value: object) -> tuple[object, ...]:
        return tuple(k.read(item) for k, item in zip(kinds, _items(value), strict=True))

    return _Kind(read, f"a list of {' and '.join(k.words for k in kinds)}")


def _table_of(kind: _Kind) -> _Kind:
    def read(value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise TypeError
        return {str(_SCALARS[str].read(name)): kind.read(item) for name, item in value.items()}

    return _Kind(read, f"a table, each {kind.words}")


def _items(value: object) -> Sequence[object]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    raise TypeError
