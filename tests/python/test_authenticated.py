"""Traffic between ends that take only what the other one says, and a key that nobody else sees."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from raw_worker import LOOPBACK, RawPair, RawWorker, S, counters, listen, pair, workers
from typer.testing import CliRunner

from netsonde.cli.main import app
from netsonde.errors import HostError
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair, session_secrets
from netsonde.launch.worker import Worker

pytestmark = pytest.mark.worker

PLAIN_FRAME, SEALED_FRAME = 32, 48
GREETING = 32
RECEIVED = 5
"""The kind of the frame that says what came, and how long it was held (its last 8 bytes)."""


def answers_of_open(
    ends: tuple[RawWorker, RawWorker],
    transport: str = "udp",
    options: dict[str, Any] | None = None,
    keys: tuple[str | None, str | None] = (None, None),
    through: Any = None,
    within_ns: int = 10 * S,
) -> list[dict[str, Any]]:
    """What two workers say of a transport that each opens with a key of its own; ``through`` makes
    another port of the target's."""
    origin, target = ends
    of = [{"key": key} if key else {} for key in keys]
    asked = {"options": options or {}}
    port, cookie = listen(target, transport, **asked, **of[1])
    target.submit("open", role="target", timeout_ns=within_ns)
    common = {"transport": transport, "family": "ipv4", "cookie": cookie, "timeout_ns": within_ns}
    port = through(port) if through else port
    where = {"role": "origin", "address": LOOPBACK["ipv4"], "port": port}
    origin.submit("open", **common, **where, **asked, **of[0])
    return [origin.wait()[-1], target.wait()[-1]]


SEALED: dict[str, Any] = {"authenticated": True}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"wait": "ready"},
        {"wait": "spin"},
        {"datagrams_per_call": 16},
        {"datagrams_per_call": 16, "segment_offload": True},
    ],
)
def test_what_is_sealed_arrives_whole(sonde_worker: Path, options: dict[str, Any]) -> None:
    by_the_dozen = "datagrams_per_call" in options
    tests: tuple[tuple[str, dict[str, Any]], ...] = (("stream", {}), ("duplex", {}))
    if not by_the_dozen:
        loop = {"rate_bit_per_s": 10**7}
        tests += (("latency", {}), ("pingpong", {}), ("open_loop", loop), ("stream", loop))
    sealed = {**SEALED, **options, "receive_buffer_bytes": 1 << 20}
    with pair(sonde_worker, "udp", options=sealed) as ends:
        for test, more in tests:
            for size in (24,) if options.get("wait") == "spin" else (24, 1400):
                checked = {} if test == "open_loop" else {"check_data": True}
                both = ends.run(test=test, message_bytes=size, count=64, **checked, **more)
                found = [counters(records) for records in both]
                assert [one["unauthentic_messages"] for one in found] == [0, 0]
                assert not any(one.get("corrupt") for one in found)
                assert found[1]["messages_received"] + found[1].get("lost", 0) >= 64
                assert found[1]["messages_received"] > 0


def test_kernel_times_of_what_is_sealed(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp", options={**SEALED, "kernel_times": True}) as ends:
        origin, target = ends.run(test="latency", message_bytes=64, count=50)
        assert counters(origin)["messages_received"] == 50
        assert counters(target)["unauthentic_messages"] == 0


def test_too_small_for_a_tag(sonde_worker: Path) -> None:
    with pair(sonde_worker, "udp", options=SEALED) as ends:
        for records in ends.run(test="stream", message_bytes=23, count=10):
            assert records[-1]["code"] == "bad_request"
            assert "message_bytes must be at least 24" in records[-1]["message"]
    with pair(sonde_worker, options=SEALED) as ends:  # a stream has no header to have room for
        assert ends.run(test="stream", message_bytes=1, count=10)[1][-1]["record"] == "done"


def test_a_key_and_the_option_go_together(lone: RawWorker) -> None:
    asked = {"transport": "tcp", "family": "ipv4", "cookie": "00" * 16, "timeout_ns": S}
    for fields in (
        {"options": {"authenticated": True}},
        {"key": "00" * 32},
        {"key": "00" * 32, "options": {"authenticated": False}},
    ):
        answer = lone.ask("listen", **asked, **fields)[-1]
        assert answer["code"] == "bad_request"
        assert "go together" in answer["message"]
    for key in ("beef" * 8, "BEEF" * 16, "beef" * 17):
        answer = lone.ask("listen", **asked, key=key, options={"authenticated": True})[-1]
        assert answer["code"] == "bad_request"
        assert "beef" not in answer["message"].lower()


def test_generate_has_nobody_who_could_tell(lone: RawWorker) -> None:
    fields = {
        "family": "ipv4",
        "address": "127.0.0.1",
        "port": 9,
        "options": {"authenticated": True},
    }
    run = {"test": "stream", "message_bytes": 64, "count": 1, "rate_bit_per_s": 10**6}
    answer = lone.ask("generate", **fields, **run, timeout_ns=S)[-1]
    assert "nobody checks what generate sends" in answer["message"]


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_nobody_gets_in_with_another_key(sonde_worker: Path, transport: str) -> None:
    keys = (secrets.token_hex(32), secrets.token_hex(32))
    with workers(sonde_worker) as (origin, target):
        said = answers_of_open((origin, target), transport, {"authenticated": True}, keys, None, S)
        assert [one["record"] for one in said] == ["error", "error"]
        assert said[0]["code"] == "refused"


class Between:
    """Somebody on the way of the control connection, who changes what `received` says of how long
    it was held."""

    def __init__(self, frame_bytes: int) -> None:
        self._frame_bytes = frame_bytes
        self._listening = socket.create_server((LOOPBACK["ipv4"], 0))

    def __call__(self, port: int) -> int:
        threading.Thread(target=self._stand, args=(port,), daemon=True).start()
        return int(self._listening.getsockname()[1])

    def _stand(self, port: int) -> None:
        for is_control in (True, False):
            near, _ = self._listening.accept()
            far = socket.create_connection((LOOPBACK["ipv4"], port))
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for way in ((near, far, False), (far, near, is_control)):
                threading.Thread(target=self._pass_on, args=way, daemon=True).start()

    def _pass_on(self, of: socket.socket, to: socket.socket, altered: bool) -> None:
        try:
            to.sendall(of.recv(GREETING, socket.MSG_WAITALL))
            size = self._frame_bytes if altered else 65536
            while content := of.recv(size, socket.MSG_WAITALL if altered else 0):
                if altered and int.from_bytes(content[4:6], "little") == RECEIVED:
                    content = content[:24] + (12345).to_bytes(8, "little") + content[32:]
                to.sendall(content)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def test_who_is_on_the_way_alters_what_control_frames_say(sonde_worker: Path) -> None:
    run = {"test": "stream", "message_bytes": 100, "count": 20}
    with workers(sonde_worker) as (origin, target):
        through = Between(PLAIN_FRAME)
        answers_of_open((origin, target), "tcp", through=through)
        heard, _ = RawPair(origin, target).run(**run)
        assert counters(heard)["notice_held_ns"] == 12345  # what nobody measured
    key = secrets.token_hex(32)
    with workers(sonde_worker) as (origin, target):
        through = Between(SEALED_FRAME)
        answers_of_open((origin, target), "tcp", SEALED, (key, key), through=through)
        heard, _ = RawPair(origin, target).run(**run)
        assert heard[-1]["code"] == "data_corrupt"
        assert "somebody on the way altered it" in heard[-1]["message"]
        assert not any(record["record"] == "counters" for record in heard)


def test_a_session_that_somebody_alters_ends_with_a_host_and_a_sentence(
    sonde_worker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same through what opens sessions: the port that the origin is told is another one."""
    del sonde_worker
    between = Between(SEALED_FRAME)
    values = Worker.values

    def told(self: Any, verb: str, *args: Any, **fields: Any) -> Any:
        found = values(self, verb, *args, **fields)
        return {**found, "port": between(found["port"])} if verb == "listen" else found

    monkeypatch.setattr(Worker, "values", told)
    here = LocalHost()
    with open_pair(here, here, "tcp", options={"authenticated": True}) as session:
        fields = {"test": "stream", "message_bytes": 100, "count": 20}
        with pytest.raises(HostError, match=f"^{here.name}: a control frame is not as the other"):
            session.run(fields, 5.0)


def test_keys_are_drawn_anew_and_only_where_they_are_asked_for() -> None:
    first, second = (session_secrets({"authenticated": True}) for _ in range(2))
    assert len(first["key"]) == 64
    assert first["key"] != second["key"]
    assert "key" not in session_secrets({})
    assert "key" not in session_secrets({"authenticated": False})


def test_the_key_is_nowhere_to_be_read(
    sonde_worker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the run's folder, in what is said or in any process's command line."""
    del sonde_worker
    drawn: list[str] = []
    listed: list[bytes] = []
    draw = secrets.token_hex

    def noted(count: int) -> str:
        drawn.append(draw(count))
        return drawn[-1]

    submit = Worker.submit

    def looked(self: Any, verb: str, **fields: Any) -> int:
        if verb == "run":
            listed.extend(_command_lines())
        return submit(self, verb, **fields)

    monkeypatch.setattr(secrets, "token_hex", noted)
    monkeypatch.setattr(Worker, "submit", looked)
    words = ["udp", "local", "latency", "--authenticated", "--count", "50", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["points"][0]["parameters"]["options"]["authenticated"] is True
    keys = [text for text in drawn if len(text) == 64]
    assert keys
    assert listed
    said = [result.output.encode(), *listed]
    said += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for key in keys:
        assert not any(key.encode() in content for content in said)


def _command_lines() -> list[bytes]:
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                found += [(place / name).read_bytes() for name in ("cmdline", "environ")]
            except OSError:  # it has ended, or is somebody else's
                continue
    return found
