"""Sessions with the real worker: two ends here, and an end behind `netsonde serve`."""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path

import pytest
from launch_fakes import Serving, gone

from netsonde.errors import HostError
from netsonde.launch.binaries import find_worker
from netsonde.launch.flows import open_flows
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair
from netsonde.launch.worker import WorkerError
from netsonde.records.decode import decode_batch

pytestmark = pytest.mark.worker


@pytest.fixture(autouse=True, scope="module")
def worker_path():
    try:
        return find_worker("sonde-worker")
    except HostError as error:
        pytest.skip(str(error))


@pytest.fixture
def serve(tmp_path, worker_path, address_space_limits):  # noqa: ARG001
    started = []

    def start(*options):
        started.append(Serving(tmp_path, options=options, worker=worker_path))
        return started[-1]

    yield start
    for one in started:
        one.end()
        assert "Traceback" not in one.log.read_text()


def open_local(transport, family="ipv4", **more):
    if family == "ipv6" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    return open_pair(LocalHost(), LocalHost(), transport, family=family, **more)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_two_ends_here(transport, family):
    with open_local(transport, family) as session:
        assert session.opened.keys() == {0, 1}
        assert session.facts()["local"]["os.kernel"]
        for index in range(2):
            records = session.run({"test": "latency", "message_bytes": 64, "count": 20}, 10)
            batch = decode_batch(index, records)
            assert batch.ends.keys() == {0, 1}
            answered = batch.ends[0].series["round_trip_ns"]
            assert 0 < len(answered) <= 20
            assert answered.min() > 0


def test_an_option_that_cannot_be_had_is_a_sentence_of_the_end():
    with pytest.raises(HostError) as caught:
        open_local("tcp", options={"congestion_control": "no_such_one"})
    assert "no_such_one" in str(caught.value)


def test_a_run_that_the_worker_refuses_ends_the_session():
    session = open_local("tcp")
    with pytest.raises(WorkerError) as caught:
        session.run({"test": "latency", "message_bytes": 64, "count": 0}, 5)
    assert caught.value.code == "bad_request"
    with pytest.raises(HostError, match="closed"):
        session.run({"test": "latency", "message_bytes": 64, "count": 1}, 5)


def test_an_end_that_is_killed_ends_both():
    session = open_local("tcp")
    origin, target = session._workers
    killer = threading.Timer(0.3, os.kill, (target.hello["pid"], 9))
    killer.start()
    started = time.monotonic()
    with pytest.raises(HostError, match="was killed by SIGKILL"):
        session.run({"test": "stream", "message_bytes": 1000, "duration_ns": 20 * 10**9}, 30)
    killer.join()
    assert time.monotonic() - started < 15
    assert gone(origin.hello["pid"])


@pytest.mark.parametrize(
    ("transport", "options"), [("tcp", {}), ("udp", {}), ("udp", {"authenticated": True})]
)
def test_behind_a_server(serve, transport, options):
    serving = serve()
    with open_pair(LocalHost(), serving.host(), transport, options=options) as session:
        assert session.facts().keys() == {"local", serving.host().name}
        for test in ("latency", "stream", "duplex"):
            amount = {"count": 50} if test == "latency" else {"duration_ns": 5 * 10**7}
            records = session.run({"test": test, "message_bytes": 1000, **amount}, 20)
            assert decode_batch(0, records).ends.keys() == {0, 1}
    assert serving.logged("3 runs")


def test_several_flows_to_one_server_and_a_flow_to_each_of_two(serve, tmp_path):
    code_file = str(tmp_path / "code")
    two = [serve("--sessions", "2", "--code-file", code_file) for _ in range(2)]
    assert two[0].code == two[1].code
    run = {"test": "stream", "message_bytes": 10_000, "duration_ns": 5 * 10**7}
    targets = ([two[0].host(), two[0].host()], [one.host() for one in two])
    for hosts in targets:
        with open_flows([(LocalHost(), host) for host in hosts], "tcp") as session:
            assert decode_batch(0, session.run(run, 20)).ends.keys() == {0, 1, 2, 3}


def test_more_flows_than_a_server_takes(serve):
    serving = serve()
    ends = [(LocalHost(), serving.host())] * 2
    with pytest.raises(HostError, match="--sessions N takes several"), open_flows(ends, "tcp"):
        pass


def test_a_fixed_test_port(serve):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    serving = serve("--test-port", str(port))
    for _ in range(2):  # it is free again at once
        with open_pair(LocalHost(), serving.host(), "tcp") as session:
            assert session.opened[0]["peer_port"] == port


def test_strangers_at_the_test_port_do_not_disturb(serve):
    """Rubbish connections before, while and after the origin's own come in."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    serving = serve("--test-port", str(port))
    stop = threading.Event()
    met = []

    def bother():
        while not stop.is_set():
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), 1) as sock,
            ):
                sock.sendall(os.urandom(200))
                met.append(1)
            with (
                contextlib.suppress(OSError),
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
            ):
                sock.sendto(os.urandom(64), ("127.0.0.1", port))
            time.sleep(0.0005)

    thread = threading.Thread(target=bother)
    thread.start()
    sessions = 0
    try:
        # The port is open for a moment only; until a stranger has met it there is nothing to see.
        for transport in ["tcp", "udp"] * 30:
            if met and transport == "tcp" and sessions:
                break
            sessions += 1
            with open_pair(LocalHost(), serving.host(), transport) as session:
                records = session.run(
                    {"test": "latency", "message_bytes": 64, "count": 200, "check_data": True}, 20
                )
                batch = decode_batch(0, records)
                assert len(batch.ends[0].series["round_trip_ns"]) >= 190
                assert batch.ends[1].counters.get("corrupt", 0) == 0
                assert batch.ends[1].counters["messages_received"] <= 200
    finally:
        stop.set()
        thread.join()
    assert met


def test_a_run_says_that_strangers_came_meanwhile(serve):
    serving = serve()
    stop = threading.Event()

    def knock():
        while not stop.wait(0.01):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", serving.port), 1).close()

    with open_pair(LocalHost(), serving.host(), "tcp") as session:
        run = {"test": "stream", "message_bytes": 1000, "duration_ns": 10**8}
        alone = decode_batch(0, session.run(run, 20))
        thread = threading.Thread(target=knock)
        thread.start()
        disturbed = [decode_batch(1, session.run(run, 20)) for _ in range(3)]
        stop.set()
        thread.join()
    assert "pairings_handled" not in alone.ends[1].counters
    assert sum(batch.ends[1].counters.get("pairings_handled", 0) for batch in disturbed) > 0


def test_memory_is_bounded(serve):
    serving = serve()
    with serving.host().start_worker() as worker:
        limits = Path(f"/proc/{worker.hello['pid']}/limits").read_text()
        address_space = next(line for line in limits.splitlines() if "address space" in line)
        assert address_space.split()[3] == str(3 << 30)
        core = next(line for line in limits.splitlines() if "core file" in line)
        assert core.split()[4] == "0"
