"""sonde-pvm, for the PVM that this machine has: the installed one, else one that is built on first
use and kept. It is linked with PVM's static library where that is there, so that it can be copied
to hosts that have but the daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from netsonde.errors import HostError
from netsonde.launch.binaries import builds
from netsonde.launch.engine_build import Recipe, built

PROGRAM = "sonde-pvm"
PVM_SOURCES = ("transport/pvm/*.cpp", "worker/sonde_pvm.cpp", "worker/pvm_*.cpp")
USUAL_ROOTS = ("/usr/lib/pvm3", "/usr/share/pvm3", "/usr/local/lib/pvm3", "/opt/pvm3")
_USUAL_HEADERS = Path("/usr/include")
HEADER = "pvm3.h"
DAEMON = "pvmd"
LIBRARY = "libpvm3"
XDR_LIBRARIES = ("libtirpc.a", "libtirpc.so.3")


@builds(PROGRAM)
def sonde_pvm() -> Path:
    """Raises HostError where this machine has no development files of PVM, or no compiler."""
    return built(pvm_recipe())


def pvm_recipe() -> Recipe:
    """Raises HostError where this machine has no development files of PVM."""
    header = next((folder / HEADER for folder in _headers() if (folder / HEADER).is_file()), None)
    if header is None:
        raise HostError(
            f"{PROGRAM} cannot be built here: {HEADER} is neither below PVM_ROOT nor in "
            "/usr/include; install PVM and its development files (Debian: pvm, pvm-dev)"
        )
    library = _first_of(f"{LIBRARY}.a")
    # XDR, which the C library had itself until glibc 2.32.
    xdr = _first_of(*XDR_LIBRARIES)
    return Recipe(
        program=PROGRAM,
        title="PVM",
        by=str(header),
        name="pvm",
        sources=PVM_SOURCES,
        compile_flags=("-isystem", str(header.parent)) if header.parent != _USUAL_HEADERS else (),
        link_flags=(str(library or "-lpvm3"), *([str(xdr)] if xdr is not None else [])),
        key=(str(header), str(header.stat().st_mtime_ns), str(library)),
    )


def daemon_here() -> Path | None:
    """This machine's daemon of PVM; None where it has none."""
    return next((path for root in _roots() if (path := root / "lib" / DAEMON).is_file()), None)


def _roots() -> Iterator[Path]:
    if named := os.environ.get("PVM_ROOT"):
        yield Path(named)
    yield from map(Path, USUAL_ROOTS)


def _headers() -> Iterator[Path]:
    yield from (root / "include" for root in _roots())
    yield from (_USUAL_HEADERS, Path("/usr/local/include"))


def _first_of(*names: str) -> Path | None:
    """The first of some libraries that is there; None where the linker has to find one."""
    folders = [path for root in _roots() for path in sorted((root / "lib").glob("*"))]
    folders += [Path("/usr/lib"), *sorted(Path("/usr/lib").glob("*-linux-gnu"))]
    folders += [Path("/usr/lib64"), Path("/usr/local/lib")]
    found = (folder / name for name in names for folder in folders)
    return next((path for path in found if path.is_file()), None)
