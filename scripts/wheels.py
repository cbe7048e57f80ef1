"""Builds what is installed without a compiler: a wheel for each machine, and the sources, in dist/.

    scripts/wheels.py                    this machine, and those that a cross compiler is here for
    scripts/wheels.py aarch64 --out DIR  one machine
    scripts/wheels.py --sources          the sources alone

The workers are linked static: a wheel runs on any Linux of its machine, whatever its C library.
It has no sonde-mpi, which needs an MPI's libraries, but the sources that netsonde makes it from.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from scikit_build_core import build as backend

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "wheels"
MACHINES = ("x86_64", "aarch64")
# No library of a system is used. An installer wants to be told of one all the same: the oldest.
SYSTEMS = ("manylinux_2_17", "musllinux_1_1")


def cross_compiler(machine: str) -> str | None:
    """What compiles for another machine than this one, where it is here."""
    return shutil.which(f"{machine}-linux-gnu-g++")


def can_build(machine: str) -> bool:
    return machine == platform.machine() or cross_compiler(machine) is not None


def settings_for(machine: str, pages: Path) -> dict[str, str | list[str]]:
    """What scikit-build-core is told beside pyproject.toml."""
    settings: dict[str, str | list[str]] = {
        "build-dir": str(BUILD / machine),
        "wheel.tags": [f"py3-none-{system}_{machine}" for system in SYSTEMS],
        "cmake.define.NETSONDE_STATIC": "ON",
        "cmake.define.NETSONDE_TOGETHER": "ON",
        "cmake.define.NETSONDE_MPI": "OFF",
        "cmake.define.NETSONDE_MANUAL_PAGES": str(pages),
    }
    if machine != platform.machine():
        settings |= {
            "cmake.define.CMAKE_SYSTEM_NAME": "Linux",
            "cmake.define.CMAKE_SYSTEM_PROCESSOR": machine,
            "cmake.define.CMAKE_CXX_COMPILER": str(cross_compiler(machine)),
            # libbpf and libelf are here for this machine only.
            "cmake.define.NETSONDE_KERNEL_TRACE": "OFF",
        }
    return settings


def manual_pages() -> Path:
    """A page for each command, in a folder."""
    pages = BUILD / "man"
    shutil.rmtree(pages, ignore_errors=True)
    command = [sys.executable, "-m", "netsonde", "man", "--out", str(pages)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return pages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help=" or ".join(MACHINES))
    parser.add_argument("--sources", action="store_true", help="the sources, no wheel")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    for machine in arguments.machines:
        if machine not in MACHINES or not can_build(machine):
            parser.error(f"nothing here compiles for {machine}; g++-{machine}-linux-gnu would")
    os.chdir(ROOT)
    if not arguments.sources:
        pages = manual_pages()
        for machine in arguments.machines or filter(can_build, MACHINES):
            print(out / backend.build_wheel(str(out), settings_for(machine, pages)))
    if arguments.sources or not arguments.machines:
        print(out / backend.build_sdist(str(out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
