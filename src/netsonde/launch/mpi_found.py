"""The MPIs of this machine: found by name or path, each with its family, version and tools.

An MPI is known by its mpiexec, which says its family and version. Its compiler wrapper lies beside
it, under a name with the same ending (``mpiexec.openmpi``, ``mpicc.openmpi``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from netsonde.errors import HostError, UsageError
from netsonde.launch.commands import answer_of
from netsonde.limits import limit_s

Family = Literal["mpich", "openmpi", "intel"]

TITLES: dict[Family, str] = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
NAMES: dict[str, Family] = {
    "mpich": "mpich",
    "openmpi": "openmpi",
    "impi": "intel",
    "mpich-debian": "mpich",
    "openmpi-debian": "openmpi",
}
"""The names that can be asked for."""
INSTALL = "install it with netsonde's extra: pip install 'netsonde[mpich]'"

SETTINGS = ("MPIR_CVAR_", "UCX_", "FI_", "I_MPI_", "OMPI_MCA_")
"""How the names of variables begin that choose how an MPI library moves data."""
SETTING_LIMIT = 256
_BY_SRUN = re.compile(r"(.+)@srun(?::([a-z][a-z0-9_]{0,31}))?\Z")
_PLUGINS: dict[Family, str] = {"mpich": "pmi2", "intel": "pmi2", "openmpi": "pmix"}
"""What a library speaks to Slurm by, where srun starts its ranks."""
_SETTING = re.compile(r"\+(?=[A-Z][A-Za-z0-9_]*=)")

_DEBIAN = {"mpich-debian": "/usr/bin/mpiexec.mpich", "openmpi-debian": "/usr/bin/mpiexec.openmpi"}
_LAUNCHERS = ("mpiexec", "mpirun")
_WRAPPERS = ("mpicc", "mpicxx", "mpic++", "mpiCC", "mpicc_abi", "mpiicc", "mpiicx")
_VERSION_TIMEOUT_S = limit_s("mpi-version")
_SAYS: tuple[tuple[Family, re.Pattern[str]], ...] = (
    ("intel", re.compile(r"Intel\(R\) MPI Library.*Version (\S+)")),
    ("mpich", re.compile(r"HYDRA build details:\s+Version:\s+(\S+)")),
    ("openmpi", re.compile(r"\((?:Open MPI|OpenRTE|PRRTE)\) (\S+)")),
)


@dataclass(frozen=True)
class Mpi:
    """One MPI. ``name`` is what it was asked for by. ``wrapper`` is its C compiler; ``abi_folder``
    that of its library with the MPI 5 standard ABI; each is None where it has none. ``settings``
    are variables that all of its ranks get, whatever else is set. ``srun_mpi``: srun starts the
    ranks instead of mpiexec, with this plugin of Slurm's (``srun --mpi``); empty for mpiexec."""

    name: str
    family: Family
    version: str
    mpiexec: Path
    wrapper: Path | None
    abi_folder: Path | None
    settings: tuple[tuple[str, str], ...] = ()
    srun_mpi: str = ""

    @property
    def title(self) -> str:
        """``Open MPI 4.1.4``."""
        return f"{TITLES[self.family]} {self.version}"

    @property
    def major(self) -> int:
        """The first number of the version; 0 where it has none."""
        found = re.match(r"\d+", self.version)
        return int(found[0]) if found else 0


def find_mpi(text: str) -> Mpi:
    """The MPI of a name (``mpich``, ``openmpi``, ``impi``, ``mpich-debian``, ``openmpi-debian``) or
    a path: to an mpiexec, to a compiler wrapper, or to the folder that it was installed in; behind
    either ``@srun`` or ``@srun:PLUGIN``, where srun is to start its ranks; and settings of its
    library as ``+NAME=VALUE``.

    Raises UsageError for a name that is unknown, HostError where there is no such MPI here.
    """
    text, *given = _SETTING.split(text)
    if given:
        settings = tuple(_setting(word) for word in given)
        return replace(find_mpi(text), name="+".join([text, *given]), settings=settings)
    if by_srun := _BY_SRUN.match(text):
        mpi = find_mpi(by_srun[1])
        return replace(mpi, name=text, srun_mpi=by_srun[2] or _PLUGINS[mpi.family])
    if "/" in text:
        return replace(_at(Path(text).expanduser().absolute()), name=text)
    if text not in NAMES:
        raise UsageError(
            f"MPI {text!r} is unknown; say {', '.join(NAMES)}, or give the path to the mpiexec of "
            "another MPI, such as /opt/mpi/bin/mpiexec"
        )
    others: list[Mpi] = []
    for found in _candidates(_DEBIAN.get(text)):
        if found.family == NAMES[text]:
            return replace(found, name=text)
        others.append(found)
    raise HostError(_nothing(text, others))


def _setting(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    if not name.startswith(SETTINGS) or len(value) > SETTING_LIMIT or not value.isprintable():
        raise UsageError(
            f"{word[:60]!r} is no setting of an MPI library; its name begins with "
            f"{', '.join(SETTINGS)}"
        )
    return name, value


def found_mpis() -> list[Mpi]:
    """Every MPI that a name stands for here, under the shortest such name, and those of PATH that
    have none."""
    found: dict[Path, Mpi] = {}
    for name in NAMES:
        try:
            mpi = find_mpi(name)
        except HostError:
            continue
        found.setdefault(mpi.mpiexec.resolve(), mpi)
    for mpi in _candidates(None):
        found.setdefault(mpi.mpiexec.resolve(), mpi)
    return list(found.values())


def _candidates(only: str | None) -> Iterator[Mpi]:
    """MPIs in the order in which a name takes the first that is of its family: of this Python's
    environment, of PATH, of the Debian packages. Each once."""
    scripts = sysconfig.get_path("scripts")
    paths = [Path(scripts, name) for name in _LAUNCHERS]
    paths += [Path(p) for name in _LAUNCHERS if (p := shutil.which(name))]
    paths += [Path(path) for path in _DEBIAN.values()]
    seen: set[Path] = set()
    known: set[tuple[Path, str]] = set()
    for path in [Path(only)] if only else paths:
        real = path.resolve()
        if real in seen or not _executable(path):
            continue
        seen.add(real)
        try:
            found = _of_launcher(_with_ending(path))
        except HostError:
            continue  # some other program of that name
        if (path.parent, found.title) not in known:  # mpirun beside mpiexec
            known.add((path.parent, found.title))
            yield found


def _with_ending(path: Path) -> Path:
    """Debian's name with an ending for what its alternatives lead to: only that name tells which
    wrapper belongs to it."""
    for debian in (Path(p) for p in _DEBIAN.values()):
        is_beside = path.parent.resolve() == debian.parent.resolve()  # /bin may be /usr/bin
        if is_beside and debian.resolve() == path.resolve():
            return debian
    return path


def _nothing(name: str, others: Sequence[Mpi]) -> str:
    if others:
        named = ", ".join(f"{mpi.title} ({mpi.mpiexec})" for mpi in others)
        advice = "ask for that with --mpi, or " + INSTALL if name == "mpich" else "ask for that"
        return f"no {TITLES[NAMES[name]]} is found for {name!r}; there is {named}: {advice}"
    if name in _DEBIAN:
        return f"there is no {_DEBIAN[name]}, which Debian's package for {name!r} brings"
    if name == "mpich":
        scripts = sysconfig.get_path("scripts")
        return f"no MPI is installed: mpiexec is neither in {scripts} nor on PATH; {INSTALL}"
    return f"no {TITLES[NAMES[name]]} is installed; give the path to its mpiexec instead"


def _at(path: Path) -> Mpi:
    """The MPI at a path of any of the three kinds."""
    if path.is_dir():
        for folder in (path / "bin", path, path / "intel64" / "bin"):
            for name in _LAUNCHERS:
                if _executable(folder / name):
                    return _of_launcher(folder / name)
        raise HostError(
            f"there is no mpiexec in {path} or {path / 'bin'}; give the folder that an MPI was "
            "installed in, or the path to its mpiexec"
        )
    if not _executable(path):
        raise HostError(
            f"there is no executable {path}; give the path to an MPI's mpiexec, "
            "or leave it out to use the Python package mpich"
        )
    stem, ending = _split(path.name)
    if stem not in _WRAPPERS:
        return _of_launcher(path)
    for name in _LAUNCHERS:
        launcher = path.with_name(name + ending)
        if _executable(launcher):
            return replace(_of_launcher(launcher), wrapper=path)
    raise HostError(f"there is no mpiexec{ending} beside {path}; give the path to the mpiexec")


def _of_launcher(path: Path) -> Mpi:
    """Raises HostError where the program does not say that it is an MPI's mpiexec."""
    family, version = _ask(str(path), path.stat().st_mtime_ns)
    return Mpi(path.name, family, version, path, _wrapper_beside(path), _abi_folder(path))


@cache
def _ask(path: str, _changed_ns: int) -> tuple[Family, str]:
    try:
        answer = answer_of([path, "--version"], _VERSION_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(
            f"{path} --version gives no answer ({error}); give the path to an MPI's mpiexec"
        ) from error
    for family, pattern in _SAYS:
        if found := pattern.search(answer.stdout + answer.stderr):
            return family, found[1].rstrip(",")
    raise HostError(
        f"{path} --version does not say that it is the mpiexec of MPICH, Open MPI or Intel MPI; "
        "give the path to one"
    )


def _split(name: str) -> tuple[str, str]:
    """``mpicc.openmpi`` -> (``mpicc``, ``.openmpi``)."""
    stem, dot, ending = name.partition(".")
    return stem, dot + ending


def _wrapper_beside(launcher: Path) -> Path | None:
    _, ending = _split(launcher.name)
    endings = (ending, "") if ending == ".hydra" else (ending,)
    for name in (f"mpicc{e}" for e in endings):
        if _executable(launcher.with_name(name)):
            return launcher.with_name(name)
    return None


def _abi_folder(launcher: Path) -> Path | None:
    for prefix in (launcher.parent.parent, launcher.resolve().parent.parent):
        for folder in (prefix / "lib", prefix / "lib64", prefix / "lib" / "release"):
            if any(folder.glob("libmpi_abi.so*")):
                return folder
    return None


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
