"""A platform as a JSON document, read strictly: unknown keys, other types and values without sense
are refused in a sentence.

The format is in docs/reference/platforms.md.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from netsonde.errors import UsageError
from netsonde.model.platform import (
    MOST_RANKS,
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


class OriginTable(_Table):
    kind: Literal["measured", "emulated", "simulated", "published", "derived", "assumed"]
    source: Text
    run: Text | None = None

    def made(self) -> Origin:
        return Origin(self.kind, self.source, self.run)


class IntervalTable(_Table):
    low: Number
    high: Number
    confidence: Annotated[float, Field(gt=0, lt=1)]

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"an interval from {self.low} to {self.high}; expected low <= high")
        return self


class FitTable(_Table):
    n: Annotated[int, Field(ge=3, le=10**9)]
    residual_ns: Annotated[float, Field(ge=0, le=MOST_TIME_NS, allow_inf_nan=False)]
    r_squared: Annotated[float, Field(ge=0, le=1)]
    intervals: dict[
        Literal["start_ns", "per_byte_ns", "per_rank_ns", "per_rank_byte_ns"], IntervalTable
    ] = {}

    def made(self) -> FitQuality:
        intervals = {
            str(name): Interval(i.low, i.high, i.confidence) for name, i in self.intervals.items()
        }
        return FitQuality(self.n, self.residual_ns, self.r_squared, intervals)


class CostTable(_Table):
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

    def made(self) -> Cost:
        return Cost(
            self.start_ns,
            self.per_byte_ns,
            self.per_rank_ns,
            self.per_rank_byte_ns,
            self.origin.made(),
            None if self.sizes is None else (self.sizes[0], self.sizes[1]),
            None if self.ranks is None else (self.ranks[0], self.ranks[1]),
            None if self.fit is None else self.fit.made(),
        )


class BufferTable(_Table):
    architecture: Literal["input", "output", "shared"]
    packets: Packets
    origin: OriginTable

    def made(self) -> Buffer:
        return Buffer(self.architecture, self.packets, self.origin.made())


class UplinkTable(_Table):
    rate_bit_per_s: Rate
    ceiling_byte_per_s: Rate
    buffer: BufferTable
    origin: OriginTable

    def made(self) -> Uplink:
        return Uplink(
            self.rate_bit_per_s, self.ceiling_byte_per_s, self.buffer.made(), self.origin.made()
        )


class MessagesTable(_Table):
    alpha_ns: Positive
    beta_ns: Positive
    origin: OriginTable

    def made(self) -> MessageLine:
        return MessageLine(self.alpha_ns, self.beta_ns, self.origin.made())


class PlatformTable(_Table):
    """The whole document."""

    format: Literal["netsonde-platform-1"]
    name: Named
    about: Text = ""
    packet_bytes: Size
    header_bytes: Annotated[int, Field(ge=0, le=1024)] = 0
    link_bit_per_s: Rate
    serialisations: Annotated[int, Field(ge=1, le=64)] = 1
    send_copies: Annotated[int, Field(ge=0, le=16)] = 1
    receive_copies: Annotated[int, Field(ge=0, le=16)] = 1
    receives_beside: bool = False
    ranks: Ranks | None = None
    parameters: dict[str, CostTable] = {}
    switch: BufferTable | None = None
    uplink: UplinkTable | None = None
    messages: MessagesTable | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        unknown = sorted(self.parameters.keys() - SYMBOLS.keys())
        if unknown:
            raise ValueError(
                f"no parameter is called {unknown[0][:40]!r}; known are {', '.join(SYMBOLS)}"
            )
        if not self.parameters and self.messages is None:
            raise ValueError("neither parameters nor messages are given; a platform needs one")
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
        return Platform(
            name=self.name,
            about=self.about,
            packet_bytes=self.packet_bytes,
            link_bit_per_s=self.link_bit_per_s,
            costs={name: cost.made() for name, cost in self.parameters.items()},
            header_bytes=self.header_bytes,
            serialisations=self.serialisations,
            send_copies=self.send_copies,
            receive_copies=self.receive_copies,
            receives_beside=self.receives_beside,
            ranks=self.ranks,
            buffer=None if self.switch is None else self.switch.made(),
            uplink=None if self.uplink is None else self.uplink.made(),
            messages=None if self.messages is None else self.messages.made(),
        )


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
    document: dict[str, Any] = {
        "format": FORMAT,
        "name": platform.name,
        "about": platform.about,
        "packet_bytes": platform.packet_bytes,
        "header_bytes": platform.header_bytes,
        "link_bit_per_s": platform.link_bit_per_s,
        "serialisations": platform.serialisations,
        "send_copies": platform.send_copies,
        "receive_copies": platform.receive_copies,
        "receives_beside": platform.receives_beside,
        "ranks": platform.ranks,
        "parameters": {name: _cost(cost) for name, cost in platform.costs.items()},
    }
    if platform.buffer is not None:
        document["switch"] = _buffer(platform.buffer)
    if platform.uplink is not None:
        document["uplink"] = {
            "rate_bit_per_s": platform.uplink.rate_bit_per_s,
            "ceiling_byte_per_s": platform.uplink.ceiling_byte_per_s,
            "buffer": _buffer(platform.uplink.buffer),
            "origin": _origin(platform.uplink.origin),
        }
    if platform.messages is not None:
        document["messages"] = {
            "alpha_ns": platform.messages.alpha_ns,
            "beta_ns": platform.messages.beta_ns,
            "origin": _origin(platform.messages.origin),
        }
    return document


def _cost(cost: Cost) -> dict[str, Any]:
    names = ("start_ns", "per_byte_ns", "per_rank_ns", "per_rank_byte_ns")
    table: dict[str, Any] = {name: getattr(cost, name) for name in names}
    table["origin"] = _origin(cost.origin)
    if cost.sizes is not None:
        table["sizes"] = list(cost.sizes)
    if cost.ranks is not None:
        table["ranks"] = list(cost.ranks)
    if cost.fit is not None:
        table["fit"] = {
            "n": cost.fit.n,
            "residual_ns": cost.fit.residual_ns,
            "r_squared": cost.fit.r_squared,
            "intervals": {
                name: {"low": i.low, "high": i.high, "confidence": i.confidence}
                for name, i in cost.fit.intervals.items()
            },
        }
    return table


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "architecture": buffer.architecture,
        "packets": buffer.packets,
        "origin": _origin(buffer.origin),
    }


def _origin(origin: Origin) -> dict[str, Any]:
    return {"kind": origin.kind, "source": origin.source, "run": origin.run}


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
