"""Workers that behave, and every way in which one may not."""

import os
import signal
import threading
import time

import pytest
from launch_fakes import FakeHost, children, open_descriptors

from netsonde import __version__
from netsonde.errors import HostError
from netsonde.launch import pair, worker
from netsonde.launch.host import ChildProcess, how_it_ended, last_words
from netsonde.launch.worker import WorkerError, most_telling, wait_all

RUN = {"test": "latency", "message_bytes": 64, "count": 3, "timeout_ns": 10**9}


@pytest.fixture(autouse=True)
def _nothing_is_left_over():
    """Every test of this file ends without a process, a thread or a descriptor of its own."""
    threads, descriptors, processes = threading.active_count(), open_descriptors(), children()
    yield
    assert threading.active_count() == threads
    assert children() == processes
    assert open_descriptors() == descriptors


def test_a_good_worker_answers(tmp_path):
    with FakeHost(tmp_path).start_worker() as fake:
        assert fake.hello["worker"] == "sonde-worker"
        records = fake.request("run", 10, **RUN)
        assert [r["record"] for r in records] == ["series", "counters", "done"]
        assert fake.values("close", 10) == {}


def test_the_worker_of_a_closed_session_is_gone_and_closing_twice_is_nothing(tmp_path):
    host = FakeHost(tmp_path)
    fake = host.start_worker()
    fake.close()
    fake.close()
    assert host.started[0].poll() == 0
    with pytest.raises(HostError, match="already closed"):
        fake.submit("facts")


@pytest.mark.parametrize(
    ("mode", "code", "sentence"),
    [
        ("garbage", "garbage", "h1: the worker wrote a line that is not JSON"),
        ("nested", "garbage", "not JSON"),
        ("over_long", "garbage", "over the limit of 1048576 bytes"),
        ("unknown_kind", "garbage", "unknown kind 'gossip'"),
        ("extra_key", "garbage", "unknown field"),
        ("wrong_request", "garbage", "of request 8 where 1 was due"),
        ("silent", "silent", "did not answer within 1 s"),
        ("exit", "died", "h1: the worker ended with status 3: out of luck"),
        ("killed", "died", "was killed by SIGKILL"),
        ("bye", "died", "reason: deadline"),
        ("system", "system", "h1: the fake says system"),
        ("escape", "system", "h1: ?[2Jowned?xxx"),
    ],
)
def test_misbehaviour_is_one_sentence_that_names_the_host(tmp_path, mode, code, sentence):
    with (
        FakeHost(tmp_path, mode).start_worker() as fake,
        pytest.raises(WorkerError) as caught,
    ):
        fake.request("run", 1 if mode == "silent" else 20, **RUN)
    assert caught.value.code == code
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("h1: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("silent_hello", "did not say hello within 1 s"),
        ("garbage_hello", "not JSON: 'Welcome to this host!'"),
        ("dead_hello", "ended with status 127: libmissing.so: cannot open"),
        (
            "other_version",
            f"h1: the worker has version '9.9.9' (protocol '1'), this netsonde has {__version__!r} "
            "(protocol '1'); install the same version on both",
        ),
        (
            "other_protocol",
            f"h1: the worker has version {__version__!r} (protocol '2'), this netsonde has "
            f"{__version__!r} (protocol '1'); install the same version on both",
        ),
    ],
)
def test_a_wrong_hello_is_one_sentence(tmp_path, mode, sentence):
    with pytest.raises(WorkerError) as caught:
        FakeHost(tmp_path, mode).start_worker(hello_timeout_s=1 if "silent" in mode else 20)
    assert sentence in str(caught.value)


def test_a_request_that_is_too_long_is_not_sent(tmp_path):
    with (
        FakeHost(tmp_path).start_worker() as fake,
        pytest.raises(WorkerError, match="request over the limit"),
    ):
        fake.submit("run", padding="x" * 70000)


def test_endless_records_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "ANSWER_LIMIT_BYTES", 5 << 20)
    monkeypatch.setattr(worker, "WAITING_LIMIT_BYTES", 2 << 20)
    with FakeHost(tmp_path, "flood").start_worker() as fake:
        request = fake.submit("run", **RUN)
        time.sleep(0.5)
        with fake.wakeup:
            assert fake._waiting_bytes < 4 << 20  # one line over the limit, then it is held back
        with pytest.raises(WorkerError, match="more than the limit"):
            fake.wait(request, 20)


def test_a_worker_that_ignores_everything_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "STOP_GRACE_S", 0.2)
    host = FakeHost(tmp_path, "deaf")
    fake = host.start_worker()
    fake.submit("run", **RUN)
    time.sleep(0.2)
    fake.close()
    assert host.started[0].poll() == -9


def test_a_grandchild_that_keeps_the_pipes_does_not_keep_us():
    process = ChildProcess(["sh", "-c", "sleep 30 & echo $!; exit 0"])
    grandchild = process.read()
    started = time.monotonic()
    process.stop(0.2)
    process.release()
    assert time.monotonic() - started < 10
    os.kill(int(grandchild), signal.SIGKILL)


def test_a_missing_program_is_a_sentence():
    with pytest.raises(HostError, match="cannot start /does/not/exist: No such file"):
        ChildProcess(["/does/not/exist"])


def test_waiting_for_two_ends_without_a_common_wakeup_is_a_mistake(tmp_path):
    with (
        FakeHost(tmp_path, name="h1").start_worker() as one,
        FakeHost(tmp_path, name="h2").start_worker() as two,
        pytest.raises(ValueError, match="one wakeup"),
    ):
        wait_all([(one, 1), (two, 1)], 1)


def test_the_cause_is_told_before_its_consequence():
    errors = [WorkerError("x", code, "h") for code in ("peer_lost", "timeout", "system")]
    assert most_telling(errors).code == "system"
    assert most_telling(errors[:2]).code == "timeout"


def test_last_words_are_bounded_and_printable():
    assert last_words("a\n\n  b\x1b[31m \n\n") == "b?[31m"
    assert len(last_words("x" * 5000)) == 400
    assert how_it_ended(-11, "") == "was killed by SIGSEGV"
    assert how_it_ended(-99, "") == "was killed by signal 99"


class TestPair:
    def test_both_ends_run(self, tmp_path):
        ends = FakeHost(tmp_path, name="h1"), FakeHost(tmp_path, name="h2")
        with pair.open_pair(*ends, "tcp", target_options={"cpu": 1}) as session:
            assert session.ranks == 2
            assert session.opened[0]["asked_role"] == "origin"
            assert session.opened[0]["asked_address"] == "127.0.0.1"
            assert session.opened[1]["asked_role"] == "target"
            assert session.hosts == {"h1", "h2"} == session.facts().keys()
            for _ in range(2):
                records = session.run({"test": "latency", "message_bytes": 1, "count": 2}, 5)
                assert {r["rank"] for r in records if r["record"] == "done"} == {0, 1}
        with pytest.raises(HostError, match="session is closed"):
            session.run({}, 1)

    @pytest.mark.parametrize(
        ("origin", "target", "sentence"),
        [
            ("peer_lost", "system", "h2: the fake says system"),
            ("system", "peer_lost", "h1: the fake says system"),
            ("peer_lost", "exit", "h2: the worker ended with status 3: out of luck"),
            ("killed", "silent", "h1: the worker was killed by SIGKILL"),
            ("peer_lost", "good", "h1: the fake says peer_lost"),
            ("wrong_rank", "good", "h1: the worker wrote rank 5 where it is 0"),
            ("timeout", "silent", "h2: the worker did not answer within 1 s; h1 waited for it in"),
            ("silent", "timeout", "h1: the worker did not answer within 1 s; h2 waited for it in"),
            ("silent", "peer_lost", "h1: the worker did not answer within 1 s; h2 waited for it"),
            ("timeout", "peer_lost", "h1: the fake says timeout"),
        ],
    )
    def test_the_end_that_knows_more_is_quoted(
        self, tmp_path, monkeypatch, origin, target, sentence
    ):
        monkeypatch.setattr(worker, "STOP_GRACE_S", 0.3)
        monkeypatch.setattr(worker, "ENDING_TIMEOUT_S", 1.0)
        monkeypatch.setattr(worker, "LATE_ANSWER_S", 1.0)
        ends = FakeHost(tmp_path, origin, "h1"), FakeHost(tmp_path, target, "h2")
        session = pair.open_pair(*ends, "udp")
        with pytest.raises(HostError) as caught:
            session.run({"test": "latency", "message_bytes": 1, "count": 2}, 20)
        assert sentence in str(caught.value)
        assert all(end.started[0].poll() is not None for end in ends)

    def test_silence_is_noticed(self, tmp_path, monkeypatch):
        monkeypatch.setattr(worker, "STOP_GRACE_S", 0.3)
        monkeypatch.setattr(pair, "SLACK_S", 0.2)
        ends = FakeHost(tmp_path, "good", "h1"), FakeHost(tmp_path, "silent", "h2")
        session = pair.open_pair(*ends, "udp")
        with pytest.raises(HostError, match=r"h2: the worker did not answer within 2.2 s"):
            session.run({"test": "latency", "message_bytes": 1, "count": 2}, 2)

    def test_all_that_are_silent_are_named(self, tmp_path, monkeypatch):
        monkeypatch.setattr(worker, "STOP_GRACE_S", 0.3)
        monkeypatch.setattr(pair, "SLACK_S", 0.2)
        ends = FakeHost(tmp_path, "silent", "h1"), FakeHost(tmp_path, "silent", "h2")
        session = pair.open_pair(*ends, "udp")
        with pytest.raises(HostError, match=r"^h1: the worker .* within 0\.[0-9]+ s, nor did h2$"):
            session.run({"test": "latency", "message_bytes": 1, "count": 2}, 0.5)

    def test_a_port_that_is_none_ends_both(self, tmp_path):
        ends = FakeHost(tmp_path, "good", "h1"), FakeHost(tmp_path, "no_port", "h2")
        with pytest.raises(HostError, match="h2: the worker listens on port 0"):
            pair.open_pair(*ends, "tcp")

    def test_an_end_that_cannot_start_ends_the_other(self, tmp_path):
        ends = FakeHost(tmp_path, "dead_hello", "h1"), FakeHost(tmp_path, "good", "h2")
        with pytest.raises(HostError, match="h1: the worker ended with status 127"):
            pair.open_pair(*ends, "tcp")

    @pytest.mark.parametrize("wrong", [{"transport": "mpi"}, {"family": "ipx"}])
    def test_usage(self, tmp_path, wrong):
        host = FakeHost(tmp_path)
        asked = {"transport": "tcp", **wrong}
        with pytest.raises(Exception, match=r"it is (fabric or link or tcp or udp|ipv4 or ipv6)"):
            pair.open_pair(host, host, **asked)
