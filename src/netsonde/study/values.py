"""Values of a study as people write them: sizes, rates and durations as text or plain integers of
bytes, bit/s and nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from netsonde.catalogue import option
from netsonde.catalogue.test import measured_tests
from netsonde.catalogue.transport import measured_transports
from netsonde.study.quality import parse_traffic_class
from netsonde.tables import text_by
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_size_bytes

MESSAGE_LIMIT_BYTES = 1 << 32
SIZES_LIMIT = 1000


as_size = text_by(parse_size_bytes)
as_duration = text_by(parse_duration_ns)
_rate = text_by(parse_rate_bit_per_s)


def as_names(value: Any) -> Any:
    """The names of ``a,b``."""
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else value


def expand_sizes(value: Any) -> Any:
    """``"1..1M"`` (times two), ``"1..1M:4"`` (times four), ``"1..1M:1.5"`` (times two, and one
    and a half times each), ``"64,1k"``, or a list of these."""
    if not isinstance(value, list):
        value = [value]
    sizes: list[Any] = []
    for item in value:
        for part in item.split(",") if isinstance(item, str) else [item]:
            sizes += _one_range(part) if isinstance(part, str) and ".." in part else [as_size(part)]
    if len(sizes) > SIZES_LIMIT:
        raise ValueError(f"{len(sizes)} sizes are asked for; the limit is {SIZES_LIMIT}")
    return sizes


def expand_ranks(value: Any) -> Any:
    """``4``, ``"2,4,8"``, ``"2..16"`` (times two) or ``"1..27:3"``, or a list of these."""
    try:
        return expand_sizes(value)
    except ValueError as error:
        if isinstance(value, str) and ".." in value:
            raise ValueError(
                f"{value!r} is no range of ranks; write it like 2..16 or 1..27:3"
            ) from error
        raise ValueError(f"{value!r} is no number of ranks; write it like 4 or 2,4,8") from error


LEAST_FACTOR = 1.01
"""Of a range of sizes; a smaller one hardly makes them larger."""


def _one_range(text: str) -> list[int]:
    """``1..1M`` are powers of two, ``1..1M:4`` every second one; ``1..1M:1.5`` also the middle to
    the next, as NetPIPE's; any other factor, as ``1..1M:1.41421``, is multiplied by and rounded."""
    bounds, colon, factor_text = text.partition(":")
    first_text, _, last_text = bounds.partition("..")
    first, last = as_size(first_text), as_size(last_text)
    halves = factor_text == "1.5"
    factor = 2.0 if not colon or halves else _factor(factor_text)
    if factor < LEAST_FACTOR or first < 1 or last < first:
        raise ValueError(
            f"{text!r} is no range of sizes; write it like 1..1M, 1..1M:4 or 1..1M:1.5"
        )
    sizes: dict[int, None] = {}
    size = float(first)
    while round(size) <= last:
        between = round(size) * 3 // 2
        sizes[round(size)] = None
        if halves and round(size) < between <= last:
            sizes[between] = None
        size *= factor
    return list(sizes)


def _factor(text: str) -> float:
    """0.0 where it is none."""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else 0.0


Written = int | str
"""What a file may have for a size, a rate or a duration."""
Listed = Written | list[Written]
Names = str | list[str]
Size = Annotated[
    int,
    BeforeValidator(as_size, json_schema_input_type=Written),
    Field(ge=0, le=MESSAGE_LIMIT_BYTES),
]
Rate = Annotated[
    int, BeforeValidator(_rate, json_schema_input_type=Written), Field(ge=1000, le=10**12)
]
Duration = Annotated[
    int,
    BeforeValidator(as_duration, json_schema_input_type=Written),
    Field(ge=10**6, le=3600 * 10**9),
]
LongDuration = Annotated[
    int,
    BeforeValidator(as_duration, json_schema_input_type=Written),
    Field(ge=10**6, le=24 * 3600 * 10**9),
]
Wait = Annotated[
    int,
    BeforeValidator(as_duration, json_schema_input_type=Written),
    Field(ge=0, le=24 * 3600 * 10**9),
]
"""A duration that may be none at all."""
_WRITTEN: dict[type[option.Number], Callable[[Any], Any]] = {
    option.Size: as_size,
    option.Rate: _rate,
    option.TrafficClass: text_by(parse_traffic_class),
    option.Duration: as_duration,
}
"""Kinds of numbers that people write as text, and how each is read."""


def type_of(kind: option.Kind) -> Any:
    """How a value of a kind is read from a study."""
    match kind:
        case option.Number(least, most):
            bounds = Field(ge=least, le=most)
            if (read := _WRITTEN.get(type(kind))) is None:
                return Annotated[int, bounds]
            return Annotated[int, BeforeValidator(read, json_schema_input_type=Written), bounds]
        case option.Choice(words):
            return Literal[words]
        case option.Text(pattern):
            return Annotated[str, Field(pattern=pattern)]
        case option.Switch():
            return bool


@dataclass(frozen=True)
class OfKind:
    """For pydantic: what a kind allows, in the place of a field's own type."""

    kind: option.Kind
    is_optional: bool = False

    def __get_pydantic_core_schema__(
        self, _: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        known = type_of(self.kind)
        return handler.generate_schema(known | None if self.is_optional else known)


def of(row: option.Option, *default: Any, **more: Any) -> Any:
    """A model's field for a row: its words and default, unless another one is given, and what its
    kind allows, unless a reader of its own takes that apart. ``more`` is for pydantic's Field."""
    usual = default[0] if default else row.default
    field = Field(usual, description=row.words, **more)
    if row.kind is not option.WRITTEN:
        field.metadata.append(OfKind(row.kind, usual is None))
    return field


Transport = Annotated[str, OfKind(option.Choice(measured_transports()))]
Test = Annotated[str, OfKind(option.Choice(measured_tests()))]
Sizes = Annotated[
    list[Size], BeforeValidator(expand_sizes, json_schema_input_type=Listed), Field(min_length=1)
]
