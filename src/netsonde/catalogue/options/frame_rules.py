"""What does not go together of options of frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.catalogue.options.frames import FRAMES
from netsonde.catalogue.rule import Facts, Rule, first_given

_FOR_RELIABLE = [row for row in FRAMES if row.key not in ("driver", "fragment", "reliable")]


def _given_alone(facts: Facts) -> Mapping[str, Any] | None:
    return None if facts["reliable"] else first_given(facts, _FOR_RELIABLE)


FRAME_RULES = (Rule(_given_alone, "{given:key} goes with {reliable}"),)
