"""Bad input and bad days: one clear sentence, the right exit code, nothing left behind, and what
was measured is kept."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from marked import Marked, needs_lab

import warm
from netsonde.launch.pairing import PairingCode
from netsonde.records.rundir import open_run

CODE = PairingCode.make(b"no certificate").text()

LONG_STUDY = """
name = "long"
seed = 1
relative_precision = 0.0001
cap = "{cap}"
[path]
kind = "{kind}"
[[measure]]
transports = ["tcp"]
test = "latency"
sizes = "64,128,256,512"
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class Netsonde:
    """Runs the command and looks at how it ended."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command = command
        self.folder = folder
        self.marked = Marked(folder)

    def fails(
        self,
        *arguments: str,
        code: int,
        words: str,
        timeout_s: float = 40,
        prefix: tuple[str, ...] = (),
    ) -> str:
        process = self.marked.start([*prefix, *self.command, *arguments], cwd=self.folder)
        output, errors = process.communicate(timeout=timeout_s)
        assert process.returncode == code, (output, errors)
        self.expect_sentence(errors, words)
        return str(errors)

    def refuses(self, *arguments: str, words: str, code: int = 2) -> None:
        """The same in a fork of a process that has imported the command."""
        environment = self.marked.environment()
        done = warm.run(arguments, folder=self.folder, environment=environment, timeout_s=40)
        assert done.returncode == code, done.stderr
        self.expect_sentence(done.stderr, words)

    def expect_sentence(self, errors: str, words: str) -> None:
        said = [line for line in errors.splitlines() if line]
        assert said, "it said nothing"
        assert "Traceback" not in errors
        assert said[-1].startswith("netsonde: "), errors
        assert words in said[-1], errors
        self.marked.expect_nothing_left()


@pytest.fixture
def netsonde(netsonde_command, tmp_path):
    return Netsonde(netsonde_command, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tcp", "local", "latency", "--sizes", "12q"], "'12q' is not a size"),
        (["udp", "local", "stream", "--rate", "fast"], "'fast' is not a rate"),
        (["tcp", "local", "latency", "--time", "soon"], "'soon' is not a duration"),
        (["tcp", "local", "latency", "--relative-precision", "narrow"], "is not a share"),
        (["tcp", "local", "stream", "--qos", "gold"], "'gold' is none of 1 to 6"),
        (["tcp", "local", "stream", "--cork", "--nodelay"], "ask for one of them"),
        (["tcp", "local", "stream", "--sendfile", "--zerocopy"], "do not go together"),
        (["tcp", "local", "stream", "--zerocopy", "--wait", "spin"], "goes with --wait"),
        (["tcp", "local", "stream", "--uring", "--sendfile"], "--sendfile and --uring"),
        (["tcp", "local", "stream", "--uring", "--zerocopy"], "--zerocopy and --uring"),
        (["tcp", "local", "stream", "--uring", "--wait", "spin"], "--uring goes with --wait block"),
        (["tcp", "local", "latency", "--kernel-times", "--uring"], "--kernel-times and --uring"),
        (["tcp", "local", "latency", "--kernel-times", "--multipath"], "and --multipath"),
        (["tcp", "local", "stream", "--kernel-times"], "--kernel-times and stream do not"),
        (
            ["udp", "local", "latency", "--kernel-times", "--load", "9%"],
            "--kernel-times and --load",
        ),
        (["udp", "local", "latency", "--kernel-times", "--sizes", "4"], "at least 8 bytes"),
        (["tcp", "local", "stream", "--load", "50%"], "--load goes with latency"),
        (["tcp", "local", "latency", "--load", "50%", "--count", "9"], "--load and --count"),
        (["tcp", "local", "latency", "--load", "half"], "is no share"),
        (["tcp", "local", "latency", "--streams", "2"], "--streams of more than 1"),
        (["tcp", "local", "generate"], "sends datagrams"),
        (["udp", "local", "generate"], "needs --rate"),
        (["udp", "local", "stream", "--offload"], "needs --batch"),
        (["udp", "local", "stream", "--batch", "8", "--rate", "1M"], "do not go together"),
        (["udp", "local", "latency", "--batch", "8"], "waits for an answer"),
        (["tcp", "local", "latency", "--cpus", "0"], "is not two CPUs"),
        (["tcp", "local", "latency", "--congestion", "no such"], "--congestion"),
        (["tcp", "local", "latency", "--buffer", "3z"], "--buffer: size '3z'"),
        (["tcp", "local", "latency", "--time", "2h"], "--time 2h: "),
        (["udp", "local", "latency", "--report", "loss"], "goes with stream"),
        (["udp", "local", "stream", "--report", "loss,luck"], "choose from rate, loss, reorder"),
        (["udp", "local", "stream", "--report", "loss", "--json"], "--json has every figure"),
        (["tcp", "local", "teleport"], "teleport"),
        (["tcp", "local"], "TEST"),
        (["mpi", "gahter"], "'gahter' is no MPI test; did you mean gather?"),
        (["mpi"], "name a test, such as latency or bcast"),
        (["mpi", "barrier", "--root", "0"], "--root and barrier do not go together"),
        (["mpi", "bcast", "--root", "2"], "root 2 is no rank of 2"),
        (["mpi", "bcast", "--root", "first"], "'first' is no root"),
        (["mpi", "bcast_init", "--root", "rotate"], "--root rotate and bcast_init do not go"),
        (["mpi", "bcast", "--uneven"], "--uneven and bcast do not go together"),
        (["mpi", "latency", "--pattern", "ring"], "--pattern and latency do not go together"),
        (["mpi", "send", "--pattern", "ring"], "--pattern ring and send do not go together"),
        (["mpi", "sendrecv", "--pattern", "star"], "'star' is no pattern"),
        (["mpi", "sendrecv", "--pattern", "ring:2"], "leads past all of the 2 ranks"),
        (["mpi", "put_fence", "-n", "1"], "put_fence is between two ranks"),
        (["mpi", "reduce", "--sizes", "9"], "its sizes are multiples of 8"),
        (["udp", "local", "latency", "--sizes", "64k"], "does not fit a UDP datagram"),
        (["tcp", "lab:h1,h2", "latency"], "lab"),
        (["tcp", "a b", "latency"], "is not a host"),
        (["tcp", "local", "latency", "--pairing-code", "ns1-abc"], "pairing code"),
        (["study", "run", "none.toml"], "cannot read none.toml"),
        (["study", "resume", "nowhere"], "nowhere"),
        (["report", "nowhere"], "is not a run directory"),
        (["lab", "up", "--hosts", "0"], "0"),
        (["lab", "up", "--rate", "quick"], "'quick' is not a rate"),
        (["tcp", "local", "latency", "--out", "/proc/netsonde"], "choose another with --out"),
    ],
)
def test_bad_input_is_refused_with_exit_code_2(netsonde, arguments, words):
    netsonde.refuses(*arguments, words=words)


def test_bad_input_is_refused_by_the_command_itself(netsonde):
    netsonde.fails("tcp", "local", "dance", code=2, words="dance")


@pytest.mark.parametrize("text", ["name = ", "speed = 1\n" + LONG_STUDY, "measure = 7"])
def test_malformed_toml_is_refused(netsonde, text):
    (netsonde.folder / "x.toml").write_text(text.format(kind="loopback", cap="1s"))
    netsonde.refuses("study", "run", "x.toml", words="x.toml")


def test_an_unknown_host(netsonde):
    netsonde.refuses("tcp", "no-such-host.invalid", "latency", code=3, words="no-such-host.invalid")


def test_an_unknown_paired_host(netsonde):
    netsonde.refuses(
        "tcp",
        "no-such-host.invalid:5959",
        "latency",
        "--pairing-code",
        CODE,
        code=3,
        words="no-such-host.invalid",
    )


def test_a_closed_port(netsonde):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    netsonde.refuses(
        "tcp", f"127.0.0.1:{port}", "latency", "--pairing-code", CODE, code=3, words=str(port)
    )


def test_a_message_larger_than_memory(netsonde):
    netsonde.fails(
        "tcp",
        "local",
        "latency",
        "--sizes",
        "4G",
        code=3,
        words="memory",
        prefix=("prlimit", f"--as={3 << 30}"),
    )


def test_no_mpiexec(netsonde):
    netsonde.refuses(
        "mpi", "latency", "--mpi", "/nowhere/mpiexec", code=3, words="/nowhere/mpiexec"
    )


def test_no_mpi_worker(netsonde, monkeypatch):
    empty = netsonde.folder / "empty"
    empty.mkdir()
    monkeypatch.setenv("NETSONDE_WORKERS", str(empty))
    netsonde.refuses("mpi", "latency", code=3, words="sonde-mpi")


def test_no_worker(netsonde, monkeypatch):
    empty = netsonde.folder / "empty"
    empty.mkdir()
    monkeypatch.setenv("NETSONDE_WORKERS", str(empty))
    netsonde.refuses("tcp", "local", "latency", code=3, words="sonde-worker")


def _forbid_namespaces() -> tuple[str, ...]:
    """A prefix under which no further namespaces can be made."""
    return (
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        "for n in user net mnt pid ipc uts; do echo 0 > /proc/sys/user/max_${n}_namespaces; "
        'done && exec "$@"',
        "sh",
    )


def _can_forbid() -> bool:
    return (
        subprocess.run(
            [*_forbid_namespaces(), "true"], capture_output=True, timeout=10, check=False
        ).returncode
        == 0
    )


@pytest.mark.skipif(not _can_forbid(), reason="user namespaces are not allowed here")
def test_no_permission_for_namespaces(netsonde):
    netsonde.fails("lab", "up", code=3, words="namespace", prefix=_forbid_namespaces())


@pytest.mark.skipif(not _can_forbid(), reason="user namespaces are not allowed here")
def test_without_namespaces_a_study_measures_loopback_and_says_so(netsonde):
    (netsonde.folder / "x.toml").write_text(LONG_STUDY.format(kind="auto", cap="100ms"))
    process = netsonde.marked.start(
        [*_forbid_namespaces(), *netsonde.command, "study", "run", "x.toml"], cwd=netsonde.folder
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "loopback" in errors
    run = open_run(next((netsonde.folder / "runs").iterdir()))
    assert run.origin == "real"
    assert "loopback" in run.manifest["path"]["notice"]


@needs_root
def test_an_unwritable_directory(netsonde, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    readable = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            sys.executable,
            "-c",
            "import netsonde",
        ],
        capture_output=True,
        timeout=20,
        check=False,
    )
    if readable.returncode:
        pytest.skip("an ordinary user cannot read this installation")
    netsonde.fails(
        "tcp",
        "local",
        "latency",
        "--out",
        str(locked),
        code=2,
        words="--out",
        prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    )


def _wait_for_batches(folder: Path, least: int = 2, patience_s: float = 20) -> Path:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        for journal in folder.glob("runs/*/journal.jsonl"):
            if journal.read_bytes().count(b'"entry":"batch"') >= least:
                return journal.parent
        time.sleep(0.05)
    raise AssertionError("nothing was measured")


def _workers(marked: Marked) -> list[int]:
    return [
        pid
        for pid in marked.processes()
        if b"sonde-worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    ]


def _is_connected(pid: int) -> bool:
    """Not one that only has the host for a measurement."""
    links = (str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir())
    return any(link.startswith("socket:") for link in links)


def test_a_peer_killed_mid_test(netsonde):
    (netsonde.folder / "x.toml").write_text(LONG_STUDY.format(kind="loopback", cap="1s"))
    process = netsonde.marked.start(
        [*netsonde.command, "study", "run", "x.toml"], cwd=netsonde.folder
    )
    directory = _wait_for_batches(netsonde.folder)
    netsonde.marked.kill(
        _workers(netsonde.marked)[-1], signal.SIGKILL
    )  # the first one has the host
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert "Traceback" not in errors
    run = open_run(directory)
    assert sorted(p.status for p in run.points) == ["failed"] + ["finished"] * 3
    assert all(p.batches for p in run.points)
    netsonde.marked.expect_nothing_left()


@needs_lab
def test_a_link_that_goes_down_mid_test(netsonde):
    name = f"down{os.getpid()}"
    warm.run(["lab", "up", "--name", name], timeout_s=30).check_returncode()
    try:
        process = netsonde.marked.start(
            [
                *netsonde.command,
                "tcp",
                f"lab:{name}/h1,h2",
                "latency",
                "--sizes",
                "64",
                "--count",  # of more messages than a minute has
                "16000000",
            ],
            cwd=netsonde.folder,
        )
        directory = _wait_for_batches(netsonde.folder)
        down = warm.run(["lab", "link", "--name", name, "h1", "down"], timeout_s=30)
        assert down.returncode == 0, down.stderr
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 3, errors
        assert "Traceback" not in errors
        assert open_run(directory).points[0].batches
    finally:
        warm.run(["lab", "down", "--name", name], timeout_s=30).check_returncode()
    netsonde.marked.expect_nothing_left()


@pytest.mark.parametrize(
    ("number", "times", "kind"),
    [
        (signal.SIGINT, 1, "loopback"),
        (signal.SIGTERM, 2, "loopback"),
        pytest.param(signal.SIGINT, 2, "lab", marks=needs_lab),
        pytest.param(signal.SIGTERM, 1, "lab", marks=needs_lab),
        pytest.param(signal.SIGINT, 2, "loopback", marks=pytest.mark.soak),
        pytest.param(signal.SIGTERM, 1, "loopback", marks=pytest.mark.soak),
        pytest.param(signal.SIGINT, 1, "lab", marks=[needs_lab, pytest.mark.soak]),
        pytest.param(signal.SIGTERM, 2, "lab", marks=[needs_lab, pytest.mark.soak]),
    ],
)
def test_interrupted_once_and_twice(netsonde, number, times, kind):
    (netsonde.folder / "x.toml").write_text(LONG_STUDY.format(kind=kind, cap="30s"))
    process = netsonde.marked.start(
        [*netsonde.command, "study", "run", "x.toml"], cwd=netsonde.folder
    )
    directory = _wait_for_batches(netsonde.folder)
    started = time.monotonic()
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.05)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 4, errors
    assert "Traceback" not in errors
    assert time.monotonic() - started < 20
    assert any(point.batches for point in open_run(directory).points)
    netsonde.marked.expect_nothing_left()


def test_json_is_one_document_and_nothing_else(netsonde):
    import json

    process = netsonde.marked.start(
        [*netsonde.command, "tcp", "local", "latency", "--count", "100", "--json"],
        cwd=netsonde.folder,
    )
    output, errors = process.communicate(timeout=40)
    assert process.returncode == 0, errors
    document = json.loads(output)
    assert document["origin"] == "real"
    assert document["points"][0]["checks"]["samples"] == {
        "messages": 100,
        "samples": 100,
        "equal": True,
    }


def test_quiet_says_nothing(netsonde):
    process = netsonde.marked.start(
        [*netsonde.command, "tcp", "local", "latency", "--count", "10", "--quiet"],
        cwd=netsonde.folder,
    )
    assert process.communicate(timeout=40) == ("", "")
    assert process.returncode == 0
