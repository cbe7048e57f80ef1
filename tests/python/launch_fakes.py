"""Hosts whose workers are fake_worker.py, servers, and what tests look at when they are over."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netsonde.launch.binaries import USUAL_WORKER
from netsonde.launch.host import ChildProcess
from netsonde.launch.local import LocalHost
from netsonde.launch.pair import open_pair
from netsonde.launch.paired import PairedHost, TlsStream
from netsonde.launch.worker import Worker

SOURCES = Path(__file__).parents[2] / "src"
RUN = {"test": "latency", "message_bytes": 64, "count": 5}
FAKE = Path(__file__).with_name("fake_worker.py")


def write_fake(directory: Path, mode: str = "good", interpreter: str = sys.executable) -> Path:
    """An executable sonde-worker in a directory, with one kind of misbehaviour."""
    source = FAKE.read_text().replace('MODE = "good"', f'MODE = "{mode}"')
    path = directory / "sonde-worker"
    path.write_text(f"#!{interpreter} -IS\n{source}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


class FakeHost(LocalHost):
    """This machine, with a fake worker of one mode."""

    def __init__(self, directory: Path, mode: str = "good", name: str = "h1") -> None:
        super().__init__(name)
        place = directory / f"{name}-{mode}"
        place.mkdir()
        self.worker_path = write_fake(place, mode)
        self.started: list[ChildProcess] = []

    def start_worker(
        self,
        *,
        family: str = "ipv4",
        wakeup: threading.Condition | None = None,
        program: str = USUAL_WORKER,
        hello_timeout_s: float = 15,
    ) -> Worker:
        del family, program
        process = self.start([str(self.worker_path)])
        self.started.append(process)
        return Worker(process, self.name, wakeup=wakeup, hello_timeout_s=hello_timeout_s)


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def children() -> set[int]:
    """Our direct child processes, ended ones that nobody waited for included."""
    me = os.getpid()
    found = set()
    for task in Path(f"/proc/{me}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended
            found |= {int(word) for word in (task / "children").read_text().split()}
    return found


def gone(pid, timeout_s=5.0):
    """Whether a process has ended."""
    deadline = time.monotonic() + timeout_s
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# The command alone, so that these tests need no other part of netsonde.
RUNNER = """
import sys, typer
from netsonde.cli.serve import serve
from netsonde.errors import NetsondeError
app = typer.Typer()
app.callback()(lambda: None)
app.command()(serve)
try:
    app(standalone_mode=False)
except NetsondeError as error:
    print(f"netsonde: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


def plain_python():
    """An interpreter that a user without privileges can run."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if os.geteuid() == 0 and found is None:
        pytest.skip("no Python that the user nobody could run")
    return found if os.geteuid() == 0 else sys.executable


def in_a_loop(main):
    """What a coroutine returns; in a thread, as a browser's tests leave a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main).result()


class Serving:
    """A server in a process of its own, which runs ``first`` before anything else."""

    def __init__(self, directory, mode="good", options=(), announced=True, worker=None, first=""):
        workers = directory / f"workers-{mode}"
        workers.mkdir(exist_ok=True)
        if worker is None:
            write_fake(workers, mode, plain_python())
        else:
            shutil.copy(worker, workers / "sonde-worker")
        self.log = directory / "serve.log"
        environment = {**os.environ, "NETSONDE_WORKERS": str(workers), "PYTHONPATH": str(SOURCES)}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    first + RUNNER,
                    "serve",
                    "--json",
                    "--port",
                    "0",
                    *(() if "--bind" in options else ("--bind", "127.0.0.1")),
                    *options,
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
            )
        self.announcement = {}
        if announced:
            self.announcement = json.loads(self.process.stdout.readline())
            self.port, self.code = self.announcement["port"], self.announcement["code"]

    def host(self, code=None):
        return PairedHost("127.0.0.1", self.port, code or self.code)

    def paired_stream(self):
        """A connection after pairing, and before it the worker's hello."""
        host = self.host()
        stream = TlsStream(host._connect("ipv4"))
        host._pair(stream)
        return stream, json.loads(stream.read_line(time.monotonic() + 10))

    def logged(self, text, timeout_s=10.0):
        """Whether the log comes to hold a text."""
        deadline = time.monotonic() + timeout_s
        while text not in self.log.read_text():
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} is not in the log:\n{self.log.read_text()}")
            time.sleep(0.02)
        return True

    def works(self, directory):
        """A complete session still succeeds."""
        name = f"again{time.monotonic_ns()}"
        with open_pair(FakeHost(directory, name=name), self.host(), "tcp") as session:
            assert len(session.run(RUN, 5)) == 5
        return True

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(15)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
