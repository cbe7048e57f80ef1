"""A running lab is what was asked for, with root and without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import lab_checks
import pytest
from lab_marks import marked_processes

import netsonde
from netsonde.lab import Lab, LabSpec, lab_status, lab_up
from netsonde.launch.binaries import find_worker

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Some systems let every user open the device, some do not: here it is one that may be.
OPEN_TUN = (
    *("unshare", "--mount", "sh", "-c"),
    'mount -t tmpfs -o mode=755 none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec "$@"',
    "sh",
)
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module", params=list(lab_checks.SPECS))
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with lab_up(lab_checks.SPECS[request.param]) as lab:
        yield lab


@pytest.mark.lab
@pytest.mark.parametrize("check", lab_checks.CHECKS, ids=lambda check: check.__name__)
def test_lab(lab: Lab, check: Callable[[Lab], None]) -> None:
    check(lab)


def rootless_problem() -> str | None:
    """Why the same cannot be checked as a user with no rights; None where it can."""
    if os.geteuid() != 0:
        return "these tests run without root already"
    if not shutil.which("setpriv"):
        return "setpriv is not installed"
    done = run_rootless("from netsonde.lab import permission_problem; print(permission_problem())")
    if done.returncode != 0:
        return "another user cannot run this checkout with the system's Python"
    problem = done.stdout.strip()
    return None if problem == "None" else problem


def run_rootless(
    code: str, prefix: tuple[str, ...] = NOBODY, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Runs Python code as a user with no rights."""
    packages = Path(netsonde.__file__).parents[1]
    paths = f"{packages}:{Path(__file__).parent}"
    return subprocess.run(
        [*prefix, SYSTEM_PYTHON, "-c", code],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd="/",
        env={
            **os.environ,
            "PYTHONPATH": paths,
            "HOME": "/",
            "XDG_RUNTIME_DIR": "",
            "NETSONDE_WORKERS": str(find_worker("sonde-switch").parent),
        },
    )


@pytest.fixture(scope="module")
def rootless() -> None:
    problem = rootless_problem()
    if problem:
        pytest.skip(problem)


@pytest.mark.usefixtures("rootless")
@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=[pytest.mark.soak] * (k == "bridge")) for k in lab_checks.SPECS],
)
def test_the_same_without_root(mark: str, kind: str) -> None:
    code = f"import sys, lab_checks; sys.argv.append({kind!r}); lab_checks.main()"
    done = run_rootless(code, (*OPEN_TUN, *NOBODY) if kind == "switch" else NOBODY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.split()) == len(lab_checks.CHECKS)
    assert marked_processes(mark) == []


@pytest.mark.usefixtures("rootless", "mark")
def test_threads_that_receive_are_not_had_without_root() -> None:
    """The switch receives instead, and the lab says why."""
    code = (
        "import dataclasses, lab_checks as c\n"
        "spec = c.SPECS['switch']\n"
        "spec = dataclasses.replace(spec, fabric={**spec.fabric, 'receive': 'threads'})\n"
        "with c.lab_up(spec) as lab:\n"
        "    c.check_every_host_reaches_every_other(lab)\n"
        "    print(lab.made['receive'])\n"
    )
    done = run_rootless(code, (*OPEN_TUN, *NOBODY))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "{'by': 'switch', 'reason': 'the lab may not write to /sys'}\n"


@pytest.mark.usefixtures("rootless", "mark")
def test_without_root_where_proc_cannot_be_mounted() -> None:
    """As in many containers: something covers a part of /proc, so the kernel refuses a new one."""
    covered = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/fs && exec "$@"', "sh")
    code = (
        "import lab_checks as c\n"
        "with c.lab_up(c.SPECS['bridge']) as lab:\n"
        "    assert all(h['pid'] == h['lab_pid'] for h in lab.made['hosts'].values())\n"
        "    c.check_a_neighbour_can_be_entered_from_a_host(lab)\n"
        "    c.check_every_host_reaches_every_other(lab)\n"
        "    c.check_counters_are_exact(lab)\n"
        "print('done')"
    )
    done = run_rootless(code, prefix=(*covered, *NOBODY))
    assert done.stdout.split() == ["done"], done.stderr


@pytest.mark.lab
@pytest.mark.usefixtures("mark")
@pytest.mark.parametrize(
    "spec",
    [LabSpec(hosts=2, rate_bit_per_s=50_000_000), lab_checks.switch_spec(2, 50_000_000)],
    ids=["bridge", "switch"],
)
def test_two_labs_do_not_see_each_other(spec: LabSpec) -> None:
    with lab_up(spec) as one, lab_up(spec) as other:
        before = [lab_checks.counters(host) for host in other.hosts]
        lab_checks.check_counters_are_exact(one)
        assert [lab_checks.counters(host) for host in other.hosts] == before
        lab_checks.check_counters_are_exact(other)
        one.close()
        lab_checks.check_every_host_reaches_every_other(other)


@pytest.mark.lab
@pytest.mark.usefixtures("mark")
def test_a_lab_that_is_not_shaped() -> None:
    with lab_up(LabSpec(hosts=2, rate_bit_per_s=None)) as lab:
        lab_checks.check_counters_are_exact(lab)
        lab_checks.check_no_frame_is_longer_than_the_link_allows(lab)
        assert all(host["to_host"] is None for host in lab_status(lab)["hosts"])
        assert lab.path_facts()["rate_bit_per_s"] is None


@pytest.mark.lab
@pytest.mark.usefixtures("mark")
@pytest.mark.parametrize(
    "spec", [LabSpec(hosts=64), lab_checks.switch_spec(64, 10**8)], ids=["bridge", "switch"]
)
def test_the_most_hosts(spec: LabSpec) -> None:
    with lab_up(spec) as lab:
        assert lab_checks.run_in(lab.hosts[63], "hostname").strip() == "h64"
        address = lab.hosts[63].address("ipv6")
        lines = lab_checks.run_pair(
            (lab.hosts[63], lab_checks.ECHO_SERVER, [address]),
            (lab.hosts[0], lab_checks.ECHO_CLIENT, [address, "100000"]),
        )
        assert lines == ["ready", "100000"]


@pytest.mark.lab
@pytest.mark.usefixtures("mark")
def test_a_process_that_is_started_in_a_host() -> None:
    """As a worker is: pipes, its environment, a gentle end, and nothing left of it."""
    script = (
        "import os, signal, sys\n"
        "def say(*words):\n"
        "    os.write(1, ' '.join(words).encode())\n"
        "def end(*_):\n"
        "    say('gently')\n"
        "    sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "say(os.environ['EXTRA'], os.environ['NETSONDE_LAB_HOSTS'])\n"
        "sys.stdin.read(1)\n"
        "signal.pause()"
    )
    with lab_up(LabSpec(hosts=2)) as lab:
        argv = [sys.executable, "-c", script]
        with lab.hosts[0].start(argv, env={"EXTRA": "more"}) as process:
            assert process.read().decode().startswith("more h1=")
            process.terminate()
            assert process.read().decode() == "gently"
            assert process.wait(10) == 5
        assert lab_status(lab)["hosts"][0]["processes"] == []


@pytest.mark.lab
@pytest.mark.usefixtures("mark")
def test_a_process_dies_with_the_one_that_waits_for_it() -> None:
    with lab_up(LabSpec(hosts=2)) as lab:
        command = lab.hosts[0].command(["sh", "-c", "echo up; exec sleep 1000"])
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            inside = lab_status(lab)["hosts"][0]["processes"]
            assert [p["command"] for p in inside] == ["sleep 1000"]
            process.kill()
            # Its output closes when the process inside has gone as well.
            assert process.communicate(timeout=10) == (b"", None)
