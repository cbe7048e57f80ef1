"""sonde-fabric is built on first use where libfabric's headers are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mpi_fakes import program

from fabric_needed import require_fabric
from netsonde.errors import HostError
from netsonde.launch import binaries, fabric
from netsonde.launch.engine_build import PLAIN_SOURCES, engine_folder

ENGINE = Path(__file__).parents[2] / "engine"
BUILD_TIMEOUT_S = 900


@pytest.fixture
def headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site's own library, the only one of this machine; nothing is installed or kept."""
    header = tmp_path / "site" / "include" / fabric.HEADER
    header.parent.mkdir(parents=True)
    header.touch()
    monkeypatch.setenv(fabric.LIBRARY_VARIABLE, str(tmp_path / "site" / "lib" / "libfabric.so.1"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fabric, "_USUAL_HEADERS", tmp_path / "nothing")
    monkeypatch.setattr(fabric, "_VENDORS", ())
    monkeypatch.setattr(binaries, "_installed", lambda _: None)
    monkeypatch.delenv(binaries.DIRECTORY_VARIABLE, raising=False)
    return header


def test_the_sources_are_installed() -> None:
    for pattern in (*PLAIN_SOURCES, *fabric.FABRIC_SOURCES):
        names = {str(path.relative_to(ENGINE)) for path in ENGINE.glob(pattern)}
        assert names, pattern
        found = engine_folder().glob(pattern)
        assert names <= {str(path.relative_to(engine_folder())) for path in found}


def test_all_of_its_files_are_among_them_but_the_one_without_headers() -> None:
    of_worker = {path.name for path in (ENGINE / "worker").glob("fabric_*.cpp")}
    taken = {path.name for pattern in fabric.FABRIC_SOURCES for path in ENGINE.glob(pattern)}
    assert of_worker - taken == {"fabric_missing.cpp"}


def test_it_is_built_once_with_the_headers_beside_the_library(
    headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_o = 'for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done'
    asked = tmp_path / "asked"
    made = program(tmp_path / "c++", f'{take_o}\necho "$@" >> {asked}\necho made > "$out"')
    monkeypatch.setenv("CXX", str(made))
    built = binaries.find_worker("sonde-fabric")
    assert built == binaries.find_worker("sonde-fabric")
    assert built.name == "sonde-fabric"
    *compiled, _ = asked.read_text().splitlines()
    own = [line for line in compiled if "/transport/libfabric/" in line]
    assert len(own) == len([*(ENGINE / "transport" / "libfabric").glob("*.cpp")])
    assert all(f"-isystem {headers.parents[1]}" in line for line in own)


def test_without_the_header_it_is_one_sentence(headers: Path) -> None:
    headers.unlink()
    with pytest.raises(HostError, match=r"^sonde-fabric cannot be built here: rdma/") as caught:
        binaries.find_worker("sonde-fabric")
    assert "libfabric-dev" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.soak
@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_a_real_build_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_fabric()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    answer = subprocess.run(
        [fabric.sonde_fabric(), "--version"], capture_output=True, text=True, timeout=30, check=True
    )
    assert answer.stdout.startswith("sonde-fabric ")
