"""`netsonde serve` as strangers meet it: paired, mistaken, rude and hostile."""

import contextlib
import gc
import json
import os
import signal
import socket
import ssl
import threading
import time

import pytest
from launch_fakes import RUN, FakeHost, Serving, gone, open_descriptors

from netsonde.errors import HostError, UsageError
from netsonde.launch.pair import open_pair
from netsonde.launch.paired import PairedHost, TlsStream
from netsonde.launch.pairing import PairingCode
from netsonde.launch.worker import WorkerError
from netsonde.serve import server
from netsonde.serve.identity import make_identity

CLIENT = b'{"netsonde":"client","client":"c","measurement":"m","nonce":"'


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(mode="good", options=(), **more):
        started.append(Serving(tmp_path, mode, options, **more))
        return started[-1]

    yield start
    for one in started:
        one.end()
        assert "Traceback" not in one.log.read_text()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for all who ask for nothing of their own or misbehave: it must bear them."""
    serving = Serving(tmp_path_factory.mktemp("shared"))
    yield serving
    serving.end()
    assert "Traceback" not in serving.log.read_text()


@contextlib.contextmanager
def listener(answer):
    """A TCP server for one connection that is not netsonde."""
    with socket.create_server(("127.0.0.1", 0)) as sock:

        def run():
            with contextlib.suppress(OSError):
                connection, _ = sock.accept()
                with connection:
                    answer(connection)

        thread = threading.Thread(target=run)
        thread.start()
        yield sock.getsockname()[1]
        with contextlib.suppress(OSError), socket.create_connection(sock.getsockname()[:2], 1):
            pass
        thread.join()


def ask(stream, **request):
    """One answer to one request, given as its first record."""
    stream.write(json.dumps(request).encode() + b"\n")
    return json.loads(stream.read_line(time.monotonic() + 10))


class TestSessions:
    def test_a_paired_session(self, serve, tmp_path):
        serving = serve()
        gc.collect()  # what earlier tests have left; it takes a second where all tests are read
        threads, descriptors = threading.active_count(), open_descriptors()
        for transport in ("tcp", "udp"):
            origin = FakeHost(tmp_path, name=transport)
            with open_pair(origin, serving.host(), transport) as session:
                assert session.opened[0]["asked_address"] == "127.0.0.1"
                for _ in range(3):
                    records = session.run(RUN, 5)
                    assert sorted(r["rank"] for r in records) == [0, 0, 0, 1, 1]
        assert threading.active_count() <= threads
        assert open_descriptors() <= descriptors
        assert serving.logged("3 runs, 1920 bytes; quit")

    def test_the_worker_has_no_privileges(self, shared):
        with shared.host().start_worker() as worker:
            facts = worker.request("facts", 10)[0]["values"]
        assert facts["test.NoNewPrivs"] == "1"
        assert int(facts["test.CapEff"], 16) == 0
        assert facts["test.directory"] == "/"
        # Python itself sets this one in a C locale.
        assert set(facts["test.environment"].split()) <= {"LC_CTYPE"}
        assert facts["test.descriptors"] <= 6  # three, the binary's, and those of the listing
        if os.geteuid() == 0:
            assert facts["test.Groups"] == ""
            assert "0" not in facts["test.Uid"].split()

    def test_only_the_address_that_paired_may_connect(self, shared):
        with shared.host().start_worker() as worker:
            values = worker.values(
                "listen",
                5,
                transport="udp",
                family="ipv4",
                cookie="0" * 32,
                allow_address="198.51.100.1",
                address="0.0.0.0",
                timeout_ns=10**9,
            )
        assert values["asked_allow_address"] == values["asked_address"] == "127.0.0.1"

    def test_ipv6(self, serve, tmp_path):
        try:
            serving = serve(options=("--bind", "::1"))
        except json.JSONDecodeError:
            pytest.skip("this machine has no IPv6")
        host = PairedHost("::1", serving.port, serving.code)
        with open_pair(FakeHost(tmp_path), host, "tcp", family="ipv6") as session:
            assert session.opened[0]["asked_address"] == "::1"
        with pytest.raises(HostError, match="no ipv4 address"):
            open_pair(FakeHost(tmp_path, name="h2"), host, "tcp")

    def test_both_families_by_default(self):
        listeners = server.listen(None, 0)
        try:
            assert len({s.getsockname()[1] for s in listeners}) == 1
            families = {s.family for s in listeners}
            assert socket.AF_INET in families
            with pytest.raises(HostError, match=r"cannot listen on port .*; give a free port"):
                server.listen(None, listeners[0].getsockname()[1])
        finally:
            for sock in listeners:
                sock.close()

    def test_a_client_that_vanishes_takes_its_worker_along(self, serve):
        serving = serve("silent")
        stream, hello = serving.paired_stream()
        stream.write(
            json.dumps({**RUN, "verb": "run", "request": 1, "timeout_ns": 10**10}).encode() + b"\n"
        )
        stream.sock.close()
        assert gone(hello["pid"])
        assert serving.logged("closed the connection")

    def test_a_worker_that_dies_is_told(self, serve):
        serving = serve("exit")
        with (
            serving.host().start_worker() as worker,
            pytest.raises(WorkerError, match="worker on this host ended unexpectedly"),
        ):
            worker.request("run", 10, **RUN, timeout_ns=10**9)

    def test_a_worker_that_cannot_be_started_is_told(self, serve, tmp_path):
        serving = serve()
        (tmp_path / "workers-good" / "sonde-worker").chmod(0o600)
        with pytest.raises(HostError, match="cannot start"):
            serving.host().start_worker()

    def test_once_ends_after_its_peer(self, serve, tmp_path):
        serving = serve(options=("--once",))
        assert serving.works(tmp_path)
        assert serving.works(tmp_path)  # the next test of the same host
        assert serving.process.wait(server.COME_BACK_S + 10) == 0

    def test_a_busy_server_says_so(self, shared, tmp_path):
        serving = shared
        with (
            serving.host().start_worker(),
            pytest.raises(HostError, match="refused: the server is busy"),
        ):
            serving.host().start_worker()
        assert serving.works(tmp_path)

    def test_several_sessions_where_allowed(self, serve):
        serving = serve(options=("--sessions", "2"))
        with serving.host().start_worker() as one, serving.host().start_worker() as two:
            assert one.hello["pid"] != two.hello["pid"]

    def test_the_session_has_an_end(self, serve):
        serving = serve("silent", options=("--max-seconds", "1"))
        with serving.host().start_worker() as worker:
            with pytest.raises(WorkerError, match="its 1 s are over") as caught:
                worker.request("run", 10, **RUN, timeout_ns=10**10)
            assert caught.value.code == "limit"
        assert gone(worker.hello["pid"])

    def test_limits_are_answers(self, serve):
        serving = serve(options=("--max-bytes", "1k", "--max-rate", "1M"))
        with serving.host().start_worker() as worker:
            common = {"timeout_ns": 10**9, "message_bytes": 64}
            with pytest.raises(WorkerError, match="no rate was asked for"):
                worker.request("run", 5, test="stream", duration_ns=10**8, **common)
            assert worker.request("run", 5, test="latency", count=5, **common)
            with pytest.raises(WorkerError, match="over the 1k bytes"):
                worker.request("run", 5, test="latency", count=5, **common)

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 4), (signal.SIGTERM, 0)])
    def test_signals_end_it_in_order(self, serve, number, code):
        serving = serve("silent")
        stream, hello = serving.paired_stream()
        assert serving.end(number) == code
        assert gone(hello["pid"])
        assert stream.read(time.monotonic() + 5) == b""
        stream.sock.close()

    def test_its_time_ends(self, serve):
        serving = serve(options=("--time", "1s"))
        assert serving.process.wait(10) == 0
        assert serving.logged("its time of 1 s is over")

    def test_what_it_announces(self, shared):
        announcement = shared.announcement
        assert announcement["commands"] == [
            f"NETSONDE_PAIR={announcement['code']} "
            f"netsonde tcp 127.0.0.1:{announcement['port']} latency"
        ]

    @pytest.mark.parametrize(
        ("options", "code", "sentence"),
        [
            (("--bind", "192.0.2.77"), 3, "give a free port"),
            (("--time", "0s"), 2, "between 1 second and 30 days"),
            (("--test-port", "7", "--sessions", "2"), 2, "cannot share"),
            (("--max-rate", "fast"), 2, "is not a rate"),
        ],
    )
    def test_usage(self, serve, options, code, sentence):
        serving = serve(options=options, announced=False)
        assert serving.process.wait(20) == code
        assert sentence in serving.log.read_text()


class TestMistakes:
    def test_a_wrong_secret(self, shared, tmp_path):
        serving = shared
        right = PairingCode.parse(serving.code)
        wrong = PairingCode(right.fingerprint, b"0123456789").text()
        for _ in range(2):
            with pytest.raises(HostError, match="refused: the pairing code is wrong"):
                serving.host(wrong).start_worker()
        assert serving.works(tmp_path)
        assert serving.logged("refused, the pairing code is wrong")

    def test_another_server_is_told_nothing(self, shared):
        other = PairingCode.make(make_identity().certificate_der).text()
        with pytest.raises(HostError, match="another server than the one that printed"):
            shared.host(other).start_worker()

    def test_a_closed_port(self):
        with socket.create_server(("127.0.0.1", 0)) as sock:
            port = sock.getsockname()[1]
        host = PairedHost("127.0.0.1", port, PairingCode.make(b"x").text())
        with pytest.raises(HostError, match=rf"127.0.0.1:{port}: nothing listens on that port"):
            host.start_worker()

    def test_an_unknown_host(self):
        host = PairedHost("no.such.host.invalid", 5959, PairingCode.make(b"x").text())
        with pytest.raises(HostError, match="has no ipv4 address here"):
            host.start_worker()

    @pytest.mark.parametrize(
        ("answer", "sentence"),
        [
            (lambda c: c.sendall(b"220 mail ESMTP\r\n") or c.recv(9999), "does not speak TLS"),
            (lambda c: c.close(), "does not speak TLS|connection was lost"),
            (lambda _: time.sleep(3), "did not answer within"),
        ],
        ids=["other", "closes", "silent"],
    )
    def test_another_kind_of_server(self, monkeypatch, answer, sentence):
        monkeypatch.setattr("netsonde.launch.paired.PAIRING_TIMEOUT_S", 1.0)
        before = open_descriptors()
        with listener(answer) as port:
            host = PairedHost("127.0.0.1", port, PairingCode.make(b"x").text())
            with pytest.raises(HostError, match=sentence):
                host.start_worker()
        assert open_descriptors() <= before

    @pytest.mark.parametrize(
        "line",
        [
            b"{}",
            b"[" * 3000,
            b"x" * 9000,
            b'{"netsonde":"serve","pairing":1}',
            b'{"netsonde":"serve","pairing":1,"nonce":"' + b"zz" * 16 + b'"}',
        ],
        ids=["empty", "nested", "long", "no nonce", "no hex"],
    )
    def test_a_server_with_the_right_certificate_and_wrong_words(self, line):
        identity = make_identity()

        def answer(connection):
            with identity.context.wrap_socket(connection, server_side=True) as tls:
                tls.sendall(line + b"\n")
                tls.recv(100)

        with listener(answer) as port:
            host = PairedHost("127.0.0.1", port, identity.code.text())
            with pytest.raises(HostError, match="what listens there is not netsonde serve"):
                host.start_worker()

    def test_it_can_only_be_the_target(self, tmp_path):
        host = PairedHost("h", 1, PairingCode.make(b"x").text())
        with pytest.raises(UsageError, match="can only be the target"):
            open_pair(host, FakeHost(tmp_path), "tcp")
        with pytest.raises(UsageError, match="starts its worker and not sh"):
            host.start(["sh"])


class TestHostility:
    def test_garbage_before_tls(self, shared, tmp_path):
        serving = shared
        for content in (
            b"",
            b"\0" * 1000,
            b"GET / HTTP/1.1\r\n\r\n",
            os.urandom(5000),
            b"\x16\x03\x01\xff\xff" + b"\1" * 70000,
        ):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", serving.port), 5) as sock,
            ):
                sock.sendall(content)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1000):
                    pass
        assert serving.works(tmp_path)

    def test_only_tls_1_3(self, shared):
        serving = shared
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with (
            socket.create_connection(("127.0.0.1", serving.port), 5) as sock,
            pytest.raises((ssl.SSLError, ConnectionResetError)),
        ):
            context.wrap_socket(sock)

    @pytest.mark.parametrize(
        "line",
        [
            b"{}",
            b"x" * 100_000,
            b"[" * 60_000,
            b'{"netsonde":"client"}',
            b"\xff\xfe",
            b'{"netsonde":"client","client":"c","measurement":"m","nonce":"'
            + b"zz" * 16
            + b'","proof":""}',
            b'{"netsonde":"client","client":"c","measurement":"m","nonce":"'
            + b"00" * 16
            + b'","proof":"\\ud800"}',
            b'{"netsonde":"client","client":"c","measurement":"m","nonce":"'
            + b"00" * 16
            + b'","proof":5}',
        ],
        ids=["empty", "long", "nested", "bare", "bytes", "no hex", "surrogate", "number"],
    )
    def test_garbage_in_place_of_a_proof(self, shared, tmp_path, line):
        serving = shared
        stream = TlsStream(serving.host()._connect("ipv4"))
        stream.handshake(time.monotonic() + 5)
        stream.write(line + b"\n")
        seen = b""
        with contextlib.suppress(OSError):
            while content := stream.read(time.monotonic() + 10):
                seen += content
        stream.sock.close()
        assert b'"paired"' not in seen
        assert b'"hello"' not in seen
        assert serving.works(tmp_path)

    def test_nothing_but_a_nonce_before_the_proof(self, shared):
        stream = TlsStream(shared.host()._connect("ipv4"))
        stream.handshake(time.monotonic() + 5)
        greeting = json.loads(stream.read_line(time.monotonic() + 5))
        stream.sock.close()
        assert greeting.keys() == {"netsonde", "pairing", "nonce"}

    def test_slow_and_half_open_connections_are_dropped(self, shared, tmp_path):
        serving = shared
        slow = [socket.create_connection(("127.0.0.1", serving.port), 5) for _ in range(2)]
        half = TlsStream(serving.host()._connect("ipv4"))
        half.handshake(time.monotonic() + 5)
        assert serving.works(tmp_path)  # they are in nobody's way
        started = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < started + 10:
                slow[0].sendall(b"\x16")  # byte by byte
                time.sleep(0.2)
        assert time.monotonic() < started + 9
        assert slow[1].recv(1) == b""
        half.read_line(time.monotonic() + 5)
        with contextlib.suppress(OSError):
            assert half.read(time.monotonic() + 5) == b""
        for sock in (*slow, half.sock):
            sock.close()
        assert serving.logged("did not pair within 5 s")

    @pytest.mark.parametrize(
        ("request_", "code"),
        [
            ({"verb": "exec", "request": 5, "command": "id"}, "bad_request"),
            (
                {
                    "verb": "open",
                    "request": 5,
                    "role": "origin",
                    "transport": "udp",
                    "family": "ipv4",
                    "cookie": "0" * 32,
                    "address": "192.0.2.1",
                    "port": 53,
                    "timeout_ns": 10**9,
                },
                "refused",
            ),
            (
                {
                    "verb": "run",
                    "request": 5,
                    "test": "stream",
                    "message_bytes": 64,
                    "duration_ns": 3600 * 10**9,
                    "timeout_ns": 10**9,
                },
                "limit",
            ),
            ({"verb": "facts", "request": 5, "file": "/etc/passwd"}, "bad_request"),
            ({"verb": ["facts"], "request": 5}, "bad_request"),
        ],
    )
    def test_what_is_not_allowed_never_reaches_the_worker(self, shared, request_, code):
        stream, _ = shared.paired_stream()
        answer = ask(stream, **request_)
        assert (answer["record"], answer["request"], answer["code"]) == ("error", 5, code)
        assert ask(stream, verb="close", request=6)["record"] == "done"
        stream.sock.close()

    @pytest.mark.parametrize(
        "line",
        [b"[" * 60_000, b'{"a":' * 12_000, b"9" * 60_000, b"\0", b"null", b"", b"\xff" * 99],
        ids=["brackets", "objects", "digits", "zero", "null", "empty", "bytes"],
    )
    def test_garbage_after_pairing_is_answered(self, shared, line):
        stream, _ = shared.paired_stream()
        stream.write(line + b"\n")
        answer = json.loads(stream.read_line(time.monotonic() + 10))
        assert (answer["code"], answer["request"]) == ("bad_request", 0)
        assert ask(stream, verb="close", request=6)["record"] == "done"
        stream.sock.close()

    def test_an_endless_line_ends_the_session(self, shared, tmp_path):
        serving = shared
        stream, hello = serving.paired_stream()
        with contextlib.suppress(OSError):
            for _ in range(20):
                stream.write(b"x" * 10_000)
        assert gone(hello["pid"])
        stream.sock.close()
        assert serving.works(tmp_path)

    def test_endless_refusals_end_the_session(self, shared):
        serving = shared
        stream, hello = serving.paired_stream()
        with contextlib.suppress(OSError):
            for _ in range(100):
                stream.write(b"{}\n")
        assert gone(hello["pid"])
        stream.sock.close()
        assert serving.logged("too many requests had to be refused")

    def test_a_peer_that_never_reads_ends_with_the_session(self, serve):
        serving = serve("flood", options=("--max-seconds", "2"))
        stream, hello = serving.paired_stream()
        stream.write(
            json.dumps({**RUN, "verb": "run", "request": 1, "timeout_ns": 10**10}).encode() + b"\n"
        )
        assert gone(hello["pid"], 20)
        stream.sock.close()
        assert serving.logged("its 2 s are over")
