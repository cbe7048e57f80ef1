"""What a stranger who paired may ask for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from netsonde.catalogue.options.sockets import SOCKETS
from netsonde.catalogue.test import engine_names, test_row
from netsonde.serve.requests import Request
from netsonde.units import bytes_in_words, format_rate, format_size

_TESTS = engine_names("has_sockets")


@dataclass(frozen=True)
class Limits:
    """Limits of one session. The defaults let a complete study of two hosts through."""

    session_s: float = 600.0
    run_s: float = 60.0  # the longest single run
    total_bytes: int = 1 << 40  # payload, both directions together
    message_bytes: int = 256 << 20  # what the worker takes memory for
    runs: int = 100_000
    rate_bit_per_s: int | None = None  # of stream and duplex; None: no limit


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

    def __init__(self, limits: Limits, peer: Peer, test_port: int = 0) -> None:
        self._limits = limits
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
        return self._bounded(request) | {
            "allow_address": self._peer.address,
            "address": self._peer.local_address,
            "port": self._test_port,
        }

    def _open(self, request: Request) -> Request:
        if request["role"] != "target":
            raise RefusedError(
                "refused", "a host that serves is only ever the target; it connects to nobody"
            )
        return self._bounded(request)

    def _run(self, request: Request) -> Request:
        limits = self._limits
        if request["test"] not in _TESTS:
            raise RefusedError("refused", f"the test {request['test']} is none between two hosts")
        if self._runs >= limits.runs:
            raise RefusedError("limit", f"the session had its {limits.runs} runs")
        if request["message_bytes"] > limits.message_bytes:
            raise RefusedError(
                "limit",
                f"a message of {format_size(request['message_bytes'])} was asked for; this server "
                f"allows {format_size(limits.message_bytes)}",
            )
        duration_s = request.get("duration_ns", 0) / 1e9
        if duration_s > limits.run_s:
            raise RefusedError(
                "limit",
                f"a run of {duration_s:.3g} s was asked for; this server "
                f"allows {limits.run_s:.3g} s",
            )
        self._check_rate(request)
        self._check_bytes(request, duration_s)
        self._runs += 1
        return self._bounded(request)

    def _check_rate(self, request: Request) -> None:
        most, kind = self._limits.rate_bit_per_s, test_row(request["test"])
        if most is None or not (kind.is_stream or kind.is_open_loop):
            return
        rate = request.get("rate_bit_per_s")
        if rate is None or rate > most:
            asked = "no rate" if rate is None else format_rate(rate)
            raise RefusedError(
                "limit",
                f"{asked} was asked for; this server allows streams of at most {format_rate(most)}",
            )

    def _check_bytes(self, request: Request, duration_s: float) -> None:
        """Refuses what is known beforehand to be too much; count_bytes() finds the rest."""
        left = self._limits.total_bytes - self._bytes
        directions = 1 if test_row(request["test"]).is_one_way_stream else 2
        most = request.get("count") or request.get("least_count", 0)
        wanted = directions * request["message_bytes"] * most
        wanted += round(directions * request.get("rate_bit_per_s", 0) / 8 * duration_s)
        if left <= 0 or wanted > left:
            raise RefusedError(
                "limit",
                "the run would go over the "
                f"{bytes_in_words(self._limits.total_bytes)} that this "
                "server allows a session",
            )

    def _bounded(self, request: Request) -> Request:
        """With a timeout that does not outlive the session."""
        left_ns = round((self._deadline - time.monotonic()) * 1e9)
        return request | {"timeout_ns": max(1_000_000, min(request["timeout_ns"], left_ns))}
