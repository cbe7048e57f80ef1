"""Frames taken through the hosts' stacks by threads of the kernel stay the frames of the wire."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netsonde.lab import Lab, lab_up
from netsonde.lab.observe import stats_in_words, switch_stats
from netsonde.lab.receiving import receivers
from netsonde.lab.scenario import lab_spec, scenario_of
from netsonde.lab.spec import LabSpec

pytestmark = [pytest.mark.lab, pytest.mark.worker]
BYTES = 2_000_000
FULL_FRAME_BYTES = 1514
# Says so once it listens; then what came, and the longest frame that the device handed on.
SINK = """
import json, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE: room for all that comes
raw.bind(("v0", 0))
server = socket.create_server((sys.argv[1], 7010))
server.settimeout(20)
print("ready", flush=True)
stream, _ = server.accept()
stream.settimeout(20)
came = 0
while piece := stream.recv(1 << 16):
    came += len(piece)
raw.setblocking(False)
longest = 0
try:
    while True:
        frame, address = raw.recvfrom(1 << 17)
        if address[2] != socket.PACKET_OUTGOING:
            longest = max(longest, len(frame))
except BlockingIOError:
    pass
print(json.dumps([came, longest]), flush=True)
"""
SOURCE = """
import socket, sys
with socket.create_connection((sys.argv[1], 7010), 20) as stream:
    stream.sendall(bytes(int(sys.argv[2])))
"""


def spec_of(receive: str) -> LabSpec:
    tables = {"hosts": 2, "links": "switch", "link": {"rate": "200M"}, "pace": {"receive": receive}}
    return lab_spec(scenario_of(tables))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_up(spec_of("threads")) as lab:
        yield lab


def said_by(lab: Lab, number: int, *argv: str) -> str:
    command = lab.hosts[number - 1].command(argv)
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout


def stream_over(lab: Lab) -> list[int]:
    """Bytes that came from h1 to h2 by TCP, and the longest frame that h2's programs could see."""
    address = lab.hosts[1].address("ipv4")
    with subprocess.Popen(
        lab.hosts[1].command([sys.executable, "-c", SINK, address]),
        stdout=subprocess.PIPE,
        text=True,
    ) as sink:
        assert sink.stdout is not None
        assert sink.stdout.readline() == "ready\n"
        said_by(lab, 1, sys.executable, "-c", SOURCE, address, str(BYTES))
        found: list[int] = json.loads(sink.stdout.readline())
    return found


def test_every_host_has_a_thread_and_the_lab_says_so(lab: Lab) -> None:
    if lab.made["receive"]["by"] != "threads":
        pytest.skip(f"no such threads here: {lab.made['receive']['reason']}")
    for number in (1, 2):
        assert said_by(lab, number, "cat", "/sys/class/net/v0/threaded") == "1\n"
    stats = switch_stats(lab)
    assert stats["receive"] == {"by": "threads"}
    assert "threads of the kernel" in stats_in_words(stats)
    assert lab.path_facts()["receive"] == {"by": "threads"}


def test_frames_reach_programs_as_they_were_on_the_wire(lab: Lab) -> None:
    """Not put together by the kernel, and counted one by one at the switch."""
    before = {link["name"]: link["down"]["arrived"] for link in switch_stats(lab)["links"]}
    assert stream_over(lab) == [BYTES, FULL_FRAME_BYTES]
    after = {link["name"]: link["down"]["arrived"] for link in switch_stats(lab)["links"]}
    assert after["h2"] - before["h2"] >= BYTES / 1460


def test_by_itself_the_switch_does_it() -> None:
    with lab_up(spec_of("switch")) as lab:
        assert said_by(lab, 1, "cat", "/sys/class/net/v0/threaded") == "0\n"
        assert switch_stats(lab)["receive"] == {"by": "switch"}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "no threads for network devices"),
        ({"lo/threaded": 0o444}, "may not write"),
        ({"lo/threaded": 0o644}, None),
    ],
)
def test_where_threads_cannot_be_had_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, int], found: str | None
) -> None:
    for name, mode in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
        # Root may write whatever the mode says.
        monkeypatch.setattr("os.access", lambda _path, _mode, allowed=mode: bool(allowed & 0o200))
    receive: dict[str, Any] = receivers(spec_of("threads"), tmp_path)
    if found is None:
        assert receive == {"by": "threads"}
    else:
        assert receive["by"] == "switch"
        assert found in receive["reason"]
        stats = {
            "loop": {"read_frames": 0, "written_frames": 0, "frames_inside": 0, "pool_full": 0},
            "lateness": {"frames": 0, "median_ns": 0, "p99_ns": 0, "most_ns": 0, "limit_ns": 1},
            "honest": {"late_share": 0.0, "allowed_share": 0.01},
            "gate_open": True,
            "links": [],
            "receive": receive,
        }
        assert receive["reason"] in stats_in_words(stats)
