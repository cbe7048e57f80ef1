"""``netsonde lab`` and the names of its hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from netsonde.errors import HostError, UsageError
from netsonde.hosts import parse_host
from netsonde.lab import hosts_of, running_labs

lab = pytest.mark.lab


COMMANDS = ["up", "exec", "status", "link", "down", "presets", "set", "gate", "stats", "capture"]


def netsonde(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = warm.run(["lab", *arguments], timeout_s=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@lab
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("mark")
def test_from_up_to_down(state_folder: Path) -> None:
    try:
        assert "h1, h2, h3" in netsonde("up", "--hosts", "3", "--rate", "200M").stdout
        assert state_folder.stat().st_mode & 0o777 == 0o700
        assert netsonde("exec", "h3", "--", "hostname").stdout == "h3\n"
        assert netsonde("exec", "h2", "hostname").stdout == "h2\n"
        netsonde("exec", "h1", "--", "sh", "-c", "exit 37", code=37)
        netsonde("exec", "h1", "--", "no-such-command", code=127)
        assert "'h4'" in netsonde("exec", "h4", "--", "true", code=2).stderr
        assert "runs already" in netsonde("up", code=2).stderr
        status = json.loads(netsonde("status", "--json").stdout)["labs"]
        assert [host["name"] for host in status[0]["hosts"]] == ["h1", "h2", "h3"]
        assert status[0]["path"]["rate_bit_per_s"] == 200_000_000
        assert "3 hosts" in netsonde("list").stdout
        (listed,) = json.loads(netsonde("list", "--json").stdout)["labs"]
        assert listed["hosts"] == ["h1", "h2", "h3"]
        netsonde("link", "h2", "down")
        assert "LINK DOWN" in netsonde("status").stdout
        netsonde("link", "h2", "up")
        assert "LINK DOWN" not in netsonde("status").stdout
        assert "sideways" in netsonde("link", "h2", "sideways", code=2).stderr
    finally:
        netsonde("down")
    assert list(state_folder.iterdir()) == []
    assert "no lab runs" in netsonde("status").stdout
    assert "no lab runs" in netsonde("list").stdout
    assert "no lab runs" in netsonde("down", code=2).stderr


# The round trip to a port that nobody listens on, in s.
REFUSED = """
import socket, sys, time
begun = time.monotonic()
try:
    socket.create_connection(("h2", 9), 0.7)
except ConnectionRefusedError:
    print(time.monotonic() - begun)
except TimeoutError:
    sys.exit(1)
"""


@lab
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("mark")
def test_a_link_is_changed_while_the_lab_runs() -> None:
    try:
        netsonde("up", "--hosts", "2", "--links", "switch", "--rate", "100M")
        refused = ("exec", "h1", "--", sys.executable, "-c", REFUSED)
        netsonde(*refused)
        changed = json.loads(netsonde("set", "link=h2", "way=down", "loss=100%").stdout)
        assert changed["direction"] == "down"
        netsonde(*refused, code=1)
        netsonde("set", "link=h2", "loss=0", "delay=20ms", "jitter.distribution=none")
        assert float(netsonde(*refused).stdout) >= 0.040  # the delay both ways
        netsonde("set", "link=h2", "delay=0s", "burst.enter=100%", "burst.leave=0%")
        netsonde(*refused, code=1)
        down = {
            link["name"]: link for link in json.loads(netsonde("stats", "--json").stdout)["links"]
        }["h2"]["down"]
        assert down["lost_burst"] > 0
        assert down["lost_random"] > 0
        for settings, said in (
            (["loss=1%"], "say which link"),
            (["link=h2", "loss"], "write KEY=VALUE"),
            (["link=h2", "loss=150%"], "loss"),
            (["link=h2", "burst=1", "burst.enter=1%"], "both as a value and as a table"),
            (["link=h2", "loss=1%", "loss=2%"], "given twice"),
            (["link=h2", "burst.enter=1%", "burst.often=1%"], "burst.often"),
            (["link=h9", "loss=1%"], "h9"),
            (["link=h2", "way=along", "loss=1%"], "not up, down or both"),
        ):
            done = warm.run(["lab", "set", *settings])
            assert done.returncode in (2, 3), settings
            assert said in done.stderr
    finally:
        netsonde("down")


@lab
@pytest.mark.usefixtures("mark")
def test_two_labs_and_the_names_of_their_hosts() -> None:
    try:
        netsonde("up", "--name", "one")
        assert [host.name for host in hosts_of("h2,h1")] == ["h2", "h1"]
        netsonde("up", "--name", "two", "--hosts", "4", "--rate", "none")
        assert [host.name for host in hosts_of("lab:two/h[3-4],h1")] == ["h3", "h4", "h1"]
        assert [host.kind for host in parse_host("lab:two/h4")] == ["lab"]
        with pytest.raises(UsageError, match="several labs run"):
            hosts_of("h1")
        with pytest.raises(UsageError, match="has no host 'h3'"):
            hosts_of("one/h3")
        with pytest.raises(UsageError, match="no lab named 'six' runs; these run: one, two"):
            hosts_of("six/h1")
        for bad in ("one/", "one/h[1", "one/,"):
            with pytest.raises(UsageError):
                hosts_of(bad)
        assert "several labs run" in netsonde("exec", "h1", "true", code=2).stderr
        netsonde("down", "--name", "one")
        assert [found.spec.name for found in running_labs()] == ["two"]
    finally:
        netsonde("down", "--all")
    assert running_labs() == []


@lab
@pytest.mark.usefixtures("mark")
def test_a_lab_that_died_is_forgotten(state_folder: Path) -> None:
    netsonde("up")
    keeper = json.loads(netsonde("status", "--json").stdout)["labs"][0]["keeper_pid"]
    os.kill(keeper, 9)
    noted = netsonde("status")
    assert "lab 'lab' had ended" in noted.stderr
    assert list(state_folder.iterdir()) == []
    netsonde("up")
    netsonde("down")


@lab
@pytest.mark.usefixtures("mark")
def test_a_pid_that_another_process_has_now_is_no_lab(state_folder: Path) -> None:
    netsonde("up")
    path = state_folder / "lab.json"
    content = json.loads(path.read_text())
    netsonde("down")
    content["made"]["keeper_pid"] = os.getpid()
    path.write_text(json.dumps(content))
    netsonde("down")  # and this process is still here to see it
    assert not path.exists()


def test_a_file_that_is_none_of_ours_is_named(state_folder: Path) -> None:
    state_folder.mkdir(mode=0o700)
    (state_folder / "lab.json").write_text("{")
    with pytest.raises(HostError, match=r"lab\.json does not note a lab .*; remove it"):
        running_labs()


def test_a_folder_open_to_others_is_refused(state_folder: Path) -> None:
    state_folder.mkdir()
    state_folder.chmod(0o777)
    with pytest.raises(HostError, match="open to other users"):
        running_labs()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["up", "--hosts", "0"], "a lab of 0 hosts"),
        (["up", "--rate", "fast"], "'fast' is not a rate"),
        (["up", "--buffer", "1"], "one frame"),
        (["up", "--name", "A b"], "cannot name a lab"),
        (["exec", "h1", "true"], "no lab runs"),
        (["link", "h1", "down"], "no lab runs"),
        (["down", "--all", "--name", "x"], "do not go together"),
    ],
)
def test_bad_input(arguments: list[str], words: str) -> None:
    errors = netsonde(*arguments, code=2).stderr
    assert words in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_has_an_example(command: list[str]) -> None:
    shown = netsonde(*command, "--help").stdout
    assert not command or "• netsonde lab" in shown or "ssh -F" in shown
