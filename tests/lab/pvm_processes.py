"""Finding the daemons of PVM that a test has started, among those of others."""

from __future__ import annotations

import re
from pathlib import Path

from netsonde.lab.host import LabHost


def processes() -> list[Path]:
    """Those of this machine and of every lab on it, as folders of /proc."""
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def daemons(folder: Path) -> set[int]:
    """Those whose files are below a folder."""
    return {pid for pid, files in _files().items() if files.startswith(f"{folder}/")}


def daemon_of(host: LabHost) -> int:
    """That of a host of a lab."""
    space = Path(f"/proc/{host.holder}/ns/pid").readlink()
    word = f"-n{host.address('ipv4')}"
    for pid in _files():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if word in words and Path(f"/proc/{pid}/ns/pid").readlink() == space:
                return pid
        except OSError:
            continue
    raise AssertionError(f"{host.name} has no daemon of PVM")


def files_of(pid: int) -> str:
    """The folder of a daemon's files."""
    return _files()[pid]


def pid_outside(pid: int, host: LabHost) -> int:
    """Of a process of a lab, whose own number is another one inside."""
    space = Path(f"/proc/{host.holder}/ns/pid").readlink()
    for entry in processes():
        try:
            if (entry / "ns" / "pid").readlink() == space:
                numbers = re.search(r"^NSpid:\s+(.*)$", (entry / "status").read_text(), re.M)
                if numbers and int(numbers[1].split()[-1]) == pid:
                    return int(entry.name)
        except OSError:
            continue
    raise AssertionError(f"no process {pid} in that lab")


def _files() -> dict[int, str]:
    """Of all daemons, by process."""
    found = {}
    for entry in processes():
        try:
            if (entry / "comm").read_text() != "pvmd\n":
                continue
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        named = [word for word in environment if word.startswith(b"PVM_TMP=")]
        found[int(entry.name)] = named[0].partition(b"=")[2].decode() if named else ""
    return found
