"""The block ``[[require]]`` of a study: what a figure has to be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, model_validator

from netsonde.catalogue.known_figures import unit_of
from netsonde.catalogue.option import Choice
from netsonde.catalogue.options.commands import REQUIRE
from netsonde.catalogue.test import TESTS
from netsonde.errors import UsageError
from netsonde.figures.requirements import Requirement
from netsonde.study.values import OfKind, Sizes, Transport, of
from netsonde.tables import Strict
from netsonde.units import parse_duration_ns, parse_rate_bit_per_s, parse_share, parse_size_bytes

MOST_REQUIREMENTS = 1000
NAME = r"^[a-z][a-z0-9_]{0,79}$"
"""Of a figure."""
_AS_WRITTEN = WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
Limit = Annotated[float, _AS_WRITTEN]
_MEASURED = tuple(name for name, row in TESTS.items() if not row.is_simulated)
AnyTest = Annotated[str, OfKind(Choice(_MEASURED))]


def _share(text: str) -> float:
    return parse_share(text, "limit")


_PARSERS: dict[str, Callable[[str], float]] = {
    "ns": parse_duration_ns,
    "bit_per_s": parse_rate_bit_per_s,
    "ratio": _share,
    "bytes": parse_size_bytes,
}


class RequirementTable(Strict):
    """``at_least`` and ``at_most`` are written as the figure's unit wants it: a rate for a name in
    ``_bit_per_s``, a duration for one in ``_ns``, a share for one in ``_ratio``; plain numbers are
    in that unit. The other keys choose the points that it is of; without any, all that have it."""

    figure: str = Field(
        pattern=NAME, description="By its name, such as throughput_bit_per_s or round_trip_p99_ns."
    )
    at_least: Limit | None = of(REQUIRE["at_least"])
    at_most: Limit | None = of(REQUIRE["at_most"])
    transport: Transport | None = Field(None, description="Of points of this transport only.")
    test: AnyTest | None = Field(None, description="Of points of this test only.")
    operation: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_]{0,39}$",
        description="Of points of this MPI operation only, such as 'bcast'.",
    )
    sizes: Sizes | None = Field(None, description="Of messages of these sizes only.")
    label: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Of points with this label only, or with this part of one between commas.",
    )

    @model_validator(mode="before")
    @classmethod
    def _in_the_unit(cls, content: Any) -> Any:
        """Limits as numbers, by the unit that the figure's name ends in."""
        if not isinstance(content, dict) or not isinstance(content.get("figure"), str):
            return content
        if not re.fullmatch(NAME, content["figure"]):
            raise ValueError(
                f"{content['figure']!r} is no name of a figure; write one such as "
                "throughput_bit_per_s"
            )
        unit = unit_of(content["figure"])
        limits = {
            key: _limit(content[key], unit) for key in ("at_least", "at_most") if key in content
        }
        return {**content, **limits}

    @model_validator(mode="after")
    def _possible(self) -> RequirementTable:
        if self.at_least is None and self.at_most is None:
            raise ValueError(f"{self.figure} has no limit: give at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least:g} is more than at_most {self.at_most:g}")
        if self.at_most == 0 and unit_of(self.figure) == "ratio":
            raise ValueError(
                f"that {self.figure} is 0 can be proven by no measurement; write what would be "
                "little enough, such as at_most = '0.01%'"
            )
        return self

    @property
    def requirement(self) -> Requirement:
        return Requirement(
            self.figure,
            self.at_least,
            self.at_most,
            self.transport,
            self.test,
            self.operation,
            tuple(self.sizes or ()),
            self.label,
        )


def _limit(value: Any, unit: str) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"{value} is no limit; write a number, or one with its unit")
    if isinstance(value, str):
        try:
            value = float(_PARSERS.get(unit, float)(value))
        except UsageError as error:
            raise ValueError(str(error)) from error
        except ValueError as error:
            raise ValueError(f"limit {value!r} is no number, as the figure has no unit") from error
    if isinstance(value, int | float) and not math.isfinite(value):
        raise ValueError(f"limit {value} is no number")
    return value
