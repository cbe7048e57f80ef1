"""The bounds of windows: the key ``windows`` of a block, and what ``--start window:...`` says."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.mpi import WINDOWS
from netsonde.errors import UsageError
from netsonde.ranks.repetitions import LATE_MOST_NS, LATE_NS
from netsonde.study.values import Written, as_duration, of
from netsonde.tables import Strict

MOST_NS = 10**9
LEAST_SLACK_NS = 1000
_AsTime = BeforeValidator(as_duration, json_schema_input_type=Written)
WindowTime = Annotated[int, _AsTime, Field(ge=0, le=MOST_NS)]
STARTS = BLOCK["start"].choices


class WindowsTable(Strict):
    """How far windows adapt to how busy the hosts are.

    ``growth``: windows, and the slack before the first of them, become so many times what they were
    at first, at most.
    """

    late: WindowTime | None = of(WINDOWS["late"])
    late_most: WindowTime | None = of(WINDOWS["late_most"])
    count: int | None = of(WINDOWS["count"])
    growth: int | None = of(WINDOWS["growth"])
    slack: Annotated[int, _AsTime, Field(ge=LEAST_SLACK_NS, le=MOST_NS)] | None = of(
        WINDOWS["slack"]
    )

    @model_validator(mode="after")
    def _in_order(self) -> WindowsTable:
        late = LATE_NS if self.late is None else self.late
        if self.late_most is not None and self.late_most < late:
            raise ValueError("late_most is below late: give a larger one, or leave it out")
        return self

    def parameters(self) -> dict[str, int] | None:
        """The fields of a request; None where all is as usual."""
        found = {
            "late_ns": self.late,
            "late_most_ns": self.late_most,
            "at_once": self.count,
            "growth": self.growth,
            "slack_ns": self.slack,
        }
        if self.late is not None and self.late_most is None:
            found["late_most_ns"] = max(self.late, LATE_MOST_NS)
        return {name: value for name, value in found.items() if value is not None} or None


def start_of(text: str) -> dict[str, Any]:
    """The keys of a block for ``window:late=2us,count=8``. Raises UsageError."""
    how, colon, rest = text.partition(":")
    if how not in STARTS:
        raise UsageError(f"--start {text[:80]} is unknown; choose from {', '.join(STARTS)}")
    if not colon:
        return {"start": how}
    if how != "window":
        raise UsageError(
            f"--start {how} takes no bounds; they go with window, as in window:late=2us"
        )
    names = {name.replace("_", "-"): name for name in WindowsTable.model_fields}
    found: dict[str, Any] = {}
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        if name not in names or not equals or not value or names[name] in found:
            raise UsageError(
                f"--start {text[:80]}: {part[:40]!r} is no bound of windows; write each once, of "
                f"{', '.join(names)}, as in window:late=2us,count=8"
            )
        whole = name in ("count", "growth") and value.isdecimal() and len(value) < 10
        found[names[name]] = int(value) if whole else value
    return {"start": how, "windows": found}
