"""What PVM 3.4 itself does, on its real daemons: each test has its statement in
docs/methods/pvm.md."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pvm_processes import daemon_of, files_of

from netsonde.lab import Lab, LabSpec, lab_up
from netsonde.lab.host import LabHost
from netsonde.lab.observe import switch_stats
from netsonde.lab.scenario import lab_spec, read_scenario
from netsonde.launch.host import ChildProcess
from netsonde.launch.tasks import Place, start_machine
from netsonde.launch.worker import Worker, start_worker
from pvm_needed import require_pvm

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]
SCRIPT = Path(__file__).with_name("pvm_script.py")
LIMIT = {"timeout_ns": 10_000_000_000}
AT_ONCE_S = 2.0
"""Within which who is told of a host's end hears of it, where that host could still say so."""
NO_DATA = -5


class Task:
    """A task on a host, which does what it is told."""

    def __init__(self, host: LabHost, folder: str) -> None:
        environment = {"PVM_TMP": folder, "PVM_ALLOW_ROOT": "1", "PVM_ROOT": "/usr/lib/pvm3"}
        self.process: ChildProcess = host.start(
            [sys.executable, "-S", str(SCRIPT)], env=environment
        )
        self._rest = b""
        self.tid = int(self._answer())

    def do(self, expression: str) -> Any:
        self.begin(expression)
        return self._answer()

    def begin(self, expression: str) -> None:
        """Without waiting for the answer, which end() gives."""
        self.process.write(f"{expression}\n".encode(), 5.0)

    def end(self) -> Any:
        return self._answer()

    def _answer(self) -> Any:
        while b"\n" not in self._rest:
            content = self.process.read()
            assert content, self.process.stderr_text()
            self._rest += content
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)


class Machine:
    """A virtual machine of a lab's hosts, and tasks in it."""

    def __init__(self, lab: Lab, hosts: int, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        wakeup = threading.Condition()
        self.hosts = lab.hosts
        self.workers: list[Worker] = [
            stack.enter_context(start_worker(host, wakeup=wakeup, program="sonde-pvm"))
            for host in lab.hosts
        ]
        places = [
            Place(worker, host.address("ipv4"))
            for worker, host in zip(self.workers, lab.hosts, strict=True)
        ][:hosts]
        start_machine(places)
        self.folders = {number: files_of(self.daemon(number)) for number in range(hosts)}

    def daemon(self, number: int) -> int:
        """The process of a host's daemon, as it is called outside."""
        process: int = daemon_of(self.hosts[number])
        return process

    def resident_bytes(self, number: int) -> int:
        text = Path(f"/proc/{self.daemon(number)}/statm").read_text()
        pages: int = int(text.split()[1])
        return pages * os.sysconf("SC_PAGESIZE")

    def task(self, number: int) -> Task:
        task = Task(self.hosts[number], self.folders[number])
        self._stack.callback(task.process.release)
        self._stack.callback(task.process.stop, 1.0)
        return task

    def answer_for(self, number: int) -> None:
        """Starts the daemon that the first one asks for."""
        first, own = self.workers[0], self.workers[number]
        asked = first.values("await_host", 15.0, **LIMIT)["arguments"]
        address = self.hosts[number].address("ipv4")
        started = own.values("start_daemon", 15.0, address=address, arguments=asked, **LIMIT)
        first.values("add_host", 15.0, introduction=started["introduction"], **LIMIT)
        self.folders[number] = str(started["folder"])


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    require_pvm()
    with lab_up(LabSpec(hosts=4, name="pvm-behaviour")) as lab:
        yield lab


@pytest.fixture
def machine(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Of two hosts, or as many as the test's parameter says."""
    with contextlib.ExitStack() as stack:
        yield Machine(lab, getattr(request, "param", 2), stack)


@pytest.fixture
def pair(machine: Machine) -> tuple[Task, Task]:
    return machine.task(0), machine.task(1)


def hear(task: Task, seconds: float) -> tuple[int, float]:
    """A notice that comes within so many seconds, 0 where none does, and after how long."""
    began = time.monotonic()
    buffer = task.do(f"pvm.receive(ANYBODY, 7, {seconds})")
    return buffer, time.monotonic() - began


def eventually(condition: Any, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("machine", [1], indirect=True)
def test_a_host_joins_and_leaves_while_tasks_run(machine: Machine) -> None:
    asking, other = machine.task(0), machine.task(0)
    assert other.do("pvm.notify(HOST_ADD, 7, [])") == 0
    other.begin(f"pvm.receive_numbered({asking.tid}, 200, 10)")
    assert asking.do(f"pvm.send_numbered({other.tid}, 100, 10)") == 100
    address = machine.hosts[1].address("ipv4")
    asking.begin(f"pvm.add_host('{address} so=ms')")
    machine.answer_for(1)
    assert asking.end() > 0
    assert asking.do(f"pvm.send_numbered({other.tid}, 100, 10)") == 100
    numbers = other.end()
    assert numbers == [*range(100), *range(100)]
    assert hear(other, 5.0)[0] > 0
    assert (asking.do("pvm.hosts()"), other.do("pvm.hosts()")) == (2, 2)
    newcomer = machine.task(1)
    newcomer.begin(f"pvm.receive_numbered({asking.tid}, 5, 10)")
    asking.do(f"pvm.send_numbered({newcomer.tid}, 5, 10)")
    assert newcomer.end() == [*range(5)]
    assert other.do(f"pvm.notify(HOST_DELETE, 7, [pvm.daemon_of({newcomer.tid})])") == 0
    assert asking.do(f"pvm.delete_host('{address}')") == 1
    assert hear(other, 5.0)[0] > 0
    assert eventually(lambda: other.do("pvm.hosts()") == 1)
    other.begin(f"pvm.receive_numbered({asking.tid}, 5, 10)")
    asking.do(f"pvm.send_numbered({other.tid}, 5, 10)")
    assert other.end() == [*range(5)]


def test_a_daemon_that_is_told_to_end_tells_the_others_at_once(
    machine: Machine, pair: tuple[Task, Task]
) -> None:
    survivor, lost = pair
    assert survivor.do(f"pvm.notify(HOST_DELETE, 7, [pvm.daemon_of({lost.tid})])") == 0
    os.kill(machine.daemon(1), signal.SIGTERM)
    buffer, took_s = hear(survivor, 10.0)
    assert buffer > 0
    assert took_s < AT_ONCE_S
    assert survivor.do("pvm.hosts()") == 1
    assert lost.process.wait(AT_ONCE_S) is not None
    other = machine.task(0)
    other.begin(f"pvm.receive_numbered({survivor.tid}, 3, 10)")
    survivor.do(f"pvm.send_numbered({other.tid}, 3, 10)")
    assert other.end() == [0, 1, 2]


@pytest.mark.soak
@pytest.mark.timeout(420)
def test_a_host_that_is_silent_is_given_up_within_five_minutes(
    machine: Machine, pair: tuple[Task, Task]
) -> None:
    """Whoever still has something for it tries for three minutes; else it is asked for a sign of
    life once a minute."""
    survivor, lost = pair
    assert survivor.do(f"pvm.notify(HOST_DELETE, 7, [pvm.daemon_of({lost.tid})])") == 0
    os.kill(machine.daemon(1), signal.SIGKILL)
    survivor.begin("pvm.receive(ANYBODY, 7, 330.0)")
    began = time.monotonic()
    assert survivor.end() > 0
    assert 120 < time.monotonic() - began < 300


def test_the_end_of_a_task_is_told(pair: tuple[Task, Task]) -> None:
    survivor, lost = pair
    assert survivor.do(f"pvm.notify(TASK_EXIT, 7, [{lost.tid}])") == 0
    lost.process.kill()
    buffer, took_s = hear(survivor, 10.0)
    assert buffer > 0
    assert took_s < AT_ONCE_S
    assert survivor.do("pvm.unpack('int', 1)") == [lost.tid]


def sent(pair: tuple[Task, Task], encoding: str, *packs: str) -> Task:
    """The receiver of a message that was packed so."""
    sender, receiver = pair
    assert sender.do(f"pvm.begin({encoding})") > 0
    for pack in packs:
        assert sender.do(pack) == 0, pack
    assert sender.do(f"pvm.send({receiver.tid})") == 0
    assert receiver.do(f"pvm.receive({sender.tid})") > 0
    return receiver


def test_types_are_not_in_a_message_only_its_length_is_checked(pair: tuple[Task, Task]) -> None:
    """Two words of four bytes are one of eight: no error, and a number that nobody sent."""
    receiver = sent(pair, "RAW", "pvm.pack('int', [1, 2])")
    assert receiver.do("pvm.unpack('double', 1)") == [
        struct.unpack("<d", struct.pack("<2i", 1, 2))[0]
    ]
    receiver = sent(pair, "RAW", "pvm.pack('int', [1, 2])")
    assert receiver.do("pvm.unpack('double', 2)") == [NO_DATA]
    receiver = sent(pair, "DEFAULT", "pvm.pack('int', [1])", "pvm.pack('double', [2.0])")
    assert receiver.do("pvm.unpack('double', 1)") != [2.0]  # in another order than it was packed
    assert receiver.do("pvm.unpack('double', 1)") == [NO_DATA]


def test_default_encoding_is_xdr_byte_for_byte(pair: tuple[Task, Task]) -> None:
    """RFC 4506: big-endian, in units of four bytes; a string has its length before it."""
    receiver = sent(
        pair,
        "DEFAULT",
        "pvm.pack('int', [1, -2, 2147483647])",
        "pvm.pack('short', [-3])",
        "pvm.pack('float', [1.5])",
        "pvm.pack('double', [-0.1])",
        "pvm.pack_text('five')",
    )
    text = b"five\0"  # PVM sends the character that ends it, too
    expected = (
        struct.pack(">3i", 1, -2, 2147483647)
        + struct.pack(">i", -3)
        + struct.pack(">f", 1.5)
        + struct.pack(">d", -0.1)
        + struct.pack(">i", len(text))
        + text
    )
    assert receiver.do(f"pvm.unpack_bytes({len(expected)})") == expected.hex()
    assert receiver.do("pvm.unpack_bytes(1)") == str(NO_DATA)  # nothing fills it up to four bytes


def test_raw_encoding_is_the_hosts_own_bytes(pair: tuple[Task, Task]) -> None:
    receiver = sent(pair, "RAW", "pvm.pack('int', [1, -2])", "pvm.pack('double', [-0.1])")
    expected = struct.pack("=2i", 1, -2) + struct.pack("=d", -0.1)
    assert receiver.do(f"pvm.unpack_bytes({len(expected)})") == expected.hex()


@pytest.mark.parametrize(
    ("encoding", "arrives"), [("DEFAULT", [1, 2]), ("RAW", [1, 2]), ("IN_PLACE", [8, 9])]
)
def test_only_in_place_data_is_read_when_it_is_sent(
    pair: tuple[Task, Task], encoding: str, arrives: list[int]
) -> None:
    sender, receiver = pair
    sender.do(f"pvm.begin({encoding})")
    sender.do("pvm.pack('int', [1, 2], 'mine')")
    sender.do("pvm.change('mine', [8, 9])")
    sender.do(f"pvm.send({receiver.tid})")
    receiver.do(f"pvm.receive({sender.tid})")
    assert receiver.do("pvm.unpack('int', 2)") == arrives


def test_in_place_takes_dense_data_only(pair: tuple[Task, Task]) -> None:
    sender, receiver = pair
    sender.do("pvm.begin(IN_PLACE)")
    assert sender.do("pvm.pack_strided('int', [1, 2, 3, 4], 2)") < 0
    receiver = sent(pair, "RAW", "pvm.pack_strided('int', [1, 2, 3, 4], 2)")
    assert receiver.do("pvm.unpack('int', 2)") == [1, 3]


def test_a_task_reaches_its_daemon_by_a_socket_within_the_host(pair: tuple[Task, Task]) -> None:
    assert [task.do("pvm.is_local_socket()") for task in pair] == [True, True]


def test_tasks_are_started_on_a_host_listed_and_killed(
    machine: Machine, pair: tuple[Task, Task]
) -> None:
    asking, other = pair
    address = machine.hosts[1].address("ipv4")
    spawned = asking.do(f"pvm.spawn(['/bin/sleep', '60'], '{address}')")
    assert spawned > 0
    assert asking.do(f"pvm.daemon_of({spawned})") == other.do(f"pvm.daemon_of({other.tid})")
    assert set(asking.do("pvm.tasks()")) >= {asking.tid, other.tid, spawned}
    assert asking.do(f"pvm.call('pvm_kill', {spawned})") == 0
    assert eventually(lambda: spawned not in asking.do("pvm.tasks()"))
    assert asking.do("pvm.spawn(['/no/such/program'], '')") < 0


def test_receiving_waits_or_not_and_chooses_by_source_and_tag(pair: tuple[Task, Task]) -> None:
    sender, receiver = pair
    assert receiver.do("pvm.call('pvm_nrecv', ANYBODY, ANY_TAG)") == 0
    assert receiver.do("pvm.receive(ANYBODY, ANY_TAG, 0.05)") == 0
    for tag in (3, 4):
        sender.do("pvm.begin(RAW)")
        sender.do(f"pvm.pack('int', [{tag}])")
        sender.do(f"pvm.send({receiver.tid}, {tag})")
    assert receiver.do("pvm.receive(ANYBODY, 4)") > 0  # not the one that came first
    assert receiver.do("pvm.unpack('int', 1)") == [4]
    assert receiver.do(f"pvm.receive({receiver.tid}, ANY_TAG, 0.05)") == 0
    assert receiver.do(f"pvm.receive({sender.tid}, ANY_TAG)") > 0
    assert receiver.do("pvm.unpack('int', 1)") == [3]


def test_one_call_sends_and_one_receives(pair: tuple[Task, Task]) -> None:
    sender, receiver = pair
    receiver.begin(f"pvm.receive_at_once({sender.tid}, 5, 3)")
    assert sender.do(f"pvm.send_at_once({receiver.tid}, 5, [7, 8, 9])") == 0
    assert receiver.end() == [7, 8, 9]


def test_a_daemon_keeps_all_that_a_task_does_not_read(
    machine: Machine, pair: tuple[Task, Task]
) -> None:
    """The sender goes on, and is told nothing; what it sent is in the receiver's daemon."""
    sender, receiver = pair
    count, words = 12, 250_000
    before = machine.resident_bytes(1)
    assert sender.do(f"pvm.send_numbered({receiver.tid}, {count}, {words})") == count
    total = count * words * 4
    assert eventually(lambda: machine.resident_bytes(1) - before > 0.9 * total, 20.0)
    receiver.begin(f"pvm.receive_numbered({sender.tid}, {count}, {words})")
    assert receiver.end() == [*range(count)]


def test_losses_duplicates_and_disorder_between_daemons_do_not_reach_tasks(tmp_path: Path) -> None:
    require_pvm()
    file = tmp_path / "lossy.toml"
    file.write_text(
        'hosts = 2\nlinks = "switch"\n[pace]\ncalibrate = false\n'
        '[link]\nrate = "1G"\nloss = "1%"\nduplicates = "2%"\n'
        'reorder = "2%"\nreorder_delay = "2ms"\n'
    )
    spec = replace(lab_spec(read_scenario(str(file))), name="pvm-lossy")
    with lab_up(spec) as lab, contextlib.ExitStack() as stack:
        machine = Machine(lab, 2, stack)
        sender, receiver = machine.task(0), machine.task(1)
        receiver.begin(f"pvm.receive_numbered({sender.tid}, 300, 2000)")
        assert sender.do(f"pvm.send_numbered({receiver.tid}, 300, 2000)") == 300
        assert receiver.end() == [*range(300)]
        assert receiver.do(f"pvm.waiting({sender.tid})") == 0
        links = switch_stats(lab)["links"]
        lines = [link[way] for link in links for way in ("up", "down")]
        assert sum(line["lost_random"] for line in lines) > 0
        assert sum(line["duplicated"] for line in lines) > 0
        assert sum(line["held_back"] for line in lines) > 0


@pytest.mark.parametrize("machine", [4], indirect=True)
def test_direct_routes_take_a_descriptor_for_each_partner(machine: Machine) -> None:
    """Of n tasks each has n - 1 besides its daemon's: n (n - 1) / 2 connections."""
    tasks = [machine.task(number) for number in range(4)]
    assert [task.do("pvm.descriptors()") for task in tasks] == [1, 1, 1, 1]
    for place, sender in enumerate(tasks):
        for receiver in tasks[place + 1 :]:
            sender.do("pvm.route(ROUTE_DIRECT)")
            receiver.do("pvm.route(ALLOW_DIRECT)")
            receiver.begin(f"pvm.receive_numbered({sender.tid}, 1, 1)")
            sender.do(f"pvm.send_numbered({receiver.tid}, 1, 1)")
            assert receiver.end() == [0]
    for task in tasks:
        task.do("pvm.receive(ANYBODY, 99, 0.05)")  # who was asked learns of it when it looks
    assert [task.do("pvm.descriptors()") for task in tasks] == [4, 4, 4, 4]


def test_a_direct_route_that_is_not_allowed_falls_back_in_silence(pair: tuple[Task, Task]) -> None:
    sender, receiver = pair
    sender.do("pvm.route(ROUTE_DIRECT)")
    receiver.do("pvm.route(DONT_ROUTE)")
    receiver.begin(f"pvm.receive_numbered({sender.tid}, 3, 1)")
    assert sender.do(f"pvm.send_numbered({receiver.tid}, 3, 1)") == 3
    assert receiver.end() == [0, 1, 2]
    assert (sender.do("pvm.descriptors()"), receiver.do("pvm.descriptors()")) == (1, 1)


def test_tasks_of_one_host_share_its_daemon(machine: Machine) -> None:
    """All of them have messages at once; each gets its own, in order."""
    senders = [machine.task(0) for _ in range(3)]
    receivers = [machine.task(1) for _ in range(3)]
    for sender, receiver in zip(senders, receivers, strict=True):
        receiver.begin(f"pvm.receive_numbered({sender.tid}, 100, 1000)")
    for sender, receiver in zip(senders, receivers, strict=True):
        sender.begin(f"pvm.send_numbered({receiver.tid}, 100, 1000)")
    assert [sender.end() for sender in senders] == [100] * 3
    assert [receiver.end() for receiver in receivers] == [[*range(100)]] * 3
    assert len({task.tid for task in (*senders, *receivers)}) == 6
