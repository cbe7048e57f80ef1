"""What does not go together of options of endpoints."""

from __future__ import annotations

from netsonde.catalogue.options.endpoints import AT_ORIGIN, DATAGRAMS
from netsonde.catalogue.rule import Facts, Rule

_SEND, _WRITE = "send", "write"
_NOT_TOGETHER = "do not go together"


def operation_of(facts: Facts) -> str:
    """How messages get there, where nothing else was said."""
    return facts["operation"] or _SEND


def is_one_sided(facts: Facts) -> bool:
    """Whether one end acts and the other only has memory."""
    operation = operation_of(facts)
    return operation not in (_SEND, _WRITE) or facts["completion"] == AT_ORIGIN


def _is_special(facts: Facts) -> bool:
    return operation_of(facts) != _SEND


ENDPOINT_RULES = (
    Rule(
        lambda o: o["endpoint"] == DATAGRAMS and _is_special(o),
        f"{{endpoint:=}} and {{operation:=}} {_NOT_TOGETHER}: datagrams are sent",
    ),
    Rule(
        lambda o: o["endpoint"] == DATAGRAMS and (o["segmented"] or o["memory"] == "fresh"),
        "{endpoint:=} goes neither with {segmented} nor with {memory:=fresh}",
    ),
    Rule(
        lambda o: o["completion"] is not None and operation_of(o) != _WRITE,
        "{completion} goes with {operation:=write}",
    ),
    Rule(
        lambda o: o["inject"] and is_one_sided(o),
        "{inject} goes with {operation:=send}, and with {operation:=write} that is complete at the "
        "target",
    ),
    Rule(
        lambda o: (
            o["inject"] and (o["memory"] == "fresh" or o["segmented"] or (o["parts"] or 1) > 1)
        ),
        "{inject} goes neither with {memory:=fresh}, nor with {segmented} or {parts}",
    ),
    Rule(
        lambda o: (o["parts"] or 1) > 1 and _is_special(o),
        "{parts} go with {operation:=send}, not with {operation:value}",
    ),
    Rule(
        lambda o: o["segmented"] and _is_special(o),
        "{segmented} goes with {operation:=send}, not with {operation:value}",
    ),
)
