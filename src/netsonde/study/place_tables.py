"""Tables of a study that say where it is measured: ``path`` and ``lab``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from netsonde.study.values import Rate, Size
from netsonde.tables import Strict


class LabTable(Strict):
    """The emulated cluster to measure on: ``scenario``, a file or preset, or what a
    plain one has."""

    scenario: str | None = None
    hosts: int = Field(2, ge=1, le=64)
    rate: Rate | None = 10**9
    buffer: Size = 256 * 1024
    burst: Size | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> LabTable:
        beside = self.model_fields_set - {"scenario"}
        plain = LabTable.model_fields
        differing = [n for n in sorted(beside) if getattr(self, n) != plain[n].default]
        if self.scenario is not None and differing:
            raise ValueError(f"{differing[0]} and a scenario do not go together; write it in there")
        return self


class PathTable(Strict):
    """What lies between the ends: ``auto`` is the lab, or loopback where no lab can be had.

    ``hosts`` are those of patterns (incast and the like), in order.
    """

    kind: Literal["auto", "lab", "loopback", "hosts"] = "auto"
    origin: str = "local"
    target: str = "local"
    hosts: list[str] = Field([], max_length=4096)
    family: Literal["ipv4", "ipv6"] = "ipv4"
