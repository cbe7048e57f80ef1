"""However a lab ends, nothing of it is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import lab_checks
import pytest
from lab_marks import marked_processes

from netsonde.errors import HostError
from netsonde.lab import Lab, LabSpec, cluster, find_lab, kernel, lab_up
from netsonde.lab import links as lab_links

pytestmark = [pytest.mark.lab]
TIMEOUT_S = 15
OWNER = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import lab_checks
from netsonde.lab import LabSpec, lab_up
lab = lab_up(LabSpec(hosts=3) if sys.argv[1] == "bridge" else lab_checks.switch_spec(3, 10**8))
lab.hosts[0].start(["sleep", "1000"])
print("up", flush=True)
time.sleep(1000)
"""
NETSONDE = [sys.executable, "-m", "netsonde"]


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def outside() -> tuple[list[str], int]:
    """What a lab could leave outside: devices and mounts."""
    devices = sorted(path.name for path in Path("/sys/class/net").iterdir())
    return devices, len(Path("/proc/self/mounts").read_text().splitlines())


KINDS = pytest.mark.parametrize(
    "spec",
    [LabSpec(hosts=3), lab_checks.switch_spec(3, 10**8)],
    ids=["bridge", "switch"],
)


def switch_process(lab: Lab) -> int:
    """The pid of the lab's sonde-switch, here."""
    children = Path(f"/proc/{lab.made['init_pid']}/task/{lab.made['init_pid']}/children")
    for pid in children.read_text().split():
        if b"sonde-switch" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return int(pid)
    raise AssertionError("the lab has no switch process")


@KINDS
@pytest.mark.parametrize("victim", ["keeper", "init", "host", "switch"])
def test_a_killed_part_takes_the_whole_lab_with_it(mark: str, victim: str, spec: LabSpec) -> None:
    if victim == "switch" and spec.fabric is None:
        victim = "init"  # which holds the bridge
    before = outside()
    with lab_up(spec) as lab:
        inside = lab.hosts[1].start(["sleep", "1000"])
        pids = {
            "keeper": lab.made["keeper_pid"],
            "init": lab.made["init_pid"],
            "host": lab.hosts[2].holder,
        }
        pid = switch_process(lab) if victim == "switch" else pids[victim]
        os.kill(pid, signal.SIGKILL)
        assert inside.wait(TIMEOUT_S) is not None
        assert wait_until(lambda: not lab.alive)
        assert wait_until(lambda: marked_processes(mark) == [])
        # A process on its way out has lost its mark, and keeps its namespaces a moment longer.
        holder = lab.hosts[0].holder
        assert wait_until(lambda: kernel.start_time_ticks(holder) is None)
        with pytest.raises(HostError, match="its lab has ended"):
            lab.hosts[0].start(["true"])
        with pytest.raises(HostError, match="has ended"):
            lab.set_link("h1", up=False)
        inside.stop()
        inside.release()
    assert outside() == before


@pytest.mark.parametrize("kind", ["bridge", "switch"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_lab_ends_with_its_owner(mark: str, number: int, kind: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        assert len(marked_processes(mark)) >= 6
        owner.send_signal(number)
        owner.wait(TIMEOUT_S)
        assert wait_until(lambda: marked_processes(mark) == [])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("links", [pytest.param("bridge", marks=pytest.mark.soak), "switch"])
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGKILL, marks=pytest.mark.soak), signal.SIGINT]
)
def test_up_is_complete_or_nothing(mark: str, state_folder: Path, number: int, links: str) -> None:
    """A command that is killed while it brings a lab up leaves a lab that can be used, or none."""
    chance = random.Random(7)
    for _ in range(8 if number == signal.SIGKILL else 3):
        up = subprocess.Popen(
            [*NETSONDE, "lab", "up", "--links", links],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Where the keeper starts is what matters; before that there is nothing to lose.
        wait_until(lambda: len(marked_processes(mark)) > 1 or up.poll() is not None)  # noqa: B023
        time.sleep(chance.uniform(0, 0.12 if links == "bridge" else 0.4))
        up.send_signal(number)
        up.wait(TIMEOUT_S)
        assert wait_until(lambda: marked_processes(mark) == [] or _usable())
        if marked_processes(mark):
            down = subprocess.run([*NETSONDE, "lab", "down"], timeout=TIMEOUT_S, check=False)
            assert down.returncode == 0
        assert wait_until(lambda: marked_processes(mark) == [])
        for path in state_folder.glob("*.json"):
            path.unlink()  # of a lab that was killed between being noted and being let go
        for path in state_folder.glob(".new-*"):
            assert number == signal.SIGKILL
            path.unlink()


def _usable() -> bool:
    try:
        return find_lab(None).alive
    except Exception:
        return False


@pytest.mark.soak
@pytest.mark.timeout(300)
@KINDS
def test_fifty_cycles_leave_nothing(mark: str, spec: LabSpec) -> None:
    before = outside()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        with lab_up(spec) as lab:
            assert lab.alive
        assert marked_processes(mark) == []
    assert outside() == before
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_closing_twice_is_no_mistake(mark: str) -> None:
    lab = lab_up(LabSpec(hosts=1))
    lab.close()
    lab.close()
    assert not lab.alive
    assert marked_processes(mark) == []


def test_a_lab_that_cannot_be_made_leaves_nothing(
    mark: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The shaping tool refuses at the last step."""
    refusing = tmp_path / "tc"
    refusing.write_text("#!/bin/sh\necho 'Specified qdisc kind is unknown.' >&2\nexit 2\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(HostError, match="tc says 'Specified qdisc kind is unknown"):
        lab_up(LabSpec())
    assert marked_processes(mark) == []


@pytest.mark.parametrize("files", [12, 20, 40, 64])
def test_too_few_descriptors_are_said_and_leave_nothing(mark: str, files: int) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import lab_checks, netsonde.lab\n"
        "try:\n    netsonde.lab.lab_up(lab_checks.switch_spec(32, 10**7))\n"
        "except netsonde.errors.HostError as error:\n    print(error)"
    )
    done = subprocess.run(
        ["prlimit", f"--nofile={files}:{files}", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert "Too many open files" in done.stdout, done.stderr
    assert "ulimit -n" in done.stdout
    assert wait_until(lambda: marked_processes(mark) == [])


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(lab_links, "SYSTEM_PATH", ())
    problem = cluster.permission_problem()
    assert problem == "the lab needs the command ip; install the package iproute2"


@pytest.mark.parametrize("kind", ["user", "net", "pid", "mnt"])
def test_where_namespaces_are_forbidden_a_sentence_says_so(mark: str, kind: str) -> None:
    script = f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("user namespaces are not allowed here")
    # A user namespace can be done without by who has rights; drop them to need one.
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if kind == "user" else []
    code = "from netsonde.lab import permission_problem; print(permission_problem())"
    done = subprocess.run(
        [*prefix, *drop, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no lab can be had here: cannot make ")
    assert "namespace" in done.stdout
    assert done.stdout.count("\n") == 1
    assert marked_processes(mark) == []


def test_detached_labs_end_when_asked(mark: str) -> None:
    lab: Lab = lab_up(LabSpec(hosts=1))
    lab.detach()
    lab.detach()
    assert lab.alive
    lab.close()
    assert marked_processes(mark) == []


def test_one_whose_process_is_stopped_ends(mark: str) -> None:
    """What has started it stands still with it (nsenter does), and cannot take note of its end."""
    lab = lab_up(LabSpec(hosts=2))
    child = lab.hosts[0].start(["sh", "-c", "kill -STOP $$"])
    stat = Path(f"/proc/{child.pid}/stat")
    assert wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    began = time.monotonic()
    keeper = lab._keeper
    assert keeper is not None
    assert keeper.stdin is not None
    keeper.stdin.close()
    keeper.wait(TIMEOUT_S)
    assert time.monotonic() - began < cluster.DOWN_TIMEOUT_S
    lab.close()
    child.stop()
    child.release()
    assert marked_processes(mark) == []
