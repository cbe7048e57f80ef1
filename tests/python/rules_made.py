"""Rules at random: each operation gets algorithms of its own for some sizes and some ranks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from netsonde.operations import operations
from netsonde.schedules.algorithms import ALGORITHMS, Algorithm

BOUNDS = ((0, 60), (61, 400), (401, None))


def words(algorithm: Algorithm, draw: random.Random) -> str:
    """The name, and some of its settings."""
    found = algorithm.name
    if "segment_bytes" in algorithm.uses and draw.random() < 0.3:
        found += ":segment=64"
    if "window" in algorithm.uses:
        found += f":window={draw.choice((1, 3))}"
    return found


def random_rules(seed: int, numbers_of_ranks: Iterable[int]) -> list[dict[str, Any]]:
    """For every operation that there are schedules of."""
    draw = random.Random(seed)
    made = []
    for operation in operations().values():
        if not operation.schedules or operation.form != "blocking":
            continue
        for ranks in sorted(set(numbers_of_ranks)):
            for least, most in BOUNDS if draw.random() < 0.7 else ((0, None),):
                rule: dict[str, Any] = {"operation": operation.name, "ranks": ranks}
                rule |= {"from_bytes": least} | ({} if most is None else {"to_bytes": most})
                known = [row for row in ALGORITHMS if row.family == operation.schedules]
                made.append(rule | {"algorithm": words(draw.choice(known), draw)})
    return made


def write_rules(path: Path, rules: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"format": "netsonde rules", "version": 1, "rules": rules}))
    return path
