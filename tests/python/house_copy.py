"""A copy of netsonde's sources: a test adds a row as CONTRIBUTING.md says, and runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import netsonde
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.launch.binaries import find_worker

TIMEOUT_S = 120
STUDY = """
cap = "200ms"
[path]
kind = "loopback"
[[measure]]
transports = "{transport}"
test = "{test}"
sizes = "64"
"""


class HouseCopy:
    """netsonde's package in a folder of its own; ``run`` is its command, with ``workers``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "netsonde"
        self.workers = find_worker("sonde-worker").parent
        # With what was compiled of them: times are copied, too, so it stays valid.
        shutil.copytree(Path(netsonde.__file__).parent, self.package)

    def add(self, path: str, text: str) -> None:
        """A new file of the package."""
        file = self.package / path
        assert not file.exists(), f"{path} is there already"
        file.write_text(text)

    def change(self, path: str, old: str, new: str) -> None:
        """Puts new in the place of old, which the file has once."""
        file = self.package / path
        text = file.read_text()
        assert text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
        file.write_text(text.replace(old, new))

    def play_worker(self, name: str, script: str) -> None:
        """A script in the place of one of the workers."""
        real, self.workers = self.workers, self.folder / "workers"
        self.workers.mkdir()
        for worker in sorted({row.worker for row in TRANSPORTS.values() if row.worker}):
            if worker != name and (real / worker).exists():
                (self.workers / worker).symlink_to(real / worker)
        (self.workers / name).write_text(script)
        (self.workers / name).chmod(0o755)

    def run(self, *words: str, fails: bool = False) -> str:
        """What `netsonde WORDS` prints, on both outputs."""
        return self._python(["-m", "netsonde", *words], fails)

    def ask(self, code: str) -> Any:
        """What code prints, which is JSON."""
        return json.loads(self._python(["-c", code], fails=False))

    def measure(self, transport: str = "tcp", test: str = "latency", more: str = "") -> Path:
        """A short run on this machine, with its report: its directory. ``more`` are further lines
        of the block that is measured."""
        study = self.folder / f"{transport}-{test}.toml"
        study.write_text(STUDY.format(transport=transport, test=test) + more)
        self.run("study", "run", study.name, "--out", study.stem)
        (directory,) = (self.folder / study.stem).iterdir()
        return directory

    def _python(self, words: list[str], fails: bool) -> str:
        # -S leaves out .pth files: that of an editable installation puts the sources before all.
        packages = f"{sysconfig.get_path('purelib')}:{sysconfig.get_path('platlib')}"
        done = subprocess.run(
            [sys.executable, "-S", *words],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{self.folder}:{packages}",
                "NETSONDE_WORKERS": str(self.workers),
                "COLUMNS": "200",
                "NO_COLOR": "1",
                "TERM": "dumb",
            },
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        said = done.stdout + done.stderr
        assert bool(done.returncode) == fails, said
        return said
