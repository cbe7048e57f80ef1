"""sonde-pvm is built on first use where PVM's development files are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mpi_fakes import program

from netsonde.errors import HostError
from netsonde.launch import pvm_build
from netsonde.launch.binaries import find_worker
from netsonde.launch.engine_build import engine_folder
from netsonde.launch.pvm_build import pvm_recipe, sonde_pvm
from pvm_needed import require_pvm

BUILD_TIMEOUT_S = 600


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a PVM that somebody installed by hand, the only one of this machine."""
    root = tmp_path / "pvm3"
    (root / "include").mkdir(parents=True)
    (root / "include" / "pvm3.h").write_text("")
    (root / "lib" / "LINUX64").mkdir(parents=True)
    (root / "lib" / "LINUX64" / "libpvm3.a").write_text("")
    monkeypatch.setenv("PVM_ROOT", str(root))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(pvm_build, "USUAL_ROOTS", ())
    monkeypatch.setattr(pvm_build, "_USUAL_HEADERS", tmp_path / "nothing")
    return root


def compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that writes down what it was asked for, and makes what it was to make."""
    take_o = 'for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done'
    made = program(folder / "c++", f'{take_o}\necho "$@" >> {folder}/asked\necho made > "$out"')
    monkeypatch.setenv("CXX", str(made))
    return folder / "asked"


def test_the_sources_are_installed() -> None:
    here = Path(__file__).parents[2] / "engine"
    for pattern in pvm_build.PVM_SOURCES:
        names = {str(path.relative_to(here)) for path in here.glob(pattern)}
        assert names
        assert names <= {
            str(path.relative_to(engine_folder())) for path in engine_folder().glob(pattern)
        }


def test_it_is_built_once_with_what_is_below_the_root(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = compiler(tmp_path, monkeypatch)
    made = sonde_pvm()
    assert made == sonde_pvm()
    assert made.name == "sonde-pvm"
    *compiled, linked = asked.read_text().splitlines()
    assert sum("worker/sonde_pvm.cpp" in line for line in compiled) == 1
    for line in compiled:
        is_own = "/engine/transport/pvm/" in line or "/engine/worker/" in line
        assert (f"-isystem {root}/include" in line) == is_own
    assert f"{root}/lib/LINUX64/libpvm3.a" in linked


def test_another_library_makes_another_program(root: Path) -> None:
    first = pvm_recipe()
    (root / "lib" / "LINUX64" / "libpvm3.a").unlink()
    assert pvm_recipe().link_flags != first.link_flags
    assert pvm_recipe().key != first.key


def test_without_the_header_it_is_one_sentence(root: Path) -> None:
    (root / "include" / "pvm3.h").unlink()
    with pytest.raises(HostError, match=r"^sonde-pvm cannot be built here: pvm3.h is neither") as e:
        sonde_pvm()
    assert "pvm-dev" in str(e.value)


def test_an_installed_one_is_taken_first(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = compiler(tmp_path, monkeypatch)
    (tmp_path / "scripts").mkdir()
    installed = program(tmp_path / "scripts" / "sonde-pvm", "exit 0")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_worker("sonde-pvm") == installed
    installed.unlink()
    with pytest.raises(HostError, match=r"engine's sources are not in"):
        find_worker("sonde-pvm")  # it would be built now, from what is installed beside
    assert not asked.exists()
    assert root.exists()


@pytest.mark.soak
@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_a_real_build_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_pvm()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    answer = subprocess.run(
        [sonde_pvm(), "--version"], capture_output=True, text=True, timeout=30, check=True
    )
    assert answer.stdout.startswith("sonde-pvm ")
