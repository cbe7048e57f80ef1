"""Factors of a block: ``vary`` makes a block for each combination of their values, ``exclude``
leaves combinations out.

A full factorial design measures every combination, so that effects that depend on each other are
seen. One at a time measures a baseline and every other value of each factor with the rest as in the
baseline: few points, and nothing of how factors act together (Jain, The Art of Computer Systems
Performance Analysis, 1991, chapter 16).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pydantic import ValidationError

from netsonde.catalogue.option import Rate, Size
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.study.measure_table import MeasureTable
from netsonde.study.values import expand_sizes
from netsonde.tables import first_problem
from netsonde.units import format_rate, format_size

COMBINATIONS_LIMIT = 2000
EXCLUDED = {"transport": "transports", "size": "sizes", "operation": "operations"}
"""What a point is excluded by, beside factors, and the key of the block that lists it."""
FIXED = {"vary", "design", "baseline", "exclude", "options", "label"}
NO_FACTORS = FIXED | {"windows"}
"""Tables are no values of a factor either."""
Block = dict[str, Any]


def expand_blocks(blocks: Sequence[Any]) -> list[Any]:
    """Every block with its factors replaced by a block for each combination; whatever is no table
    is left to the checks that follow. Raises ValueError with one sentence."""
    found: list[Any] = []
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not any(block.get(k) for k in ("vary", "exclude")):
            found.append(block)
            continue
        try:
            found += list(_combined(block))
        except ValueError as error:
            raise ValueError(f"measure.{number}: {error}") from error
    if len(found) > COMBINATIONS_LIMIT:
        raise ValueError(
            f"the blocks make {len(found)} combinations; {COMBINATIONS_LIMIT} are the most"
        )
    return found


def _combined(block: Block) -> Iterator[MeasureTable]:
    factors = _factors(block)
    rules = _rules(block, factors)
    plain = {key: value for key, value in block.items() if key not in FIXED - {"options", "label"}}
    made = 0
    for chosen, name in _designed(block, factors):
        own_rules, left_out = _of_combination(rules, factors, chosen)
        if left_out:
            continue
        made += 1
        options = {**plain.get("options", {})}
        keys: Block = {}
        for factor, value in chosen.items():
            (options if factor in STUDY_OPTIONS else keys)[factor] = value
        label = ", ".join(filter(None, (name, plain.get("label"))))
        content = {**plain, **keys, "options": options, "exclude": own_rules}
        try:
            yield MeasureTable.model_validate({**content, **({"label": label} if label else {})})
        except ValidationError as error:
            told = first_problem(error)
            if not chosen:
                raise ValueError(told) from error
            raise ValueError(
                f"{in_words(chosen)}: {told}; leave the combination out with exclude"
            ) from error
    if not made:
        raise ValueError("exclude leaves nothing of the block")


def _factors(block: Block) -> dict[str, list[Any]]:
    vary = block.get("vary") or {}
    if not isinstance(vary, dict):
        raise ValueError("vary is a table of lists, such as { buffer = ['64k', '1M'] }")
    factors: dict[str, list[Any]] = {}
    for name, values in vary.items():
        is_option = name in STUDY_OPTIONS
        if name in NO_FACTORS or (not is_option and name not in MeasureTable.model_fields):
            raise ValueError(f"vary: {name} is neither a key of the block nor an option")
        if not isinstance(values, list) or not values:
            raise ValueError(f"vary: {name} needs a list of values, such as ['64k', '1M']")
        if len({repr(value) for value in values}) < len(values):
            raise ValueError(f"vary: {name} has a value twice")
        if name in block or name in block.get("options", {}):
            raise ValueError(f"vary: {name} has a value of its own in the block; leave out one")
        factors[name] = values
    return factors


def _designed(block: Block, factors: Mapping[str, list[Any]]) -> Iterator[tuple[Block, str]]:
    """The combinations of a design with their names."""
    design = block.get("design") or "factorial"
    if design not in ("factorial", "one-at-a-time"):
        raise ValueError(f"design {design!r} is neither 'factorial' nor 'one-at-a-time'")
    baseline = block.get("baseline") or {}
    if design == "factorial":
        if baseline:
            raise ValueError("baseline goes with design = 'one-at-a-time'")
        for values in product(*factors.values()):
            chosen = dict(zip(factors, values, strict=True))
            yield chosen, in_words(chosen)
        return
    unknown = [name for name in baseline if name not in factors]
    if unknown:
        raise ValueError(f"baseline: {unknown[0]} is not varied")
    base = {name: baseline.get(name, values[0]) for name, values in factors.items()}
    yield base, "baseline"
    for name in factors:
        for value in factors[name]:
            if value != base[name]:
                yield {**base, name: value}, in_words({name: value})


def _rules(block: Block, factors: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """The exclusions, each a table of keys and the values that it is for."""
    asked = block.get("exclude") or []
    if not isinstance(asked, list) or not all(isinstance(rule, dict) and rule for rule in asked):
        raise ValueError(
            "exclude is a list of tables, such as [{ transport = 'udp', size = '1M' }]"
        )
    rules = []
    for rule in asked:
        unknown = [name for name in rule if name not in (*factors, *EXCLUDED)]
        if unknown:
            known = ", ".join((*factors, *EXCLUDED))
            raise ValueError(f"exclude: {unknown[0]} is not varied; what can be named is {known}")
        rules.append({name: _listed(name, value) for name, value in rule.items()})
    return rules


def _listed(name: str, value: Any) -> list[Any]:
    if name == "size":
        return expand_sizes(value)  # type: ignore[no-any-return]
    return value if isinstance(value, list) else [value]


def _of_combination(
    rules: Sequence[Mapping[str, list[Any]]], factors: Mapping[str, Any], chosen: Block
) -> tuple[list[dict[str, list[Any]]], bool]:
    """The rules that are left for the points of a combination, and whether it is left out whole."""
    left = []
    for rule in rules:
        met = all(chosen[name] in values for name, values in rule.items() if name in factors)
        rest = {name: values for name, values in rule.items() if name not in factors}
        if met and not rest:
            return [], True
        if met:
            left.append(rest)
    return left, False


def in_words(chosen: Mapping[str, Any]) -> str:
    """``buffer 64k, no_delay true``: a combination as a label has it."""
    return ", ".join(f"{_name(key)} {_shown(key, value)}".strip() for key, value in chosen.items())


def _name(key: str) -> str:
    return STUDY_OPTIONS[key].shown if key in STUDY_OPTIONS else key


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = STUDY_OPTIONS[key].kind if key in STUDY_OPTIONS else None
    if isinstance(value, int) and (key == "rate" or isinstance(kind, Rate)):
        return format_rate(value)
    if isinstance(value, int) and (key == "call" or isinstance(kind, Size)):
        return format_size(value)
    return str(value)
