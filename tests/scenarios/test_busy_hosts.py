"""Measuring on hosts that have other work: it is there meanwhile, and gone on every way out."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from marked import Marked


def burners(marked: Marked) -> int:
    """Threads of marked processes that give way with nice 7, as nothing else here does."""
    found = 0
    for pid in marked.processes():
        try:
            stats = [(p / "stat").read_text() for p in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:
            continue
        found += sum(int(text.rpartition(") ")[2].split()[16]) == 7 for text in stats)
    return found


@pytest.fixture
def marked(tmp_path):
    return Marked(tmp_path)


def test_what_it_got_stands_beside_the_figures(netsonde_command, tmp_path, marked):
    command = [*netsonde_command, "tcp", "local", "latency", "--count", "200", "--json"]
    busy = "none,both=40%:nice7@0"
    process = marked.start([*command, "--background-load", busy, "--quiet"], cwd=tmp_path)
    shown, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    points = {p["parameters"]["options"]["busy"]: p for p in json.loads(shown)["points"]}
    assert "busy" not in points["none"]["checks"]
    (found,) = points["both=40%:nice7@0"]["checks"]["busy"].values()  # both are this machine
    assert (found["cpus"], found["asked_share"], found["nice"]) == ([0], 0.4, 7)
    assert 0 < found["share"][0] <= 0.6
    marked.expect_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_the_command(netsonde_command, tmp_path, marked, number):
    command = [*netsonde_command, "tcp", "local", "stream", "--time", "40s", "--quiet"]
    process = marked.start([*command, "--background-load", "target=5%:nice7"], cwd=tmp_path)
    end = time.monotonic() + 30
    while not burners(marked) and time.monotonic() < end:
        time.sleep(0.05)
    assert burners(marked)
    marked.kill(process.pid, number)
    process.communicate(timeout=20)
    marked.expect_nothing_left()


def test_a_processor_that_is_not_there_is_a_sentence(netsonde_command, tmp_path, marked):
    command = [*netsonde_command, "udp", "local", "latency", "--count", "10", "--quiet"]
    process = marked.start([*command, "--background-load", "target=5%@4000"], cwd=tmp_path)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "CPU 4000" in said
    assert len(said.strip().splitlines()) == 1
    marked.expect_nothing_left()
