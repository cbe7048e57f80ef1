"""Limits of address space (``ulimit -v``), which are met before the libraries load that need much:
under a limit some of them crash, or try again for ever and hear no signal."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from netsonde.errors import NetsondeError

MIB = 1 << 20
NEEDED_MIB: Mapping[str, int] = {
    "numpy": 100,
    "scipy": 200,
    "polars": 1024,
    "duckdb": 1024,
    "matplotlib": 120,
}
"""Of address space, for a library and what netsonde does with it; measured, and rounded up."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
"""Each thread reserves memory, 8 MiB and more. These two variables alone: others, such as
OMP_NUM_THREADS, would reach the programs that a study measures."""
NO_THREAD = "can't start new thread"
_OF_LOADER = ("annot allocate memory", "failed to map segment")


class MemoryLimitError(NetsondeError):
    """The limit of this process's address space is too low: exit code 3."""


def meet_limit(environ: MutableMapping[str, str] = os.environ) -> None:
    """Where the address space is limited, libraries use one thread, and those that need more than
    there is are refused in a sentence. Before any of them is imported."""
    if _limit_bytes() is not None:
        environ.update(ONE_THREAD)
        sys.meta_path.insert(0, _Refusing())


def lacks_room(library: str) -> bool:
    """Whether a library needs more than the limit leaves; never where it is loaded already."""
    left = _left_bytes()
    return left is not None and library not in sys.modules and left < NEEDED_MIB[library] * MIB


def memory_in_words() -> str:
    """What is said where memory could not be had."""
    limit = _limit_bytes()
    if limit is None:
        return "there is no memory left; ask for less, or end what else uses it"
    return (
        f"this process may use no more memory: its limit is {limit // MIB} MiB of address space; "
        "raise it (ulimit -v) or ask for less"
    )


def is_for_memory(error: BaseException) -> bool:
    """Whether an error, or what it came from, is that memory could not be had."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or NO_THREAD in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return isinstance(error, ImportError | OSError) and any(
        word in str(error) for word in _OF_LOADER
    )


class _Refusing:
    """Finds nothing; asked before a library is looked for. It has no base: importing importlib.abc
    takes a tenth of ``netsonde --version``."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname in NEEDED_MIB and lacks_room(fullname):
            limit, left = _limit_bytes() or 0, _left_bytes() or 0
            raise MemoryLimitError(
                f"this needs {fullname}, which takes {NEEDED_MIB[fullname]} MiB of address space; "
                f"of this process's {limit // MIB} MiB, {left // MIB} are left: raise the limit "
                "(ulimit -v)"
            )
        return None


def _limit_bytes() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _left_bytes() -> int | None:
    limit = _limit_bytes()
    if limit is None:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return limit
    return max(0, limit - pages * resource.getpagesize())
