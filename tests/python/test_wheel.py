"""The wheels: what is in them, for whom they are, and that they run where nothing else is."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from itertools import chain
from pathlib import Path

import packaging.tags
import packaging.utils
import pytest
import wheels
from bench.installed import MOST_WHEEL_MB, MOST_WORKER_MB
from raw_worker import S, counters, pair

from netsonde import __version__
from netsonde.catalogue.transport import TRANSPORTS
from netsonde.launch import engine_build, mpi_build
from wheel_made import MACHINE, build

ROOT = Path(__file__).parents[2]
OTHER = "aarch64"
WORKERS = ("sonde-worker", "sonde-switch", "sonde-trace", "sonde-sim")
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
DYNAMIC, INTERPRETER, NOTE = 2, 3, 4
ABI_TAG = b"GNU\0"
# What docs/how-to/install.md says of old systems.
OLDEST_KERNELS = {"x86_64": (3, 2), "aarch64": (3, 7)}

# The first build compiles all of the engine once more; later ones only what changed.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = build(MACHINE, tmp_path_factory.mktemp("dist"))
    return made


@pytest.fixture(scope="session")
def other_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = build(OTHER, tmp_path_factory.mktemp("dist"))
    return made


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel is installed, its programs' folder. What it needs of Python is taken from the
    tests' own environment, without a network; netsonde is not."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True)
    scheme = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=scheme))
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def worker_in(wheel: Path, folder: Path, name: str = "sonde-worker") -> Path:
    """A worker of a wheel, alone in a folder."""
    [member] = [each for each in names_in(wheel) if each.endswith(f".data/scripts/{name}")]
    with zipfile.ZipFile(wheel) as archive:
        (folder / name).write_bytes(archive.read(member))
    (folder / name).chmod(0o755)
    return folder / name


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def segments(program: bytes, machine: str) -> dict[int, list[bytes]]:
    """What an ELF file of that machine has for the loader, by kind."""
    assert program[:6] == b"\x7fELF\x02\x01"
    assert struct.unpack_from("<H", program, 18) == (ELF_MACHINES[machine],)
    [start] = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    found: dict[int, list[bytes]] = {}
    for at in range(start, start + count * size, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", program, at)
        found.setdefault(kind, []).append(program[offset : offset + length])
    return found


def is_static(program: bytes, machine: str) -> bool:
    """Whether an ELF file of that machine asks for no loader and has no dynamic section."""
    return not set(segments(program, machine)) & {DYNAMIC, INTERPRETER}


def oldest_kernel(program: bytes, machine: str) -> tuple[int, int]:
    """The Linux that an ELF file's C library asks for."""
    for notes in segments(program, machine)[NOTE]:
        at = notes.find(struct.pack("<III", len(ABI_TAG), 16, 1) + ABI_TAG)
        if at >= 0:
            system, *version = struct.unpack_from("<IIII", notes, at + 16)
            assert system == 0  # Linux
            return version[0], version[1]
    raise AssertionError("no note says which kernel it needs")


def check_workers(wheel: Path, machine: str, folder: Path) -> None:
    for name in WORKERS:
        program = worker_in(wheel, folder, name)
        content = program.read_bytes()
        assert is_static(content, machine), name
        assert oldest_kernel(content, machine) <= OLDEST_KERNELS[machine], name
        assert program.stat().st_size <= 1e6 * MOST_WORKER_MB, name


def check_stream(program: Path, prefix: list[str]) -> None:
    """Two workers stream to each other over loopback."""
    with pair(program, prefix=prefix) as both:
        asked = {"test": "stream", "message_bytes": 4096, "call_bytes": 4096, "count": 100}
        sent, received = both.run(**asked, timeout_ns=10 * S)
        assert counters(sent)["bytes_sent"] == counters(received)["bytes_received"] == 409_600


def test_no_worker_needs_a_library(wheel: Path, tmp_path: Path) -> None:
    check_workers(wheel, MACHINE, tmp_path)
    assert not is_static(Path(sys.executable).resolve().read_bytes(), MACHINE)


def test_it_is_for_any_python_and_c_library(wheel: Path) -> None:
    name, version, _, tags = packaging.utils.parse_wheel_filename(wheel.name)
    assert (name, str(version)) == ("netsonde", __version__)
    assert {tag.platform for tag in tags} == {f"{each}_{MACHINE}" for each in wheels.SYSTEMS}
    assert {(tag.interpreter, tag.abi) for tag in tags} == {("py3", "none")}
    assert tags & set(packaging.tags.sys_tags())


def test_it_is_small_and_has_what_it_needs(wheel: Path) -> None:
    assert wheel.stat().st_size <= 1e6 * MOST_WHEEL_MB
    data = f"netsonde-{__version__}.data"
    names = set(names_in(wheel))
    programs = {name for name in names if name.startswith(f"{data}/scripts/")}
    assert programs == {f"{data}/scripts/{worker}" for worker in WORKERS}
    shared = f"{data}/data/share"
    engine = ROOT / "engine"
    for pattern in (
        *engine_build.PLAIN_SOURCES,
        *mpi_build.MPI_SOURCES,
        *chain.from_iterable(row.library.sources for row in TRANSPORTS.values() if row.library),
    ):
        sources = {f"{shared}/netsonde/{path.relative_to(ROOT)}" for path in engine.glob(pattern)}
        assert sources <= names
    assert f"{shared}/netsonde/include/nlohmann/json.hpp" in names
    assert {f"{shared}/man/man1/netsonde{each}.1" for each in ("", "-tcp", "-mpi")} <= names
    package = {name for name in names if name.startswith("netsonde/")}
    held = subprocess.run(
        ["git", "ls-files", "src/netsonde"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    assert {name.removeprefix("src/") for name in held} <= package


@pytest.mark.soak
def test_what_is_installed_measures(environment: Path, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean |= {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def said(*words: str) -> str:
        command = [str(environment / "netsonde"), *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert __version__ in said("--version")
    document = json.loads(said("tcp", "local", "latency", "--sizes", "64", "--json"))
    [median] = [one for one in document["figures"] if one["name"] == "round_trip_median_ns"]
    assert 1e3 < median["value"] < 1e8
    code = "import netsonde, sys; from netsonde.launch.binaries import find_worker as find; "
    code += "print(netsonde.__file__, find('sonde-worker'), sep='\\n')"
    where = [str(environment / "python"), "-c", code]
    found = subprocess.run(where, env=clean, capture_output=True, text=True, check=True).stdout
    assert all(Path(line).is_relative_to(environment.parent) for line in found.split())


def test_a_worker_runs_where_no_other_file_is(wheel: Path, tmp_path: Path) -> None:
    worker_in(wheel, tmp_path)
    prefix = ["unshare", "--map-root-user", f"--root={tmp_path}"]
    first = [*prefix, "/sonde-worker", "--version"]
    try:
        done = subprocess.run(first, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if "unshare" in done.stderr and "failed to execute" not in done.stderr:
        pytest.skip(f"no root folder of its own can be had here: {done.stderr.strip()}")
    assert done.stdout == f"sonde-worker {__version__}\n", done.stderr
    check_stream(Path("/sonde-worker"), prefix)


@pytest.mark.soak
def test_a_worker_of_another_machine(other_wheel: Path, tmp_path: Path) -> None:
    check_workers(other_wheel, OTHER, tmp_path)
    assert f"_{OTHER}" in other_wheel.name
    emulator = shutil.which(f"qemu-{OTHER}-static") or shutil.which(f"qemu-{OTHER}")
    if emulator is None and MACHINE != OTHER:
        pytest.skip(f"qemu-{OTHER}-static is not installed")
    prefix = [] if emulator is None else [emulator]
    program = tmp_path / "sonde-worker"
    done = subprocess.run(
        [*prefix, str(program), "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"sonde-worker {__version__}\n", done.stderr
    check_stream(program, prefix)


def test_the_sources_are_whole(tmp_path: Path) -> None:
    """Nothing is compiled here: CMake finds all that it asks for among the sources."""
    command = [sys.executable, "scripts/wheels.py", "--sources", "--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [made] = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        archive.extractall(tmp_path, filter="data")
    top = tmp_path / f"netsonde-{__version__}"
    for folder in ("engine", "src"):
        files = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.[chp][py]*")}
        missing = {str(path) for path in files if not (top / path).exists()}
        assert not {path for path in missing if "__pycache__" not in path}
    configured = subprocess.run(
        ["cmake", "-S", top, "-B", tmp_path / "build", f"-DPython3_EXECUTABLE={sys.executable}"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert configured.returncode == 0, configured.stderr
