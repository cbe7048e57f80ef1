"""What a stranger who paired may ask for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import engine_names, test_row
from netsonde.serve.account import Account
from netsonde.serve.limits import Limits
from netsonde.serve.requests import Request
from netsonde.units import bytes_in_words, format_rate

RUN_SLACK_S = 10.0
"""Beside the run itself: both ends begin together, and what is on its way arrives."""
_TESTS = engine_names("has_sockets")


@dataclass(frozen=True)
class Peer:
    """Who paired, over which of this host's addresses."""

    address: str
    local_address: str
    family: str


class RefusedError(Exception):
    """A request that is not allowed: an error code of the record format, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SessionPolicy:
    """Decides on the requests of one session and keeps count of what it used."""

    def __init__(
        self, limits: Limits, peer: Peer, test_port: int = 0, account: Account | None = None
    ) -> None:
        self._limits = limits
        self._account = account or Account()
        self._use = self._account.begin()
        self._peer = peer
        self._test_port = test_port
        self._deadline = time.monotonic() + limits.session_s
        self._runs = 0
        self._bytes = 0

    def admit(self, request: Request) -> Request:
        """The request as the worker gets it. Raises RefusedError."""
        match request["verb"]:
            case "facts" | "snapshot" | "sync" | "close" | "quit":
                return request
            case "listen":
                return self._listen(request)
            case "open":
                return self._open(request)
            case "run":
                return self._run(request)
        raise RefusedError("refused", "this server does not take that verb")

    def count_bytes(self, moved_bytes: int) -> None:
        """What a run really moved, sent and received together."""
        self._bytes += max(0, moved_bytes)
        self._account.moved_bytes += max(0, moved_bytes)

    def ended(self) -> None:
        """The worker has nothing to do any more."""
        self._use.rate_bit_per_s = 0

    def close(self) -> None:
        """The session is over."""
        self._account.end(self._use)

    @property
    def account(self) -> Account:
        """That of the code."""
        return self._account

    @property
    def moved_bytes(self) -> int:
        return self._bytes

    @property
    def runs(self) -> int:
        return self._runs

    def _listen(self, request: Request) -> Request:
        if request["family"] != self._peer.family:
            raise RefusedError(
                "refused",
                f"the pairing came over {self._peer.family}, so tests use {self._peer.family} too",
            )
        asked = request.get("options", {})
        for row in SOCKETS.values():
            if row.refused_stranger and any(asked.get(name) for name in row.wire):
                raise RefusedError("refused", row.refused_stranger)
        # Whatever was asked for: the test talks to the address that paired, and to no other.
        return self._bounded(request, self._limits.open_s) | {
            "allow_address": self._peer.address,
            "address": self._peer.local_address,
            "port": self._test_port,
        }

    def _open(self, request: Request) -> Request:
        if request["role"] != "target":
            raise RefusedError(
                "refused", "a host that serves is only ever the target; it connects to nobody"
            )
        return self._bounded(request, self._limits.open_s)

    def _run(self, request: Request) -> Request:
        limits = self._limits
        if request["test"] not in _TESTS:
            raise RefusedError("refused", f"the test {request['test']} is none between two hosts")
        if self._runs >= limits.runs:
            raise RefusedError("limit", limits.said("runs"))
        if request["message_bytes"] > limits.message_bytes:
            asked = bytes_in_words(request["message_bytes"])
            raise RefusedError("limit", limits.said("message_bytes", asked))
        asked_s = self._check_time(request)
        self._check_bytes(request, asked_s)
        self._check_rate(request)
        self._runs += 1
        return self._bounded(request, limits.run_s + RUN_SLACK_S)

    @property
    def most_run_ns(self) -> int:
        """The timeout of a run that asked for more than it may have."""
        return round((self._limits.run_s + RUN_SLACK_S) * 1e9)

    def too_long(self) -> str:
        """The sentence of a run that has not ended in its time."""
        asked = f"more than {self._limits.run_s + RUN_SLACK_S:g} s"
        return self._limits.said("run_s", asked)

    def _check_time(self, request: Request) -> float:
        """The seconds that are asked for, as far as the request tells."""
        asked_s = float(request.get("duration_ns", 0) / 1e9)
        if rate := request.get("rate_bit_per_s"):
            asked_s = max(asked_s, 8 * request["message_bytes"] * _messages(request) / rate)
        if asked_s > self._limits.run_s:
            raise RefusedError("limit", self._limits.said("run_s", f"{asked_s:.3g} s"))
        if spent := self._account.spent(self._limits):
            raise RefusedError("limit", spent)
        return asked_s

    def _check_rate(self, request: Request) -> None:
        """Of one session, and of all sessions of the code."""
        kind, rate = test_row(request["test"]), request.get("rate_bit_per_s")
        if not (kind.is_stream or kind.is_open_loop):
            return
        others = self._account.others_bit_per_s(self._use)
        for name, beside in (("rate_bit_per_s", 0), ("code_rate_bit_per_s", others)):
            most = getattr(self._limits, name)
            if most is not None and (rate is None or rate + beside > most):
                asked = "no rate" if rate is None else format_rate(rate)
                asked += f" beside {format_rate(beside)}" if rate is not None and beside else ""
                raise RefusedError("limit", self._limits.said(name, asked))
        self._use.rate_bit_per_s = rate or 0

    def _check_bytes(self, request: Request, asked_s: float) -> None:
        """Refuses what is known beforehand to be too much; count_bytes() finds the rest."""
        directions = 1 if test_row(request["test"]).is_one_way_stream else 2
        wanted = directions * request["message_bytes"] * _messages(request)
        if "duration_ns" in request:
            wanted += round(directions * request.get("rate_bit_per_s", 0) / 8 * asked_s)
        for name, moved in (
            ("total_bytes", self._bytes),
            ("code_bytes", self._account.moved_bytes),
        ):
            most = getattr(self._limits, name)
            if most is not None and (moved >= most or wanted > most - moved):
                raise RefusedError("limit", self._limits.said(name))

    def _bounded(self, request: Request, most_s: float) -> Request:
        """With a timeout of most_s that does not outlive the session."""
        left_s = min(most_s, self._deadline - time.monotonic())
        most_ns = max(1_000_000, round(left_s * 1e9))
        return request | {"timeout_ns": min(request["timeout_ns"], most_ns)}


def _messages(request: Request) -> int:
    """How many are asked for at least."""
    return int(request.get("count") or request.get("least_count", 0))
