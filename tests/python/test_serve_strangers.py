"""Strangers at the door of `netsonde serve`: they are slowed down, and shut out nobody."""

import contextlib
import socket
import threading

import pytest
from launch_fakes import Serving

from netsonde.errors import HostError
from netsonde.launch import paired
from netsonde.launch.keep_alive import COME_AGAIN
from netsonde.launch.paired import PairedHost
from netsonde.launch.pairing import PairingCode
from netsonde.serve.admission import Admission, prefixes_of
from netsonde.serve.limits import DoorLimits


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


class Door:
    """An admission with a clock of the test's."""

    def __init__(self, **limits):
        self.clock = Clock()
        self.limits = DoorLimits(**limits)
        self.admission = Admission(self.limits, self.clock)
        self.cut = []

    def enter(self, address):
        return self.admission.enter(address, lambda: self.cut.append(address))

    def tries(self, address, count=1000):
        """How many of so many connections, one after the other, are looked at."""
        entered = [one for one in (self.enter(address) for _ in range(count)) if one]
        for one in entered:
            self.admission.leave(one)
        return len(entered)


@pytest.mark.parametrize(
    ("address", "narrow", "wide"),
    [
        ("192.0.2.7", "192.0.2.7/32", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("::ffff:192.0.2.7", "192.0.2.7/32", "192.0.2.0/24"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/48"),
    ],
)
def test_where_an_address_is_counted(address, narrow, wide):
    assert prefixes_of(address) == (narrow, wide)


def test_wrong_codes_shut_nobody_out():
    door = Door()
    for _ in range(10):
        for number in range(20):
            if entered := door.enter(f"198.51.100.{number}"):
                door.admission.wrong(entered)
                door.admission.leave(entered)
        door.clock.now_s += 1
    assert door.enter("192.0.2.1")
    door.clock.now_s += 10
    assert door.enter("198.51.100.1")  # even behind the same address, some seconds later


def test_a_flood_from_one_address_is_slowed_down_for_itself_alone():
    door = Door()
    limits = door.limits
    assert door.tries("192.0.2.1") == limits.handshakes
    door.clock.now_s += 1
    assert door.tries("192.0.2.1") == limits.handshakes_per_s
    assert door.tries("198.51.100.1", 5) == 5
    counts = door.admission.counts
    assert counts.handled + counts.refused == 2005


def test_wrong_codes_cost_more():
    door = Door()
    entered = door.enter("192.0.2.1")
    door.admission.wrong(entered)
    assert door.tries("192.0.2.1") == door.limits.handshakes - 1 - door.limits.wrong_code


def test_many_addresses_of_one_network_and_many_networks_have_limits_too():
    door = Door()
    of_network = sum(door.tries(f"2001:db8:1:{n:x}::1", 10) for n in range(50))
    assert of_network == door.limits.network_handshakes
    of_all = sum(door.tries(f"2001:db8:{n:x}::1", 10) for n in range(2, 100))
    assert of_network + of_all == door.limits.all_handshakes
    door.clock.now_s += 1
    assert door.tries("192.0.2.1") == door.limits.handshakes


def test_who_proved_a_code_does_not_wait_for_strangers():
    door = Door()
    door.admission.right(door.enter("192.0.2.1"))
    for number in range(100):
        door.tries(f"198.51.{number}.1")
    assert door.enter("198.51.200.1") is None
    for _ in range(3 * door.limits.handshakes):
        door.admission.right(door.enter("192.0.2.1"))
    assert door.tries("192.0.2.1") == door.limits.handshakes


def test_the_oldest_of_the_fullest_makes_room():
    door = Door(unproven=6)
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.3", "192.0.2.2", "192.0.2.3"):
        assert door.enter(address)
    first = door.enter("192.0.2.9")
    assert door.cut == ["192.0.2.2"]
    door.enter("192.0.2.9")
    assert door.cut == ["192.0.2.2", "192.0.2.2"]
    door.admission.right(first)  # and is never cut any more
    for _ in range(20):
        door.enter("192.0.2.2")
    assert not {"192.0.2.1", "192.0.2.9"} & set(door.cut)
    assert len(door.admission._unproven) == 6


def test_what_is_remembered_is_bounded():
    door = Door(remembered=50, all_handshakes=10**6)
    for number in range(2000):
        if entered := door.enter(f"198.{number // 250}.{number % 250}.1"):
            door.admission.right(entered)
    assert len(door.admission._buckets) <= 50
    assert len(door.admission._proven) <= 50


def test_strangers_that_hold_connections_are_in_nobodys_way(tmp_path):
    serving = Serving(tmp_path)
    with contextlib.ExitStack() as stack:
        for number in range(DoorLimits().unproven + 10):
            source = (f"127.0.0.{2 + number % 5}", 0)
            stack.enter_context(
                socket.create_connection(("127.0.0.1", serving.port), 5, source_address=source)
            )
        assert serving.works(tmp_path)
    serving.end()


def test_who_is_told_to_come_again_does(monkeypatch):
    """Until its own patience is over."""
    monkeypatch.setattr(paired, "CROWD_TIMEOUT_S", 0.5)
    monkeypatch.setattr(paired, "FIRST_PAUSE_S", 0.05)
    came = []

    def send_away(listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                came.append(1)
                with connection:
                    connection.sendall(COME_AGAIN)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=send_away, args=(listener,))
        thread.start()
        host = PairedHost("127.0.0.1", listener.getsockname()[1], PairingCode.make(b"x").text())
        with pytest.raises(HostError, match="too many others connect to that server"):
            host.start_worker()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert len(came) > 1
