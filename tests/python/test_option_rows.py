"""The rows of options and the engine's own strict reader say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mpi_program import converse
from raw_worker import RawWorker

from mpi_needed import require_mpi
from netsonde.catalogue.option import Choice, Number, Option, Switch, Text
from netsonde.catalogue.options.mpi import AS_THEY_ARE, MPI_BLOCK
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.transport import TRANSPORTS, Ends
from netsonde.launch.binaries import find_worker
from netsonde.operations import operations
from netsonde.serve.limits import Limits
from netsonde.serve.policy import Peer, RefusedError, SessionPolicy
from netsonde.serve.requests import check_request

WIRES = sorted({(name, row.key) for row in SOCKETS.values() for name in row.wire})
OF_RANKS = {row.key: row for row in AS_THEY_ARE}
SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "request.schema.json").read_text())[
    "$defs"
]["run"]["properties"]
LISTEN = {
    "transport": "tcp",
    "family": "ipv4",
    "cookie": "0a" * 16,
    "timeout_ns": 10**9,
}


def wrong_values(row: Option) -> list[Any]:
    match row.kind:
        case Number(least, most):
            return [least - 1, most + 1, "1"]
        case Choice():
            return ["no_such_word", 1 if row.choices else 3]
        case Switch():
            return ["true", 1]
        case Text():
            return [1, "x" * 5000]


def right_value(row: Option) -> Any:
    match row.kind:
        case Number(least, _):
            return least
        case Choice(words):
            return words[-1]
        case Switch():
            return True
        case Text():
            return "reno"


@pytest.mark.parametrize(("name", "key"), WIRES)
def test_the_engine_refuses_what_the_row_does(lone: RawWorker, name: str, key: str) -> None:
    row = SOCKETS[key]
    if TRANSPORTS["tcp"].worker in {TRANSPORTS[transport].worker for transport in row.of}:
        own = {"transport": row.of[0]} if TRANSPORTS[row.of[0]].has_frames else {}
        refuses(lone, LISTEN | own, row, name)
        return
    transport = TRANSPORTS[row.of[0]]
    asked = {} if transport.ends is Ends.TASKS else LISTEN | {"transport": transport.name}
    other = RawWorker(find_worker(transport.worker))
    try:
        if "headers" in other.ask("listen", **asked)[-1].get("message", ""):
            pytest.skip(f"what transport {transport.name} needs was not there when it was built")
        refuses(other, asked, row, name)
    finally:
        other.close()


def refuses(worker: RawWorker, asked: dict[str, Any], row: Option, name: str) -> None:
    for value in wrong_values(row):
        said = worker.ask("listen", **asked, options={name: value})[-1]
        assert said["record"] == "error", value
        assert name in said["message"], value
        assert "unknown" not in said["message"]


def test_the_engine_has_no_other_names(lone: RawWorker) -> None:
    said = lone.ask("listen", **LISTEN, options={"no_such_option": 1})[-1]
    assert said["record"] == "error"
    assert "no_such_option" in said["message"]


def request_of_ranks(row: Option, value: Any) -> dict[str, Any]:
    """Of a test or an operation that has the option, so that only its value is wrong."""
    taking = [
        name
        for name, operation in operations().items()
        if row.takers is None or row.takers.of_operation(operation)
    ]
    asked = {"test": "collective", "operation": taking[0]} if taking else {"test": "stream"}
    beside = {"cache_bytes": {"cache": "flush"}, "polls": {"overlap": True}}.get(row.key, {})
    fields = {**asked, **beside, "message_bytes": 8, "count": 2, "timeout_ns": 10**10}
    return {"verb": "run", **fields, row.wire[0]: value}


@pytest.mark.worker
def test_ranks_refuse_what_the_rows_do() -> None:
    mpiexec, program = require_mpi()
    wrong = [(row, value) for row in OF_RANKS.values() for value in wrong_values(row)]
    asked = [request_of_ranks(*case) for case in wrong]
    requests = [{"request": i + 1, **one} for i, one in enumerate([*asked, {"verb": "quit"}])]
    records, stderr, status = converse([str(mpiexec), "-n", "2", str(program)], requests)
    refused = {r["request"]: r for r in records if r["record"] == "error"}
    assert status == 0, stderr
    for number, (row, value) in enumerate(wrong, 1):
        assert number in refused, (row.key, value)
        said = refused[number]
        assert said["code"] == "bad_request", (row.key, value)
        assert row.wire[0] in said["message"], value
        assert "unknown" not in said["message"]


@pytest.mark.parametrize("key", OF_RANKS)
def test_the_schema_of_requests_has_what_the_row_does(key: str) -> None:
    row = OF_RANKS[key]
    found = SCHEMA[row.wire[0]]
    match row.kind:
        case Number(least, most):
            assert (found["minimum"], found["maximum"]) == (least, most)
        case Choice(words):
            assert tuple(found["enum"]) == words
        case _:
            assert found == {"type": "boolean"}


def test_every_field_of_a_row_is_in_the_schema() -> None:
    assert {name for row in MPI_BLOCK for name in row.wire} <= SCHEMA.keys()


@pytest.mark.parametrize("row", [r for r in SOCKETS.values() if r.refused_stranger])
def test_a_stranger_is_refused_with_the_row_s_reason(row: Option) -> None:
    policy = SessionPolicy(Limits(), Peer("192.0.2.7", "192.0.2.1", "ipv4"))
    for name in row.wire:
        options = {name: right_value(row)}
        request = check_request({"verb": "listen", "request": 1, **LISTEN, "options": options})
        with pytest.raises(RefusedError, match=row.refused_stranger):
            policy.admit(request)
