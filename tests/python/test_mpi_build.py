"""sonde-mpi is built on first use: once, whole, and again for whatever is another."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mpi_fakes import launcher, program, wrapper

from netsonde.errors import HostError
from netsonde.launch import engine_build, mpi_build
from netsonde.launch.engine_build import engine_folder
from netsonde.launch.mpi_build import is_built_on_first_use, plan_build, sonde_mpi_for
from netsonde.launch.mpi_found import Mpi, find_mpi

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture
def mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """An MPI whose compiler writes down what it was asked for, and makes what it was to make."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(compiler(tmp_path, "")))
    wrapper(tmp_path / "mpi" / "bin" / "mpicc")
    return find_mpi(str(launcher(tmp_path / "mpi" / "bin" / "mpiexec", "openmpi")))


def compiler(folder: Path, first: str) -> Path:
    take_o = 'for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done'
    lines = f'{first}\n{take_o}\necho "$@" >> {folder}/asked\necho made > "$out"'
    path: Path = program(folder / "c++", lines)
    return path


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "asked").read_text().splitlines()


def test_the_sources_are_installed_with_what_they_need() -> None:
    engine = engine_folder()
    json_header = engine.parent / "include" / "nlohmann" / "json.hpp"
    assert json_header.is_file()
    here = Path(__file__).parents[2] / "engine"
    patterns = (*engine_build.PLAIN_SOURCES, *mpi_build.MPI_SOURCES)
    for pattern in patterns:
        names = {str(path.relative_to(here)) for path in here.glob(pattern)}
        assert names <= {str(path.relative_to(engine)) for path in engine.glob(pattern)}


def test_a_build_is_made_once_and_of_everything(tmp_path: Path, mpi: Mpi) -> None:
    made = sonde_mpi_for(mpi)
    assert made == sonde_mpi_for(mpi)
    assert made.read_text() == "made\n"
    commands = asked(tmp_path)
    compiled = [line for line in commands if " -c " in line]
    assert len(commands) == len(compiled) + 1  # and a link
    assert sum("core/clock.cpp" in line for line in compiled) == 1
    for line in compiled:
        is_for_mpi = any(f"/{f}/" in line for f in ("collective", "mpi", "worker"))
        assert ("-I/mpi/include" in line) == is_for_mpi
        assert "-O1" not in line  # what the wrapper says of C is not ours
    assert "-L/mpi/lib -lmpi -Wl,-rpath,/mpi/lib" in commands[-1]
    assert sorted(path.name for path in made.parent.iterdir()) == ["sonde-mpi"]


def test_another_mpi_shares_what_does_not_depend_on_it(tmp_path: Path, mpi: Mpi) -> None:
    sonde_mpi_for(mpi)
    first = len(asked(tmp_path))
    wrapper(tmp_path / "other" / "bin" / "mpicc")
    other = find_mpi(str(launcher(tmp_path / "other" / "bin" / "mpiexec", "mpich")))
    sonde_mpi_for(other)
    more = asked(tmp_path)[first:]
    assert more
    assert not any("core/clock.cpp" in line for line in more)


def test_what_is_another_is_kept_apart(tmp_path: Path, mpi: Mpi) -> None:
    plans = [plan_build(mpi)]
    wrapper(tmp_path / "mpi" / "bin" / "mpicc", "-I/mpi/include -L/mpi/lib64 -lmpi")
    plans.append(plan_build(mpi))
    launcher(tmp_path / "mpi" / "bin" / "mpiexec", "mpirun (Open MPI) 4.1.5\n")
    plans.append(plan_build(find_mpi(str(mpi.mpiexec))))
    assert len({plan.program for plan in plans}) == 3
    assert len({plan.plain_folder for plan in plans}) == 1


def test_sources_that_changed_make_another(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    before = plan_build(mpi)
    monkeypatch.setattr(engine_build, "_digest_of_sources", lambda: "another")
    assert plan_build(mpi).program != before.program
    assert plan_build(mpi).plain_folder != before.plain_folder


def test_a_failed_build_is_one_sentence_with_the_first_error(tmp_path: Path, mpi: Mpi) -> None:
    complaint = "collectives.cpp:7:3: error: MPI_Ibcast was not declared"
    compiler(tmp_path, f'case "$*" in *collectives.cpp*) echo "{complaint}" >&2; exit 1;; esac')
    with pytest.raises(HostError) as caught:
        sonde_mpi_for(mpi)
    sentence = str(caught.value)
    assert "cannot be built for Open MPI 4.1.4 with" in sentence
    assert complaint in sentence
    build = plan_build(mpi)
    assert str(build.log) in sentence
    assert "was not declared" in build.log.read_text()
    assert not build.folder.exists()
    compiler(tmp_path, "")
    assert sonde_mpi_for(mpi) == build.program  # what failed does not stay in the way


def test_two_at_once_build_once(tmp_path: Path, mpi: Mpi) -> None:
    compiler(tmp_path, "sleep 0.05")
    code = (
        "from netsonde.launch.mpi_found import find_mpi\n"
        "from netsonde.launch.mpi_build import sonde_mpi_for\n"
        f"print(sonde_mpi_for(find_mpi({str(mpi.mpiexec)!r})))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = {process.communicate(timeout=60)[0] for process in both}
    assert answers == {f"{plan_build(mpi).program}\n"}
    lines = asked(tmp_path)
    assert len(lines) == len(set(lines))


def test_what_a_killed_build_left_is_replaced(tmp_path: Path, mpi: Mpi) -> None:
    build = plan_build(mpi)
    for folder in (build.folder, build.plain_folder):
        part = folder.with_suffix(".part")
        part.mkdir(parents=True)
        (part / "core_broken.cpp.o").write_text("half")
    assert sonde_mpi_for(mpi).exists()
    assert "core_broken" not in asked(tmp_path)[-1]


def test_what_killed_builds_of_other_sources_left_goes(mpi: Mpi) -> None:
    made = sonde_mpi_for(mpi)
    cache = made.parent.parent
    old, alive = cache / "engine-0123456789abcdef.part", cache / "engine-fedcba9876543210.part"
    for folder in (old, alive):
        folder.mkdir()
        (folder / "core_broken.cpp.o").write_text("half")
    with alive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sonde_mpi_for(mpi)
        assert list(cache.glob("*.part")) == [alive]


def test_a_build_that_ends_in_the_middle_leaves_no_part(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine_build, "_run_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sonde_mpi_for(mpi)
    assert list((tmp_path / "cache").rglob("*.part")) == []


def test_without_a_compiler_or_a_wrapper(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = find_mpi(str(launcher(tmp_path / "alone" / "mpiexec", "openmpi")))
    with pytest.raises(HostError, match="neither the MPI 5 standard ABI nor a compiler wrapper"):
        sonde_mpi_for(alone)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(HostError, match=r"there is no C\+\+ compiler"):
        sonde_mpi_for(mpi)


def test_a_wheel_builds_for_an_mpi_with_the_standard_abi(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpi" / "lib").mkdir()
    (tmp_path / "mpi" / "lib" / "libmpi_abi.so.0").touch()
    with_abi = find_mpi(str(mpi.mpiexec))
    assert with_abi.abi_folder is not None
    assert not is_built_on_first_use(with_abi)
    installed = sonde_mpi_for(with_abi)
    monkeypatch.setattr(mpi_build, "find_worker", no_worker)
    assert is_built_on_first_use(with_abi)
    made = sonde_mpi_for(with_abi)
    assert made == plan_build(with_abi).program != installed
    (tmp_path / "mpi" / "bin" / "mpicc").unlink()
    with pytest.raises(HostError, match=r"never from a wheel; beside the mpiexec of .* is no comp"):
        sonde_mpi_for(find_mpi(str(mpi.mpiexec)))


def test_a_folder_of_workers_that_was_named_is_the_only_one(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpi" / "lib").mkdir()
    (tmp_path / "mpi" / "lib" / "libmpi_abi.so.0").touch()
    monkeypatch.setenv("NETSONDE_WORKERS", str(tmp_path))
    with pytest.raises(HostError, match="there is no executable sonde-mpi in it"):
        sonde_mpi_for(find_mpi(str(mpi.mpiexec)))


def no_worker(name: str) -> Path:
    raise HostError(f"there is no {name}")


def test_a_wrapper_that_is_none(tmp_path: Path, mpi: Mpi) -> None:
    program(tmp_path / "mpi" / "bin" / "mpicc", "exit 1")
    with pytest.raises(HostError, match="it is no MPI compiler wrapper"):
        sonde_mpi_for(mpi)


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(HostError, match="set XDG_CACHE_HOME to a folder that can be written"):
        sonde_mpi_for(mpi)
