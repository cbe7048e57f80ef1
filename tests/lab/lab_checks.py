"""What must be true of a running lab. ``python lab_checks.py switch|bridge`` checks it all.

Needs nothing but the standard library and netsonde.lab, so that a user with few rights and the
system's own Python can run it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from netsonde.lab import Lab, LabSpec, lab_status, lab_up
from netsonde.lab.host import LabHost, enter_command

TIMEOUT_S = 20
ECHO_SERVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family) as listener:
    listener.bind((sys.argv[1], 7000))
    listener.listen()
    print("ready", flush=True)
    connection, _ = listener.accept()
    total = 0
    while piece := connection.recv(65536):
        total += len(piece)
    print(total, flush=True)
"""
ECHO_CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), 10) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
"""
RECEIVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as receiver:
    receiver.bind((sys.argv[1], 7001))
    receiver.settimeout(10)
    print("ready", flush=True)
    for _ in range(int(sys.argv[2])):
        receiver.recv(65536)
    print("all", flush=True)
"""
SENDER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as sender:
    for _ in range(int(sys.argv[2])):
        sender.sendto(bytes(int(sys.argv[3])), (sys.argv[1], 7001))
"""


def run_in(host: LabHost, *argv: str) -> str:
    """What a command printed that ended well in a host."""
    done = subprocess.run(
        host.command(argv),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env={**os.environ, **host.environment()},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_pair(
    server: tuple[LabHost, str, list[str]], client: tuple[LabHost, str, list[str]]
) -> list[str]:
    """Runs a server's program, when it is ready a client's; the lines of the server."""
    python = sys.executable
    host, program, arguments = server
    with subprocess.Popen(
        host.command([python, "-c", program, *arguments]), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip()]
        run_in(client[0], python, "-c", client[1], *client[2])
        lines.append(process.stdout.readline().strip())
        assert process.wait(TIMEOUT_S) == 0
    return lines


def counters(host: LabHost) -> tuple[int, int, int, int]:
    """Received bytes and packets, sent bytes and packets of the host's device."""
    with open(f"/proc/{host.holder}/net/dev") as file:  # noqa: PTH123
        fields = next(line for line in file if "v0:" in line).split(":")[1].split()
    return int(fields[0]), int(fields[1]), int(fields[8]), int(fields[9])


def risen(host: LabHost, before: tuple[int, int, int, int]) -> tuple[int, ...]:
    return tuple(now - then for now, then in zip(counters(host), before, strict=True))


def check_hosts_have_names_and_addresses(lab: Lab) -> None:
    for host in lab.hosts:
        assert run_in(host, "hostname").strip() == host.name
        assert run_in(host, "cat", "/etc/hostname").strip() == host.name
        shown = run_in(host, "cat", "/proc/net/fib_trie")
        assert host.address("ipv4") in shown
        code = f"import socket; print(socket.gethostbyname('{host.name}'))"
        assert run_in(lab.hosts[0], sys.executable, "-c", code).strip() == host.address("ipv4")
    assert socket.gethostname() not in lab.spec.host_names


def check_every_host_reaches_every_other(lab: Lab) -> None:
    for family in ("ipv4", "ipv6"):
        for origin in lab.hosts:
            for target in lab.hosts:
                if origin is target:
                    continue
                address = target.address(family)
                lines = run_pair(
                    (target, ECHO_SERVER, [address]), (origin, ECHO_CLIENT, [address, "1000"])
                )
                assert lines == ["ready", "1000"]


def check_the_working_directory_stays(lab: Lab) -> None:
    assert run_in(lab.hosts[0], "pwd").strip() == os.getcwd()  # noqa: PTH109


def check_shared_memory_is_private(lab: Lab) -> None:
    first, second = lab.hosts[:2]
    run_in(first, "touch", "/dev/shm/mark-of-the-lab")
    assert "mark-of-the-lab" in run_in(first, "ls", "/dev/shm")
    assert "mark-of-the-lab" not in run_in(second, "ls", "/dev/shm")
    assert "mark-of-the-lab" not in os.listdir("/dev/shm")  # noqa: PTH208
    assert run_in(second, "ls", "-A", "/dev/shm") == ""


def check_own_processes_and_devices_only(lab: Lab) -> None:
    assert sorted(run_in(lab.hosts[0], "ls", "/sys/class/net").split()) == ["lo", "v0"]
    listed = run_in(lab.hosts[0], "sh", "-c", "ls -d /proc/[0-9]*").split()
    # Init, each host's holder, and the two programs that list.
    assert len(listed) <= 1 + len(lab.hosts) + 2


def check_a_neighbour_can_be_entered_from_a_host(lab: Lab) -> None:
    """As a launcher of MPI ranks does it."""
    script = (
        "import os, subprocess\n"
        "pid = dict(p.split('=') for p in os.environ['NETSONDE_LAB_HOSTS'].split())['h2']\n"
        "print(subprocess.run(['nsenter', '--target', pid, '--net', '--ipc', '--uts', '--mount',\n"
        "      'sh', '-c', 'hostname; cat /proc/net/fib_trie'], capture_output=True, text=True,\n"
        "      check=True).stdout)"
    )
    shown = run_in(lab.hosts[0], sys.executable, "-c", script)
    assert shown.splitlines()[0] == "h2"
    assert "10.77.0.2" in shown
    assert "10.77.0.1\n" not in shown


def check_counters_are_exact(lab: Lab) -> None:
    """N datagrams move the counters of their two hosts by N frames, and nobody else's."""
    first, second = lab.hosts[:2]
    for family, header_bytes in (("ipv4", 20), ("ipv6", 40)):
        for count, size_bytes in ((100, 1), (50, 1000), (20, 1400)):
            before = [counters(host) for host in lab.hosts]
            address = second.address(family)
            lines = run_pair(
                (second, RECEIVER, [address, str(count)]),
                (first, SENDER, [address, str(count), str(size_bytes)]),
            )
            assert lines == ["ready", "all"]
            total = count * (14 + header_bytes + 8 + size_bytes)
            assert risen(first, before[0]) == (0, 0, total, count)
            assert risen(second, before[1]) == (total, count, 0, 0)
            for host, then in zip(lab.hosts[2:], before[2:], strict=True):
                assert risen(host, then) == (0, 0, 0, 0)


def check_no_frame_is_longer_than_the_link_allows(lab: Lab) -> None:
    """A megabyte over TCP crosses as frames of 1514 bytes at most, each counted."""
    first, second = lab.hosts[:2]
    before = counters(second)
    address = second.address("ipv4")
    size_bytes = 1_000_000
    run_pair((second, ECHO_SERVER, [address]), (first, ECHO_CLIENT, [address, str(size_bytes)]))
    received_bytes, received_packets, _, _ = risen(second, before)
    assert received_packets >= size_bytes / 1460
    assert received_bytes <= received_packets * 1514
    assert received_bytes >= size_bytes + received_packets * (14 + 20 + 20)


def check_nothing_moves_by_itself(lab: Lab) -> None:
    """The last frames of what ended before may still be on their way on a busy machine."""
    deadline, before = time.monotonic() + 5, [counters(host) for host in lab.hosts]
    while time.monotonic() < deadline:
        time.sleep(0.3)
        earlier, before = before, [counters(host) for host in lab.hosts]
        if before == earlier:
            break
    time.sleep(1.0)
    assert [counters(host) for host in lab.hosts] == before


def check_tcp_remembers_no_earlier_connections(lab: Lab) -> None:
    setting = "/proc/sys/net/ipv4/tcp_no_metrics_save"
    for host in lab.hosts:
        found = run_in(host, "sh", "-c", f"cat {setting}; test -w {setting} || echo fixed")
        assert found.split()[0] == "1" or found.split()[-1] == "fixed", found


def check_frames_on_the_bridge_meet_no_packet_filter(lab: Lab) -> None:
    """Where the module that would filter them is there and /proc/sys may be written."""
    folder = "/proc/sys/net/bridge"
    script = f"test -w {folder} || exit 0; cat {folder}/bridge-nf-call-*tables"
    enter = enter_command(lab.made["init_pid"], rootless=bool(lab.made["rootless"]))
    found = subprocess.run(
        [*enter, "sh", "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    if lab.spec.fabric is None:
        assert set(found.stdout.split()) <= {"0"}


def check_the_rate_holds(lab: Lab) -> None:
    """No more than the rate gets through; the bucket's depth may pass at once, at each end."""
    first, second = lab.hosts[:2]
    rate = RATE_BIT_PER_S
    address = second.address("ipv4")
    size_bytes = rate // 8
    before = counters(second)
    start = time.monotonic()
    run_pair((second, ECHO_SERVER, [address]), (first, ECHO_CLIENT, [address, str(size_bytes)]))
    took_s = time.monotonic() - start
    wire_bytes = risen(second, before)[0]
    # The switch lets nothing pass at once; what it has not released yet was counted as sent.
    at_once = 2 * lab.spec.bucket_bytes if lab.spec.fabric is None else 0
    assert took_s >= 0.99 * (wire_bytes - at_once) * 8 / rate
    assert took_s < 5 * wire_bytes * 8 / rate


def check_status_is_as_asked(lab: Lab) -> None:
    status = lab_status(lab)
    json.dumps(status)
    assert [host["name"] for host in status["hosts"]] == lab.spec.host_names
    assert status["path"]["rate_bit_per_s"] == RATE_BIT_PER_S
    for host in status["hosts"]:
        assert host["link"] == "up"
        assert host["processes"] == []
        for way in ("from_host", "to_host"):
            assert host[way]["dropped_packets"] == 0
        if lab.spec.fabric is not None:
            continue
        assert host["to_host"]["rate_bit_per_s"] == lab.spec.rate_bit_per_s
        assert host["from_host"]["rate_bit_per_s"] == lab.spec.rate_bit_per_s
        assert host["to_host"]["limit_bytes"] == lab.spec.buffer_bytes
        assert host["from_host"]["limit_bytes"] == lab.spec.host_queue_bytes
        # The kernel keeps a burst as a time, so it may be off by a little.
        assert abs(host["from_host"]["burst_bytes"] - lab.spec.bucket_bytes) <= 16
        assert abs(host["to_host"]["burst_bytes"] - lab.spec.port_bucket_bytes) <= 64


def check_a_pulled_cable_stops_and_a_plugged_one_works(lab: Lab) -> None:
    first, second = lab.hosts[:2]
    before = counters(second)
    lab.set_link("h2", up=False)
    assert lab_status(lab)["hosts"][1]["link"] == "down"
    run_in(first, sys.executable, "-c", SENDER, second.address("ipv4"), "5", "100")
    assert risen(second, before) == (0, 0, 0, 0)
    lab.set_link("h2", up=True)
    check_every_host_reaches_every_other(lab)
    check_counters_are_exact(lab)


# Quiet first: what a fresh lab still says by itself would be seen.
CHECKS: list[Callable[[Lab], None]] = [
    check_nothing_moves_by_itself,
    *(check for name, check in list(globals().items()) if name.startswith("check_")),
]
RATE_BIT_PER_S = 20_000_000


def switch_spec(hosts: int, rate_bit_per_s: int, name: str = "lab") -> LabSpec:
    """Hosts at one switch on TAP devices; by hand, for the system's Python has no pydantic."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    line = {"rate_bit_per_s": rate_bit_per_s, "delay_ns": 20_000}
    topology = {
        "hosts": names,
        "switches": [{"name": "s1", "architecture": "output", "capacity_bytes": 100_000}],
        "links": [
            {"name": host, "lower": host, "upper": "s1", "up": line, "down": line} for host in names
        ],
    }
    fabric = {"topology": topology, "loop": {}, "late_share": 0.01, "calibrate": True}
    return LabSpec(hosts=hosts, rate_bit_per_s=None, name=name, fabric=fabric)


SPECS = {
    "bridge": LabSpec(hosts=3, rate_bit_per_s=RATE_BIT_PER_S, buffer_bytes=100_000, name="checked"),
    "switch": switch_spec(3, RATE_BIT_PER_S, "checked"),
}


def main() -> None:
    with lab_up(SPECS[sys.argv[1]]) as lab:
        assert lab.path_facts()["rootless"] == (os.geteuid() != 0)
        for check in CHECKS:
            check(lab)
            print(check.__name__, flush=True)


if __name__ == "__main__":
    main()
