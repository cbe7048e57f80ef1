"""libfabric on this machine; and sonde-fabric, the installed one, else one that is built on first
use and kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from netsonde.catalogue.transport import first_with
from netsonde.errors import HostError
from netsonde.launch.binaries import builds, is_installed
from netsonde.launch.engine_build import Recipe, built
from netsonde.launch.present import PRESENT

LIBRARY_VARIABLE = "NETSONDE_LIBFABRIC"
"""Names the library where it is none of the system's."""
_LIBRARY = "libfabric.so.1"
_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib")
_CARRIER = first_with("has_endpoints")
HEADER = "rdma/fi_endpoint.h"
_USUAL_HEADERS = Path("/usr/include")
_VENDORS = ("cray/libfabric/*/include", "amazon/efa/include")
_WORKER = ("worker", "worker_program", "meeting", "offers", "claims", "generator")
_VERBS = ("asked_kernel_trace", "host_benchmark_verbs", "sonde_fabric")
_ENDS = ("end", "session", "bounds", "*_runs")
FABRIC_SOURCES = (
    *("host_benchmarks/*.cpp", "transport/socket/*.cpp", "transport/libfabric/*.cpp"),
    # Its eBPF programs need Clang and libbpf: without them it says that it has none.
    *(f"kernel_trace/{name}.cpp" for name in ("events", "totals", "not_compiled")),
    *(f"worker/{name}.cpp" for name in (*_WORKER, *_VERBS)),
    *(f"worker/fabric_{name}.cpp" for name in _ENDS),
)
"""Beside what needs no library: the parts of sonde-worker that have no transport of their own, and
those over libfabric."""


@PRESENT.of(_CARRIER.name)
def is_present() -> bool:
    """Whether its worker is installed, and a library where the system has them."""
    if not is_installed(_CARRIER.worker):
        return False
    if named := os.environ.get(LIBRARY_VARIABLE):
        return Path(named).is_file()
    found = chain.from_iterable(
        (*Path(folder).glob(_LIBRARY), *Path(folder).glob(f"*-linux-gnu/{_LIBRARY}"))
        for folder in _FOLDERS
    )
    return any(found)


@builds(_CARRIER.worker)
def sonde_fabric() -> Path:
    """sonde-fabric, built on first use and kept. Raises HostError where this machine has no headers
    of libfabric, or no compiler."""
    return built(fabric_recipe())


def fabric_recipe() -> Recipe:
    """Only the headers are needed: the library is loaded on the hosts that measure. Raises
    HostError where there are none."""
    header = next((path for folder in _headers() if (path := folder / HEADER).is_file()), None)
    if header is None:
        raise HostError(
            f"{_CARRIER.worker} cannot be built here: {HEADER} is neither beside the library that "
            f"{LIBRARY_VARIABLE} names nor in /usr/include; install libfabric's development files "
            "(Debian: libfabric-dev)"
        )
    include = header.parent.parent
    return Recipe(
        program=_CARRIER.worker,
        title="libfabric",
        by=str(header),
        name="fabric",
        sources=FABRIC_SOURCES,
        compile_flags=("-isystem", str(include)) if include != _USUAL_HEADERS else (),
        link_flags=(),
        key=(str(header), str(header.stat().st_mtime_ns)),
        about_s=100,
    )


def _headers() -> Iterator[Path]:
    if named := os.environ.get(LIBRARY_VARIABLE):
        yield Path(named).parent.parent / "include"
    yield from (_USUAL_HEADERS, Path("/usr/local/include"))
    for pattern in _VENDORS:  # the newest last
        yield from sorted(Path("/opt").glob(pattern), reverse=True)
