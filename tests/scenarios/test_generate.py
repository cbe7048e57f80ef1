"""The command `netsonde udp HOST generate`, as a user runs it: what it sends, says and keeps."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time

import pytest

import warm

WARNING = "Sending to local unasked: it and the way there may suffer. Ctrl-C ends it."
MESSAGE_BYTES = 500
RATE_BIT_PER_S = 4_000_000  # a datagram each ms


class Receiver:
    """Counts the datagrams that come to a port of this machine."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self.port = self._socket.getsockname()[1]
        self.sizes: list[int] = []
        self._ended = False
        self._thread = threading.Thread(target=self._receive)

    def _receive(self) -> None:
        while not self._ended:
            try:
                self.sizes.append(len(self._socket.recv(2000)))
            except TimeoutError:
                continue

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join()
        self._socket.close()


def words_of(port, *words):
    """What follows `netsonde`, for a port, with more words behind."""
    sized = ("--port", str(port), "--sizes", str(MESSAGE_BYTES))
    return ["udp", "local", "generate", *sized, *words]


@pytest.fixture
def generate(tmp_path):
    """Runs the command to its end; its code, output and errors."""

    def run(port, *words):
        done = warm.run(words_of(port, *words), folder=tmp_path, timeout_s=40)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.timeout(60)
def test_what_is_sent_arrives_and_is_reported(generate):
    with Receiver() as receiver:
        code, output, errors = generate(receiver.port, "--rate", "4M", "--time", "500ms", "--json")
        time.sleep(0.5)
    assert code == 0, errors
    assert WARNING not in errors  # --json says nothing else
    figures = {f["name"]: f for f in json.loads(output)["figures"]}
    assert set(receiver.sizes) == {MESSAGE_BYTES}
    sent = figures["send_gap_median_ns"]["samples"] + 1
    assert len(receiver.sizes) == sent
    rate, per_s = (figures[name]["value"] for name in ("sent_bit_per_s", "sent_datagrams_per_s"))
    assert per_s == pytest.approx(rate / 8 / MESSAGE_BYTES)
    # A datagram never leaves before its time; how late it may leave, no test says.
    assert rate <= RATE_BIT_PER_S * (sent + 1) / (sent - 1)
    assert figures["refused"]["value"] == 0


@pytest.mark.timeout(60)
def test_it_warns_and_shows_what_it_did(generate):
    with Receiver() as receiver:
        code, output, errors = generate(receiver.port, "--rate", "4M", "--time", "200ms")
    assert code == 0, errors
    assert WARNING in errors
    for words in ("sent", "datagrams/s", "gap p99", "refused"):
        assert words in output
    with Receiver() as receiver:
        ended = generate(receiver.port, "--rate", "4M", "--time", "200ms", "--quiet")
    assert ended == (0, "", "")


@pytest.fixture
def started(netsonde_command, tmp_path):
    """Starts the command as a user does."""
    processes = []

    def start(port, *words):
        process = subprocess.Popen(
            [*netsonde_command, *words_of(port, *words)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.timeout(60)
def test_an_interrupt_ends_it_at_once(started):
    with Receiver() as receiver:
        process = started(receiver.port, "--rate", "4M", "--time", "10m")
        deadline = time.monotonic() + 30
        while not receiver.sizes:
            assert time.monotonic() < deadline, "nothing came"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 4, errors
        time.sleep(0.3)
        ended = len(receiver.sizes)
        time.sleep(0.5)
        assert len(receiver.sizes) == ended
