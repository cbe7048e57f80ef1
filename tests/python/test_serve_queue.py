"""Clients of `netsonde serve` that are frozen, and those that wait for a place meanwhile."""

import asyncio
import contextlib
import json
import threading
import time
from unittest import mock

import pytest
from launch_fakes import FakeHost, Serving, gone, in_a_loop

from netsonde.errors import HostError, UsageError
from netsonde.launch import paired
from netsonde.launch.exclusion import Exclusion, own_name
from netsonde.launch.keep_alive import ALIVE_LINE, Alive
from netsonde.launch.local import LocalHost
from netsonde.launch.worker import WorkerError
from netsonde.serve.limits import Limits, QueueLimits
from netsonde.serve.places import Places
from netsonde.serve.policy import Peer
from netsonde.serve.session import ServedSession
from netsonde.serve.wire import VisitRefusedError


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A server with one place and one to wait at."""
    found = Serving(tmp_path_factory.mktemp("queue"), options=("--queue", "1"))
    yield found
    found.end()
    assert "Traceback" not in found.log.read_text()


@pytest.fixture
def others(monkeypatch):
    """Every client is a process of its own, for the server."""
    numbers = iter(range(1000))
    monkeypatch.setattr(paired, "client_name", lambda: f"client{next(numbers)}")


@contextlib.contextmanager
def waiting(host):
    """A client that waits for a place in a thread; what it was told, and its worker in the end."""
    told, found = [], []
    is_told = threading.Event()

    def say(sentence):
        told.append(sentence)
        is_told.set()

    host._say = say
    thread = threading.Thread(target=lambda: found.append(host.start_worker()))
    thread.start()
    assert is_told.wait(20)
    yield told, found
    thread.join(20)


def test_a_silent_client_loses_its_place(tmp_path):
    serving = Serving(tmp_path, options=("--max-idle", "1"))
    stream, hello = serving.paired_stream()
    record = json.loads(stream.read_line(time.monotonic() + 20))
    stream.sock.close()
    assert record["code"] == "limit"
    assert "nothing was heard of its client for 1 s (--max-idle)" in record["message"]
    assert gone(hello["pid"])
    with serving.host().start_worker() as worker:  # one that asks late is told why
        assert worker.request("facts", 10)
        worker._channel._alive.end()
        assert gone(worker.hello["pid"], 20)
        with pytest.raises(WorkerError, match="nothing was heard of its client"):
            worker.request("facts", 10)
    serving.end()


def test_the_reason_of_an_end_may_come_with_the_last_answer(tmp_path):
    """As to a client that was stopped in the middle of a run."""
    with FakeHost(tmp_path).start_worker() as worker:
        number = worker.submit("facts")
        with worker.wakeup:
            assert worker.wakeup.wait_for(lambda: len(worker._waiting) == 2, 20)
            reason = {"record": "error", "request": 0, "code": "limit", "message": "it is over"}
            worker._waiting.append((1, reason))
        with pytest.raises(WorkerError, match="it is over"):
            worker.wait(number, 10)


def test_a_client_says_that_it_is_there_unless_something_is_under_way():
    said, is_said = [], threading.Event()

    def say(line):
        said.append(line)
        is_said.set()

    alive = Alive(say, 0.3)
    assert is_said.wait(20)
    alive.asked()
    alive.asked()
    alive.told(b'{"record":"series"}\n{"record":"done","request":1}\n{"rec')
    is_said.clear()
    said.clear()
    assert not is_said.wait(0.5)
    alive.told(b'ord":"error","request":2,"message":"{\\"record\\":\\"done\\""}\n')
    assert is_said.wait(20)
    alive.end()
    assert set(said) == {ALIVE_LINE}


def test_what_says_that_a_client_is_there_goes_to_no_worker():
    async def listen():
        reader = asyncio.StreamReader()
        nobody = mock.create_autospec(asyncio.StreamWriter, instance=True)
        session = ServedSession(reader, nobody, Peer("192.0.2.7", "192.0.2.1", "ipv4"), Limits())
        session._heard_s = 0
        reader.feed_data(ALIVE_LINE * 100)
        reader.feed_eof()
        worker = mock.create_autospec(asyncio.subprocess.Process, instance=True)
        worker.stdin = mock.create_autospec(asyncio.StreamWriter, instance=True)
        ending = await session._requests(worker)
        assert not worker.stdin.write.called
        assert not nobody.write.called
        return ending, session._heard_s

    ending, heard_s = in_a_loop(listen())
    assert ending == "the peer closed the connection"
    assert heard_s > 0


@pytest.mark.usefixtures("others")
def test_who_comes_second_waits_and_is_told(serving, monkeypatch):
    monkeypatch.setattr(paired, "most_wait_s", lambda: 600.0)
    first = serving.host().start_worker()
    with waiting(serving.host()) as (told, found):
        assert "is busy; this is number 1 of those that wait, for a" in told[0]
        with pytest.raises(HostError, match="busy with another session, and its queue of 1"):
            serving.host().start_worker()
        assert found == []
        first.close()
    assert len(told) == 1
    with found[0] as worker:
        assert worker.request("facts", 10)


@pytest.mark.usefixtures("others")
def test_who_waits_can_leave_and_has_a_limit_of_its_own(serving, monkeypatch):
    monkeypatch.setenv(paired.WAIT_VARIABLE, "0s")
    with serving.host().start_worker():
        for _ in range(2):  # the first made room for the second
            with pytest.raises(HostError, match=r"busy, and this client, number 1 .*try again"):
                serving.host().start_worker()
            assert serving.logged("left, it does not wait")
    monkeypatch.setenv(paired.WAIT_VARIABLE, "long")
    with pytest.raises(UsageError, match="is not a duration"):
        paired.most_wait_s()


OTHER = "another, process 1 of nobody on nothing"


@pytest.fixture(scope="module")
def real(tmp_path_factory, sonde_worker):
    """A server with a real worker, that waits as long as a server does."""
    found = Serving(tmp_path_factory.mktemp("real"), worker=sonde_worker)
    yield found
    found.end()
    assert "Traceback" not in found.log.read_text()


def has_the_host(what):
    found = Exclusion(what, 0.0, print)
    found.begin([LocalHost()])
    return found


def test_a_client_waits_for_another_measurement_of_the_host_that_serves(real):
    with has_the_host(OTHER) as other:
        with waiting(real.host()) as (told, found):
            assert "for at most 1 min" in told[0]
            assert other.end() == {}
        with found[0] as worker:
            assert worker.request("facts", 10)


def test_a_client_that_has_the_host_itself_does_not_wait(real):
    with has_the_host(own_name("this measurement")):
        host = real.host()
        with host.start_worker() as worker:
            assert worker.request("facts", 10)
        assert host.beside == ""


def test_a_client_that_waits_no_longer_is_beside_and_says_so(tmp_path, sonde_worker):
    at_once = "from netsonde.serve import host_claim; host_claim.MOST_WAIT_S = 0\n"
    serving = Serving(tmp_path, worker=sonde_worker, first=at_once)
    with has_the_host(OTHER) as other, Exclusion("ours", 0.0, print) as ours:
        host = serving.host()
        ours.begin([host])
        host.start_worker().close()
        assert ours.end() == {host.name: {"beside": OTHER}}
        assert serving.logged(f"another measurement had this host ({OTHER})")
        (told,) = other.end().values()
        assert told["meanwhile"].startswith("netsonde serve for ")
    serving.end()


def entered(places, client, prefix="192.0.2.1"):
    return places.enter(client, prefix)


class TestPlaces:
    def test_in_the_order_in_which_they_came(self):
        places = Places(1, QueueLimits())
        first, second, third = (entered(places, name) for name in "abc")
        assert first.has_place.is_set()
        assert [places.place_in_queue(one) for one in (first, second, third)] == [0, 1, 2]
        places.leave(second)
        assert places.place_in_queue(third) == 1
        places.leave(first)
        assert third.has_place.is_set()

    def test_the_flows_of_one_measurement_come_before_others(self):
        places = Places(2, QueueLimits())
        mine, other = entered(places, "me"), entered(places, "other")
        waiting, again = entered(places, "third"), entered(places, "me")
        assert [places.place_in_queue(one) for one in (waiting, again)] == [2, 1]
        places.leave(other)
        assert again.has_place.is_set()
        assert not waiting.has_place.is_set()
        more = entered(places, "me")
        assert places.waits_for_itself(more)
        assert not places.waits_for_itself(waiting)
        places.leave(mine)
        assert more.has_place.is_set()

    def test_the_queue_is_bounded(self):
        places = Places(1, QueueLimits(queue=3, queue_by_address=2))
        entered(places, "a")
        entered(places, "b")
        entered(places, "c")
        with pytest.raises(VisitRefusedError, match="has 2 in the queue"):
            entered(places, "d")
        entered(places, "e", "192.0.2.2")
        with pytest.raises(VisitRefusedError, match="its queue of 3 is full"):
            entered(places, "f", "192.0.2.3")

    def test_how_long_is_what_the_last_ones_took(self):
        places = Places(1, QueueLimits())
        first, second = entered(places, "a"), entered(places, "b")
        assert 500 < places.about_s(second, 600.0) <= 600
        places.leave(first)
        third, fourth = entered(places, "c"), entered(places, "d")
        assert places.about_s(third, 600.0) <= places.about_s(fourth, 600.0) < 100
