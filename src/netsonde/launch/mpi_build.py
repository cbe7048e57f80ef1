"""sonde-mpi for an MPI: the installed one for those with the MPI 5 standard ABI, else one that is
built on first use and kept. A wheel has none that is installed, so that there all are built.

The build needs a C++20 compiler and the MPI's own wrapper, nothing else: the engine's sources and
the headers of its JSON library are installed with netsonde, and as the sources are a flat list
without configuration, they are compiled directly. Whoever measures an MPI has a compiler; CMake
and ninja they often have not. What does not depend on MPI is compiled once for all of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from netsonde import __version__
from netsonde.errors import HostError
from netsonde.launch.binaries import DIRECTORY_VARIABLE, find_worker
from netsonde.launch.commands import answer_of
from netsonde.launch.mpi_found import Mpi
from netsonde.launch.mpi_launchers import environment_of
from netsonde.limits import limit_s

PROGRAM = "sonde-mpi"
PLAIN_SOURCES = ("core/*.cpp", "counters/*.cpp", "test/*.cpp")
"""Below the engine's folder: those that do not include mpi.h."""
MPI_SOURCES = (
    *("collective/*.cpp", "transport/mpi/*.cpp"),
    *("worker/sonde_mpi.cpp", "worker/mpi_*.cpp", "worker/collective_summary.cpp"),
)
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++20", "-O2", "-DNDEBUG", "-pthread")
# The C++ bindings that old MPIs still bring are not wanted.
MPI_FLAGS = ("-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX")
BUILD_TIMEOUT_S = limit_s("mpi-build")
ASK_TIMEOUT_S = limit_s("mpi-compiler")
KEY_LETTERS = 16
_POLL_S = 0.02


@dataclass(frozen=True)
class Build:
    """What a build is made from, and where it is kept. ``program`` need not exist yet."""

    mpi: Mpi
    compiler: tuple[str, ...]
    wrapper_flags: tuple[str, ...]
    folder: Path
    plain_folder: Path

    @property
    def program(self) -> Path:
        return self.folder / PROGRAM

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")


def sonde_mpi_for(mpi: Mpi) -> Path:
    """The sonde-mpi that runs with an MPI, which is built where there is none yet.

    Raises HostError where none can be had.
    """
    # A launcher alone, without a compiler beside it, is taken to start what is installed.
    if mpi.abi_folder is not None or (mpi.wrapper is None and mpi.family != "openmpi"):
        installed = _installed(mpi)
        if installed is not None:
            return installed
    build = plan_build(mpi)
    _remove_leftovers(build.folder.parent)
    if not build.program.exists():
        _build(build)
    return build.program


@cache
def lacking_operations(mpi: Mpi) -> frozenset[str]:
    """The operations that sonde-mpi knows and the library of this MPI has not. Builds sonde-mpi
    where that is needed. Raises HostError."""
    program = sonde_mpi_for(mpi)
    try:
        env = {**os.environ, **environment_of(mpi)}
        answer = answer_of([str(program), "--operations"], ASK_TIMEOUT_S, env=env)
        told = [json.loads(line) for line in answer.stdout.splitlines()]
        return frozenset(str(entry["name"]) for entry in told if not entry["there"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        raise HostError(f"{program} does not tell its operations: {error}") from error


def is_built_on_first_use(mpi: Mpi) -> bool:
    if mpi.wrapper is None:
        return False
    return mpi.abi_folder is None or _installed(mpi) is None


def plan_build(mpi: Mpi) -> Build:
    """Raises HostError for an MPI without a wrapper, and where there is no compiler."""
    if mpi.wrapper is None:
        raise HostError(
            f"{mpi.title} ({mpi.mpiexec}) has neither the MPI 5 standard ABI nor a compiler "
            "wrapper beside its mpiexec, so sonde-mpi cannot be built for it; install its "
            "development package (Debian: libopenmpi-dev, libmpich-dev), or give the path to its "
            "mpicc"
        )
    compiler = _compiler()
    flags = tuple(_wrapper_flags(mpi.wrapper))
    sources = _digest_of_sources()
    plain_key = _key(__version__, sources, *compiler)
    key = _key(plain_key, str(mpi.wrapper), mpi.title, *flags)
    cache = cache_folder()
    return Build(
        mpi,
        compiler,
        flags,
        cache / f"{mpi.family}-{mpi.version}-{key}",
        cache / f"engine-{plain_key}",
    )


def cache_folder() -> Path:
    """Where built programs are kept: below XDG_CACHE_HOME, or ~/.cache."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "netsonde" / PROGRAM


def engine_folder() -> Path:
    """The engine's sources as they were installed. Raises HostError where they are not."""
    folder = Path(sysconfig.get_path("data"), "share", "netsonde", "engine")
    if not (folder / "worker" / "sonde_mpi.cpp").is_file():
        raise HostError(f"the engine's sources are not in {folder}; install netsonde again")
    return folder


def _installed(mpi: Mpi) -> Path | None:
    """The installed sonde-mpi; None where there is none, as behind a wheel, and one can be built.

    Raises HostError where none can, and where NETSONDE_WORKERS names a folder without it.
    """
    try:
        return find_worker(PROGRAM)
    except HostError as error:
        if mpi.wrapper is not None and not os.environ.get(DIRECTORY_VARIABLE):
            return None
        raise HostError(
            f"{error} (sonde-mpi is installed where the Python package mpich was there when "
            f"netsonde was compiled, never from a wheel; beside the mpiexec of {mpi.title} is "
            "no compiler wrapper to build it with)"
            if mpi.wrapper is None
            else str(error)
        ) from error


def _compiler() -> tuple[str, ...]:
    if named := os.environ.get("CXX"):
        return tuple(shlex.split(named))
    for name in COMPILERS:
        if found := shutil.which(name):
            return (found,)
    raise HostError(
        "sonde-mpi cannot be built: there is no C++ compiler; install one with C++20 "
        "(Debian: g++), or name it by the variable CXX"
    )


def _wrapper_flags(wrapper: Path) -> list[str]:
    """What the wrapper would give to the compiler and the linker, with the folders of its libraries
    for the time of running, too."""
    for question in ("-show", "--showme"):  # MPICH and its relatives, Open MPI
        try:
            answer = answer_of([str(wrapper), question], ASK_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HostError(f"the compiler wrapper {wrapper} cannot be asked: {error}") from error
        words = answer.stdout.split("\n", 1)[0]
        if answer.returncode == 0 and words:
            # The compiler itself, and what it was told for C, are ours to choose.
            kept = [w for w in shlex.split(words)[1:] if w.startswith(("-I", "-L", "-l", "-Wl,"))]
            return kept + [f"-Wl,-rpath,{w[2:]}" for w in kept if w.startswith("-L")]
    raise HostError(f"{wrapper} does not say its flags with -show; it is no MPI compiler wrapper")


def _digest_of_sources() -> str:
    """Sources that changed make another program, whatever the version says."""
    engine = engine_folder()
    digest = hashlib.sha256()
    for folder in ("core", "counters", "test", "collective", "transport", "worker"):
        for path in sorted((engine / folder).rglob("*.[ch]*")):
            digest.update(f"{path.relative_to(engine)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:KEY_LETTERS]


def _build(build: Build) -> None:
    """Builds into a folder beside the final one, which appears whole. Of two who build the same,
    the second waits for the first."""
    title = build.mpi.title
    try:
        build.folder.parent.mkdir(parents=True, exist_ok=True)
        print(f"netsonde: building sonde-mpi for {title}, once: some 40 s", file=sys.stderr)
        with _locked(build.plain_folder):
            _build_plain(build)
        with _locked(build.folder):
            if build.program.exists():
                return
            with _made_whole(build.folder) as part:
                objects = _compile(build, MPI_SOURCES, part, (*MPI_FLAGS, *build.wrapper_flags))
                plain = sorted(build.plain_folder.glob("*.o"))
                link = [*build.compiler, *map(str, (*objects, *plain)), *build.wrapper_flags]
                link += ["-pthread", "-ldl", "-static-libgcc", "-static-libstdc++"]
                _run_all(build, {PROGRAM: [*link, "-o", str(part / PROGRAM)]})
                for made in objects:
                    made.unlink()
    except OSError as error:
        raise HostError(
            f"sonde-mpi for {title} cannot be kept in {build.folder.parent}: {error.strerror}; "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error


def _build_plain(build: Build) -> None:
    if not build.plain_folder.exists():
        with _made_whole(build.plain_folder) as part:
            _compile(build, PLAIN_SOURCES, part, ())


@contextlib.contextmanager
def _made_whole(folder: Path) -> Iterator[Path]:
    """An empty folder to build in, under the lock, which then takes the folder's place; nothing of
    it stays where the build fails."""
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _remove_leftovers(cache: Path) -> None:
    """What killed builds left, whatever they built: nobody has its lock."""
    for part in cache.glob("*.part"):
        with (
            contextlib.suppress(OSError),
            part.with_suffix(".lock").open("w") as file,
        ):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One builder at a time; the lock of one that was killed is gone with it."""
    deadline = time.monotonic() + BUILD_TIMEOUT_S
    with folder.with_suffix(".lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise HostError(
                        f"another process has been building {folder.name} for "
                        f"{BUILD_TIMEOUT_S:.0f} s; end it, or wait for it"
                    ) from error
                time.sleep(10 * _POLL_S)
        yield


def _compile(build: Build, patterns: Sequence[str], into: Path, flags: Sequence[str]) -> list[Path]:
    """Compiles sources, as many at once as there are CPUs; the objects."""
    engine = engine_folder()
    common = [*build.compiler, *FLAGS, f'-DNETSONDE_VERSION="{__version__}"', "-I", str(engine)]
    common += ["-isystem", str(engine.parent / "include"), *flags, "-c"]
    jobs: dict[str, list[str]] = {}
    objects = []
    for source in sorted(path for pattern in patterns for path in engine.glob(pattern)):
        name = str(source.relative_to(engine))
        objects.append(into / (name.replace("/", "_") + ".o"))
        jobs[name] = [*common, str(source), "-o", str(objects[-1])]
    _run_all(build, jobs)
    return objects


def _run_all(build: Build, jobs: Mapping[str, list[str]]) -> None:
    """Runs commands side by side. Raises HostError, with the first error, after ending the others
    where one fails."""
    waiting = dict(jobs)
    running: dict[str, subprocess.Popen[bytes]] = {}
    deadline = time.monotonic() + BUILD_TIMEOUT_S
    with build.log.open("wb") as log:
        try:
            while waiting or running:
                while waiting and len(running) < len(os.sched_getaffinity(0)):
                    name, command = waiting.popitem()
                    log.write(shlex.join(command).encode() + b"\n")
                    log.flush()
                    running[name] = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                    )
                for name, process in list(running.items()):
                    if process.poll() is not None:
                        del running[name]
                        if process.returncode != 0:
                            raise HostError(_failure(build, name))
                if time.monotonic() > deadline:
                    raise HostError(_failure(build, f"{BUILD_TIMEOUT_S:.0f} s were not enough"))
                time.sleep(_POLL_S)
        finally:
            for process in running.values():
                process.kill()
                process.wait()


def _failure(build: Build, where: str) -> str:
    text = build.log.read_text(errors="replace")
    told = [line for line in text.splitlines() if not line.startswith(build.compiler[0])]
    lines = [line for line in told if "error" in line.lower()]
    first = lines[0].strip()[:300] if lines else where
    return (
        f"sonde-mpi cannot be built for {build.mpi.title} with {build.mpi.wrapper}: {first} "
        f"(all of it is in {build.log})"
    )
