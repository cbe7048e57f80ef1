"""What does not go together in different tables of a study: a block and the job or path of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netsonde.catalogue.rule import Facts, Rule
from netsonde.operations import operations, parse_pattern

PAIR_POINTS_LIMIT = 10_000
"""Points that one block may make of all pairs of ranks."""
MTU_LEAST_IPV6_BYTES = 1280
_NOT_TOGETHER = "do not go together"
_LAST = "the last is {last:value}"


def _past_the_last(facts: Facts, named: list[int]) -> Mapping[str, Any] | None:
    """The largest rank that is named, where there is none."""
    if not named or max(named) < facts["least"]:
        return None
    return {"rank": max(named), "last": facts["least"] - 1}


def _is_too_far(facts: Facts) -> Mapping[str, Any] | None:
    pattern = facts["pattern"]
    if pattern is None or parse_pattern(pattern)[1] < facts["least"]:
        return None
    return {"last": facts["least"] - 1}


def _pair(facts: Facts) -> list[int]:
    return list(facts["rank_pair"]) if isinstance(facts["rank_pair"], tuple) else []


def _too_many_pairs(facts: Facts) -> Mapping[str, Any] | None:
    if not isinstance(facts["rank_pair"], str):
        return None
    ranks = facts["most"]
    pairs = ranks * (ranks - 1) // 2 if facts["rank_pair"] == "all" else ranks - 1
    points = len(facts["sizes"]) * pairs
    return {"points": points} if points > PAIR_POINTS_LIMIT else None


JOB_RULES = (
    Rule(
        lambda b: b["pin"] != "none" and b["threads"],
        "{pin} binds a rank with all its threads to one processor: leave it out with {threads}",
    ),
    Rule(
        lambda b: _past_the_last(b, [b["root"]] if isinstance(b["root"], int) else []),
        f"{{root}} {{rank:value}} is no rank of {{least:value}}; {_LAST}",
    ),
    Rule(
        lambda b: b["least"] < 2 and operations()[b["operation"]].is_between_two,
        "{operation:value} is between two ranks, and {ranks} is {least:value}",
        "operations",
    ),
    Rule(
        _is_too_far,
        "{pattern} {pattern:value} leads past all of the {least:value} ranks; the largest distance "
        "is {last:value}",
    ),
    Rule(
        lambda b: isinstance(b["rank_pair"], str) and b["least"] < 2,
        "{rank_pair:=} is between two ranks, and {ranks} is 1",
    ),
    Rule(
        _too_many_pairs,
        "{rank_pair:=} of {most:value} ranks makes {points:value} points; the limit is "
        f"{PAIR_POINTS_LIMIT}",
    ),
    Rule(
        lambda b: b["rank_pair"] == "slowest" and len(b["ranks"]) > 1,
        f"{{rank_pair:=}} and several numbers of ranks {_NOT_TOGETHER}: each would find its own; "
        "measure {rank_pair:=each}",
    ),
    Rule(
        lambda b: b["rank_pair"] == "slowest" and b["launches"] > 1,
        f"{{rank_pair:=}} and several launches {_NOT_TOGETHER}: each would find its own; measure "
        "{rank_pair:=each}",
    ),
    Rule(
        lambda b: _past_the_last(b, _pair(b)),
        f"{{rank_pair}}: {{rank:value}} is no rank of {{least:value}}; {_LAST}",
    ),
    Rule(
        lambda b: _past_the_last(b, [rank for pair in b["partners"] for rank in pair]),
        f"{{partners}}: {{rank:value}} is no rank of {{least:value}}; {_LAST}",
    ),
)
"""Of a block and the job of MPI."""
MTU_RULES = (
    Rule(
        lambda s: not s["all_have_one"],
        "{mtu} is given in some blocks only; give it in all, so that every point says which one it "
        "had",
    ),
    Rule(
        lambda s: not s["has_lab"],
        "{mtu} goes with hosts of a lab only, such as lab:h1,h2: interfaces of real hosts are not "
        "changed",
    ),
    Rule(
        lambda s: s["family"] == "ipv6" and s["least"] < MTU_LEAST_IPV6_BYTES,
        f"{{mtu}} {{least:value}} is less than the {MTU_LEAST_IPV6_BYTES} bytes that "
        "{family:=ipv6} asks of a link",
    ),
)
"""Of MTUs and the path."""
