"""What does not go together in ``[[measure]]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netsonde.catalogue.options.commands import BLOCK
from netsonde.catalogue.options.endpoint_rules import is_one_sided, operation_of
from netsonde.catalogue.options.endpoints import DATAGRAMS
from netsonde.catalogue.options.mpi_rules import MPI_RULES
from netsonde.catalogue.options.sockets import STUDY_OPTIONS, options_of
from netsonde.catalogue.rule import Facts, Rule, first_given
from netsonde.catalogue.test import names_of
from netsonde.catalogue.transport import names_with, only_ranks, some_ranks, transport_row

OPEN_LOOP_LEAST_BYTES = 8
NUMBER_BYTES = 8
"""Datagrams of so many bytes or more carry their number."""
TAGGED_BYTES = NUMBER_BYTES + 16
"""The least that authenticated datagrams have: their number, and its tag."""
_NOT_TOGETHER = "do not go together"
_OF_TEST = f"and {{test:=}} {_NOT_TOGETHER}"
_OMIT = "{omit} goes with {like:=iperf3}, whose figures leave out a first part"
_WITH_TRANSPORT = f"and transport {{transport:value}} {_NOT_TOGETHER}"


def _of_each(broken: Callable[[Facts], Any], says: str) -> Rule:
    """A rule that holds for each transport of the block."""
    return Rule(broken, says, "transports")


def _is_echoed(facts: Facts) -> bool:
    return transport_row(facts["transport"]).is_echoed


def _has_endpoints(facts: Facts) -> bool:
    return transport_row(facts["transport"]).has_endpoints


def _not_of_few(facts: Facts) -> Mapping[str, Any] | None:
    """An option that echoes or tasks have not, where nothing else is measured that has it."""
    name = facts["transport"]
    row = transport_row(name)
    if not (row.is_echoed or row.has_tasks) or facts["transports"] != [name]:
        return None
    others = [row for row in STUDY_OPTIONS.values() if name not in row.of]
    found = first_given(facts, [*others, BLOCK["call"]])
    return found and {**found, "taken": options_of(name), "those": row.title}


def _is_packed(facts: Facts) -> bool:
    return any(transport_row(name).has_tasks for name in facts["transports"])


def _is_counted(facts: Facts) -> bool:
    """Whether one transport is asked for, which has datagrams that are counted."""
    return [transport_row(name).counts_datagrams for name in facts["transports"]] == [True]


def _has_frames(facts: Facts) -> bool:
    return transport_row(facts["transport"]).has_frames


def _paces_nothing(facts: Facts) -> bool:
    takes = _is_counted(facts) or _has_only("has_endpoints", facts)
    takes = takes or _has_only("has_frames", facts)
    return facts["rate"] is not None and not (facts["kind"].takes_rate and takes)


def _has_only(trait: str, facts: Facts) -> bool:
    """Whether one transport is asked for, which has a trait."""
    return [getattr(transport_row(name), trait) for name in facts["transports"]] == [True]


def _paces_no_endpoint(facts: Facts) -> bool:
    """Whether messages are to be paced that no datagrams of an endpoint are."""
    sends_datagrams = facts["endpoint"] == DATAGRAMS and facts["kind"].is_one_way_stream
    return _has_endpoints(facts) and facts["rate"] is not None and not sends_datagrams


def _takes_several(facts: Facts) -> bool:
    several = facts["kind"].is_one_way_stream and not some_ranks(facts["transports"])
    return several and not _is_packed(facts)


def _batches(facts: Facts) -> bool:
    return (facts["datagrams_per_call"] or 1) > 1


def _has_no_number(facts: Facts) -> Mapping[str, Any] | None:
    """A size of datagrams that are to be recognised, and are too small for it."""
    counted = any(transport_row(name).counts_datagrams for name in facts["transports"])
    least = min(facts["sizes"])
    if not facts["kernel_times"] or not counted or least >= NUMBER_BYTES:
        return None
    return {"size": least}


def _has_no_tag(facts: Facts) -> Mapping[str, Any] | None:
    """A size of datagrams that are to be authenticated, and are too small for it."""
    counted = any(transport_row(name).counts_datagrams for name in facts["transports"])
    least = min(facts["sizes"])
    if not facts["authenticated"] or not counted or least >= TAGGED_BYTES:
        return None
    return {"size": least}


def _too_large(facts: Facts) -> Mapping[str, Any] | None:
    for row in sorted(map(transport_row, facts["transports"]), key=lambda row: -row.layer):
        if row.most_bytes is not None and facts["size"] > row.most_bytes:
            return {"message": row.message, "most": row.most_bytes}
    return None


def _too_small(facts: Facts) -> Mapping[str, Any] | None:
    if facts["kind"].is_all_pairs and facts["size"] == 0:
        return None  # the least message that there is stands for it
    for row in sorted(map(transport_row, facts["transports"]), key=lambda row: -row.layer):
        if facts["size"] < row.least_bytes:
            return {"title": row.title, "least": row.least_bytes}
    return None


_FACTORS = (
    Rule(
        lambda b: b["design"] is not None or b["baseline"] is not None,
        "{design} and {baseline} go with {vary}",
    ),
)
_ECHOES = (
    _of_each(
        lambda b: _is_echoed(b) and not b["kind"].asks_round_trip,
        f"transport {{transport:value}} {_OF_TEST}: the other host's kernel sends back each echo, "
        "which is {test:=latency}, and does nothing else",
    ),
    _of_each(
        lambda b: _is_echoed(b) and b["like"] is not None,
        f"{{like}} {{like:value}} {_WITH_TRANSPORT}",
    ),
    _of_each(lambda b: _is_echoed(b) and b["kernel_times"], f"{{kernel_times}} {_WITH_TRANSPORT}"),
    _of_each(
        _not_of_few,
        f"{{given:key}} {_WITH_TRANSPORT}: of the options {{those:value}} takes {{taken:key}}",
    ),
)
_PACKED = (
    Rule(
        lambda b: (b["encoding"] or b["route"] or b["timed"]) and not _is_packed(b),
        "{encoding}, {route} and {timed} are of messages that are packed: they are for "
        f"{{transports:={' or '.join(names_with('has_tasks'))}}}",
    ),
    Rule(
        lambda b: b["timed"] == "send" and not b["kind"].is_round_trip,
        f"{{timed:=send}} {_OF_TEST}: a stream packs each of its messages",
    ),
)
_ENDPOINTS = (
    _of_each(
        lambda b: _has_endpoints(b) and b["wait"] == "ready",
        f"{{wait:=ready}} {_WITH_TRANSPORT}: it is the kernel's word for a socket",
    ),
    _of_each(
        lambda b: _has_endpoints(b) and is_one_sided(b) and not b["kind"].is_round_trip,
        f"{{operation:=}} that is complete at its origin {_OF_TEST}: it is for "
        f"{' and '.join(names_of('is_round_trip'))}",
    ),
    _of_each(
        lambda b: _has_endpoints(b) and operation_of(b) != "send" and b["kind"].both_ways,
        f"{{operation:=}} {_OF_TEST}: both ends send there",
    ),
    _of_each(
        lambda b: _has_endpoints(b) and b["endpoint"] == DATAGRAMS and b["kind"].both_ways,
        f"{{endpoint:=}} {_OF_TEST}: one thread has both ways of an endpoint",
    ),
    _of_each(
        _paces_no_endpoint,
        "{rate} of transport {transport:value} goes with {endpoint:=dgram} and {test:=stream} "
        "only: what is reliable waits until its provider has room, and leaves when that likes",
    ),
)
_FRAMES = (
    _of_each(
        lambda b: _has_frames(b) and b["wait"] == "ready",
        f"{{wait:=ready}} {_WITH_TRANSPORT}: it is the kernel's word for a socket",
    ),
    _of_each(
        lambda b: not _has_frames(b) and b["wait"] == "hybrid",
        f"{{wait:=hybrid}} {_WITH_TRANSPORT}: frames are waited for so",
    ),
    Rule(
        lambda b: b["reliable"] and 0 in b["sizes"],
        "{reliable} needs {sizes} of 1 or more",
    ),
    _of_each(
        lambda b: _has_frames(b) and b["kind"].is_whole and not b["reliable"],
        "{test:=} over transport {transport:value} needs {reliable}: what is lost is to come again",
    ),
    Rule(
        lambda b: b["reliable"] and b["rate"] is not None,
        f"{{reliable}} and {{rate}} {_NOT_TOGETHER}: acknowledgements pace what is sent again",
    ),
)
_BOUNDS = (
    Rule(
        lambda b: b["kind"].is_bounds and 0 in b["sizes"],
        "{test:=} needs {sizes} of 1 or more: it is memory that is registered",
    ),
    Rule(
        lambda b: (b["trespass"] is not None) != b["kind"].tries_memory,
        f"{{trespass}} and the test {names_of('tries_memory')[0]} go together",
    ),
    Rule(
        lambda b: b["trespass"] is not None and operation_of(b) == "send",
        "{trespass:=} needs an {operation} on the other end's memory",
    ),
)
_TESTS = (
    Rule(
        lambda b: b["kind"].is_unanswered and not _is_counted(b),
        "{test:=} sends datagrams: it needs {transports:=udp}",
    ),
    Rule(
        _paces_nothing,
        "{rate} goes with {transports:=udp}, {test:=stream} and {test:=generate}, only",
    ),
    Rule(
        lambda b: b["kind"].is_unanswered and b["rate"] is None,
        "{test:=} needs {rate}: traffic that nobody asked for must be bounded",
    ),
    Rule(
        lambda b: b["kind"].is_unanswered and 0 in b["sizes"],
        "{test:=} needs {sizes} of 1 or more",
    ),
    Rule(
        lambda b: b["kind"].is_open_loop != bool(b["loads"]),
        "{test:=open_loop} and {loads} go together: {loads:=0,25,50,75,90%}",
    ),
    Rule(
        lambda b: (
            b["kind"].is_open_loop
            and (some_ranks(b["transports"]) or min(b["sizes"]) < OPEN_LOOP_LEAST_BYTES)
        ),
        f"{{test:=}} is for tcp and udp, with sizes of {OPEN_LOOP_LEAST_BYTES} bytes or more",
    ),
    Rule(
        lambda b: (
            b["perturb"]
            and (b["kind"].is_operation or b["kind"].is_unanswered or b["kind"].is_bounds)
        ),
        f"{{perturb}} {_OF_TEST}",
    ),
    Rule(
        lambda b: b["refine"] and not b["kind"].is_refined,
        "{refine} looks at round trips and operations: it goes with the tests "
        f"{', '.join(names_of('is_refined'))}, not with {{test:value}}",
    ),
    Rule(
        lambda b: b["streams"] > 1 and not _takes_several(b),
        "{streams} of more than 1 are for {test:=stream} over tcp and udp",
    ),
    Rule(
        lambda b: (
            b["outstanding"] is not None
            and not (b["kind"].is_one_way_stream and only_ranks(b["transports"]))
        ),
        "{outstanding} goes with {transports:=mpi} and {test:=stream} only",
    ),
    Rule(
        lambda b: (
            b["echo"] != "same"
            and not (
                (b["kind"].is_round_trip or b["kind"].has_threads) and only_ranks(b["transports"])
            )
        ),
        "{echo:=} goes with {transports:=mpi} and round trips only, those of threads too",
    ),
    Rule(
        lambda b: b["kind"].is_pattern and some_ranks(b["transports"]),
        "{test:=} is for tcp and udp; MPI has collectives for it",
    ),
    Rule(
        lambda b: b["pairs"] is not None and not b["kind"].is_all_pairs,
        "{pairs:=} goes with {test:=all-pairs}, not with {test:value}",
    ),
    Rule(
        lambda b: b["among"] and not b["kind"].takes_some_hosts,
        "{among} goes with {test:=all-pairs} and {test:=pairs}, not with {test:value}",
    ),
    Rule(
        lambda b: b["kind"].in_pairs and any(hosts % 2 for hosts in b["among"]),
        "{among} of {test:=pairs} are even numbers: each host has one partner",
    ),
    Rule(
        lambda b: b["port"] is not None and not b["kind"].is_unanswered,
        "{port} is that of {test:=generate}'s target; other tests find their own",
    ),
    Rule(
        lambda b: b["passes"] > 1 and not only_ranks(b["transports"]),
        "{passes} go with {transports:=mpi}",
    ),
    _of_each(
        lambda b: b["test"] not in transport_row(b["transport"]).tests,
        "{test:=} is no test of transport {transport:value}",
    ),
)
_OPTIONS = (
    Rule(
        lambda b: b["omit"] is not None and b["like"] is None,
        _OMIT,
    ),
    Rule(
        lambda b: b["omit"] is not None and b["like"] != "iperf3",
        f"{_OMIT}, not with {{like:=}}",
    ),
    Rule(
        lambda b: _batches(b) and b["rate"] is not None,
        f"{{datagrams_per_call}} and {{rate}} {_NOT_TOGETHER}: a paced datagram leaves at its own "
        "time",
    ),
    Rule(
        lambda b: _batches(b) and not b["kind"].is_stream,
        f"{{datagrams_per_call}} {_OF_TEST}: there each datagram waits for an answer",
    ),
    Rule(
        lambda b: b["kernel_times"] and not b["kind"].is_round_trip,
        f"{{kernel_times}} {_OF_TEST}: they are for {' and '.join(names_of('is_round_trip'))}",
    ),
    Rule(
        _has_no_number,
        f"{{kernel_times}} need datagrams of at least {NUMBER_BYTES} bytes, the room of a number; "
        "size {size:value} has none",
    ),
    Rule(
        lambda b: b["authenticated"] and b["kind"].is_unanswered,
        f"{{authenticated}} {_OF_TEST}: nobody is there who could tell",
    ),
    Rule(
        _has_no_tag,
        f"{{authenticated}} needs datagrams of at least {TAGGED_BYTES} bytes, the room of a number "
        "and its tag; size {size:value} has none",
    ),
    Rule(
        lambda b: (
            b["kernel_trace"] and not any(transport_row(name).is_traced for name in b["transports"])
        ),
        "{kernel_trace} is of two workers: it goes with the transports "
        f"{', '.join(names_with('is_traced'))}",
    ),
    Rule(
        lambda b: b["kernel_trace"] and b["streams"] > 1,
        f"{{kernel_trace}} and {{streams}} of more than 1 {_NOT_TOGETHER}",
    ),
    Rule(
        lambda b: b["kernel_trace"] and (b["kind"].is_of_many or b["kind"].is_unanswered),
        f"{{kernel_trace}} {_OF_TEST}: it is of two workers",
    ),
)
_SIZES = (
    Rule(
        _too_large,
        "size {size:value} does not fit {message:value}, which takes {most:value} bytes at most",
        "sizes",
    ),
    Rule(
        _too_small,
        "size {size:value} cannot be sent over {title:value}; the least is {least:value} byte",
        "sizes",
    ),
)
BLOCK_RULES = (*_FACTORS, *_ECHOES, *_PACKED, *_ENDPOINTS, *_FRAMES, *_BOUNDS, *MPI_RULES, *_TESTS)
"""In the order in which they are told: whoever breaks several hears of the first."""
LAST_RULES = (*_OPTIONS, *_SIZES)
"""Those behind the rules of another tool, whose way sets some of these."""
