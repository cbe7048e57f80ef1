"""Programs of the engine that need a library of the host: built on first use, and kept.

The build needs a C++20 compiler and what the library's row says, nothing else: the engine's sources
and the headers of its JSON library are installed with netsonde, and as the sources are a flat list
without configuration, they are compiled directly. Whoever measures such a library has a compiler;
CMake and ninja they often have not. What depends on no library is compiled once for all of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netsonde import __version__
from netsonde.errors import HostError
from netsonde.limits import limit_s

PLAIN_SOURCES = ("core/*.cpp", "counters/*.cpp", "test/*.cpp")
"""Below the engine's folder: those that include no header of a library."""
FOLDERS = (
    *("core", "counters", "host_benchmarks", "kernel_trace", "test"),
    *("collective", "protocol", "schedule", "transport", "tuned", "worker"),
)
"""All that is installed of the engine."""
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++20", "-O2", "-DNDEBUG", "-pthread")
LINK_FLAGS = ("-pthread", "-ldl", "-static-libgcc", "-static-libstdc++")
BUILD_TIMEOUT_S = limit_s("engine-build")
KEY_LETTERS = 16
_POLL_S = 0.02


@dataclass(frozen=True)
class Recipe:
    """What makes a program: ``sources`` below the engine's folder beside the plain ones, and the
    flags of its library. ``title`` is the library for people, ``by`` what it was found by, and
    ``name`` the beginning of the folder that the program is kept in. ``key``: what else makes
    another program of it. ``about_s``: how long two CPUs take. ``exports``: a file below the
    engine's folder that says what is seen of a shared library, which is made of its own sources
    alone."""

    program: str
    title: str
    by: str
    name: str
    sources: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    key: tuple[str, ...] = ()
    about_s: int = 40
    exports: str | None = None


@dataclass(frozen=True)
class Build:
    """What a build is made from, and where it is kept. ``program`` need not exist yet."""

    recipe: Recipe
    compiler: tuple[str, ...]
    folder: Path
    plain_folder: Path

    @property
    def program(self) -> Path:
        return self.folder / self.recipe.program

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")


def built(recipe: Recipe) -> Path:
    """The program, which is built where it is not there yet. Raises HostError where it cannot be
    had."""
    build = plan(recipe)
    _remove_leftovers(build.folder.parent)
    if not build.program.exists():
        _build(build)
    return build.program


def plan(recipe: Recipe) -> Build:
    """Raises HostError where there is no compiler."""
    compiler = _compiler(recipe.program)
    plain_key = _key(__version__, _digest_of_sources(), *compiler)
    key = _key(plain_key, *recipe.key, *recipe.compile_flags, *recipe.link_flags)
    cache = cache_folder()
    return Build(recipe, compiler, cache / f"{recipe.name}-{key}", cache / f"engine-{plain_key}")


def cache_folder() -> Path:
    """Where built programs are kept: below XDG_CACHE_HOME, or ~/.cache."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "netsonde" / "engine"


def engine_folder() -> Path:
    """The engine's sources as they were installed. Raises HostError where they are not."""
    folder = Path(sysconfig.get_path("data"), "share", "netsonde", "engine")
    if not (folder / "core" / "clock.cpp").is_file():
        raise HostError(f"the engine's sources are not in {folder}; install netsonde again")
    return folder


def _compiler(program: str) -> tuple[str, ...]:
    if named := os.environ.get("CXX"):
        return tuple(shlex.split(named))
    for name in COMPILERS:
        if found := shutil.which(name):
            return (found,)
    raise HostError(
        f"{program} cannot be built: there is no C++ compiler; install one with C++20 "
        "(Debian: g++), or name it by the variable CXX"
    )


def _digest_of_sources() -> str:
    """Sources that changed make another program, whatever the version says."""
    engine = engine_folder()
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted((engine / folder).rglob("*.[ch]*")):
            digest.update(f"{path.relative_to(engine)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:KEY_LETTERS]


def _build(build: Build) -> None:
    """Builds into a folder beside the final one, which appears whole. Of two who build the same,
    the second waits for the first."""
    recipe = build.recipe
    try:
        build.folder.parent.mkdir(parents=True, exist_ok=True)
        what = f"{recipe.program} for {recipe.title}"
        print(f"netsonde: building {what}, once: some {recipe.about_s} s", file=sys.stderr)
        if recipe.exports is None:
            with _locked(build.plain_folder):
                _build_plain(build)
        with _locked(build.folder):
            if build.program.exists():
                return
            with _made_whole(build.folder) as part:
                shared = () if recipe.exports is None else _shared_flags(recipe.exports)
                flags = (*recipe.compile_flags, *shared[:1])
                objects = _compile(build, recipe.sources, part, flags)
                plain = [] if shared else sorted(build.plain_folder.glob("*.o"))
                link = [*build.compiler, *map(str, (*objects, *plain)), *recipe.link_flags]
                made = str(part / recipe.program)
                _run_all(build, {recipe.program: [*link, *shared, *LINK_FLAGS, "-o", made]})
                for one in objects:
                    one.unlink()
    except OSError as error:
        raise HostError(
            f"{recipe.program} for {recipe.title} cannot be kept in {build.folder.parent}: "
            f"{error.strerror}; set XDG_CACHE_HOME to a folder that can be written"
        ) from error


def _shared_flags(exports: str) -> tuple[str, ...]:
    """That of the compiler comes first."""
    return "-fPIC", "-shared", f"-Wl,--version-script={engine_folder() / exports}"


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
        f"{build.recipe.program} cannot be built for {build.recipe.title} with {build.recipe.by}: "
        f"{first} "
        f"(all of it is in {build.log})"
    )
