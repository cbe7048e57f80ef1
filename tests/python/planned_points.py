"""Points of a plan from a run's table, as tests write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.study.plan import PlannedPoint


def planned_point(
    transport: str, test: str, parameters: Mapping[str, Any], name: str = "p001"
) -> PlannedPoint:
    content = {"id": name, "transport": transport, "test": test, "parameters": parameters}
    return PlannedPoint.from_json(content)
