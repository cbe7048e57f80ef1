"""What does not go together of options of frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.catalogue.options.frames import GO_BACK_N
from netsonde.catalogue.rule import Facts, Rule, first_given


def _given_alone(facts: Facts) -> Mapping[str, Any] | None:
    return None if facts["reliable"] else first_given(facts, GO_BACK_N)


FRAME_RULES = (Rule(_given_alone, "{given:key} goes with {reliable}"),)
