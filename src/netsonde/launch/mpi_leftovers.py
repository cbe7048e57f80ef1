"""Files of MPI launchers that were killed, on the machine that netsonde runs on.

A launcher removes them at its end. Shared memory of ranks is removed where the ranks are, by
sonde-mpi itself.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import time
from pathlib import Path

OLDEST_S = 60.0
"""Younger ones may be of a launcher that just starts."""
PATTERNS = (
    "hydra_hwloc_xmlfile_*",  # MPICH's: the machine's description, which its proxies read at once
    "ompi.HOST.*/pid.*",  # Open MPI 4: a folder for each launcher, whose process has that number
    "prte.HOST.*.*",  # Open MPI 5: the process, the user
)
"""HOST is this machine's name: a container that shares the folder has its own."""
_PROCESS = re.compile(r"(?:^|/)(?:pid\.|prte\..*\.(?=\d+\.\d+$))(\d+)")


def remove_leftovers() -> None:
    """Removes what this user's launchers left that have ended, and whose files are old."""
    # Not tempfile's: it writes to find one, and may be killed meanwhile.
    for folder in {"/tmp", os.environ.get("TMPDIR") or "/tmp"}:  # one launcher knows no other
        remove_in(Path(folder))


def remove_in(folder: Path) -> None:
    """The same in one folder."""
    host = os.uname().nodename.partition(".")[0]
    for pattern in PATTERNS:
        for path in folder.glob(pattern.replace("HOST", glob.escape(host))):
            with contextlib.suppress(OSError):
                if _is_left(path, str(path.relative_to(folder))):
                    _remove(path, folder)


def _is_left(path: Path, name: str) -> bool:
    facts = path.lstat()
    if facts.st_uid != os.geteuid() or path.is_symlink():
        return False
    if time.time() - facts.st_mtime < OLDEST_S:
        return False
    process = _PROCESS.search(name)
    return process is None or not _runs(process[1])


def _runs(process: str) -> bool:
    """Whether there is such a process, other than one that has ended and nobody has waited for."""
    try:
        status = Path("/proc", process, "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def _remove(path: Path, folder: Path) -> None:
    """And the folder around it, where that is the launcher's and holds nothing else."""
    if not path.is_dir():
        path.unlink()
        return
    shutil.rmtree(path, ignore_errors=True)
    if path.parent != folder:
        path.parent.rmdir()
