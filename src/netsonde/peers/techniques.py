"""How other tools measure: the settings that make netsonde measure as they do.

A technique is a mapping onto what netsonde has: test, sizes, options, time. What remains different
is said in ``said.toml`` and shown with the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.catalogue.rule import Facts, Rule, first_given

Tool = Literal["iperf3", "netperf", "netpipe", "sockperf"]
TOOLS: tuple[Tool, ...] = get_args(Tool)

NETPIPE_TRIALS = 7
NETPIPE_PERTURBATION_BYTES = 3
SOCKPERF_WARM_UP_NS = 400_000_000
SOCKPERF_COOL_DOWN_NS = 50_000_000
"""What sockperf leaves out of its statistics at either end of a run."""


@dataclass(frozen=True)
class Technique:
    """The defaults of a tool for one transport and test of netsonde."""

    sizes: str
    time: str
    options: Mapping[str, bool] = field(default_factory=dict)
    rate: str | None = None


_NAGLE = {"no_delay": False}
TECHNIQUES: Mapping[tuple[str, str, str], Technique] = {
    ("iperf3", "tcp", "stream"): Technique("128k", "10s", _NAGLE),
    ("iperf3", "udp", "stream"): Technique("1448", "10s", rate="1048576"),
    ("netperf", "tcp", "stream"): Technique("16k", "10s", _NAGLE),
    ("netperf", "udp", "stream"): Technique("65507", "10s"),
    ("netperf", "tcp", "latency"): Technique("1", "10s", _NAGLE),
    ("netperf", "udp", "latency"): Technique("1", "10s"),
    ("netpipe", "tcp", "latency"): Technique("1..1M", "1750ms"),
    ("netpipe", "tcp", "pingpong"): Technique("1..1M", "1750ms"),
    ("sockperf", "tcp", "latency"): Technique("14", "1s"),
    ("sockperf", "udp", "latency"): Technique("14", "1s"),
}
"""By tool, transport and test. iperf3 3.x, netperf 2.7, NetPIPE 3 and 5, sockperf 3; as their
manuals and sources give the defaults."""


def technique(tool: str, transport: str, test: str) -> Technique | None:
    """How the tool does it; None where it does not."""
    return TECHNIQUES.get((tool, transport, test))


_OWN_WAY = [
    *(BLOCK[key] for key in ("count", "loads", "call", "check_data")),
    *(STUDY_OPTIONS[key] for key in ("datagrams_per_call", "segment_offload")),
]
"""Options that would change how a tool measures."""


def _other_way(facts: Facts) -> Mapping[str, Any] | None:
    several = (facts["datagrams_per_call"] or 1) > 1
    return first_given({**facts, "datagrams_per_call": several}, _OWN_WAY)


def _not_measured(facts: Facts) -> Mapping[str, Any] | None:
    tool = facts["like"]
    if technique(tool, facts["transport"], facts["test"]) is not None:
        return None
    return {"known": ", ".join(f"{t} {what}" for name, t, what in TECHNIQUES if name == tool)}


def _is_paced(facts: Facts) -> bool:
    known = technique(facts["like"], facts["transport"], facts["test"])
    return known is not None and known.rate is not None


def _too_short(facts: Facts) -> Mapping[str, Any] | None:
    least_ns = SOCKPERF_WARM_UP_NS + SOCKPERF_COOL_DOWN_NS
    if facts["like"] != "sockperf" or facts["cap"] is None or facts["cap"] > least_ns:
        return None
    return {"time": f"{facts['cap'] / 1e6:g} ms"}


TOOL_RULES = (
    Rule(
        _other_way,
        "{like} {like:value} and {given:key} do not go together: {like:value} has its own way "
        "there; leave one of them out",
    ),
    Rule(
        _not_measured,
        "{like} {like:value} and {transport:value} {test:value} do not go together; {like:value} "
        "measures {known:value}",
        "transports",
    ),
    Rule(
        lambda b: b["rate"] is not None and not _is_paced(b),
        "{like} {like:value} and {rate} do not go together: only iperf3 over udp paces what it "
        "sends",
        "transports",
    ),
    Rule(
        lambda b: b["streams"] > 1 and b["like"] != "iperf3",
        "{like} {like:value} and {streams} do not go together: only iperf3 has several flows at "
        "once",
    ),
    Rule(
        _too_short,
        "{like} {like:value} and a time of {time:value} do not go together: it leaves out the "
        "first 400 ms and the last 50 ms",
    ),
)
"""Why a block cannot be measured as a tool does it, where one is asked for."""


def netpipe_sizes(first: int, last: int) -> list[int]:
    """The sizes of NetPIPE's schedule from ``first`` to ``last``: a power of two and the middle to
    the next. Their neighbours are not among them."""
    sizes = []
    step, place = (first // 2, 1) if first > 1 else (1, 0)
    size = first
    while size <= last:
        if place > 2 and place % 2:
            step *= 2
        sizes.append(size)
        place += 3 if _has_neighbours(step) else 1
        size += step
    return sizes


def netpipe_perturbation(sizes: Sequence[int]) -> int:
    """How far from each size NetPIPE measures its neighbours, bytes; 0 where all are too small for
    any (half of each is no more than that and 1)."""
    far_enough = any(_has_neighbours(size // 2) for size in sizes)
    return NETPIPE_PERTURBATION_BYTES if far_enough else 0


def _has_neighbours(step: int) -> bool:
    return step > NETPIPE_PERTURBATION_BYTES + 1
