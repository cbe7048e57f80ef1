"""What an installation takes: the size of the wheel and of its workers, and how long one starts."""

from __future__ import annotations

import platform
import random
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.peers import Route
from netsonde.errors import HostError

NAME = "installed"
WHEELS = Path(__file__).resolve().parent.parent / "dist"
SCRIPTS = ".data/scripts/"
STARTED = "sonde-worker"
STARTS = 50
MOST_WHEEL_MB = 9.0
MOST_WORKER_MB = 5.0
MOST_START_MS = 10.0


@dataclass(frozen=True)
class Taken:
    """So much of something, and how much is allowed."""

    title: str
    value: float
    unit: str
    most: float


def installed(route: Route, seconds: float, draw: random.Random) -> list[Taken]:  # noqa: ARG001
    """Of the newest wheel for this machine in dist/. Raises HostError where there is none."""
    wheel = newest_wheel(WHEELS)
    found = [Taken("wheel", wheel.stat().st_size / 1e6, "MB", MOST_WHEEL_MB)]
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        for member in archive.infolist():
            if SCRIPTS in member.filename:
                name = Path(member.filename).name
                found.append(Taken(name, member.file_size / 1e6, "MB", MOST_WORKER_MB))
                Path(folder, name).write_bytes(archive.read(member))
        program = Path(folder, STARTED)
        program.chmod(0o755)
        found.append(Taken(f"start of {STARTED}", start_ms(program), "ms", MOST_START_MS))
    return found


def newest_wheel(folder: Path) -> Path:
    wheels = list(folder.glob(f"netsonde-*_{platform.machine()}.whl"))
    if not wheels:
        raise HostError(f"there is no wheel for this machine in {folder}: make wheels")
    return max(wheels, key=lambda path: path.stat().st_mtime)


def start_ms(program: Path) -> float:
    """The median of some starts, each to its end: the program says its version."""
    took = []
    for _ in range(STARTS):
        begun = time.monotonic()
        subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
        took.append(1e3 * (time.monotonic() - begun))
    return median(took)


def lines(found: Sequence[Taken]) -> list[str]:
    """For the terminal: each beside its limit."""
    return beside_limits("what an installation from the wheel takes, and the most it may", found)


def beside_limits(title: str, found: Sequence[Taken]) -> list[str]:
    said = [title]
    for one in found:
        word = "met" if one.value <= one.most else "missed"
        said.append(f"{one.title:24} {one.value:6.2f} {one.unit:2} of {one.most:5.2f}  {word}")
    return said
