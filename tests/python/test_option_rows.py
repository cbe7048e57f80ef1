"""The rows of socket options and the engine's own strict reader say the same."""

from __future__ import annotations

from typing import Any

import pytest
from raw_worker import RawWorker

from netsonde.catalogue.option import Choice, Number, Option, Switch, Text
from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.serve.policy import Limits, Peer, RefusedError, SessionPolicy
from netsonde.serve.requests import check_request

WIRES = sorted({(name, row.key) for row in SOCKETS.values() for name in row.wire})
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
            return ["no_such_word", 1]
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
    for value in wrong_values(SOCKETS[key]):
        said = lone.ask("listen", **LISTEN, options={name: value})[-1]
        assert said["record"] == "error", value
        assert name in said["message"], value
        assert "unknown" not in said["message"]


def test_the_engine_has_no_other_names(lone: RawWorker) -> None:
    said = lone.ask("listen", **LISTEN, options={"no_such_option": 1})[-1]
    assert said["record"] == "error"
    assert "no_such_option" in said["message"]


@pytest.mark.parametrize("row", [r for r in SOCKETS.values() if r.refused_stranger])
def test_a_stranger_is_refused_with_the_row_s_reason(row: Option) -> None:
    policy = SessionPolicy(Limits(), Peer("192.0.2.7", "192.0.2.1", "ipv4"))
    for name in row.wire:
        options = {name: right_value(row)}
        request = check_request({"verb": "listen", "request": 1, **LISTEN, "options": options})
        with pytest.raises(RefusedError, match=row.refused_stranger):
            policy.admit(request)
