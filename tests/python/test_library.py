"""The worker of a transport that needs a library is built on first use where the library is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from mpi_fakes import program

from fabric_needed import require_fabric
from netsonde.catalogue.library import Library
from netsonde.catalogue.transport import TRANSPORTS, Transport
from netsonde.errors import HostError
from netsonde.launch import binaries, library
from netsonde.launch.engine_build import PLAIN_SOURCES, Recipe, built, engine_folder, plan
from netsonde.launch.library import recipe_for
from pvm_needed import require_pvm

ENGINE = Path(__file__).parents[2] / "engine"
BUILD_TIMEOUT_S = 900
ROWS = [row for row in TRANSPORTS.values() if row.library is not None]
NEEDED: dict[str, Callable[[], object]] = {"fabric": require_fabric, "pvm": require_pvm}
"""What a real build of a row needs, or its test is skipped for the lack of."""
each = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@dataclass(frozen=True)
class Site:
    """A library that somebody installed by hand, the only one of this machine."""

    row: Transport
    root: Path

    @property
    def library(self) -> Library:
        assert self.row.library is not None
        return self.row.library

    @property
    def header(self) -> Path:
        return self.root / "include" / self.library.header

    @property
    def file(self) -> Path:
        return self.root / "lib" / self.library.file


@pytest.fixture
def site(row: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(row, tmp_path / "site")
    for path in (made.header, made.file):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    named = made.file if made.library.names_file else made.root
    monkeypatch.setenv(made.library.variable, str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "TOP", tmp_path / "nothing")
    monkeypatch.setattr(binaries, "_installed", lambda _: None)
    monkeypatch.delenv(binaries.DIRECTORY_VARIABLE, raising=False)
    return made


@each
def test_the_sources_are_installed(row: Transport) -> None:
    assert row.library is not None
    for pattern in (*PLAIN_SOURCES, *row.library.sources):
        names = {str(path.relative_to(ENGINE)) for path in ENGINE.glob(pattern)}
        assert names, pattern
        found = engine_folder().glob(pattern)
        assert names <= {str(path.relative_to(engine_folder())) for path in found}


@each
def test_all_of_its_files_are_among_them_but_the_one_without_headers(row: Transport) -> None:
    assert row.library is not None
    of_worker = {path.name for path in (ENGINE / "worker").glob(f"{row.name}_*.cpp")}
    taken = {path.name for pattern in row.library.sources for path in ENGINE.glob(pattern)}
    assert of_worker - taken <= {f"{row.name}_missing.cpp"}


@each
def test_it_is_built_once_with_what_is_below_the_root(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_o = 'for w in "$@"; do [ "$last" = -o ] && out=$w; last=$w; done'
    asked = tmp_path / "asked"
    made = program(tmp_path / "c++", f'{take_o}\necho "$@" >> {asked}\necho made > "$out"')
    monkeypatch.setenv("CXX", str(made))
    worker = site.row.worker
    assert binaries.find_worker(worker) == binaries.find_worker(worker)
    *compiled, _ = asked.read_text().splitlines()
    main = f"worker/{worker.replace('-', '_')}.cpp"
    assert sum(main in line for line in compiled) == 1
    installed = engine_folder()
    plain = {str(path) for pattern in PLAIN_SOURCES for path in installed.glob(pattern)}
    for line in compiled:
        source = next(word for word in line.split() if word.endswith(".cpp"))
        assert (f"-isystem {site.root}/include" in line) == (source not in plain)


@each
def test_another_library_makes_another_program(site: Site) -> None:
    assert site.library.variable  # linked with what is there, else with what the linker finds
    for number, linked in enumerate(site.library.linked):
        before = plan(_recipe(site)).program
        found = site.root / "lib" / "LINUX64" / linked.files[0]
        found.parent.mkdir(exist_ok=True)
        found.touch()
        assert _recipe(site).link_flags[number] == str(found)
        assert plan(_recipe(site)).program != before


@each
def test_without_the_header_it_is_one_sentence(site: Site) -> None:
    site.header.unlink()
    start = f"^{site.row.worker} cannot be built here: {site.library.header} is neither"
    with pytest.raises(HostError, match=start) as caught:
        binaries.find_worker(site.row.worker)
    assert site.library.packages in str(caught.value)
    assert "\n" not in str(caught.value)


@each
def test_it_is_here_where_its_file_is(site: Site) -> None:
    assert library.has_library(site.row)
    site.file.unlink()
    assert not library.has_library(site.row)


@pytest.mark.soak
@pytest.mark.timeout(BUILD_TIMEOUT_S)
@each
def test_a_real_build_says_its_version(
    row: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    NEEDED[row.name]()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    recipe = recipe_for(row.worker)
    assert recipe is not None
    answer = subprocess.run(
        [built(recipe), "--version"], capture_output=True, text=True, timeout=30, check=True
    )
    assert answer.stdout.startswith(f"{row.worker} ")


def _recipe(site: Site) -> Recipe:
    recipe = recipe_for(site.row.worker)
    assert recipe is not None
    return recipe
