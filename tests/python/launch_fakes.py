"""Hosts whose workers are fake_worker.py, and what tests look at when they are over."""

import os
import stat
import sys
import threading
from pathlib import Path

from netsonde.launch.host import ChildProcess
from netsonde.launch.local import LocalHost
from netsonde.launch.worker import Worker

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

    def start_worker(self, *, family: str = "ipv4", wakeup: threading.Condition | None = None,
                     hello_timeout_s: float = 15) -> Worker:
        del family
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
        found |= {int(word) for word in (task / "children").read_text().split()}
    return found
