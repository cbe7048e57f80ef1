"""No option under test reaches the control connection, at either end.

What the kernel says of the worker's control sockets is compared, option by option, with what it
says of those of a run without options. The sockets are copied out of the workers (pidfd_getfd).
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.option_values import (
    ABOUT,
    UNUSUAL,
    WAYS,
    is_possible,
    named,
    pairs,
    settings,
    transports,
)
from raw_worker import RawWorker, pair, workers

from netsonde.study.open_sockets import worker_options
from netsonde.study.options_table import OptionsTable

pytestmark = pytest.mark.worker

PIDFD_GETFD = 438
LEVELS = {"socket": socket.SOL_SOCKET, "ip": socket.IPPROTO_IP, "tcp": socket.IPPROTO_TCP}
MOST_NUMBER = 80
CHANGING = {
    *(("socket", number) for number in (28, 49, 55, 56, 57)),
    ("ip", 52),
    *(("tcp", number) for number in (11, 12, 24, 26, 35)),
}
"""What differs from one connection to the next: the port, the peer's name, the CPU that heard
of it last, memory in use, the queue's number, the cookie; TCP's counters and clock, whether the
next acknowledgement is held back, and what could be received without a copy (an error while
nothing lies there)."""


def kernel_says(descriptor: int) -> dict[tuple[str, int], bytes]:
    """Every option of a socket that can be asked for, by level and number."""
    found = {}
    with socket.socket(fileno=os.dup(descriptor)) as one:
        for level, value in LEVELS.items():
            for number in range(1, MOST_NUMBER):
                if (level, number) in CHANGING:
                    continue
                try:
                    found[level, number] = one.getsockopt(value, number, 64)
                except OSError:
                    continue
    return found


def sockets_of(worker: RawWorker) -> Iterator[int]:
    """Copies of a worker's connected sockets."""
    libc = ctypes.CDLL(None, use_errno=True)
    pid = worker.process.pid
    handle = os.pidfd_open(pid)
    try:
        for number in sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()):
            if not str(Path(f"/proc/{pid}/fd/{number}").readlink()).startswith("socket:"):
                continue
            copy = libc.syscall(PIDFD_GETFD, handle, number, 0)
            if copy < 0:
                pytest.skip(f"sockets cannot be copied: {os.strerror(ctypes.get_errno())}")
            try:
                yield copy
            finally:
                os.close(copy)
    finally:
        os.close(handle)


def control_of(worker: RawWorker, opened: dict[str, Any]) -> dict[tuple[str, int], bytes]:
    """What the kernel says of the control connection: the one of TCP that is not under test."""
    found = []
    for descriptor in sockets_of(worker):
        with socket.socket(fileno=os.dup(descriptor)) as one:
            is_stream = one.type == socket.SOCK_STREAM and one.family == socket.AF_INET
            if not is_stream or one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                continue
            ports = (one.getsockname()[1], one.getpeername()[1])
        if ports != (opened["local_port"], opened["peer_port"]):
            found.append(kernel_says(descriptor))
    assert len(found) == 1
    return found[0]


def controls(
    program: Path, transport: str, options: dict[str, Any]
) -> list[dict[tuple[str, int], bytes]]:
    """Of the origin and the target, after a batch."""
    test = "stream" if "datagrams_per_call" in options else "latency"
    table = OptionsTable.model_validate(options).model_dump(exclude_none=True)
    del table["placement"]  # becomes CPUs of the ends
    origin, target = worker_options(transport, table)
    with pair(program, transport, options=origin, target_options=target) as ends:
        ends.run(test=test, message_bytes=100, count=20)
        return [
            control_of(worker, opened["values"])
            for worker, opened in zip((ends.origin, ends.target), ends.opened, strict=True)
        ]


@pytest.fixture(scope="module")
def plain(sonde_worker: Path) -> dict[str, list[dict[tuple[str, int], bytes]]]:
    """By transport, what is said without options."""
    return {name: controls(sonde_worker, name, {}) for name in ("tcp", "udp")}


@pytest.fixture(scope="module")
def missing(sonde_worker: Path) -> set[str]:
    """Names of options that this machine does not have."""
    with workers(sonde_worker, 1) as (worker,):
        offers = worker.ask("offers")[-1]["values"]
    return {
        name
        for name, offer in (("multipath", "multipath_tcp"), ("uring", "io_uring"))
        if offers[offer]
    }


def changed(
    program: Path,
    options: dict[str, Any],
    plain: dict[str, list[dict[tuple[str, int], bytes]]],
) -> list[str]:
    """What the options changed at the control connections, in words."""
    wrong = []
    for transport in transports(options):
        found = controls(program, transport, options)
        for end, was, now in zip(("origin", "target"), plain[transport], found, strict=True):
            assert ("tcp", socket.TCP_CORK) in was
            assert ("socket", socket.SO_RCVBUF) in was
            wrong += [
                f"{transport} {end}: {key} is {now.get(key)!r}, was {was.get(key)!r}"
                for key in was.keys() | now.keys()
                if was.get(key) != now.get(key)
            ]
    return wrong


def has(options: dict[str, Any], missing: set[str]) -> bool:
    return not missing & {*options, *map(str, options.values())}


def test_every_option_is_tried() -> None:
    known = {name for name in OptionsTable.model_fields if transports({name: None})}
    assert {*UNUSUAL, *WAYS} == ABOUT.keys() == known
    for options in settings():
        assert is_possible(options), options
        assert transports(options), options


@pytest.mark.parametrize("options", settings(), ids=named)
def test_an_option_leaves_the_control_connection_alone(
    sonde_worker: Path, plain: Any, missing: set[str], options: dict[str, Any]
) -> None:
    if not has(options, missing):
        pytest.skip("this machine does not have it")
    assert not changed(sonde_worker, options, plain)


@pytest.mark.soak
def test_two_options_leave_the_control_connection_alone(
    sonde_worker: Path, plain: Any, missing: set[str]
) -> None:
    wrong = {
        named(options): found
        for options in pairs()
        if has(options, missing) and (found := changed(sonde_worker, options, plain))
    }
    assert not wrong
