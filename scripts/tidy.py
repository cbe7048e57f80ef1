"""Runs clang-tidy over the project's own sources, as many at once as there are CPUs.

    scripts/tidy.py BUILD          the engine; BUILD holds compile_commands.json
    scripts/tidy.py BUILD tests    the engine's tests

A source that was found clean is not looked at again until it, a header, its compile command or the
configuration changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLEAN = ROOT / "build" / "tidy"
PRECOMPILED = re.compile(r" -Winvalid-pch| -include \S+/cmake_pch\.hxx")
FOLDERS = (ROOT / "engine", ROOT / "tests" / "engine")


def key(command: dict[str, str], shared: bytes) -> str:
    """Changes with anything that could change what clang-tidy says of a source."""
    parts = (shared, Path(command["file"]).read_bytes(), json.dumps(command).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def without_precompiled(command: dict[str, str]) -> dict[str, str]:
    """Clang cannot read what GCC precompiled, and a source includes what it uses without it."""
    return {**command, "command": PRECOMPILED.sub("", command["command"])}


def shared_state() -> bytes:
    headers = sorted(path for folder in FOLDERS for path in folder.rglob("*.hpp"))
    settings = [ROOT / ".clang-tidy", ROOT / "tests" / "engine" / ".clang-tidy"]
    files = [*settings, ROOT / "CMakeLists.txt", *headers]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).digest()


def check(command: dict[str, str], shared: bytes) -> str:
    """What clang-tidy finds in one source; empty where it finds nothing."""
    stamp = CLEAN / key(command, shared)
    if stamp.exists():
        return ""
    done = subprocess.run(
        ["clang-tidy", "--quiet", "-p", str(CLEAN), command["file"]],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode == 0:
        stamp.touch()
        return ""
    return done.stdout or done.stderr


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    CLEAN.mkdir(parents=True, exist_ok=True)
    read = json.loads((build / "compile_commands.json").read_text())
    database = [without_precompiled(command) for command in read]
    (CLEAN / "compile_commands.json").write_text(json.dumps(database))
    folder = FOLDERS[1] if sys.argv[2:] == ["tests"] else FOLDERS[0]
    commands = {c["file"]: c for c in database if Path(c["file"]).is_relative_to(folder)}
    shared = shared_state()
    workers = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda c: check(c, shared), commands.values()))
    print("\n".join(text for text in found if text), end="")
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
