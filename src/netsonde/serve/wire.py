"""A connection of a client: TLS over a socket, lines of JSON, and an end in any case."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from dataclasses import dataclass

from netsonde.launch.keep_alive import watch_for_death
from netsonde.serve.requests import REQUEST_LINE_LIMIT_BYTES

CLOSE_TIMEOUT_S = 2.0


class VisitRefusedError(Exception):
    """A peer that speaks properly and may not come in; the sentence is for it and for the log."""


@dataclass(frozen=True)
class Wire:
    """``address`` is the peer's, ``local_address`` that of this host which it came to."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: str
    local_address: str

    @property
    def family(self) -> str:
        return "ipv6" if ":" in self.local_address else "ipv4"

    async def say(self, kind: str, **fields: object) -> None:
        """A message of the pairing."""
        self.writer.write(json.dumps({"netsonde": kind, **fields}).encode() + b"\n")
        await self.writer.drain()

    async def say_last(self, reason: str) -> None:
        """A refusal, to a peer that may be gone or may not read it."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.say("refused", reason=reason)

    async def close(self) -> None:
        """It is gone afterwards, whether the peer takes leave or not."""
        self.writer.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.writer.wait_closed()
        except (OSError, TimeoutError, ssl.SSLError):
            self.writer.transport.abort()


async def start_tls(
    sock: socket.socket, address: str, context: ssl.SSLContext, timeout_s: float
) -> Wire:
    """Raises OSError (ssl.SSLError is one) where the peer does not."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    watch_for_death(sock)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=REQUEST_LINE_LIMIT_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol,
        sock,
        ssl=context,
        ssl_handshake_timeout=timeout_s,
        ssl_shutdown_timeout=CLOSE_TIMEOUT_S,
    )
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    return Wire(reader, writer, address, str(writer.get_extra_info("sockname")[0]))


def send_away(sock: socket.socket, why: bytes) -> None:
    """A client knows what it means; what comes from elsewhere reads some bytes that are no TLS."""
    with sock, contextlib.suppress(OSError):
        sock.setblocking(False)
        sock.send(why)


def cut(sock: socket.socket) -> None:
    """Whoever reads it finds its end."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
