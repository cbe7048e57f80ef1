"""A platform as a JSON document, read strictly: unknown keys, other types and values without sense
are refused in a sentence.

The format is in docs/reference/platforms.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from netsonde.errors import UsageError
from netsonde.model.platform import (
    MOST_RANKS,
    MOST_SERIALISATIONS,
    SYMBOLS,
    Buffer,
    Cost,
    FitQuality,
    MessageLine,
    Origin,
    Platform,
    Uplink,
)
from netsonde.stats.quantiles import Interval
from netsonde.tables import first_problem

FORMAT = "netsonde-platform-1"
MOST_TEXT_BYTES = 256 * 1024
LONGEST_TEXT = 500
LONGEST_SENTENCE = 300
LONGEST_PACKET_BYTES = 1 << 24
MOST_RATE_BIT_PER_S = 1e15
MOST_OTHERS = 8
"""Methods beside the one that is used, of one parameter."""
MOST_TIME_NS = 1e15
"""Eleven days: no packet takes longer."""

Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Named = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Number = Annotated[float, Field(ge=-MOST_TIME_NS, le=MOST_TIME_NS, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=MOST_TIME_NS, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=MOST_RATE_BIT_PER_S, allow_inf_nan=False)]
Packets = Annotated[int, Field(ge=1, le=10**9)]
Size = Annotated[int, Field(ge=1, le=LONGEST_PACKET_BYTES)]
Ranks = Annotated[int, Field(ge=1, le=MOST_RANKS)]


class _Table(BaseModel):
    """Keys as named, types as they are: "5" is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    makes: ClassVar[Callable[..., Any]]

    def made(self) -> Any:
        """What the model has for it."""
        return type(self).makes(**{name: _made(value) for name, value in self})


def _made(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _made(item) for name, item in value.items()}
    if isinstance(value, list):
        return tuple(value)
    return value.made() if isinstance(value, _Table) else value


class OriginTable(_Table):
    makes = Origin

    kind: Literal["measured", "emulated", "simulated", "published", "derived", "assumed"]
    source: Text
    run: Text | None = None


class IntervalTable(_Table):
    makes = Interval

    low: Number
    high: Number
    confidence: Annotated[float, Field(gt=0, lt=1)]

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"an interval from {self.low} to {self.high}; expected low <= high")
        return self


class FitTable(_Table):
    makes = FitQuality

    n: Annotated[int, Field(ge=3, le=10**9)]
    residual_ns: Annotated[float, Field(ge=0, le=MOST_TIME_NS, allow_inf_nan=False)]
    r_squared: Annotated[float, Field(ge=0, le=1)]
    intervals: dict[
        Literal["start_ns", "per_byte_ns", "per_rank_ns", "per_rank_byte_ns"], IntervalTable
    ] = {}


class CostTable(_Table):
    makes = Cost

    start_ns: Number
    per_byte_ns: Number = 0.0
    per_rank_ns: Number = 0.0
    per_rank_byte_ns: Number = 0.0
    origin: OriginTable
    sizes: Annotated[list[Size], Field(min_length=2, max_length=2)] | None = None
    ranks: Annotated[list[Ranks], Field(min_length=2, max_length=2)] | None = None
    fit: FitTable | None = None

    @model_validator(mode="after")
    def _ranges_are_ordered(self) -> Self:
        for name, pair in (("sizes", self.sizes), ("ranks", self.ranks)):
            if pair is not None and pair[0] > pair[1]:
                raise ValueError(f"{name} from {pair[0]} to {pair[1]}; expected the least first")
        return self


class BufferTable(_Table):
    makes = Buffer

    architecture: Literal["input", "output", "shared"]
    packets: Packets
    origin: OriginTable
    low: Number | None = None
    high: Number | None = None


class UplinkTable(_Table):
    makes = Uplink

    rate_bit_per_s: Rate
    ceiling_byte_per_s: Rate
    buffer: BufferTable
    origin: OriginTable


class MessagesTable(_Table):
    makes = MessageLine

    alpha_ns: Positive
    beta_ns: Positive
    origin: OriginTable
    alpha_interval: IntervalTable | None = None
    beta_interval: IntervalTable | None = None


class PlatformTable(_Table):
    """The whole document."""

    format: Literal["netsonde-platform-1"]
    name: Named
    about: Text = ""
    packet_bytes: Size
    header_bytes: Annotated[int, Field(ge=0, le=1024)] = 0
    link_bit_per_s: Rate
    serialisations: Annotated[int, Field(ge=1, le=MOST_SERIALISATIONS)] = 1
    send_copies: Annotated[int, Field(ge=0, le=16)] = 1
    receive_copies: Annotated[int, Field(ge=0, le=16)] = 1
    receives_beside: bool = False
    ranks: Ranks | None = None
    parameters: dict[str, CostTable] = {}
    switch: BufferTable | None = None
    uplink: UplinkTable | None = None
    messages: MessagesTable | None = None
    others: dict[str, Annotated[list[CostTable], Field(max_length=MOST_OTHERS)]] = {}

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        unknown = sorted((self.parameters.keys() | self.others.keys()) - SYMBOLS.keys())
        if unknown:
            raise ValueError(
                f"no parameter is called {unknown[0][:40]!r}; known are {', '.join(SYMBOLS)}"
            )
        if not self.parameters and self.messages is None and self.switch is None:
            raise ValueError(
                "neither parameters, messages nor a switch are given; a platform needs one"
            )
        for name, cost in self.parameters.items():
            if cost.sizes is not None and cost.sizes[0] > self.packet_bytes:
                raise ValueError(
                    f"{name} is known from {cost.sizes[0]} bytes on, and a packet has at most"
                    f" {self.packet_bytes}"
                )
            if name != "reduction" and cost.made().at(self.packet_bytes, self.ranks or 2) < 0.0:
                raise ValueError(f"{name} of a full packet is below 0 ns; expected 0 or more")
        for name in ("send_gap", "receive_gap"):
            if name in self.parameters:
                full = self.parameters[name].made().at(self.packet_bytes, self.ranks or 2)
                if not full > 0.0:
                    raise ValueError(f"{name} of a full packet is 0 ns; expected more")
        return self

    def made(self) -> Platform:
        own = {name: _made(value) for name, value in self if name != "format"}
        own["others"] = {
            name: tuple(cost.made() for cost in costs) for name, costs in self.others.items()
        }
        return Platform(costs=own.pop("parameters"), buffer=own.pop("switch"), **own)


def parse_platform(text: str, where: str) -> Platform:
    """A platform from JSON. Raises UsageError, naming ``where``, for anything but the format."""
    if len(text.encode()) > MOST_TEXT_BYTES:
        raise UsageError(f"{where} has more than {MOST_TEXT_BYTES} bytes; a platform needs fewer")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        return PlatformTable.model_validate(found).made()
    except ValidationError as error:
        raise UsageError(f"{where}: {_one_line(first_problem(error))}") from error
    except RecursionError as error:
        raise UsageError(f"{where} is no platform: it nests too deeply") from error
    except ValueError as error:
        raise UsageError(f"{where} is no platform: {_one_line(str(error))}") from error


def platform_document(platform: Platform) -> dict[str, Any]:
    """The document of a platform; :func:`parse_platform` of its JSON gives the platform again."""
    own = asdict(platform)
    costs = {name: _given(cost) for name, cost in own.pop("costs").items()}
    links = {"switch": own.pop("buffer"), **{key: own.pop(key) for key in ("uplink", "messages")}}
    others = {n: [_given(cost) for cost in found] for n, found in own.pop("others").items()}
    beside = {"others": others} if others else {}
    return {"format": FORMAT, **own, "parameters": costs, **_given(links), **beside}


def _given(table: dict[str, Any]) -> dict[str, Any]:
    """Without what was not said; the run of an origin may be None."""
    return {
        key: _given(value) if isinstance(value, dict) and key != "origin" else value
        for key, value in table.items()
        if value is not None
    }


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ: of two equal ones, one would be lost in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice[:40]!r} is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number; expected a finite one")


def _one_line(text: str) -> str:
    """A sentence that may quote the file, no longer than people read."""
    return " ".join(text.split())[:LONGEST_SENTENCE]
