"""The table ``budget`` of a study: what it may take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from netsonde.study.values import Rate, Written, as_duration, as_size
from netsonde.tables import Strict

TRAFFIC_LIMIT_BYTES = 1 << 60
MOST_NS = 30 * 24 * 3600 * 10**9
RunTime = Annotated[
    int, BeforeValidator(as_duration, json_schema_input_type=Written), Field(ge=10**9, le=MOST_NS)
]
Traffic = Annotated[
    int,
    BeforeValidator(as_size, json_schema_input_type=Written),
    Field(ge=1, le=TRAFFIC_LIMIT_BYTES),
]


class BudgetTable(Strict):
    """``time`` of all sessions together, ``traffic`` on the wire. ``over``: a study that is
    estimated to take more is refused, or points are dropped from the end of its random order until
    it fits. ``rate`` is what the path is taken to carry in the estimate."""

    time: RunTime | None = Field(None, description="Time of all sessions together, such as '30m'.")
    traffic: Traffic | None = Field(None, description="Bytes on the wire, such as '10GB'.")
    over: Literal["refuse", "drop"] = Field(
        "refuse",
        description="A study that is estimated to take more is refused, or points are dropped.",
    )
    rate: Rate | None = Field(
        None, description="Rate that the estimate takes the path to carry, such as '25G'."
    )

    @property
    def is_given(self) -> bool:
        return self.time is not None or self.traffic is not None

    @model_validator(mode="after")
    def _of_something(self) -> BudgetTable:
        if self.over != "refuse" and not self.is_given:
            raise ValueError("over goes with time or traffic")
        return self
